// SPDX-License-Identifier: MIT
#include "search/batch_loops.hh"

#include "actions/narrow.hh"
#include "actions/placement.hh"

namespace morello {
namespace {

/// Leaves those actions that `keep` wants, if `needs` wants one of them. True if some were left
/// out.
template <class Keep, class Needs>
bool filter(ActionList& list, const Keep& keep, const Needs& needs) {
  ActionList kept;
  bool good = false;
  for (const Action& action : list) {
    good = good || needs(action);
    if (keep(action)) kept.add(action);
  }
  if (!good || kept.size() == list.size()) return false;
  std::swap(list, kept);
  return true;
}

/// Tiles that get a buffer of their own, at least, along each dimension.
constexpr u32 kLeastTile = 12;

/// Products of a result, up to which it is results that cost.
constexpr u64 kShallow = 32;

bool is_loop(const Action& action, u8 dim) {
  return action.kind == ActionKind::kTile && action.arg == dim && action.size == 1;
}

/// Copies an operand in which neighbours are of one batch, so that a loop over this reads what is
/// near.
bool packs_batch(const Spec& spec, const Action& action) {
  if (action.kind != ActionKind::kPack && action.kind != ActionKind::kWiden) return false;
  const u8 fastest = unit_dim(spec.operand[action.arg]);
  return action.arg != spec.out_index() && fastest != kNoDim && both_have(spec, fastest);
}

/// Loops, while there is a batch.
bool keep_loops(const Spec& spec, ActionList& list) {
  for (u8 dim : spec.out().layout.dim) {  // from slow to fast
    if (dim == kNoDim) break;
    if (spec.size[dim] == 1 || !both_have(spec, dim)) continue;
    // Each line of results would be written once for each of them, which few products outweigh.
    if (dim == unit_dim(spec.out()) && spec.out().level == Level::kMemory &&
        points_of(spec, spec.reduced()) <= kShallow)
      continue;
    const auto loops = [&](const Action& action) { return is_loop(action, dim); };
    // Lines of results that loops write parts of should stay near.
    const bool shares = dim == unit_dim(spec.out()) && spec.out().level == Level::kMemory;
    const auto gathers = [&](const Action& a) {
      if (!shares) return false;
      if (a.kind == ActionKind::kTile) return has_dim(spec.out().dims, a.arg);
      return (a.kind == ActionKind::kView || a.kind == ActionKind::kPack) &&
             a.arg == spec.out_index();
    };
    const auto keep = [&](const Action& action) {
      return loops(action) || gathers(action) || action.kind == ActionKind::kParallelTile ||
             packs_batch(spec, action);
    };
    bool has_loop = false;
    for (const Action& action : list) has_loop = has_loop || loops(action);
    if (has_loop) return filter(list, keep, loops);
  }
  return false;
}

/// Where a loop has left results that are apart in memory: they are made in a buffer.
bool keep_buffers(const Spec& spec, ActionList& list) {
  const Operand& out = spec.out();
  if (out.level == Level::kRegister || out.dims == 0 || unit_dim(out) != kNoDim) return false;
  const auto buffers = [&](const Action& a) {
    return a.kind == ActionKind::kBufferize ||
           ((a.kind == ActionKind::kPack || a.kind == ActionKind::kWiden) &&
            a.arg == spec.out_index());
  };
  const auto keep = [&](const Action& a) {
    return buffers(a) || a.kind == ActionKind::kParallelTile ||
           (a.kind == ActionKind::kTile && a.size >= kLeastTile && has_dim(out.dims, a.arg));
  };
  return filter(list, keep, buffers);
}

}  // namespace

void BatchLoops::list(const Spec& spec, const Limits& limits, ActionList& out) const {
  list_actions(spec, limits, all_, out);
  if (contraction_of(spec) && is_chain(spec) && !keep_loops(spec, out)) keep_buffers(spec, out);
  keep_first_move(spec, context_, out);
}

}  // namespace morello
