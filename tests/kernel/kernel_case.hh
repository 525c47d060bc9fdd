// SPDX-License-Identifier: MIT
// One kernel from its text to its result, through the public header.
#ifndef MORELLO_TESTS_KERNEL_KERNEL_CASE_HH
#define MORELLO_TESTS_KERNEL_KERNEL_CASE_HH

#include <string>

#include "../capi/handles.hh"
#include "impl/impl.hh"
#include "spec/statement.hh"
#include "trial.hh"

namespace morello::testing {

struct KernelRequest {
  std::string text;
  morello_isa isa = MORELLO_ISA_AVX2;
  u32 threads = 1;
  u64 seed = 1;  // of the values
  Values values = Values::kUniform;
  /// Of the search, in bytes; 0: any. What needs more is skipped: it is the same on every machine.
  u64 memory_budget = 0;
};

/// One line for the shell that runs this request alone.
std::string repeat_command(const KernelRequest& request);

/// A kernel, values for its operands, and what it must make of them.
class KernelCase {
 public:
  explicit KernelCase(const KernelRequest& request);

  /// What is wrong so far, or "": synthesis, the reference of the library, packing.
  const std::string& wrong() const { return wrong_; }
  /// The search needed more than its budget: nothing else can be asked.
  bool skipped() const { return skipped_; }
  const morello_kernel* kernel() const { return kernel_.get(); }
  const Trial& trial() const { return trial_; }
  const Lowered& lowered() const { return lowered_; }
  Call call(const morello_executor* executor = nullptr) const;

  /// Runs the kernel against guards at the end with its own scratch memory, and at the start
  /// without; both must give the same bits.
  std::string check_runs(const morello_executor* executor = nullptr) const;
  /// The search's tree is the one of the kernel, valid, and computes the same as interpreted.
  std::string check_tree() const;

 private:
  std::string make();
  std::string make_trial();
  std::string check_evaluate(std::array<Bytes, kMaxOperands> data) const;
  std::string pack(int operand);

  KernelRequest request_;
  ContextPtr context_;
  SpecPtr spec_;
  KernelPtr kernel_;
  Lowered lowered_;
  Trial trial_;
  std::string wrong_;
  bool skipped_ = false;
};

enum class Outcome { kRight, kSkipped, kWrong };
/// check_runs() for a new kernel, and check_tree() if asked for. `wrong` receives what is wrong,
/// with the command to repeat it.
Outcome check_kernel(const KernelRequest& request, bool with_tree, std::string& wrong);

/// "" if there is code for an instruction set, be it this CPU's or not.
std::string check_emission(const std::string& text, morello_isa isa);

}  // namespace morello::testing

#endif
