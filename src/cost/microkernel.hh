// SPDX-License-Identifier: MIT
// Microkernels: the leaf instruction sequences. Each says which Specs it computes, which registers
// it needs, what it costs, and what it costs at least; codegen/x64 has the emitter of the same
// name. Search knows no more.
#ifndef MORELLO_COST_MICROKERNEL_HH
#define MORELLO_COST_MICROKERNEL_HH

#include <array>
#include <span>

#include "impl/microkernel_id.hh"
#include "spec/spec.hh"
#include "target/target.hh"

namespace morello {

/// Per dimension: the most elements that one run of a microkernel's code takes; 0: all of them. The
/// plan loops over such portions.
using Portions = std::array<u32, kMaxDims>;

/// What a leaf does, as far as lower bounds tell leaves apart.
enum class Duty : u8 {
  kTile,            // adds products to results in registers
  kContract,        // sums products to results in memory
  kReduce,          // any other reduction
  kFill,            // a constant into registers
  kLoad,            // anything else that ends in registers
  kStore,           // begins with operand 0 in registers, and ends in memory
  kRelayout,        // a copy in memory that changes the fastest dimension
  kNarrowRelayout,  // the same of elements of less than 4 bytes
  kPairs,           // a copy whose neighbours in a lane of 4 bytes are 2 rows apart in its source
  kQuads,           // 4 rows
  kMap,             // anything else in memory
};
inline constexpr int kDuties = 11;
Duty duty_of(const Spec& leaf);
constexpr bool is_relayout(Duty duty) {
  return duty == Duty::kRelayout || duty == Duty::kNarrowRelayout || duty == Duty::kPairs ||
         duty == Duty::kQuads;
}

/// What results cost that are summed in blocks of rows and columns, so many of each at most.
struct BlockPrice {
  i64 group = 0;   // of each result, for each started group of its products
  i64 result = 0;  // of each result
  /// Of each execution that takes other results than `whole` of them, and the most that it takes.
  i64 odd_run = 0;
  u64 whole = 0, most = 1;
};

/// The admissible rate: what a microkernel costs at least on any Spec of a duty that it computes,
/// lines aside. Lower bounds are made of these and of nothing else that a microkernel knows, so
/// what is left out makes them weaker, never wrong. Units; a price that is a fraction is rounded
/// down.
struct Rate {
  bool never = false;  // does not do this
  i64 call = 0;        // of one execution
  i64 row = 0;  // of each row of results (kReduce: of each result; kPairs, kQuads: of groups)
  /// Of each vector of results (kReduce: of what is read), each single one where they have no
  /// fastest dimension; added for a vector that is not full; of each element.
  i64 vector = 0, odd = 0, element = 0;
  /// Sixteenths of Prices::op (scalar_op) of all stages that each vector (element) costs at least.
  i64 vector_ops = 0, element_ops = 0;
  /// kReduce: vector_ops of what is combined together (combines_together()), if not 0.
  i64 together_ops = 0;
  /// kContract: of each started group of so many products of one result.
  u32 group = 1;
  i64 group_units = 0;
  /// kContract: what is added where blocks of results are summed, in place of group_units.
  BlockPrice (*block)(u64 rows, u64 columns, const Target&) = nullptr;
  /// kRelayout: rows of results cost as much as those of the next multiple.
  u32 side = 1;
  /// kTile: of one step along the reduced dimensions with a tile of rows x vecs vectors; the
  /// registers that such a tile needs besides. Null: nothing.
  i64 (*step)(u64 rows, u64 vecs, const Target&) = nullptr;
  u32 (*extra)(u64 rows, u64 vecs, const Target&) = nullptr;
  // What its Specs have in common:
  bool fastest = false;        // results have a fastest dimension, or are a single one
  bool along = false;          // what has the results' fastest dimension runs along it (kReduce: or
                               // two neighbours are reduced; kTile: or along windows with it)
  bool along_reduced = false;  // inputs that have reduced dimensions run along one
  bool adds = false;           // kTile: the results were there before, and are added to
  bool tiles = false;          // factors of types that tile registers take (target/tiles.hh), one
                               // of them in groups of neighbours that share lanes
  u8 rank = kMaxDims;          // at most so many dimensions, and stages of a chain
  u8 stages = kMaxStages;
};
inline constexpr Rate kNever = {.never = true};
/// Of a reduction; see Rate::vector_ops.
constexpr i64 reduced_ops(const Rate& rate, bool together) {
  return together && rate.together_ops != 0 ? rate.together_ops : rate.vector_ops;
}

/// What `leaf` costs at least by a rate of its duty.
i64 least_units(const Rate& rate, const Spec& leaf, const Target& target);

struct Microkernel {
  MicrokernelId id;
  /// True if it computes this Spec on this target.
  bool (*applies)(const Spec&, const Target&);
  /// Vector registers besides those of the Spec's register operands.
  u32 (*registers)(const Spec&, const Target&);
  /// Units of one execution, including the lines it brings from the levels of its operands.
  i64 (*cost)(const Spec&, const Target&);
  Portions (*portions)(const Spec&);
  /// The least of cost() on Specs of a duty. Null: nothing is known, so bounds take it to be free.
  Rate (*rate)(Duty, const Target&) = nullptr;
};

using Microkernels = std::span<const Microkernel* const>;

/// All of them, in the order of their numbers.
Microkernels microkernels();
const Microkernel& microkernel(MicrokernelId id);

}  // namespace morello

#endif
