// SPDX-License-Identifier: MIT
#include "actions/narrow_factors.hh"

#include "cost/tiles.hh"
#include "spec/roles.hh"
#include "target/dots.hh"

namespace morello {

bool is_narrow_factor(const Spec& spec, int operand) {
  const Stage* product = contraction_of(spec);
  if (!product || product->dtype != Dtype::kF32) return false;
  return (product->in[0] == operand || product->in[1] == operand) &&
         size_of(spec.operand[operand].dtype) < size_of(product->dtype);
}

bool is_multiplied_wide(const Spec& spec, int operand, const Target& target) {
  if (!is_narrow_factor(spec, operand)) return false;
  if (both_have_vectors(spec)) return true;
  const Stage& product = *contraction_of(spec);
  auto type = [&](Ref in) {
    return is_operand(in) ? spec.operand[in].dtype : spec.stage[stage_of(in)].dtype;
  };
  return most_products(target, type(product.in[0]), type(product.in[1]), product.dtype) == 1;
}

bool has_wide_rows(const Spec& spec, const Target& target) {
  const u8 v = unit_dim(spec.out());
  return v != kNoDim && spec.size[v] >= 2 * computed_lanes(spec, target);
}

bool is_best_widened(const Spec& spec, int operand, const ActionContext& context) {
  const Operand& x = spec.operand[operand];
  return size_of(x.dtype) < 4 && context.restricts(Restriction::kNarrowCopies) && is_chain(spec) &&
         has_wide_rows(spec, *context.target) && !has_dim(x.dims, unit_dim(spec.out())) &&
         has_dim(spec.reduced(), unit_dim(x)) && has_plain_windows(spec, x) &&
         is_multiplied_wide(spec, operand, *context.target);
}

NarrowInRows::NarrowInRows(const Spec& spec, const ActionContext& context) {
  // Rows of the other factor that L2 holds; more vectors than those of any register tile; rows
  // that need no cut for a cache.
  constexpr u64 kRowsOfCache = 512, kManyVectors = 64, kFewRows = 64, kLeastDepth = 32;
  const u8 v = unit_dim(spec.out());
  if (!is_chain(spec) || !contraction_of(spec) || v == kNoDim) return;
  if (!context.restricts(Restriction::kNarrowInRows)) return;
  auto [other, vectors] = factors_of(spec);
  if (!is_operand(other) || !is_operand(vectors)) return;
  if (!has_dim(spec.operand[vectors].dims, v)) std::swap(other, vectors);
  const Operand &a = spec.operand[other], &b = spec.operand[vectors];
  if (std::min(size_of(a.dtype), size_of(b.dtype)) >= kElementBytes) return;
  if (!has_dim(b.dims, v) || has_dim(a.dims, v)) return;
  vectors_ = vectors;
  const bool deep = points_of(spec, spec.reduced()) >= kLeastDepth;
  sums_far_ = deep && has_wide_rows(spec, *context.target) && spec.out().level == Level::kMemory;
  const u64 rows = points_of(spec, static_cast<DimMask>(spec.out().dims & ~b.dims));
  few_ = deep && !takes_tiles(spec, *context.target) && rows <= kRowsOfCache;
  few_in_tile_ = rows <= kFewRows && b.level > Level::kL1 &&
                 spec.size[v] > kManyVectors * computed_lanes(spec, *context.target);
}

bool NarrowInRows::keeps_away(int operand, Level cache, bool copies) const {
  if (operand != vectors_) return false;
  return cache == Level::kL1 ? sums_far_ : copies && few_;
}

}  // namespace morello
