// SPDX-License-Identifier: MIT
// The open actions of one pair of a best-first search: a heap by lower bound, those that threads
// took out to improve, and where the children of an action are, once somebody asked.
#ifndef MORELLO_SEARCH_OPEN_ACTIONS_HH
#define MORELLO_SEARCH_OPEN_ACTIONS_HH

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "cost/model.hh"
#include "support/alloc.hh"
#include "support/spin_lock.hh"

namespace morello {

/// Guarded by the lock of the entry it belongs to. All memory is the pools'.
template <class Problem>
class OpenActions {
 public:
  /// A derivation whose children were found in the memo; or a complete one. In one cache line: half
  /// of the time of a search goes into waiting for links and entries.
  struct alignas(64) Link {
    std::array<void*, Problem::kMaxChildren> child{};  // entries; in a pool, the first is the next
    i64 own = 0;
    std::array<u32, Problem::kMaxChildren> times{};
    typename Problem::Use use{};
    typename Problem::Limits peaks{};  // if complete
    std::atomic<u32> followers{0};     // threads that read it besides the one that took the action
    u8 count = 0;
  };

  class Candidate {
   public:
    Candidate(i64 f, const typename Problem::Action& a, Link* l, bool complete)
        : action(a), link(l), key_(f << 1 | (complete ? 1 : 0)) {}

    typename Problem::Action action;
    Link* link;  // null until first improved, unless it is complete

    i64 f() const { return key_ >> 1; }
    bool complete() const { return (key_ & 1) != 0; }
    void raise(i64 f) { key_ = std::max(key_, f << 1); }
    void set_complete() { key_ |= 1; }

    /// Heap order: the root is the smallest f; incomplete ones first, so that ties are all
    /// resolved.
    bool is_after(const Candidate& o, const Problem& problem) const {
      if (key_ != o.key_) return key_ > o.key_;
      return problem.order(action) > problem.order(o.action);
    }

   private:
    i64 key_;  // f, and a bit that says whether it is complete
  };

  class Pools;

  /// Memory of one thread, reused. It may be given back to the pool of another thread.
  class Pool {
   public:
    Link* make_link() {
      if (!links_) return new (arena_.allocate(sizeof(Link), alignof(Link))) Link;
      Link* link = links_;
      links_ = static_cast<Link*>(link->child[0]);
      return link;
    }
    void release(Link* link) {
      // Who still reads it does so until the search ends: it is not used again.
      if (link->followers.load(std::memory_order_acquire) != 0) return;
      link->child[0] = links_;
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
    /// Never fails: it is called in the middle of changes that others must not see half done.
    void release(Candidate* heap, size_t capacity) noexcept {
      size_t n = class_of(capacity);
      try {
        if (n >= heaps_.size()) heaps_.resize(n + 1);
      } catch (const std::bad_alloc&) {
        return;  // it is not used again, and goes with the arena
      }
      heaps_[n] = new (heap) FreeHeap{heaps_[n]};
    }
    /// Bytes taken from the system since the last call.
    u64 new_bytes() { return arena_.bytes() - std::exchange(counted_, arena_.bytes()); }

   private:
    friend class Pools;
    static constexpr size_t kStep = 4;  // capacities are multiples of it
    struct FreeHeap {
      FreeHeap* next;
    };
    static size_t class_of(size_t capacity) { return (capacity + kStep - 1) / kStep; }

    Arena arena_;
    u64 counted_ = 0;
    Link* links_ = nullptr;
    std::vector<FreeHeap*> heaps_;  // by class
    Pool* next_ = nullptr;          // of those that no thread has
  };

  /// Gives threads their pools. A pool that comes back keeps its memory, for the next one.
  class Pools {
   public:
    Pool& borrow() {
      std::lock_guard guard(lock_);
      if (free_ == nullptr) return pools_.emplace_back();
      return *std::exchange(free_, free_->next_);
    }
    /// Allocates nothing: destructors call it.
    void give_back(Pool& pool) noexcept {
      std::lock_guard guard(lock_);
      pool.next_ = std::exchange(free_, &pool);
    }

