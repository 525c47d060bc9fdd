// SPDX-License-Identifier: MIT
// The generic search on toy problems whose optimum is known another way.
#include "search/best_first.hh"

#include <doctest/doctest.h>

#include <map>
#include <new>
#include <random>
#include <thread>

namespace morello {
namespace {

struct ToyLimits {
  u32 memory = 0;
  bool within(const ToyLimits& other) const { return memory <= other.memory; }
  friend bool operator==(const ToyLimits&, const ToyLimits&) = default;
};

struct ToyDerivation {
  int count = 0;
  i64 own = 0;
  u32 allocated = 0;
  struct Child {
    u32 spec = 0;
    ToyLimits limits;
    u64 times = 1;
  };
  std::array<Child, 2> child;
};

/// A random and/or graph: node n has actions with up to two children below n, each allocating some
/// memory while its children run.
struct ToyProblem {
  using Key = u32;
  using Limits = ToyLimits;
  using Action = u32;
  using Derivation = ToyDerivation;
  using ActionList = std::vector<u32>;
  using Use = u32;
  static constexpr int kMaxChildren = 2;

  struct Edge {
    i64 own;
    u32 allocated;
    std::vector<std::pair<u32, u64>> children;
  };
  std::vector<std::vector<Edge>> nodes;
  std::vector<i64> bound;  // admissible: at most the cost with unbounded memory

  explicit ToyProblem(u64 seed) {
    std::mt19937_64 rng(seed);
    auto draw = [&](u64 n) { return rng() % n; };
    for (u32 n = 0; n < 60; n++) {
      std::vector<Edge> actions;
      for (u64 a = n == 0 ? 1 : draw(5); a > 0; a--) {
        Edge e{static_cast<i64>(draw(20)), static_cast<u32>(draw(4)), {}};
        for (u64 c = n == 0 ? 0 : draw(3); c > 0; c--)
          e.children.push_back({static_cast<u32>(draw(n)), 1 + draw(4)});
        actions.push_back(e);
      }
      nodes.push_back(actions);
    }
    std::map<std::pair<u32, u32>, i64> memo;
    for (u32 n = 0; n < nodes.size(); n++) {
      i64 cost = optimum(n, 1000, memo);
      bound.push_back(cost >= kInfinite ? 0 : cost * static_cast<i64>(draw(101)) / 100);
    }
  }

  i64 optimum(u32 node, u32 memory, std::map<std::pair<u32, u32>, i64>& memo) const {
    auto it = memo.find({node, memory});
    if (it != memo.end()) return it->second;
    i64 best = kInfinite;
    for (const Edge& e : nodes[node]) {
      if (e.allocated > memory) continue;
      i64 cost = e.own;
      for (auto [child, times] : e.children)
        cost =
            saturating_add(cost, saturating_mul(times, optimum(child, memory - e.allocated, memo)));
      best = std::min(best, cost);
    }
    return memo[{node, memory}] = best;
  }

  u64 hash(u32 key) const { return key * 0x9e3779b97f4a7c15ull >> 7; }
  void clamp(u32, ToyLimits&) const {}
  i64 lower_bound(u32 key, const ToyLimits&) const { return bound[key]; }
  bool is_heavy(u32) const { return false; }
  i64 quick_bound(u32 key, const ToyLimits&) const { return bound[key] / 2; }
  void list(u32 key, const ToyLimits&, ActionList& out) const {
    out.clear();
    for (u32 a = 0; a < nodes[key].size(); a++) out.push_back(a);
  }
  bool preview(u32 key, const ToyLimits& limits, u32 action, ToyDerivation& d) const {
    const Edge& e = nodes[key][action];
    if (e.allocated > limits.memory) return false;
    d.count = 0;
    d.own = e.own;
    d.allocated = e.allocated;
    for (auto [child, times] : e.children)
      d.child[d.count++] = {child, {limits.memory - e.allocated}, times};
    return true;
  }
  ToyLimits loosen(ToyLimits limits) const { return {(limits.memory + 3) / 4 * 4}; }
  Use use_of(const ToyDerivation& d) const { return d.allocated; }
  ToyLimits peaks(Use allocated, std::span<const ToyLimits> children) const {
    u32 most = 0;
    for (const ToyLimits& c : children) most = std::max(most, c.memory);
    return {most + allocated};
  }
  u64 order(u32 action) const { return action; }
};

/// Has no memory left after so many calls.
struct ExhaustedToy : ToyProblem {
  using ToyProblem::ToyProblem;
  mutable int calls_left = 0;

