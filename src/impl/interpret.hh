// SPDX-License-Identifier: MIT
// The interpreter: executes any Impl tree slowly and checks every access. The oracle of the tests.
#ifndef MORELLO_IMPL_INTERPRET_HH
#define MORELLO_IMPL_INTERPRET_HH

#include <span>

#include "impl/evaluate.hh"
#include "impl/impl.hh"
#include "support/result.hh"

namespace morello {

/// The memory of one operand of the root: elements of its type, of which the first is element 0 of
/// the view.
struct OperandMemory {
  void* data = nullptr;
  u64 elements = 0;
};

/// What the execution did.
struct InterpretStats {
  u64 leaves = 0;  // microkernels run
  u64 points = 0;  // points of their iteration spaces
  /// Most elements that buffers and register tiles held at once, by level.
  std::array<u64, kLevels> peak_elements{};
};

/// Runs `tree` on one thread; parallel loops run backwards, to show where they depend on an order.
/// The leaves mean what evaluate() says, whatever their microkernel.
///
/// @param views  of the root's operands. An operand whose layout the tree chooses is expected in
/// that
///     layout, dense, and its entry is ignored.
/// @param operands  one per operand of the root, output last. Elements that no view reaches are
/// never
///     touched. An output that is kOut is poisoned first.
/// @return MORELLO_INTERNAL, naming the node and the operand: an access outside of an operand or
/// buffer,
///     a write to an input, a read of an element that was not written before, an output element
///     that was never written. MORELLO_INVALID_ARGUMENT: the number of operands.
Result<InterpretStats> interpret(const ImplTree& tree, const Views& views,
                                 std::span<const OperandMemory> operands);

}  // namespace morello

#endif