   private:
    SpinLock lock_;
    std::deque<Pool> pools_;
    Pool* free_ = nullptr;
  };

  /// An action that a thread took out; it lives on that thread's stack.
  struct Away {
    i64 f;       // raised by those who follow
    i64 target;  // what it is improved to
    typename Problem::Action action;
    Link* link;
    Away* next;
  };

  void open(const std::vector<Candidate>& candidates, const Problem& problem, Pool& pool) {
    if (candidates.empty()) return;
    heap_ = pool.make_heap(candidates.size());  // may fail: before anything changes
    size_ = static_cast<u32>(candidates.size());
    capacity_ = size_ & 0x7fffffff;
    std::uninitialized_copy(candidates.begin(), candidates.end(), heap_);
    std::make_heap(heap_, heap_ + size_, Later{problem});
  }
  /// Forgets all actions.
  void clear(Pool& pool) {
    for (u32 i = hole_; i < size_; i++)
      if (heap_[i].link) pool.release(heap_[i].link);
    if (capacity_) pool.release(heap_, capacity_);
    heap_ = nullptr;
    size_ = 0;
    capacity_ = 0;
    hole_ = 0;
  }

  bool empty() const { return size_ == hole_; }
  i64 lowest() const {
    i64 f = kInfinite;
    for (u32 i = hole_, end = std::min<u32>(size_, 1 + 2 * hole_); i < end; i++)
      f = std::min(f, heap_[i].f());
    return f;
  }
  /// REQUIRES: !empty(), settled.
  const Candidate& top() const { return heap_[0]; }
  Candidate& top() { return heap_[0]; }
  bool top_is_complete() const { return !empty() && heap_[0].complete(); }
  /// The top leaves a hole where it was. REQUIRES: !empty(), settled.
  Candidate take() {
    hole_ = 1;
    return heap_[0];
  }
  /// Back into its hole, if that is still there.
  void put_back(const Candidate& c, const Problem& problem) {
    if (hole_) {
      hole_ = 0;
      sink(c, problem);
    } else {
      std::construct_at(heap_ + size_++, c);
      std::push_heap(heap_, heap_ + size_, Later{problem});
    }
  }
  /// Closes the hole that an action left that is away or gone.
  void settle(const Problem& problem) {
    if (!hole_) return;
    hole_ = 0;
    const Candidate last = heap_[--size_];
    if (size_ != 0) sink(last, problem);
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
  i64 lowest_away() const {
    i64 f = kInfinite;
    for (const Away* a = away_; a; a = a->next) f = std::min(f, a->f);
    return f;
  }
  /// REQUIRES: some action is away. The one with the lowest bound.
  Away& lead() {
    Away* lead = away_;
    for (Away* a = away_; a; a = a->next)
      if (a->f < lead->f) lead = a;
    return *lead;
  }

  /// All actions, those that are away first, then the best.
  void list(const Problem& problem, std::vector<typename Problem::Action>& out) const {
    for (const Away* a = away_; a; a = a->next) out.push_back(a->action);
    std::vector<Candidate> sorted(heap_ + hole_, heap_ + size_);
    std::sort(sorted.begin(), sorted.end(),
              [later = Later{problem}](const auto& a, const auto& b) { return later(b, a); });
    for (const Candidate& c : sorted) out.push_back(c.action);
  }

 private:
  struct Later {
    const Problem& problem;
    bool operator()(const Candidate& a, const Candidate& b) const { return a.is_after(b, problem); }
  };

  /// Puts c at the root and lets it sink to its place.
  void sink(const Candidate& c, const Problem& problem) {
    const Later later{problem};
    u32 at = 0;
    for (u32 child = 1; child < size_; child = 2 * at + 1) {
      if (child + 1 < size_ && later(heap_[child], heap_[child + 1])) child++;
      if (!later(c, heap_[child])) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = c;
  }

  Candidate* heap_ = nullptr;
  u32 size_ = 0;
  u32 capacity_ : 31 = 0;
  u32 hole_ : 1 = 0;  // the root was taken, and nobody took its place yet
  Away* away_ = nullptr;
};

}  // namespace morello

#endif
