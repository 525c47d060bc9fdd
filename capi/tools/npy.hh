// SPDX-License-Identifier: MIT
// NumPy's .npy files, versions 1 and 2, little-endian, in either order. NumPy has no bf16:
// ml_dtypes, which adds it, writes '<V2', two bytes of no type it knows, and so does this.
#ifndef MORELLO_CAPI_TOOLS_NPY_HH
#define MORELLO_CAPI_TOOLS_NPY_HH

#include <cstdint>
#include <string>
#include <vector>

#include "element.hh"

namespace morello::tools {

struct Array {
  std::vector<int64_t> shape;
  int32_t dtype = MORELLO_F32;
  std::vector<char> elements;  // row-major, whatever the order of the file
};

/// Returns an empty string and fills `array`, or returns what is wrong with the file.
std::string read_npy(const std::string& path, Array* array);
/// Returns an empty string, or why the file could not be written.
std::string write_npy(const std::string& path, const Array& array);

}  // namespace morello::tools

#endif
