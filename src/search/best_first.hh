// SPDX-License-Identifier: MIT
// Exact resumable best-first search with a memo, for any problem of the form
//   cost(key, limits) = min over actions of own + sum over children of times * cost(child),
// with non-negative own costs, children that never lead back to their parent, and a lower bound.
//
// Every (key, limits) pair keeps its open actions in a heap ordered by a lower bound f of their
// cost. improve(pair, bound) takes the best action, improves its children just far enough to pass
// the second best, and puts it back with its better f, until the best action is complete (it is
// then the optimum) or the pair's lower bound reaches `bound`. Nothing is forgotten between visits,
// so nothing is redone.
//
// Among actions of equal cost the first in Problem::order() wins, whatever the order of the visits:
// an action is taken only when no incomplete one could still reach its cost.
#ifndef MORELLO_SEARCH_BEST_FIRST_HH
#define MORELLO_SEARCH_BEST_FIRST_HH

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cost/model.hh"
#include "support/alloc.hh"
#include "table/memo.hh"

namespace morello {

/// Counters of one search.
struct SearchCounts {
  u64 expanded = 0;
  u64 previews = 0;
  u64 memo_hits = 0;
  u64 open_bytes = 0;  // heaps of open actions, at their peak
};

/// Problem has: types Key, Limits, Action, Derivation (count, own, child[i].{spec, limits, times});
/// hash(key), clamp(key, limits), lower_bound(key, limits), list(key, limits, vector<Action>-like),
/// preview(key, limits, action, derivation) -> bool, peaks(derivation, span<Limits>),
/// order(action), and the constant kMaxChildren. See spec_problem.hh and the toy problems in the
/// tests.
template <class Problem>
class BestFirst {
 public:
  using Key = typename Problem::Key;
  using Limits = typename Problem::Limits;
  using Action = typename Problem::Action;
  using Derivation = typename Problem::Derivation;

  struct Solution {
    bool feasible = false;
    i64 cost = kInfinite;
    Limits peaks;
    Action action;
  };

  /// `slack_shift`: children are improved to 1 + 2^-slack_shift times the second best, which stops
  /// thrashing between close actions. The result does not depend on it.
  explicit BestFirst(const Problem& problem, int slack_shift = 7)
      : problem_(problem), slack_shift_(slack_shift) {}

  /// Called now and then with the counts; false ends the search.
  void set_check(std::function<bool(const BestFirst&)> check) { check_ = std::move(check); }

  /// Solves (key, limits). False if the check ended the search; it can be resumed by calling again.
  bool solve(const Key& key, Limits limits, Solution& out) {
    stopped_ = false;
    EntryId id = entry_of(key, limits);
    improve(id, kInfinite);
    const Entry& e = memo_[id];
    if (!e.solved) return false;
    out = {e.feasible, e.low, e.peaks, e.action};
    return true;
  }

  /// The lower bound known for a pair.
  i64 low(const Key& key, Limits limits) { return memo_[entry_of(key, limits)].low; }

  const SearchCounts& counts() const { return counts_; }
  size_t keys() const { return memo_.keys(); }
  size_t entries() const { return memo_.entries(); }
  size_t bytes() const { return memo_.bytes() + counts_.open_bytes; }

 private:
  struct Candidate {
    i64 f;
    Action action;
    Limits peaks;
    bool complete;
  };
  using Heap = std::vector<Candidate, BlockAllocator<Candidate>>;
  struct Entry {
    Limits limits{};
    Limits peaks{};
    i64 low = 0;
    bool solved = false, feasible = false, open = false;
    Action action{};
    Heap heap;
  };

