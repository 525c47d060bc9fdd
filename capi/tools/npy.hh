// SPDX-License-Identifier: MIT
// NumPy's .npy files, versions 1 and 2, little-endian f32 in either order.
#ifndef MORELLO_CAPI_TOOLS_NPY_HH
#define MORELLO_CAPI_TOOLS_NPY_HH

#include <cstdint>
#include <string>
#include <vector>

namespace morello::tools {

struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major, whatever the order of the file
};

/// Returns an empty string and fills `array`, or returns what is wrong with the file.
std::string read_npy(const std::string& path, Array* array);
/// Returns an empty string, or why the file could not be written.
std::string write_npy(const std::string& path, const Array& array);

}  // namespace morello::tools

#endif
