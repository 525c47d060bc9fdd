// SPDX-License-Identifier: MIT
// Runs the code of an Impl tree on operands that lie against inaccessible pages, and judges the
// result.
#ifndef MORELLO_TESTS_CODEGEN_HARNESS_HH
#define MORELLO_TESTS_CODEGEN_HARNESS_HH

#include <string>
#include <vector>

#include "../support/random_tree.hh"
#include "../support/typed_problem.hh"
#include "codegen/emit.hh"
#include "impl/microkernel_id.hh"

namespace morello::testing {

/// Memory with inaccessible pages on both sides, one of them adjacent.
class GuardedMemory {
 public:
  enum class Side { kStart, kEnd };
  /// `bytes` that end (or start) at an inaccessible page. At the end, `alignment` may leave a gap.
  GuardedMemory(size_t bytes, Side side, size_t alignment);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();
  void* data() const { return data_; }

 private:
  void* base_ = nullptr;
  size_t mapped_ = 0;
  void* data_ = nullptr;
};

/// The instruction sets that this CPU can run.
std::vector<const Target*> targets(std::initializer_list<Dtype> types = {Dtype::kF32});

/// Plan of the program that a search finds for a text; the errors go to doctest.
Plan plan_of(const char* text, const Target& target);
/// Plan and code of `tree`; the errors go to doctest.
Code code_of(const ImplTree& tree, const Views& views);

/// Runs `tree` for `problem`, with operands and scratch memory against both sides' guards, and
/// compares with an independent evaluation. Checks that callee-saved registers and the MXCSR are
/// kept, that the gaps between rows of the output stay as they were, and that no input changes.
/// "" if all is well.
std::string check_tree(const ImplTree& tree, const Problem& problem,
                       const morello_executor* executor = nullptr);

/// The same in any element types, compared with evaluate() bit by bit.
std::string check_tree(const ImplTree& tree, const TypedProblem& problem,
                       const morello_executor* executor = nullptr);

/// Gives each leaf a random microkernel that computes it; false if there is none, or no register
/// for it. `registers`: those of the tiles around node `id`.
bool select_leaves(ImplTree& tree, NodeId id, u64 registers, Random& random);

/// Calls `code` with patterns in the callee-saved registers; false if one of them, the control bits
/// of the MXCSR or the stack pointer changed.
bool call_with_canaries(const void* code, void* const* operands, void* scratch,
                        const morello_executor* executor);

}  // namespace morello::testing

#endif
