// SPDX-License-Identifier: MIT
// Admissible lower bounds: at most the cost of any program for a Spec within its memory limits.
// They are made of compulsory traffic and of the rates that microkernels declare (rates.hh), and
// know no microkernel. They steer the search and never decide: a bound that is too high would lose
// the optimum (and the tests compare with brute force).
#ifndef MORELLO_COST_BOUNDS_HH
#define MORELLO_COST_BOUNDS_HH

#include "cost/contraction_bound.hh"
#include "spec/limits.hh"

namespace morello {

/// Immutable after construction; for one target.
class Bounds {
 public:
  /// @param kernels  those that programs may use.
  explicit Bounds(const Target& target, Microkernels kernels = microkernels());

  i64 of(const Spec& spec, const Limits& limits) const { return bound(spec, limits, false); }
  /// Weaker, in a third of the time.
  i64 quick(const Spec& spec, const Limits& limits) const { return bound(spec, limits, true); }

 private:
  i64 leaf(const Spec& spec) const;
  struct StageUnits {
    i64 all = 0;
    i64 hiding = 0;  // of them, products whose factors' lines are not counted
    u8 counted = 0;  // operands whose lines are among it, as bits
  };
  /// Of each stage of a graph what it costs alone; `quick`: of products, without results and lines.
  StageUnits stages(const Spec& spec, const Limits& limits, bool quick) const;
  /// Of the products of stage `s`, with the lines of factors that are not counted yet.
  i64 products(const Spec& spec, int s, const std::array<DimMask, kMaxStages>& dims_of_stage,
               const Limits& limits, u8& counted) const;
  /// Of a stage that reduces anything but products. `alone`: by a microkernel that does nothing
  /// else.
  i64 reduction(const Spec& spec, const Stage& stage, DimMask dims, u64 points, bool alone) const;
  i64 map(const Spec& spec) const;
  i64 relayout(const Spec& spec, const Form& form, Duty duty) const;
  i64 bound(const Spec& spec, const Limits& limits, bool quick) const;
  struct Traffic {
    i64 l2 = 0, memory = 0;  // units from L2 to L1, and from memory to L2
  };
  /// Beside products of so many units, which hide lines that stream. Without operands that are
  /// `counted`, as bits.
  Traffic traffic(const Spec& spec, i64 products, u8 counted = 0) const;
  i64 blocked(const Spec& spec, const Limits& limits, const ContractionBound& work,
              const Traffic& once) const;

  const Target& target_;
  Microkernels kernels_;
  Rates rates_;
};

}  // namespace morello

#endif
