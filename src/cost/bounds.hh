// SPDX-License-Identifier: MIT
// Admissible lower bounds: at most the cost of any program for a Spec within its memory limits.
// They steer the search and never decide: a bound that is too high would lose the optimum (and the
// tests compare with brute force).
#ifndef MORELLO_COST_BOUNDS_HH
#define MORELLO_COST_BOUNDS_HH

#include <vector>

#include "cost/model.hh"
#include "spec/limits.hh"

namespace morello {

/// Immutable after construction; for one target.
class Bounds {
 public:
  explicit Bounds(const Target& target);

  i64 of(const Spec& spec, const Limits& limits) const;

 private:
  i64 contraction(const Spec& spec) const;
  i64 map(const Spec& spec) const;
  i64 traffic(const Spec& spec, const Limits& limits) const;
  /// Fixed point (1 << kFraction) units per vector FMA, the best of all register tiles up to rows x
  /// vecs.
  i64 rate(u64 rows, u64 vecs) const;

  static constexpr int kFraction = 10;
  const Target& target_;
  u32 max_tile_ = 1;       // vectors of the largest register tile, at least 1
  std::vector<i64> rate_;  // [rows][vecs], both up to vector_registers
};

}  // namespace morello

#endif
