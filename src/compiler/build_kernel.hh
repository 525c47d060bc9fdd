// SPDX-License-Identifier: MIT
// The whole way from a checked Statement to a kernel: search, plan, machine code, executable
// memory.
#ifndef MORELLO_COMPILER_BUILD_KERNEL_HH
#define MORELLO_COMPILER_BUILD_KERNEL_HH

#include "codegen/plan.hh"
#include "impl/impl.hh"
#include "runtime/kernel.hh"
#include "search/solve.hh"
#include "spec/statement.hh"
#include "target/target.hh"

namespace morello {

/// What is known of how a kernel was made.
struct BuildReport {
  ImplTree tree;  // its `target` is that of the call
  std::string impl_text;
  std::string plan_text;  // "" if only searched for
  SolveStats solving;
  u64 plan_nanoseconds = 0, emit_nanoseconds = 0;
};

struct BuiltKernel {
  Kernel kernel;
  BuildReport report;
};

/// What to make of a program.
enum class BuildOutput : u8 {
  kProgram,    // nothing: it is only searched for, and so are no pack programs
  kCode,       // code to be kept, whatever CPU it is for
  kExecutable  // code to run here
};

/// @param lowered      lower(statement)
/// @param table        asked before searching, or nullptr; REQUIRES: as solve()
/// @param output       how far to go
/// @param piece        if not nullptr, the program becomes no code: this receives its plan
/// @return the errors of solve() and of CodeMemory::make; MORELLO_INTERNAL for our bugs.
Result<BuiltKernel> build_kernel(const Statement& statement, const Lowered& lowered,
                                 const Target& target, const SearchOptions& options,
                                 const Table* table, BuildOutput output, Plan* piece = nullptr);

/// Adds to each count what finding one more program took. Bound, proof and use of the table stay
/// those of the kernel's own program.
void accumulate(SolveStats& sum, const SolveStats& part);

/// Such as "morello_matmul_m64n3072k768_add_relu_avx2": the head, its sizes, the steps, the target.
std::string kernel_name(const Statement& statement, const Target& target);

}  // namespace morello

#endif
