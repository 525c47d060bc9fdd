// SPDX-License-Identifier: MIT
// Exact resumable best-first search with a memo, for any problem of the form
//   cost(key, limits) = min over actions of own + sum over children of times * cost(child) >= 0,
// with children that never lead back to their parent, and a lower bound.
//
// Every (key, limits) pair keeps its open actions in a heap ordered by a lower bound f of their
// cost. improve(pair, bound) takes the best action, improves its children just far enough to pass
// the second best, and puts it back with its better f, until the best action is complete (it is
// then the optimum) or the pair's lower bound reaches `bound`. No visit redoes what one before did.
//
// Of equal costs the first in Problem::order() wins: an action is taken only when no incomplete one
// could still reach its cost. So the result is the same for any number of threads, in one graph.
#ifndef MORELLO_SEARCH_BEST_FIRST_HH
#define MORELLO_SEARCH_BEST_FIRST_HH

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "search/counts.hh"
#include "search/memo.hh"
#include "search/open_actions.hh"
#include "search/pair_state.hh"

namespace morello {

/// Problem has: types Key, Limits, Action, Derivation (count, own, child[i].{spec, limits, times}),
/// Use (what peaks need of a derivation); hash(key), clamp(key, limits), loosen(limits) (at least
/// as much, and one of few), is_heavy(key), lower_bound(key, limits), quick_bound(key, limits),
/// list(key, limits, vector<Action>-like), preview(key, limits, action, derivation) -> bool,
/// use_of(derivation), peaks(use, children), order(action), kMaxChildren. See spec_problem.hh.
template <class Problem>
class BestFirst {
 public:
  using Key = typename Problem::Key;
  using Limits = typename Problem::Limits;
  using Action = typename Problem::Action;
  using Derivation = typename Problem::Derivation;
  using Open = OpenActions<Problem>;

  struct Solution {
    bool feasible = false;
    i64 cost = kInfinite;
    Limits peaks;
    Action action;
  };

  struct Options {
    /// Children are improved to 1 + 2^-slack_shift times the second best at least, which stops
    /// thrashing between close actions (see target_of()). No influence on the result.
    int slack_shift = 10;
    /// Ask looser limits first (see borrow()). No influence on the result.
    bool borrow = true;
    /// Less memory makes nothing cheaper, which lower bounds of looser limits rely on. False where
    /// limits decide what is listed: then there is no borrowing either.
    bool monotone = true;
  };

  explicit BestFirst(const Problem& problem, Options options = {})
      : problem_(problem), options_(options), memo_(options.monotone) {}

