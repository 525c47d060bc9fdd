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
  struct KeyRecord;

 public:
  class Entry : public State {
   public:
    Entry(typename Memo::KeyRecord& record, const Limits& l, Entry* next)
        : limits(l), record_(record), next_(next) {}
    const Key& key() const { return record_.key; }
    const Limits limits;

   private:
    friend class Memo;
    typename Memo::KeyRecord& record_;
    Entry* const next_;  // of the same key, added before
  };

  /// The entry that answers `key` at `limits`: a solved one whose box contains them, or the one
  /// made for these limits; or else a new one (`found` is false). Its low() is at least that of
  /// every entry with looser limits: what costs so much with more memory costs no less with less.
  /// Entries stay where they are.
  Entry& find_or_add(const Key& key, u64 hash, const Limits& limits, bool& found) {
    Shard& shard = shard_of(hash);
    std::lock_guard guard(shard.lock);
    return shard.find_or_add(shard.record_of(key, hash), limits, found);
  }
  /// The same for the key of an entry.
  Entry& find_or_add(Entry& sibling, const Limits& limits, bool& found) {
    Shard& shard = shard_of(sibling.record_.hash);
    std::lock_guard guard(shard.lock);
    return shard.find_or_add(sibling.record_, limits, found);
  }

  /// The entry of the same key whose limits are the loosest of those that contain `entry`'s; itself
  /// if there is no other.
  Entry& loosest_of(Entry& entry) {
    std::lock_guard guard(shard_of(entry.record_.hash).lock);
    Entry* best = &entry;
    for (Entry* e = entry.record_.first; e; e = e->next_)
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
    return sum([](const Shard& s) {
      return s.arena.bytes() + s.slots.capacity() * sizeof(typename Shard::Slot);
    });
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
    struct Slot {
      u32 tag = 0;    // bits of the hash that do not say where, so that few keys are compared
      u32 index = 0;  // 1 + index into keys, 0: empty
    };
    std::vector<Slot, BlockAllocator<Slot>> slots;  // open addressing; a power of two many
    Arena arena;                                    // of the two below, which only grow
    std::deque<KeyRecord, ArenaAllocator<KeyRecord>> keys{ArenaAllocator<KeyRecord>(arena)};
    std::deque<Entry, ArenaAllocator<Entry>> entries{ArenaAllocator<Entry>(arena)};

    KeyRecord& record_of(const Key& key, u64 hash) {
      if ((keys.size() + 1) * 2 > slots.size()) grow();
      u32 mask = static_cast<u32>(slots.size() - 1), tag = static_cast<u32>(hash >> 32);
      for (u32 at = static_cast<u32>(hash) & mask;; at = (at + 1) & mask) {
        if (slots[at].index == 0) {
          keys.push_back({key, hash, nullptr});
          slots[at] = {tag, static_cast<u32>(keys.size())};
          return keys.back();
        }
        if (slots[at].tag != tag) continue;
        KeyRecord& r = keys[slots[at].index - 1];
        if (r.hash == hash && r.key == key) return r;
      }
    }

    Entry& find_or_add(KeyRecord& record, const Limits& limits, bool& found) {
      Entry* same = nullptr;
      for (Entry* e = record.first; e; e = e->next_) {
        if (limits.within(e->limits) && e->answers(limits)) {
          found = true;
          return *e;
        }
        if (e->limits == limits) same = e;
      }
      found = same != nullptr;
      if (same) return *same;
      Entry& entry = entries.emplace_back(record, limits, record.first);
      for (Entry* e = record.first; e; e = e->next_)
        if (limits.within(e->limits)) entry.raise(e->low());
      record.first = &entry;
      return entry;
    }

    void grow() {
      size_t size = slots.empty() ? 64 : slots.size() * 2;
      slots.assign(size, {});
      for (size_t k = 0; k < keys.size(); k++) {
        u64 hash = keys[k].hash;
        u32 mask = static_cast<u32>(size - 1), at = static_cast<u32>(hash) & mask;
        while (slots[at].index) at = (at + 1) & mask;
        slots[at] = {static_cast<u32>(hash >> 32), static_cast<u32>(k + 1)};
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

  Shard& shard_of(u64 hash) { return shards_[hash >> (64 - kShardBits)]; }

  static constexpr int kShardBits = 3;
  std::array<Shard, 1 << kShardBits> shards_;
};

}  // namespace morello

#endif
