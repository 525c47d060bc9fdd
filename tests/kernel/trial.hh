// SPDX-License-Identifier: MIT
// One computation by machine code, under the eyes of a strict caller.
#ifndef MORELLO_TESTS_KERNEL_TRIAL_HH
#define MORELLO_TESTS_KERNEL_TRIAL_HH

#include <random>
#include <string>
#include <vector>

#include "../support/compare.hh"
#include "guarded.hh"
#include "morello/morello.h"

namespace morello::testing {

/// Bytes of an operand.
using Bytes = std::vector<char>;

/// What the code must make of an output besides the last one.
struct EarlierOutput {
  int operand = 0;
  Dtype dtype = Dtype::kF32;
  std::vector<Expected> expected;
};

/// The operands as the code expects them, and what it must make of the last one.
struct Trial {
  int operand_count = 0;
  std::array<Bytes, kMaxOperands> data;
  Dtype dtype = Dtype::kF32;  // of the output
  std::vector<Expected> expected;
  std::vector<EarlierOutput> earlier;

  Bytes& output() { return data[static_cast<size_t>(operand_count) - 1]; }
  const Bytes& output() const { return data[static_cast<size_t>(operand_count) - 1]; }
};

enum class Values {
  kUniform,  // floats in [-1, 1]; all bytes; i32 of any magnitude
  kSpecial,  // with NaN, infinities, denormals, zeros of both signs, halves, the largest numbers
  kRare,     // uniform, and one of 64 is special
  kTiny,     // floats whose products are denormal, and some that are denormal themselves
  kExtreme,  // the largest and the smallest of integers; floats as uniform
};
/// All operands of `spec`, which have their sizes. Floats beside integers are scales, of any
/// magnitude, so that products of bytes do not all saturate.
void fill(Trial& trial, const Spec& spec, Values values, std::mt19937_64& random);

/// How to run it.
struct Call {
  morello_kernel_fn function = nullptr;
  size_t scratch_bytes = 0;
  const morello_executor* executor = nullptr;
  /// If not null: through morello_kernel_run() with NULL scratch instead.
  const morello_kernel* kernel = nullptr;
  /// Of a kernel with a run-time size, whose function is a morello_sized_kernel_fn; else 0.
  i64 size = 0;
};

/// Runs the code once, with every operand and the scratch memory against an inaccessible page at
/// `side`. "" if the result is right, the ABI was kept, inputs are unchanged, and nothing outside
/// of the output's elements was written; else what is wrong. `out`, if given, receives the output.
std::string run(const Trial& trial, const Call& call, Guarded::Side side, Bytes* out = nullptr);

/// An executor that runs the calls in reverse on the calling thread, each checked like run().
class ReverseExecutor {
 public:
  ReverseExecutor();
  const morello_executor* get() const { return &executor_; }
  /// What was wrong so far, or "".
  const std::string& wrong() const { return wrong_; }
  size_t calls() const { return calls_; }

 private:
  static void parallel_for(void* user, size_t count, void (*fn)(void*, size_t), void* arg);
  morello_executor executor_{};
  std::string wrong_;
  size_t calls_ = 0;
};

}  // namespace morello::testing

#endif
