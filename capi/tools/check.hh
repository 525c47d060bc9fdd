// SPDX-License-Identifier: MIT
// The check of a result against the reference of the library, of all elements or of a sample.
#ifndef MORELLO_CAPI_TOOLS_CHECK_HH
#define MORELLO_CAPI_TOOLS_CHECK_HH

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "operands.hh"

namespace morello::tools {

/// Which elements of a result are compared.
enum class Extent {
  kAuto,    // all, or a sample where all would take longer than anyone likes to wait
  kFull,    // all
  kSample,  // some thousand: corners and edges, the others spread evenly
};

/// Is told now and then how many elements of how many are done.
using CheckProgress = std::function<void(uint64_t done, uint64_t all)>;

/// What was compared, what one output element may differ by, and where it differed most: of one
/// output, or of several.
struct Check {
  bool ok = false;
  uint64_t checked = 0;    // elements
  uint64_t results = 0;    // that there are
  double worst_error = 0;  // of those checked: |got - want|
  double worst_share = 0;  // of those checked: error as a share of what that element may differ by
  size_t worst_index = 0;  // element of the output's buffer where worst_share was seen
  double got = 0, want = 0;  // there
  int worst_output = -1;     // whose buffer that is; -1: there is one
  std::string describe() const;
  /// What was found of output number `output` besides.
  void add(const Check& other, int output);
};

/// The expected values of one output. What lies between its elements must be as it was, and is
/// always compared.
class Reference {
 public:
  /// REQUIRES: `operands` keep their values, and live as long as this.
  Reference(const morello_spec* spec, const Operands* operands, uint32_t output = 0);

  /// Computes what check() needs. The same elements for the same seed.
  morello_status compute(Extent extent, uint64_t seed, const CheckProgress& progress,
                         morello_error** error);
  /// Compares `result`, a buffer as large as the output's. Where values differ, the reference is
  /// asked how much they may; that can take as long as compute().
  Check check(const Buffer& result, const CheckProgress& progress);

 private:
  void find_elements(Extent extent, uint64_t seed);
  bool compared(size_t at) const { return skipped_.empty() || !skipped_[at]; }
  uint64_t chunk() const;
  void judge(const Buffer& result, const std::vector<int64_t>& differing, Check* check);
  void make_absolute();

  SpecPtr spec_;
  const Operands* operands_;
  const uint32_t number_;
  morello_tensor output_ = {};
  std::vector<int64_t> sample_;   // offsets; empty: all elements
  std::vector<bool> skipped_;     // by offset: an element that is not compared; empty: none
  std::vector<bool> gap_;         // by offset: no element; empty: there are none
  std::vector<double> want_;      // by offset
  std::vector<Buffer> absolute_;  // the operands' absolute values; empty until needed
  double largest_input_ = 0;
};

}  // namespace morello::tools

#endif
