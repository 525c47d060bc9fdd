// SPDX-License-Identifier: MIT
// The open actions of one pair of a best-first search: a heap by lower bound, those that threads
// took out to improve, and where the children of an action are, once somebody asked.
#ifndef MORELLO_SEARCH_OPEN_ACTIONS_HH
#define MORELLO_SEARCH_OPEN_ACTIONS_HH

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "cost/model.hh"
#include "support/alloc.hh"

namespace morello {

/// Guarded by the lock of the entry it belongs to.
template <class Problem>
class OpenActions {
 public:
  /// A derivation whose children were found in the memo.
  struct Link {
    int count = 0;
    std::atomic<u32> followers{0};  // threads that read it besides the one that took the action
    i64 own = 0;
    typename Problem::Use use{};
    std::array<void*, Problem::kMaxChildren> child{};  // entries
    std::array<i64, Problem::kMaxChildren> times{};
    Link* next = nullptr;  // in the pool
  };

  /// Links of one thread, reused. They may be released to the pool of another thread.
  class Pool {
   public:
    Link* make() {
      if (!free_) return new (arena_.allocate(sizeof(Link), alignof(Link))) Link;
      Link* link = free_;
      free_ = link->next;
      return link;
    }
    void release(Link* link) {
      // Who still reads it does so until the search ends: it is not used again.
      if (link->followers.load(std::memory_order_acquire) != 0) return;
      link->next = free_;
      free_ = link;
    }
    u64 bytes() const { return arena_.bytes(); }

   private:
    Arena arena_;
    Link* free_ = nullptr;
  };

  struct Candidate {
    i64 f;
    typename Problem::Action action;
    Link* link;                      // null until first improved
    typename Problem::Limits peaks;  // if complete
    bool complete;
  };

  /// An action that a thread took out; it lives on that thread's stack.
  struct Away {
    i64 f;
    i64 target;  // what it is improved to
    typename Problem::Action action;
    Link* link;
    Away* next;
  };

  void add(const Candidate& c) { heap_.push_back(c); }
  /// After the last add(). Returns the bytes in use.
  u64 seal(const Problem& problem) {
    heap_.shrink_to_fit();
    std::make_heap(heap_.begin(), heap_.end(), Later{problem});
    return heap_.capacity() * sizeof(Candidate);
  }
  /// Forgets all actions. Returns the bytes given back.
  u64 clear(Pool& pool) {
    for (Candidate& c : heap_)
      if (c.link) pool.release(c.link);
    u64 bytes = heap_.capacity() * sizeof(Candidate);
    Heap().swap(heap_);
    return bytes;
  }

  bool empty() const { return heap_.empty(); }
  i64 lowest() const { return heap_.empty() ? kInfinite : heap_.front().f; }
  const Candidate& top() const { return heap_.front(); }
  bool top_is_complete() const { return !heap_.empty() && heap_.front().complete; }
  Candidate take(const Problem& problem) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{problem});
    Candidate c = heap_.back();
    heap_.pop_back();
    return c;
  }
  void put_back(const Candidate& c, const Problem& problem) {
    heap_.push_back(c);
    std::push_heap(heap_.begin(), heap_.end(), Later{problem});
  }

  void leave(Away& away) {
    away.next = away_;
    away_ = &away;
  }
  void come_back(Away& away) {
    Away** at = &away_;
    while (*at != &away) at = &(*at)->next;
    *at = away.next;
  }
  i64 lowest_away() const { return away_ ? lead().f : kInfinite; }
  /// REQUIRES: some action is away. The one with the lowest bound.
  const Away& lead() const {
    const Away* lead = away_;
    for (const Away* a = away_; a; a = a->next)
      if (a->f < lead->f) lead = a;
    return *lead;
  }

  /// All actions, those that are away first, then the best.
  void list(const Problem& problem, std::vector<typename Problem::Action>& out) const {
    for (const Away* a = away_; a; a = a->next) out.push_back(a->action);
    Heap sorted = heap_;
    std::sort(sorted.begin(), sorted.end(),
              [later = Later{problem}](const auto& a, const auto& b) { return later(b, a); });
    for (const Candidate& c : sorted) out.push_back(c.action);
  }

 private:
  using Heap = std::vector<Candidate, BlockAllocator<Candidate>>;

  /// Heap order: the root is the smallest f; incomplete ones first, so that ties are all resolved.
  struct Later {
    const Problem& problem;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.f != b.f) return a.f > b.f;
      if (a.complete != b.complete) return a.complete;
      return problem.order(a.action) > problem.order(b.action);
    }
  };

  Heap heap_;
  Away* away_ = nullptr;
};

}  // namespace morello

#endif
