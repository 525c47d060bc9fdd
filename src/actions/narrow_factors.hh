// SPDX-License-Identifier: MIT
// Factors that are narrower than what they are computed in: which of them are widened, and where
// what is read in vectors stays in its rows.
#ifndef MORELLO_ACTIONS_NARROW_FACTORS_HH
#define MORELLO_ACTIONS_NARROW_FACTORS_HH

#include "actions/action.hh"

namespace morello {

/// Is it a factor that is narrower than what it is computed in, in f32?
bool is_narrow_factor(const Spec& spec, int operand);
/// Is it one that no instruction of the target multiplies faster than FMAs multiply what is
/// widened?
bool is_multiplied_wide(const Spec& spec, int operand, const Target& target);
/// Rows of two vectors at least: what is narrower may be summed along the reduced dimension.
bool has_wide_rows(const Spec& spec, const Target& target);
/// A factor that is multiplied wide and read by broadcasts: brought nearer as it is, it might as
/// well have been widened.
bool is_best_widened(const Spec& spec, int operand, const ActionContext& context);
/// Of a product of which a factor is narrower than the sums (Restriction::kNarrowInRows):
struct NarrowInRows {
  NarrowInRows(const Spec& spec, const ActionContext& context);
  /// May the operand not come to this cache yet, or not as a copy? What is read in vectors comes to
  /// L1 when the sums are in a cache, and is not copied to L2 if rows are so few that one
  /// copy in L1 serves them all (tile registers multiply so fast that copies count).
  bool keeps_away(int operand, Level cache, bool copies) const;
  /// Are few rows not cut yet, as their columns are many?
  bool keeps_rows() const { return few_in_tile_; }

 private:
  int vectors_ = -1;  // the factor that is read in them; -1: not restricted
  bool sums_far_ = false;
  bool few_ = false, few_in_tile_ = false;
};

}  // namespace morello

#endif