  /// What one thread needs of its own. Not shared.
  class Worker {
   public:
    explicit Worker(BestFirst& search) : search_(search), pool_(search.pools_.borrow()) {}
    ~Worker() {
      flush();
      search_.pools_.give_back(pool_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    /// Called every so many expansions; false stops the search for all threads.
    void set_check(std::function<bool()> check, u32 every = 64) {
      check_ = std::move(check);
      every_ = every;
    }

    /// Adds what was counted to the search's counts.
    void flush() {
      counts_.open_bytes = pool_.new_bytes();
      std::lock_guard guard(search_.counts_lock_);
      search_.counts_.add(std::exchange(counts_, {}));
    }

   private:
    friend class BestFirst;
    BestFirst& search_;
    SearchCounts counts_;
    typename Problem::ActionList actions_;
    Derivation derivation_;
    typename Open::Pool& pool_;
    std::vector<typename Open::Candidate> candidates_;
    std::function<bool()> check_;
    u32 every_ = 64, polls_ = 0;
  };

  /// Solves (key, limits). False if the search was stopped before, or no solution costs less than
  /// `bound`: then out.cost is a lower bound, and calling again resumes. Several threads may solve
  /// the same pair, or others, each with its own worker.
  bool solve(const Key& key, const Limits& limits, Worker& w, Solution& out,
             i64 bound = kInfinite) {
    Entry& e = entry_of(key, limits, w);
    improve(e, bound, w);
    return solution_of(e, out);
  }

  /// The solution of a pair, if it is known.
  bool known(const Key& key, Limits limits, Solution& out) {
    problem_.clamp(key, limits);
    const Entry* e = memo_.find(key, problem_.hash(key), limits);
    return e && solution_of(*e, out);
  }

  /// The lower bound known for a pair.
  i64 low(const Key& key, const Limits& limits, Worker& w) {
    return entry_of(key, limits, w).low();
  }

  /// The open actions of a pair, the best first, expanding it if need be. None if it is solved.
  void open_actions(const Key& key, const Limits& limits, Worker& w, std::vector<Action>& out) {
    Entry& e = entry_of(key, limits, w);
    std::unique_lock lock(e.lock);
    out.clear();
    while (e.phase == Phase::kExpanding && !stopped()) wait(e, lock);
    if (e.solved.load(std::memory_order_relaxed) || e.phase == Phase::kExpanding) return;
    if (e.phase == Phase::kNew) {
      expand(e, w);
      e.phase = Phase::kOpen;
    }
    e.open.list(problem_, out);
  }

  /// A pair that costs less than a lower bound that was reported for it: then the bounds are wrong,
  /// and other pairs may have lost their optimum. The search stops at the first one it meets.
  struct Violation {
    Key key;
    Limits limits;
    i64 bound, cost;
  };
  /// The first one, or null.
  const Violation* violation() const {
    return violated_.load(std::memory_order_acquire) ? &*violation_ : nullptr;
  }

  /// Stops all threads that are searching; they may resume after allow().
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  void allow() { stopped_.store(false, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  /// Of workers that flushed.
  SearchCounts counts() const {
    std::lock_guard guard(counts_lock_);
    return counts_;
  }
  size_t keys() const { return memo_.keys(); }
  size_t entries() const { return memo_.entries(); }
  size_t bytes() const { return memo_.bytes() + counts().open_bytes; }

  /// Calls f(key, limits, solution) for every solved pair that has a program, while nobody
  /// searches.
  template <class F>
  void each_solved(F&& f) const {
    memo_.each([&](const Entry& e) {
      Solution s;
      if (solution_of(e, s) && s.feasible) f(e.key(), e.limits, s);
    });
  }

 private:
  using State = PairState<Problem>;
  using Phase = typename State::Phase;
  using Entries = Memo<Key, Limits, State>;
  using Entry = typename Entries::Entry;
  using Candidate = typename Open::Candidate;
  using Link = typename Open::Link;

  static bool solution_of(const Entry& e, Solution& out) {
    out.cost = e.low();
    if (!e.solved.load(std::memory_order_acquire)) return false;
    out = {e.feasible, e.low(), e.peaks, e.action};
    return true;
  }

  Entry& entry_of(const Key& key, Limits limits, Worker& w) {
    problem_.clamp(key, limits);
    bool found = false;
    Entry& e = memo_.find_or_add(key, problem_.hash(key), limits, found);
    return met(e, found, w);
  }
  /// For the key of another entry; limits are clamped.
  Entry& entry_of(Entry& sibling, const Limits& limits, Worker& w) {
    bool found = false;
    Entry& e = memo_.find_or_add(sibling, limits, found);
    return met(e, found, w);
  }
  Entry& met(Entry& e, bool found, Worker& w) {
    w.counts_.memo_hits += found;
    if (found) return e;
    const Key key = e.key();
    w.counts_.work += kWorkOfPair[problem_.is_heavy(key)];
    e.raise(problem_.lower_bound(key, e.limits));
    return e;
  }

  /// Lists the actions of `e` with bounds of their cost. The caller owns the entry's expansion.
  void expand(Entry& e, Worker& w) {
    w.counts_.expanded++;
    const Key key = e.key();
    problem_.list(key, e.limits, w.actions_);
    w.counts_.work += kWorkOfPreview[problem_.is_heavy(key)] * w.actions_.size();
    Derivation& d = w.derivation_;
    w.candidates_.clear();
    for (const Action& a : w.actions_) {
      w.counts_.previews++;
      if (!problem_.preview(key, e.limits, a, d)) {
        w.counts_.misfits++;
        continue;
      }
      i64 f = d.own;
      for (int i = 0; i < d.count && f < kInfinite; i++)
        f = saturating_add(
            f, saturating_mul(d.child[i].times,
                              problem_.quick_bound(d.child[i].spec, d.child[i].limits)));
      if (f >= kInfinite) continue;
      Link* complete = nullptr;
      if (d.count == 0) {
        complete = w.pool_.make_link();
        complete->count = 0;
        complete->peaks = problem_.peaks(problem_.use_of(d), {});
      }
      w.candidates_.emplace_back(f, a, complete, complete != nullptr);
    }
    e.open.open(w.candidates_, problem_, w.pool_);
  }

  /// Flushes counts and asks the worker's check, now and then. Holding no lock.
  void poll(Worker& w) {
    if (++w.polls_ % w.every_ != 0) return;
    w.flush();
    if (w.check_ && !w.check_()) stop();
  }

  /// REQUIRES: e is locked, or not shared yet.
  void close(Entry& e, Worker& w, bool feasible, i64 cost) {
    if (cost < e.low()) report_violation(e, cost);
    e.feasible = feasible;
    if (!feasible) e.action = {};
    e.raise(cost);
    e.open.clear(w.pool_);
    e.solved.store(true, std::memory_order_release);
    e.changed();
  }

  void report_violation(const Entry& e, i64 cost) {
    std::lock_guard guard(counts_lock_);
    if (!violation_) violation_ = {e.key(), e.limits, e.low(), cost};
    violated_.store(true, std::memory_order_release);
    stop();
  }

  /// Raises e's lower bound to `bound`, or solves it, unless the search is stopped.
  ///
  /// Any number of threads may be in the same entry. The first one takes the best action; while it
  /// is away improving the children, the next one takes the next action if it is below `bound`, for
  /// most of these have to be raised above it sooner or later, and otherwise follows the first one
  /// into the children of its action. Threads wait for each other only downwards in the graph, so
  /// never in a circle.
  void improve(Entry& e, i64 bound, Worker& w) {
    std::unique_lock lock(e.lock);
    while (!e.solved.load(std::memory_order_relaxed) && e.low() < bound && !stopped()) {
      if (e.phase == Phase::kExpanding) {
        wait(e, lock);
        continue;
      }
      if (e.phase == Phase::kNew) {
        open(e, bound, lock, w);
        continue;
      }
      e.open.settle(problem_);
      i64 away = e.open.lowest_away();
      if (e.open.empty() && away == kInfinite) return close(e, w, false, kInfinite);
      i64 top = e.open.lowest();
      e.raise(std::min(top, away));
      if (e.open.top_is_complete() && top < away) {
        e.action = e.open.top().action;
        e.peaks = e.open.top().link->peaks;
        return close(e, w, true, top);
      }
      if (e.low() >= bound) return;
      bool take = top < kInfinite && !e.open.top_is_complete() &&
                  (away == kInfinite || (top < bound && bound < kInfinite));
      if (take)
        advance_top(e, bound, lock, w);
      else
        follow(e, bound, lock, w);
    }
  }

  void wait(Entry& e, std::unique_lock<SpinLock>& lock) {
    u32 version = e.version.load(std::memory_order_relaxed);
    lock.unlock();
    Backoff backoff;
    while (e.version.load(std::memory_order_acquire) == version && !stopped()) backoff.wait();
    lock.lock();
  }

  void open(Entry& e, i64 bound, std::unique_lock<SpinLock>& lock, Worker& w) {
    if (e.first == 0) e.first = e.low();
    if (options_.borrow && options_.monotone) {
      lock.unlock();
      bool settled = borrow(e, bound, w);
      lock.lock();
      if (settled || e.phase != Phase::kNew) return;
    }
    e.phase = Phase::kExpanding;
    lock.unlock();
    auto end = [&](Phase phase) {
      lock.lock();
      e.phase = phase;
      e.changed();
      lock.unlock();
    };
    try {
      expand(e, w);
    } catch (...) {  // no memory: others wait for this
      end(Phase::kNew);
      throw;
    }
    end(Phase::kOpen);
    poll(w);
    lock.lock();
  }

  /// Looser limits make the problem no harder: if their optimum fits, it is the one sought, and
  /// their lower bound holds. As few looser limits are asked for a key as there are values of
  /// loosen(), this settles most pairs. True if e is solved now, its bound reached, or the search
  /// stopped.
  bool borrow(Entry& e, i64 bound, Worker& w) {
    Entry* loose = &memo_.loosest_of(e);
    if (loose == &e) {
      Limits limits = problem_.loosen(e.limits);
      problem_.clamp(e.key(), limits);
      loose = &entry_of(e, limits, w);
    }
    if (loose == &e) return false;
    improve(*loose, bound, w);
    if (loose->answers(e.limits)) {
      std::lock_guard guard(e.lock);
      if (e.solved.load(std::memory_order_relaxed)) return true;
      w.counts_.borrowed++;
      e.action = loose->action;
      e.peaks = loose->peaks;
      close(e, w, loose->feasible, loose->low());
      return true;
    }
    e.raise(loose->low());
    if (e.low() >= bound) w.counts_.borrowed++;
    return e.low() >= bound || stopped();
  }

  /// What to improve an action to that has left the heap of `e` with this f.
  i64 target_of(const Entry& e, i64 f, i64 bound) const {
    const i64 slack = std::max(f >> options_.slack_shift, e.step(f));
    const i64 least = std::max(e.open.lowest(), saturating_add(f, slack));
    return saturating_add(std::min(bound, least), 1);
  }

  void advance_top(Entry& e, i64 bound, std::unique_lock<SpinLock>& lock, Worker& w) {
    Candidate& top = e.open.top();
    if (!top.link) top.link = link(e, top.action, w);
    Candidate c = e.open.take();
    i64 target = target_of(e, c.f(), bound);
    typename Open::Away away{c.f(), target, c.action, c.link, nullptr};
    e.open.leave(away);
    lock.unlock();
    auto come_back = [&](bool alive) {
      lock.lock();
      e.open.come_back(away);
      // Meanwhile another thread may have solved the pair by a better action.
      if (alive && !e.solved.load(std::memory_order_relaxed))
        e.open.put_back(c, problem_);
      else
        w.pool_.release(c.link);
      e.changed();
    };
    bool alive = false;
    try {
      alive = advance(c, target, w);
    } catch (...) {  // no memory: until all have stopped, others need the action
      come_back(true);
      throw;
    }
    come_back(alive);
  }

  Link* link(Entry& e, const Action& action, Worker& w) {
    Derivation& d = w.derivation_;
    problem_.preview(e.key(), e.limits, action, d);
    Link* link = w.pool_.make_link();
    link->count = static_cast<u8>(d.count);
    link->own = d.own;
    link->use = problem_.use_of(d);
    for (int i = 0; i < d.count; i++) {
      link->child[i] = &entry_of(d.child[i].spec, d.child[i].limits, w);
      assert(d.child[i].times <= UINT32_MAX);  // no dimension is as large
      link->times[i] = static_cast<u32>(d.child[i].times);
    }
    return link;
  }

  static Entry& child_of(const Link& link, int i) { return *static_cast<Entry*>(link.child[i]); }

  /// Always from the entries as they are now: a recursive call may have changed several.
  static i64 total_of(const Link& link) {
    i64 f = link.own;
    for (int i = 0; i < link.count; i++)
      f = saturating_add(f, saturating_mul(link.times[i], child_of(link, i).low()));
    return f;
  }

  /// Improves the children of an action until its cost is known to reach `bound`, or all are
  /// solved.
  void improve_children(const Link& link, i64 bound, Worker& w) {
    i64 f = total_of(link);
    for (int i = 0; i < link.count && f < bound && !stopped(); i++) {
      Entry& child = child_of(link, i);
      if (child.solved.load(std::memory_order_acquire)) continue;
      i64 missing = (bound - f + link.times[i] - 1) / link.times[i];
      improve(child, saturating_add(child.low(), missing), w);
      f = total_of(link);
    }
  }

  /// Improves an action. False if one of its children has no implementation.
  bool advance(Candidate& c, i64 bound, Worker& w) {
    w.counts_.advances++;
    w.counts_.work += kWorkOfAdvance;
    improve_children(*c.link, bound, w);
    bool complete = true;
    std::array<Limits, Problem::kMaxChildren> peaks;
    for (int i = 0; i < c.link->count; i++) {
      const Entry& x = child_of(*c.link, i);
      if (!x.solved.load(std::memory_order_acquire))
        complete = false;
      else
        peaks[i] = x.peaks;
    }
    i64 f = total_of(*c.link);
    if (f >= kInfinite) return false;
    c.raise(f);
    if (complete) {
      c.set_complete();
      c.link->peaks =
          problem_.peaks(c.link->use, {peaks.data(), static_cast<size_t>(c.link->count)});
    }
    return true;
  }

  /// Helps the thread that is away with the lowest action of `e`. If no more can be done for that
  /// action, waits until some thread is back.
  void follow(Entry& e, i64 bound, std::unique_lock<SpinLock>& lock, Worker& w) {
    typename Open::Away& lead = e.open.lead();
    // The link is released by its thread, which cannot come back before `followers` are gone.
    Link* link = lead.link;
    i64 target = std::max(lead.target, target_of(e, lead.f, bound));
    u32 version = e.version.load(std::memory_order_relaxed);
    link->followers.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    improve_children(*link, target, w);
    i64 f = total_of(*link);
    link->followers.fetch_sub(1, std::memory_order_release);
    lock.lock();
    if (e.version.load(std::memory_order_relaxed) != version) return;
    // Its thread may be deep in a child, improving it to what was needed when it went there.
    if (f > lead.f)
      lead.f = f;
    else
      wait(e, lock);
  }

  const Problem& problem_;
  const Options options_;
  typename Open::Pools pools_;  // they outlive the workers, for entries point into them
  Entries memo_;
  std::atomic<bool> stopped_{false};
  mutable SpinLock counts_lock_;  // of what follows
  SearchCounts counts_;
  std::optional<Violation> violation_;  // constant once `violated_`
  std::atomic<bool> violated_{false};
};

}  // namespace morello

#endif
