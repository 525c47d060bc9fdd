// SPDX-License-Identifier: MIT
// The open actions of one pair of a best-first search: a heap by lower bound, those that threads
// took out to improve, and where the children of an action are, once somebody asked.
#ifndef MORELLO_SEARCH_OPEN_ACTIONS_HH
#define MORELLO_SEARCH_OPEN_ACTIONS_HH

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "cost/model.hh"
#include "support/alloc.hh"

namespace morello {

/// Guarded by the lock of the entry it belongs to. All memory is the pools'.
template <class Problem>
class OpenActions {
 public:
  /// A derivation whose children were found in the memo; or a complete one.
  struct Link {
    int count = 0;
    std::atomic<u32> followers{0};  // threads that read it besides the one that took the action
    i64 own = 0;
    typename Problem::Use use{};
    std::array<void*, Problem::kMaxChildren> child{};  // entries
    std::array<i64, Problem::kMaxChildren> times{};
    bool complete = false;
    typename Problem::Limits peaks{};  // if complete
    Link* next = nullptr;              // in the pool
  };

  struct Candidate {
    i64 f;
    typename Problem::Action action;
    Link* link;  // null until first improved, unless it is complete
    bool complete() const { return link && link->complete; }
  };

  /// Memory of one thread, reused. It may be given back to the pool of another thread.
  class Pool {
   public:
    Link* make_link() {
      if (!links_) return new (arena_.allocate(sizeof(Link), alignof(Link))) Link;
      Link* link = links_;
      links_ = link->next;
      link->complete = false;
      return link;
    }
    void release(Link* link) {
      // Who still reads it does so until the search ends: it is not used again.
      if (link->followers.load(std::memory_order_acquire) != 0) return;
      link->next = links_;
      links_ = link;
    }
    Candidate* make_heap(size_t capacity) {
      size_t n = class_of(capacity);
      if (n >= heaps_.size()) heaps_.resize(n + 1);
      if (!heaps_[n]) {
        size_t bytes = n * kStep * sizeof(Candidate);
        return static_cast<Candidate*>(arena_.allocate(bytes, alignof(Candidate)));
      }
      FreeHeap* heap = heaps_[n];
      heaps_[n] = heap->next;
      return reinterpret_cast<Candidate*>(heap);
    }
    void release(Candidate* heap, size_t capacity) {
      size_t n = class_of(capacity);
      if (n >= heaps_.size()) heaps_.resize(n + 1);
      heaps_[n] = new (heap) FreeHeap{heaps_[n]};
    }
    /// Bytes taken from the system since the last call.
    u64 new_bytes() { return arena_.bytes() - std::exchange(counted_, arena_.bytes()); }

   private:
    static constexpr size_t kStep = 4;  // capacities are multiples of it
    struct FreeHeap {
      FreeHeap* next;
    };
    static size_t class_of(size_t capacity) { return (capacity + kStep - 1) / kStep; }

    Arena arena_;
    u64 counted_ = 0;
    Link* links_ = nullptr;
    std::vector<FreeHeap*> heaps_;  // by class
  };

  /// An action that a thread took out; it lives on that thread's stack.
  struct Away {
    i64 f;
    i64 target;  // what it is improved to
    typename Problem::Action action;
    Link* link;
    Away* next;
  };

  void open(const std::vector<Candidate>& candidates, const Problem& problem, Pool& pool) {
    size_ = capacity_ = static_cast<u32>(candidates.size());
    if (candidates.empty()) return;
    heap_ = pool.make_heap(capacity_);
    std::copy(candidates.begin(), candidates.end(), heap_);
    std::make_heap(heap_, heap_ + size_, Later{problem});
  }
  /// Forgets all actions.
  void clear(Pool& pool) {
    for (u32 i = 0; i < size_; i++)
      if (heap_[i].link) pool.release(heap_[i].link);
    if (capacity_) pool.release(heap_, capacity_);
    heap_ = nullptr;
    size_ = capacity_ = 0;
  }

  bool empty() const { return size_ == 0; }
  i64 lowest() const { return size_ == 0 ? kInfinite : heap_[0].f; }
  const Candidate& top() const { return heap_[0]; }
  bool top_is_complete() const { return size_ != 0 && heap_[0].complete(); }
  Candidate take(const Problem& problem) {
    std::pop_heap(heap_, heap_ + size_, Later{problem});
    return heap_[--size_];
  }
  void put_back(const Candidate& c, const Problem& problem) {
    heap_[size_++] = c;
    std::push_heap(heap_, heap_ + size_, Later{problem});
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
    std::vector<Candidate> sorted(heap_, heap_ + size_);
    std::sort(sorted.begin(), sorted.end(),
              [later = Later{problem}](const auto& a, const auto& b) { return later(b, a); });
    for (const Candidate& c : sorted) out.push_back(c.action);
  }

 private:
  /// Heap order: the root is the smallest f; incomplete ones first, so that ties are all resolved.
  struct Later {
    const Problem& problem;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.f != b.f) return a.f > b.f;
      if (a.complete() != b.complete()) return a.complete();
      return problem.order(a.action) > problem.order(b.action);
    }
  };

  Candidate* heap_ = nullptr;
  u32 size_ = 0, capacity_ = 0;
  Away* away_ = nullptr;
};

}  // namespace morello

#endif
