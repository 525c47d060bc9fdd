// SPDX-License-Identifier: MIT
// Machine code of a single microkernel on rows of numbers.
#ifndef MORELLO_TESTS_SUPPORT_LEAF_CODE_HH
#define MORELLO_TESTS_SUPPORT_LEAF_CODE_HH

#include <vector>

#include "codegen/emit.hh"
#include "impl/microkernel_id.hh"
#include "runtime/code_memory.hh"
#include "spec/op.hh"
#include "target/target.hh"

namespace morello::testing {

/// One leaf: `op`, of as many inputs as there are types before the output's, on `count` numbers
/// each, one after another. Computed in i32 if all are integers, in f32 if not. Aborts, and says
/// why, if there is no such code.
/// @param value  what the results are rounded to before they are stored: f32 is nothing.
Code leaf_code(const Target& target, MicrokernelId leaf, Op op, const std::vector<Dtype>& types,
               u32 count, Dtype value = Dtype::kF32);

/// The same with one input, to be run. Immutable; any thread may run it.
class Leaf {
 public:
  Leaf(const Target& target, MicrokernelId leaf, Op op, Dtype from, Dtype to, u32 count,
       Dtype value = Dtype::kF32);
  /// Elements of the types, from the lowest byte.
  void run(const void* in, void* out) const;

 private:
  CodeMemory code_;
  size_t entry_ = 0;
};

}  // namespace morello::testing

#endif
