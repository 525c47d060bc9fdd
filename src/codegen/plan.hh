// SPDX-License-Identifier: MIT
// Plan: an Impl tree as the emitter sees it: loops that step addresses by constants, and calls of
// microkernels with constant strides. Pure data; every decision was made in the Impl tree.
#ifndef MORELLO_CODEGEN_PLAN_HH
#define MORELLO_CODEGEN_PLAN_HH

#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "cost/tiles.hh"
#include "impl/impl.hh"
#include "impl/microkernel_id.hh"
#include "spec/view.hh"
#include "support/result.hh"

namespace morello {

/// Index of a cursor of one PlanFunction.
using CursorId = u32;

/// An address that loops step. It holds `value` at the start of its function, and again after every
/// loop that stepped it.
struct Cursor {
  enum class Base : u8 {
    kOperand,   // operand number `value` of the kernel, from byte `begin` on
    kScratch,   // `value` bytes into the scratch memory of this function
    kOuter,     // cursor number `value` of the function that started the parallel loop
    kArgument,  // argument number `value` of a routine
  };
  Base base = Base::kOperand;
  u64 value = 0;
  i64 begin = 0;
  /// Not 0: not for what is there, but for what will be read later (PlanAsk). Asks of one number
  /// are stepped alike.
  u32 asks = 0;
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

struct CursorStep {
  CursorId cursor = 0;
  i64 bytes = 0;
};

/// One operand of a microkernel: a register tile, or memory at a cursor.
struct PlanOperand {
  bool in_registers = false;
  u16 first_register = 0;
  CursorId cursor = 0;
  /// Bytes; 0 along dimensions that do not index the operand. Along the one of the fastest
  /// block: from one block to the next.
  std::array<i64, kMaxDims> stride{};
  /// Bytes from here to what a trip of a loop, the next one or a few later, reads of it, if that is
  /// in memory and should be asked for now; else 0. In whole tiles, so every line that is read here
  /// has one there.
  i64 ahead = 0;
  /// The same to what the next trip reads, where this call is not the first to read what is here,
  /// and has time to ask for what comes to L1 meanwhile; else 0.
  i64 next = 0;
};

/// Lines that a call asks for while it computes, for a copy that comes later: `rows` runs of
/// `lines` lines, `pitch` bytes apart, from `bytes` behind the cursor on. No rows: none.
struct PlanAsk {
  CursorId cursor = 0;
  u32 rows = 0, lines = 0;
  i64 pitch = 0, bytes = 0;
  friend bool operator==(const PlanAsk&, const PlanAsk&) = default;
};

/// Runs microkernel `id` on the whole of `spec`, in which dimensions may have size 1. Vector
/// registers from `first_free` on are its own.
struct PlanCall {
  MicrokernelId id{};
  u16 first_free = 0;
  bool rare = false;    // takes so little of the time of the kernel that short code is better
  bool starts = false;  // no register tile was filled for it: its first elements do that
  Spec spec;
  std::array<PlanOperand, kMaxOperands> operand{};
  PlanAsk ask;
  PlanAsk results;  // lines to which the register tile that it begins will be written
};

/// Index into Plan::nodes.
using PlanId = u32;

/// Runs `body` `trips` times, each followed by `steps`; then `rest`; then undoes the steps.
struct PlanLoop {
  u64 trips = 0;
  std::vector<CursorStep> steps;
  std::vector<CursorStep> before_last;  // steps made once, before the last of several trips
  std::vector<PlanId> body, rest;
};

/// Runs the body of function `function` `trips` times, each followed by that function's steps, in
/// `tasks` tasks: task t makes the trips from t*trips/tasks to (t+1)*trips/tasks. Then advances the
/// cursors by `steps`, `trips` times, runs `rest`, and moves them back.
struct PlanParallel {
  u32 function = 0;
  u64 tasks = 0;
  u64 trips = 0;
  CursorId scratch = 0;  // start of task 0's scratch memory; the others follow
  std::vector<CursorStep> steps;
  std::vector<PlanId> rest;
};

/// Runs function `function`, a routine: what occurs at several places with other cursors. Vector
/// registers are the same at all of them, and pass through.
struct PlanInvoke {
  u32 function = 0;
  std::vector<CursorId> cursors;  // its arguments
};

/// Sets the sizes of tile registers, for the calls that come next.
struct PlanTiles {
  TileSizes sizes;
};

/// Adds to a cursor `bytes` for each place before the one that is named at `index`, an integer; the
/// last of `places`, if that is behind it, and nothing for a negative one. What moves it back has
/// the bytes below zero.
struct PlanIndex {
  CursorId cursor = 0, index = 0;
  Dtype dtype{};  // of the index
  u32 places = 0;
  i64 bytes = 0;
};

using PlanNode = std::variant<PlanLoop, PlanParallel, PlanCall, PlanInvoke, PlanTiles, PlanIndex>;

/// The kernel itself; the body of a parallel loop, which steps its cursors by `steps` after each
/// trip; or a routine.
struct PlanFunction {
  bool routine = false;
  std::vector<Cursor> cursors;
  std::vector<PlanId> body;
  std::vector<CursorStep> steps;
  u64 scratch_bytes = 0;  // of one task; a multiple of kScratchAlignment
};

struct Plan {
  std::string_view target;  // its name
  u32 operand_count = 0;
  std::vector<PlanNode> nodes;
  std::vector<PlanFunction> functions;  // functions[0] is the kernel
  u32 kernels = 1;                      // so many of the first functions are kernels

  u64 scratch_bytes() const {
    u64 most = 0;
    for (u32 f = 0; f < kernels; f++) most = std::max(most, functions[f].scratch_bytes);
    return most;
  }
};

/// @param root_views  of the operands of nodes[0].spec; that of an operand whose layout a Choose
/// node
///     fixes is ignored.
/// @return MORELLO_INTERNAL for trees that validate() would refuse.
Result<Plan> make_plan(const ImplTree& tree, const std::array<View, kMaxOperands>& root_views);

/// One plan of several kernels, in their order, in which what any of them do alike is there once.
/// REQUIRES: made by make_plan() for one target; not empty.
Plan join_plans(std::vector<Plan> plans, const Target& target);

/// Indented text, one line per node: deterministic.
std::string print(const Plan& plan);

}  // namespace morello

#endif