  void use() const {
    if (calls_left-- == 0) throw std::bad_alloc();
  }
  i64 lower_bound(u32 key, const ToyLimits& limits) const {
    use();
    return ToyProblem::lower_bound(key, limits);
  }
  void list(u32 key, const ToyLimits& limits, ActionList& out) const {
    use();
    ToyProblem::list(key, limits, out);
  }
  bool preview(u32 key, const ToyLimits& limits, u32 action, ToyDerivation& d) const {
    use();
    return ToyProblem::preview(key, limits, action, d);
  }
};

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("random and/or graphs: optimum, decision and peaks, whatever the order of the visits") {
    using Search = BestFirst<ToyProblem>;
    for (u64 seed = 1; seed <= 60; seed++) {
      ToyProblem problem(seed);
      std::map<std::pair<u32, u32>, i64> memo;
      std::map<std::pair<u32, u32>, Search::Solution> first;
      for (Search::Options options : {Search::Options{1, false}, Search::Options{7, true},
                                      Search::Options{7, false}, Search::Options{20, true}}) {
        Search search(problem, options);
        Search::Worker worker(search);
        for (u32 node = static_cast<u32>(problem.nodes.size()); node-- > 0;)
          for (u32 memory : {9u, 3u, 0u, 1u, 30u}) {
            Search::Solution s;
            REQUIRE(search.solve(node, {memory}, worker, s));
            INFO("seed " << seed << ", node " << node << ", memory " << memory << ", slack "
                         << options.slack_shift << ", borrow " << options.borrow);
            i64 expected = problem.optimum(node, memory, memo);
            CHECK(s.cost == expected);
            REQUIRE(s.feasible == (expected < kInfinite));
            auto [it, is_first] = first.insert({{node, memory}, s});
            if (!s.feasible) continue;
            CHECK(s.peaks.memory <= memory);
            CHECK(s.action == it->second.action);
            CHECK(s.peaks == it->second.peaks);
          }
      }
    }
  }

  TEST_CASE("threads in one graph find what one thread finds") {
    using Search = BestFirst<ToyProblem>;
    for (u64 seed = 1; seed <= 200; seed++) {
      ToyProblem problem(seed);
      u32 root = static_cast<u32>(problem.nodes.size()) - 1;
      Search alone(problem), shared(problem);
      Search::Worker worker(alone);
      Search::Solution expected;
      REQUIRE(alone.solve(root, {20}, worker, expected));
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; t++)
        threads.emplace_back([&] {
          Search::Worker own(shared);
          Search::Solution s;
          if (shared.solve(root, {20}, own, s)) shared.stop();
        });
      for (std::thread& t : threads) t.join();
      Search::Solution s;
      REQUIRE(shared.known(root, {20}, s));
      INFO("seed " << seed);
      CHECK(s.cost == expected.cost);
      CHECK(s.feasible == expected.feasible);
      if (!s.feasible) continue;
      CHECK(s.action == expected.action);
      CHECK(s.peaks == expected.peaks);
    }
  }

  TEST_CASE("a search that was stopped goes on where it was") {
    using Search = BestFirst<ToyProblem>;
    ToyProblem problem(7);
    std::map<std::pair<u32, u32>, i64> memo;
    Search search(problem);
    Search::Worker worker(search);
    int calls = 0, stops = 0;
    worker.set_check([&] { return ++calls % 2 == 0; }, 1);
    for (u32 node = 0; node < problem.nodes.size(); node++) {
      Search::Solution s;
      while (!search.solve(node, {20}, worker, s)) {
        stops++;
        search.allow();
        CHECK(search.low(node, {20}, worker) <= problem.optimum(node, 20, memo));
      }
      CHECK(s.cost == problem.optimum(node, 20, memo));
    }
    CHECK(stops > 10);
  }

  TEST_CASE("a graph in which allocations failed is as good as before") {
    using Search = BestFirst<ExhaustedToy>;
    int failures = 0;
    for (u64 seed = 1; seed <= 60; seed++) {
      ExhaustedToy problem(seed);
      std::map<std::pair<u32, u32>, i64> memo;
      Search search(problem);
      const u32 root = static_cast<u32>(problem.nodes.size()) - 1;
      Search::Solution s;
      for (int calls = 0; s.cost == kInfinite && calls < 300; calls++) {
        Search::Worker worker(search);
        problem.calls_left = calls;
        try {
          const bool solved = search.solve(root, {20}, worker, s);
          CHECK(solved);
          break;
        } catch (const std::bad_alloc&) {
          failures++;
        }
      }
      INFO("seed " << seed);
      CHECK(s.cost == problem.optimum(root, 20, memo));
    }
    CHECK(failures > 200);
  }
}

}  // namespace morello
