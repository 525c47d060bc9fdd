// SPDX-License-Identifier: MIT
#include "codegen/tile_sizes.hh"

#include <algorithm>
#include <optional>

#include "cost/tiles.hh"

namespace morello {
namespace {

/// None: they differ from way to way, or are not set.
using Sizes = std::optional<TileSizes>;

/// Follows all ways through a plan. What a call was once marked for stays: a loop is followed again
/// where its body ends with other sizes than it began with.
class Walk {
 public:
  Walk(Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  void run() {
    for (const PlanFunction& f : plan_.functions)
      if (!f.routine) around(f.body, std::nullopt, !f.steps.empty());
  }

 private:
  Sizes along(const std::vector<PlanId>& ids, Sizes sizes) {
    for (PlanId id : ids) sizes = through(plan_.nodes[id], sizes);
    return sizes;
  }

  Sizes around(const std::vector<PlanId>& body, const Sizes& before, bool repeats) {
    const Sizes after = along(body, before);
    if (!repeats || after == before) return after;
    return along(body, std::nullopt);
  }

  Sizes through(PlanNode& node, const Sizes& before) {
    if (const auto* loop = std::get_if<PlanLoop>(&node))
      return along(loop->rest, around(loop->body, before, loop->trips > 1));
    if (const auto* parallel = std::get_if<PlanParallel>(&node))
      return along(parallel->rest, std::nullopt);
    if (const auto* invoke = std::get_if<PlanInvoke>(&node))
      return along(plan_.functions[invoke->function].body, before);
    PlanCall& call = std::get<PlanCall>(node);
    if (call.id != MicrokernelId::kTileProduct) return before;
    const TileSizes wanted = tile_use_of(call.spec, target_).sizes();
    if (before != wanted) call.sets_tiles = true;
    return wanted;
  }

  Plan& plan_;
  const Target& target_;
};

}  // namespace

bool uses_tiles(const Plan& plan) {
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const PlanNode& node) {
    const auto* call = std::get_if<PlanCall>(&node);
    return call != nullptr && call->id == MicrokernelId::kTileProduct;
  });
}

void set_tile_sizes(Plan& plan, const Target& target) {
  if (uses_tiles(plan)) Walk(plan, target).run();
}

}  // namespace morello
