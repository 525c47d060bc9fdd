// SPDX-License-Identifier: MIT
// Impl: a program for a Spec as a tree in which every decision is made. Codegen and the interpreter
// read it; neither decides anything.
#ifndef MORELLO_IMPL_IMPL_HH
#define MORELLO_IMPL_IMPL_HH

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "spec/limits.hh"
#include "spec/spec.hh"

namespace morello {

/// Index of a node in its tree.
using NodeId = u32;

struct Edge {
  NodeId node = 0;
  Binding binding;  // how the child's dimensions and operands are this node's
};

/// Runs children[0] on each full tile of dimension `dim`, in order (or in any order on several
/// threads if parallel), then children[1] on the remainder, if there is one.
struct Loop {
  u8 dim = 0;
  u32 tile = 0;
  u64 trips = 0;  // full tiles
  bool parallel = false;
};

/// children[0] sees operand `operand` at a nearer level.
/// - view: the same memory, expected to stay in that cache; no code. children = {body}.
/// - else a new buffer of `placed`'s layout (or registers): children = {in, body, out}, where `in`
///   copies operand -> buffer if the operand is read, and `out` copies back if it is written;
///   absent ones are missing from the list, in that order.
struct Move {
  u8 operand = 0;
  bool view = false;
  Operand placed;  // the operand as the body sees it
};

/// Runs the children one after the other. They share new buffers, described over this node's
/// dimensions.
struct Block {
  u8 buffer_count = 0;
  std::array<Operand, kMaxBuffers> buffer{};
  std::span<const Operand> buffers() const { return {buffer.data(), buffer_count}; }
};

/// A new buffer that has the borders of operand `operand` inside. children = {fill, copy, body}:
/// the whole buffer is filled, then the operand copied into its inner part, then read from there.
struct Pad {
  u8 operand = 0;
  Operand padded;  // over this node's dimensions, with the borders inside: spec/border.hh
};

/// children[0] runs on the first `size` elements of dimension `dim`, children[1] on the others: the
/// rows of a diagonal, of which each part keeps other columns (spec/diagonal.hh), or the places of
/// a window with borders (spec/border.hh).
struct Divide {
  u8 dim = 0;
  u32 size = 0;
};

/// A new buffer that masks what the diagonal does not keep. children = {fill, fill, body}: what is
/// kept and what is not, one after the other in one run; the body reads each row of the mask one
/// element before the last.
struct Mask {
  Operand mask;  // as the body sees it, over this node's dimensions
};

/// Rows are cut into blocks of `size`, of which each has exponentials below its own greatest
/// element: see spec/rescale.hh, which makes of this a Spec with one dimension more. children =
/// {blocks, merge} are parts of that one, and bound to it; they share new buffers.
struct Rescale {
  u8 most = 0;           // the stage of the greatest elements of rows
  Ref held_in = kNoRef;  // the output that holds exponentials of blocks until they are scaled
  Level level{};         // of the buffers
  u32 size = 0;
};

/// Stage `stage` gathers at one place, which its index names when the program runs: children[0] has
/// the operand there alone (spec/gather.hh).
struct Index {
  u8 stage = 0;
};

/// A leaf: one microkernel does the whole Spec.
struct Select {
  u16 microkernel = 0;  // MicrokernelId
};

/// Any layout is free in this node's Spec and fixed in its child's: operand -> placed.
struct Choose {
  u8 operand = 0;
  Operand placed;
};

struct ImplNode {
  Spec spec;
  std::variant<Loop, Move, Block, Select, Choose, Pad, Divide, Mask, Rescale, Index> kind;
  std::vector<Edge> children;
  i64 cost = 0;  // units; of the whole subtree, once
  Limits peaks;
};

/// nodes[0] is the root; children come after their parents. A node may have several parents.
struct ImplTree {
  std::vector<ImplNode> nodes;
  const Target* target = nullptr;
};

/// Indices of the in / body / out children of a Move, -1 where absent.
struct MoveChildren {
  int in = -1, body = -1, out = -1;
};
MoveChildren move_children(const ImplNode& node);

/// A copy that a program relies on: of an operand whose layout was free, as its caller has it, to
/// the layout that the program chose.
struct PackMove {
  u8 operand = 0;  // of the root
  Operand placed;
  Spec spec;
  Binding binding;  // of `spec` to the root
};
/// Of the Choose nodes at the top of a tree.
std::vector<PackMove> pack_moves(const ImplTree& tree);

/// The tree as indented text with cost and peaks per node: deterministic.
std::string print(const ImplTree& tree);

/// A line of that text.
struct TreeLine {
  NodeId node = 0;
  u32 parent = 0;  // a line; the root's own
  u32 depth = 0;
  bool again = false;  // the node was met before, and its children are there
  std::string text;    // decision and Spec
  i64 own = 0;         // units of the node without its children
  u64 times = 1;       // that the parent runs it; of a parallel loop, one thread's
  /// The root's operands that the node's are; others are buffers.
  std::array<u8, kMaxOperands> operand{};
};
/// @param names  of the root's operands, to be used instead of numbers; may be empty.
std::vector<TreeLine> tree_lines(const ImplTree& tree, std::span<const std::string> names);

/// What is wrong with the tree, or "": every child's Spec is derived from its parent's by the
/// node's decision, bindings are in range, loops cover their dimension, buffers fit their Specs.
std::string validate(const ImplTree& tree);

}  // namespace morello

#endif
