// SPDX-License-Identifier: MIT
// Memo: what a search knows about (key, limits) pairs. A key's entries are boxes of limits: one
// that was solved answers every limit from its peaks up to the limits it was solved for.
//
// Generic over the key, so that toy problems can be searched. Any number of threads may find and
// add; what an entry holds is for its users to guard.
#ifndef MORELLO_TABLE_MEMO_HH
#define MORELLO_TABLE_MEMO_HH

#include <array>
#include <deque>
#include <mutex>
#include <vector>

#include "support/alloc.hh"
#include "support/spin_lock.hh"
#include "support/types.hh"

namespace morello {

/// State: what is known about one pair. Needs: answers(limits), whether it is solved and its box
/// contains them; low(), a lower bound of the cost; raise(i64), which never lowers it.
template <class Key, class Limits, class State>
class Memo {
 public:
  struct Entry : State {
    Entry(const Key& k, const Limits& l, Entry* n) : key(k), limits(l), next(n) {}
    const Key& key;
    const Limits limits;
    Entry* const next;  // of the same key, added before
  };

  /// The entry that answers `key` at `limits`: the one made for these limits, or a solved one whose
  /// box contains them; or else a new one (`found` is false). Its low() is at least that of every
  /// entry with looser limits: what costs so much with more memory costs no less with less.
  /// Entries stay where they are.
  Entry& find_or_add(const Key& key, u64 hash, const Limits& limits, bool& found) {
    Shard& shard = shards_[hash >> (64 - kShardBits)];
    std::lock_guard guard(shard.lock);
    KeyRecord& record = shard.record_of(key, hash);
    for (Entry* e = record.first; e; e = e->next)
      if (e->limits == limits || (limits.within(e->limits) && e->answers(limits))) {
        found = true;
        return *e;
      }
    found = false;
    Entry& entry = shard.entries.emplace_back(record.key, limits, record.first);
    for (Entry* e = record.first; e; e = e->next)
      if (limits.within(e->limits)) entry.raise(e->low());
    record.first = &entry;
    return entry;
  }

  /// The entry of the same key whose limits are the loosest of those that contain `entry`'s; itself
  /// if there is no other.
  Entry& loosest_of(Entry& entry, u64 hash) {
    Shard& shard = shards_[hash >> (64 - kShardBits)];
    std::lock_guard guard(shard.lock);
    Entry* best = &entry;
    for (Entry* e = shard.record_of(entry.key, hash).first; e; e = e->next)
      if (best->limits.within(e->limits)) best = e;
    return *best;
  }

  /// Calls f(entry) for every entry, while no other thread adds.
  template <class F>
  void each(F&& f) const {
    for (const Shard& shard : shards_)
      for (const Entry& e : shard.entries) f(e);
  }

  size_t keys() const {
    return sum([](const Shard& s) { return s.keys.size(); });
  }
  size_t entries() const {
    return sum([](const Shard& s) { return s.entries.size(); });
  }
  size_t bytes() const {
    return sum([](const Shard& s) { return s.arena.bytes() + s.slots.capacity() * sizeof(u32); });
  }

 private:
  struct KeyRecord {
    Key key;
    u64 hash;
    Entry* first;  // list of its entries, newest first
  };

  /// The keys whose hash begins with the same bits.
  struct Shard {
    mutable SpinLock lock;
    // Open addressing: 1 + index into keys, 0 empty; a power of two many.
    std::vector<u32, BlockAllocator<u32>> slots;
    Arena arena;  // of the two below, which only grow
    std::deque<KeyRecord, ArenaAllocator<KeyRecord>> keys{ArenaAllocator<KeyRecord>(arena)};
    std::deque<Entry, ArenaAllocator<Entry>> entries{ArenaAllocator<Entry>(arena)};

    KeyRecord& record_of(const Key& key, u64 hash) {
      if ((keys.size() + 1) * 2 > slots.size()) grow();
      u32 mask = static_cast<u32>(slots.size() - 1);
      for (u32 slot = static_cast<u32>(hash) & mask;; slot = (slot + 1) & mask) {
        if (slots[slot] == 0) {
          keys.push_back({key, hash, nullptr});
          slots[slot] = static_cast<u32>(keys.size());
        }
        KeyRecord& r = keys[slots[slot] - 1];
        if (r.hash == hash && r.key == key) return r;
      }
    }

    void grow() {
      size_t size = slots.empty() ? 64 : slots.size() * 2;
      slots.assign(size, 0);
      for (size_t k = 0; k < keys.size(); k++) {
        u32 mask = static_cast<u32>(size - 1), slot = static_cast<u32>(keys[k].hash) & mask;
        while (slots[slot]) slot = (slot + 1) & mask;
        slots[slot] = static_cast<u32>(k + 1);
      }
    }
  };

  template <class F>
  size_t sum(F&& f) const {
    size_t n = 0;
    for (const Shard& shard : shards_) {
      std::lock_guard guard(shard.lock);
      n += f(shard);
    }
    return n;
  }

  static constexpr int kShardBits = 3;
  std::array<Shard, 1 << kShardBits> shards_;
};

}  // namespace morello

#endif
