// SPDX-License-Identifier: MIT
// Machine code that copies numbers from one element type to another, and what must come out.
#ifndef MORELLO_TESTS_SUPPORT_CONVERTER_HH
#define MORELLO_TESTS_SUPPORT_CONVERTER_HH

#include <string>
#include <vector>

#include "leaf_code.hh"

namespace morello::testing {

/// A copy of `count` numbers.
class Converter : public Leaf {
 public:
  Converter(const Target& target, MicrokernelId leaf, Dtype from, Dtype to, u32 count)
      : Leaf(target, leaf, Op::kCopy, from, to, count) {}
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
