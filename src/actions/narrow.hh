// SPDX-License-Identifier: MIT
// The restrictions that make narrower spaces of programs (Breadth): what is asked while actions are
// listed there. docs/search.md says what each is for, and what it costs.
#ifndef MORELLO_ACTIONS_NARROW_HH
#define MORELLO_ACTIONS_NARROW_HH

#include <optional>

#include "actions/action.hh"

namespace morello {

/// The tiles of one dimension: the few that caches and register tiles suggest. Those for caches
/// divide one another, so that what they leave over are few sizes.
class ChainTiles {
 public:
  /// Of the whole space: those that it has in any case.
  ChainTiles(const Spec& spec, ActionKind kind, u8 dim, const ActionContext& context,
             bool of_whole = false);
  bool has(u32 size) const;

 private:
  bool is_vector_tile(u32 size) const;
  bool is_row_tile(u32 size) const;
  bool is_block(u32 size) const;
  bool is_share(u32 size) const;

  bool all_ = false;  // not restricted
  bool parallel_ = false, combines_ = false, in_l1_ = false;
  bool reduced_ = false, by_ones_ = false;  // the dimension; its elements one by one
  bool along_vectors_ = false;              // the dimension
  bool longest_ = false;                    // no side of the results is longer
  bool six_vectors_ = false, shallow_ = false, streams_ = false;
  bool keeps_lanes_ = false;  // of vectors that factors share
  u32 lanes_ = 1, whole_ = 1, processors_ = 1;
  u32 blocks_ = 0, reduced_tiles_ = 0, least_vectors_ = 1, most_vectors_ = 1;
  u32 window_tile_ = 0;              // beside terms of windows; 0: none
  u32 tile_rows_ = 0;                // of tile registers that take the factors; 0: none
  u32 matrix_rows_ = 0;              // that come as one run where a vector is multiplied; 0: any
  u32 matrix_columns_ = 0;           // for which sums fit L1 then; 0: all
  u64 rows_ = 1;                     // along vectors: of results besides
  u32 vectors_ = 1, most_rows_ = 1;  // else: of a row; of registers
};

/// Panels of so many vectors.
bool is_usual_panel(u32 vectors, const ActionContext& context);

/// May an operand come to L1, or does it wait until its tile is one of registers?
bool comes_near(const Spec& spec, int operand, const ActionContext& context);
/// An operand of a step that every result reads another element of: it is best where it is.
bool stays_away(const Spec& spec, int operand, const ActionContext& context);
/// Few products of each result, whose factors share its vectors: nothing is copied, and vectors
/// stay.
bool has_few_in_lanes(const Spec& spec, const ActionContext& context);
/// Are values of graphs kept at one level, the nearest of which they take half?
bool keeps_near(const ActionContext& context);
/// One buffer of a chain's sums is enough: the output.
bool needs_no_buffer(const Spec& spec, const ActionContext& context);

/// Of the fewest actions those that bring one operand nearer, if one may come to a cache of which
/// it takes a small part, and microkernels: when it comes, and in what order, makes little
/// difference.
void keep_first_move(const Spec& spec, const ActionContext& context, ActionList& list);

/// The only action of a Spec, where one is as good as sure: small operands of steps come nearer,
/// and batches are loops, also those of graphs.
std::optional<Action> sure_action(const Spec& spec, const ActionContext& context);

}  // namespace morello

#endif
