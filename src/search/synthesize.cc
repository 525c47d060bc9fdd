// SPDX-License-Identifier: MIT
#include "search/synthesize.hh"

#include <algorithm>
#include <chrono>
#include <map>

#include "search/best_first.hh"
#include "search/spec_problem.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

u64 microseconds_since(Clock::time_point start) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

/// Builds the tree of a solved Spec from the decisions in the memo. Equal (Spec, limits) pairs
/// share a node.
class TreeBuilder {
 public:
  TreeBuilder(BestFirst<SpecProblem>& search, const SpecProblem& problem)
      : search_(search), problem_(problem) {}

  /// False if the search was stopped before some pair was solved.
  bool build(const Spec& spec, const Limits& limits, ImplTree& tree) {
    NodeId root = 0;
    if (!build_node(spec, limits, tree, root)) return false;
    // Made children first; turned around, children come after all their parents.
    std::reverse(tree.nodes.begin(), tree.nodes.end());
    for (ImplNode& node : tree.nodes)
      for (Edge& edge : node.children) edge.node = root - edge.node;
    return true;
  }

 private:
  struct Known {
    Spec spec;
    Limits limits;
    NodeId node;
  };

  bool build_node(const Spec& spec, const Limits& limits, ImplTree& tree, NodeId& id) {
    BestFirst<SpecProblem>::Solution s;
    if (!search_.solve(spec, limits, s)) return false;
    Derivation d;
    problem_.preview(spec, limits, s.action, d);
    ImplNode node = apply(spec, s.action, problem_.context(), d);
    node.cost = s.cost;
    node.peaks = s.peaks;
    for (int i = 0; i < d.count; i++) {
      NodeId& child = node.children[static_cast<size_t>(i)].node;
      if (!build_shared(d.child[i].spec, d.child[i].limits, tree, child)) return false;
    }
    id = static_cast<NodeId>(tree.nodes.size());
    tree.nodes.push_back(std::move(node));
    return true;
  }

  bool build_shared(const Spec& spec, const Limits& limits, ImplTree& tree, NodeId& id) {
    auto [begin, end] = known_.equal_range(hash_of(spec));
    for (auto it = begin; it != end; ++it)
      if (it->second.spec == spec && it->second.limits == limits) {
        id = it->second.node;
        return true;
      }
    if (!build_node(spec, limits, tree, id)) return false;
    known_.insert({hash_of(spec), {spec, limits, id}});
    return true;
  }

  BestFirst<SpecProblem>& search_;
  const SpecProblem& problem_;
  std::multimap<u64, Known> known_;
};

}  // namespace

Result<ImplTree> synthesize(const Spec& spec, const Target& target, const SearchOptions& options,
                            SearchStats* stats) {
  auto start = Clock::now();
  Target adjusted = with_machine(target, 0, 0, options.threads);
  SpecProblem problem({&adjusted, options.disabled_actions}, options.use_bounds);
  BestFirst<SpecProblem> search(problem, options.slack_shift);
  bool out_of_time = false;
  search.set_check([&](const BestFirst<SpecProblem>& s) {
    if (options.time_budget_us && microseconds_since(start) >= options.time_budget_us) {
      out_of_time = true;
      return false;
    }
    return !options.memory_budget_bytes || s.bytes() <= options.memory_budget_bytes;
  });

  Spec root = spec;
  root.serial = options.threads <= 1;
  Limits limits = limits_of(adjusted);
  BestFirst<SpecProblem>::Solution solution;
  ImplTree tree;
  tree.target = &target;
  bool done = search.solve(root, limits, solution);
  if (done && solution.feasible) done = TreeBuilder(search, problem).build(root, limits, tree);
  if (stats) {
    const SearchCounts& c = search.counts();
    *stats = {search.keys(),  search.entries(),         c.expanded, c.previews, c.memo_hits,
              search.bytes(), microseconds_since(start)};
  }
  if (!done) {
    std::string what =
        out_of_time ? "time budget of " + std::to_string(options.time_budget_us) + " microseconds"
                    : "memory budget of " + std::to_string(options.memory_budget_bytes) + " bytes";
    return Error{MORELLO_BUDGET_EXCEEDED,
                 "the " + what +
                     " ended the search before a program was found; known so far: the cheapest "
                     "costs at least " +
                     std::to_string(search.low(root, limits) / kUnitsPerCycle) +
                     " cycles; raise the budget, or set it to 0 for no limit"};
  }
  if (!solution.feasible)
    return Error{MORELLO_NO_IMPLEMENTATION,
                 "no program for " + describe(spec) + " fits the memory limits of target " +
                     std::string(target.name) + " (" + std::string(target.machine) + ")"};
  return tree;
}

}  // namespace morello
