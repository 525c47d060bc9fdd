// SPDX-License-Identifier: MIT
// Machine code that copies numbers from one element type to another, and what must come out.
#ifndef MORELLO_TESTS_SUPPORT_CONVERTER_HH
#define MORELLO_TESTS_SUPPORT_CONVERTER_HH

#include <string>
#include <vector>

#include "impl/microkernel_id.hh"
#include "runtime/code_memory.hh"
#include "support/dtype.hh"
#include "target/target.hh"

namespace morello::testing {

/// One leaf: a copy of `count` numbers. Immutable; any thread may run it.
class Converter {
 public:
  Converter(const Target& target, MicrokernelId leaf, Dtype from, Dtype to, u32 count);
  /// Elements of the types, from the lowest byte.
  void run(const void* in, void* out) const;

 private:
  CodeMemory code_;
  size_t entry_ = 0;
};

/// `count` elements with the bits from `first` on.
std::vector<char> consecutive_bits(Dtype dtype, u64 first, u32 count);
/// What numbers become, by support/number.hh. NaN is a quiet one, whose further bits are left open.
std::vector<u32> converted(Dtype from, Dtype to, const std::vector<char>& in, u32 count);
/// "", or which of the numbers has become something else.
std::string compare_converted(Dtype from, Dtype to, const std::vector<char>& in,
                              const std::vector<u32>& expected, const std::vector<char>& out);

}  // namespace morello::testing

#endif
