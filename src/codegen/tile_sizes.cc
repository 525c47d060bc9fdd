// SPDX-License-Identifier: MIT
#include "codegen/tile_sizes.hh"

#include <algorithm>
#include <optional>

namespace morello {
namespace {

/// What is set; none: nothing, or not always the same.
using Sizes = std::optional<TileSizes>;

/// What the calls of a part of a plan want.
struct Wanted {
  Sizes sizes;         // of the first one
  bool mixed = false;  // others want others, or it has parts for threads
};

class Setter {
 public:
  Setter(Plan& plan, const Target& target)
      : plan_(plan),
        target_(target),
        wanted_(plan.functions.size()),
        after_(plan.functions.size()) {}

  void run() {
    // A routine calls only those that were made before it.
    for (size_t f = 0; f < plan_.functions.size(); f++)
      if (plan_.functions[f].routine) set_in_routine(f);
    for (PlanFunction& f : plan_.functions)
      if (!f.routine) set_in(f.body, std::nullopt);
  }

 private:
  void set_in_routine(size_t f) {
    PlanFunction& routine = plan_.functions[f];
    wanted_[f] = of(routine.body);
    if (wanted_[f].mixed) after_[f] = set_in(routine.body, std::nullopt);
  }

  Wanted of(const std::vector<PlanId>& ids) const {
    Wanted all;
    for (PlanId id : ids) add(all, of(plan_.nodes[id]));
    return all;
  }
  static void add(Wanted& all, const Wanted& more) {
    all.mixed |= more.mixed || (all.sizes && more.sizes && all.sizes != more.sizes);
    if (!all.sizes) all.sizes = more.sizes;
  }
  Wanted of(const PlanNode& node) const {
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      Wanted all = of(loop->body);
      add(all, of(loop->rest));
      return all;
    }
    if (std::holds_alternative<PlanParallel>(node)) return {std::nullopt, true};
    if (const auto* invoke = std::get_if<PlanInvoke>(&node)) return wanted_[invoke->function];
    const auto* call = std::get_if<PlanCall>(&node);
    if (call == nullptr || call->id != MicrokernelId::kTileProduct) return {};
    return {tile_use_of(call->spec, target_).sizes(), false};
  }

  /// What is set after the nodes.
  Sizes set_in(std::vector<PlanId>& ids, Sizes set) {
    std::vector<PlanId> out;
    const auto need = [&](const Sizes& sizes) {
      if (!sizes || sizes == set) return;
      out.push_back(static_cast<PlanId>(plan_.nodes.size()));
      plan_.nodes.emplace_back(std::in_place_type<PlanTiles>, PlanTiles{*sizes});
      set = sizes;
    };
    for (PlanId id : ids) {
      if (const Wanted wanted = of(plan_.nodes[id]); !wanted.mixed) {
        need(wanted.sizes);
        out.push_back(id);
        continue;
      }
      PlanNode node = plan_.nodes[id];  // new ones move it
      if (auto* loop = std::get_if<PlanLoop>(&node)) {
        if (const Wanted body = of(loop->body); !body.mixed)
          need(body.sizes);
        else  // what its end sets is set where it begins again
          set = set_in(loop->body, loop->trips > 1 ? std::nullopt : set);
        set = set_in(loop->rest, set);
      } else if (auto* parallel = std::get_if<PlanParallel>(&node)) {
        set = set_in(parallel->rest, std::nullopt);
      } else {
        set = after_[std::get<PlanInvoke>(node).function];
      }
      plan_.nodes[id] = std::move(node);
      out.push_back(id);
    }
    ids = std::move(out);
    return set;
  }

  Plan& plan_;
  const Target& target_;
  // Of routines:
  std::vector<Wanted> wanted_;
  std::vector<Sizes> after_;
};

}  // namespace

bool uses_tiles(const Plan& plan) {
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const PlanNode& node) {
    const auto* call = std::get_if<PlanCall>(&node);
    return call != nullptr && call->id == MicrokernelId::kTileProduct;
  });
}

void set_tile_sizes(Plan& plan, const Target& target) {
  if (uses_tiles(plan)) Setter(plan, target).run();
}

}  // namespace morello