  /// Heap order: the root is the smallest f; incomplete ones first, so that ties are all resolved.
  struct Later {
    const Problem& problem;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.f != b.f) return a.f > b.f;
      if (a.complete != b.complete) return a.complete;
      return problem.order(a.action) > problem.order(b.action);
    }
  };

  EntryId entry_of(const Key& key, Limits limits) {
    problem_.clamp(key, limits);
    u64 hash = problem_.hash(key);
    EntryId id = memo_.find(key, hash, limits);
    if (id != kNoEntry) {
      counts_.memo_hits++;
      return id;
    }
    id = memo_.add(key, hash, limits);
    Entry& e = memo_[id];
    e.low = std::max(e.low, problem_.lower_bound(key, limits));
    return id;
  }

  void expand(EntryId id) {
    Entry& e = memo_[id];
    const Key& key = memo_.key_of(id);
    counts_.expanded++;
    problem_.list(key, e.limits, actions_);
    Derivation& d = derivation_;
    for (const Action& a : actions_) {
      counts_.previews++;
      if (!problem_.preview(key, e.limits, a, d)) continue;
      i64 f = d.own;
      for (int i = 0; i < d.count && f < kInfinite; i++)
        f = saturating_add(
            f, saturating_mul(d.child[i].times,
                              problem_.lower_bound(d.child[i].spec, d.child[i].limits)));
      if (f >= kInfinite) continue;
      Candidate c{f, a, {}, d.count == 0};
      if (c.complete) c.peaks = problem_.peaks(d, {});
      e.heap.push_back(c);
    }
    e.heap.shrink_to_fit();
    open_bytes_ += e.heap.capacity() * sizeof(Candidate);
    counts_.open_bytes = std::max(counts_.open_bytes, open_bytes_);
    std::make_heap(e.heap.begin(), e.heap.end(), Later{problem_});
    e.open = true;
    if (check_ && counts_.expanded % 64 == 0 && !check_(*this)) stopped_ = true;
  }

  void close(Entry& e, bool feasible, i64 cost) {
    e.solved = true;
    e.feasible = feasible;
    e.low = cost;
    open_bytes_ -= e.heap.capacity() * sizeof(Candidate);
    Heap().swap(e.heap);
  }

  void improve(EntryId id, i64 bound) {
    Entry& e = memo_[id];
    if (e.solved || e.low >= bound || stopped_) return;
    if (!e.open) expand(id);
    while (!stopped_) {
      if (e.heap.empty()) return close(e, false, kInfinite);
      Candidate top = e.heap.front();
      e.low = std::max(e.low, top.f);
      if (top.complete) {
        e.action = top.action;
        e.peaks = top.peaks;
        return close(e, true, top.f);
      }
      if (top.f >= bound) return;
      std::pop_heap(e.heap.begin(), e.heap.end(), Later{problem_});
      e.heap.pop_back();
      i64 second = e.heap.empty() ? kInfinite : e.heap.front().f;
      i64 slack = saturating_add(top.f, std::max<i64>(1, top.f >> slack_shift_));
      bool alive = advance(id, top, saturating_add(std::min(bound, std::max(second, slack)), 1));
      if (!alive) continue;
      e.heap.push_back(top);
      std::push_heap(e.heap.begin(), e.heap.end(), Later{problem_});
    }
  }

  /// Improves the children of an action until its f reaches `bound` or all are solved. False if one
  /// of them has no implementation.
  bool advance(EntryId id, Candidate& c, i64 bound) {
    Derivation d;
    const Entry& e = memo_[id];
    problem_.preview(memo_.key_of(id), e.limits, c.action, d);
    std::array<EntryId, Problem::kMaxChildren> child;
    for (int i = 0; i < d.count; i++) child[i] = entry_of(d.child[i].spec, d.child[i].limits);
    // Always from the entries as they are now: a recursive call may have changed several.
    auto total = [&] {
      i64 f = d.own;
      for (int i = 0; i < d.count; i++)
        f = saturating_add(f, saturating_mul(d.child[i].times, memo_[child[i]].low));
      return f;
    };
    i64 f = total();
    for (int i = 0; i < d.count && f < bound; i++) {
      if (memo_[child[i]].solved) continue;
      i64 times = static_cast<i64>(d.child[i].times), have = memo_[child[i]].low;
      improve(child[i], saturating_add(have, (bound - f + times - 1) / times));
      if (stopped_) return true;
      f = total();
    }
    if (f >= kInfinite) return false;
    c.f = std::max(c.f, f);
    c.complete = true;
    std::array<Limits, Problem::kMaxChildren> peaks;
    for (int i = 0; i < d.count; i++) {
      const Entry& x = memo_[child[i]];
      if (!x.solved) c.complete = false;
      peaks[i] = x.peaks;
    }
    if (c.complete) c.peaks = problem_.peaks(d, std::span<const Limits>(peaks.data(), d.count));
    return true;
  }

  const Problem& problem_;
  int slack_shift_;
  Memo<Key, Limits, Entry> memo_;
  SearchCounts counts_;
  u64 open_bytes_ = 0;
  bool stopped_ = false;
  std::function<bool(const BestFirst&)> check_;
  typename Problem::ActionList actions_;
  Derivation derivation_;
};

}  // namespace morello

#endif
