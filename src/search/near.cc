// SPDX-License-Identifier: MIT
#include "search/near.hh"

#include <algorithm>
#include <vector>

#include "spec/canonical.hh"
#include "spec/ladder.hh"
#include "table/walk.hh"

namespace morello {
namespace {

/// Up to so many sizes that are not on the ladder are rounded in all combinations; more, all down
/// or all up.
constexpr int kMostCombined = 3;

/// Of what is decided, those with the lowest bounds: a third one makes searches of large sizes
/// longer, and programs no better.
constexpr size_t kMostListed = 2;

/// The next smaller size on the ladder.
u32 below(u32 size) { return *std::prev(std::lower_bound(kLadder.begin(), kLadder.end(), size)); }

/// Calls visit(Spec) for each combination of near sizes, `spec` itself first.
template <class Visit>
void each_near(const Spec& spec, const Visit& visit) {
  visit(spec);
  std::array<int, kMaxDims> odd{};
  int count = 0;
  for (int d = 0; d < spec.rank; d++)
    if (!on_ladder(spec.size[d])) odd[static_cast<size_t>(count++)] = d;
  if (count == 0) return;
  const bool together = count > kMostCombined;
  for (u32 up = 0; up < (together ? 2u : 1u << count); up++) {
    Spec near = spec;
    for (int i = 0; i < count; i++) {
      const int d = odd[static_cast<size_t>(i)];
      near.size[d] =
          (together ? up : up >> i & 1) ? next_on_ladder(spec.size[d]) : below(spec.size[d]);
    }
    visit(near);
  }
}

}  // namespace

NearDecisions::NearDecisions(const Table& table, const Target& target)
    : table_(table),
      target_(with_machine(target, 0, 0, table.identity().processors)),
      context_{&target_},
      few_{&target_},
      bounds_(target_, context_.microkernels) {
  few_.breadth = Breadth::kFew;
}

void NearDecisions::list_decided(const Spec& spec, const Limits& limits, ActionList& out) const {
  out.clear();
  ActionList scratch;
  Derivation d;
  struct Candidate {
    i64 bound;  // of what it leads to
    Action action;
  };
  std::vector<Candidate> found;
  each_near(spec, [&](const Spec& near) {
    Limits clamped = limits;
    clamp_limits(near, clamped);
    std::optional<Action> action = table_.find(near, clamped);
    if (!action) return;
    const bool tiles =
        action->kind == ActionKind::kTile || action->kind == ActionKind::kParallelTile;
    if (tiles && action->arg < spec.rank && action->size >= spec.size[action->arg])
      action->size = below(spec.size[action->arg]);
    const auto same = [&](const Candidate& c) { return c.action == *action; };
    if (std::any_of(found.begin(), found.end(), same)) return;
    if (!is_listed(spec, limits, *action, context_, scratch)) return;
    if (!preview(spec, limits, *action, context_, d)) return;
    found.push_back({0, *action});
  });
  if (found.size() > kMostListed)
    for (Candidate& c : found) {
      preview(spec, limits, c.action, context_, d);
      c.bound = d.own;
      for (int i = 0; i < d.count; i++) {
        Limits rest = d.child[i].limits;
        clamp_limits(d.child[i].spec, rest);
        c.bound = saturating_add(
            c.bound, saturating_mul(d.child[i].times, bounds_.of(d.child[i].spec, rest)));
      }
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
  for (size_t i = 0; i < std::min(kMostListed, found.size()); i++) out.add(found[i].action);
}

void NearDecisions::list(const Spec& spec, const Limits& limits, ActionList& out) const {
  list_decided(spec, limits, out);
  ActionList decided;
  std::swap(decided, out);
  list_actions(spec, limits, few_, out);
  for (const Action& action : decided)
    if (std::find(out.begin(), out.end(), action) == out.end()) out.add(action);
}

bool NearDecisions::has(const Spec& spec, const Limits& limits) const {
  ActionList list;
  list_decided(spec, limits, list);
  return list.size() != 0;
}

std::optional<ImplTree> NearDecisions::guess(const Spec& spec) const {
  return morello::guess(table_, spec, target_);
}

i64 NearDecisions::lower_bound(const Spec& spec) const {
  Limits limits = limits_of(target_);
  clamp_limits(spec, limits);
  return bounds_.of(spec, limits);
}

i64 NearDecisions::expected_cost(const Spec& spec) const {
  const auto bound = [&](const Spec& s) { return static_cast<double>(lower_bound(s)); };
  double worst = 0;
  each_near(spec, [&](const Spec& near) {
    if (!not_canonical(near).empty()) return;  // sizes past what tensors may have
    if (const std::optional<ImplTree> tree = program(table_, near, target_))
      worst = std::max(worst, static_cast<double>(tree->nodes[0].cost) / bound(near));
  });
  return static_cast<i64>(worst * bound(spec));
}

}  // namespace morello
