// SPDX-License-Identifier: MIT
// Memo: what a search knows about (key, limits) pairs. A key's entries are boxes of limits: one
// that was solved answers every limit from its peaks up to the limits it was solved for.
//
// Generic over the key, so that toy problems can be searched. Any number of threads may find and
// add; what an entry holds is for its users to guard.
#ifndef MORELLO_SEARCH_MEMO_HH
#define MORELLO_SEARCH_MEMO_HH

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "support/alloc.hh"
#include "support/spin_lock.hh"
#include "support/types.hh"

namespace morello {

/// How keys are kept: as bytes, by default all of them.
template <class Key>
struct KeptKey {
  static size_t bytes(const Key&) { return sizeof(Key); }
  static void write(const Key& key, char* to) { std::memcpy(to, &key, sizeof key); }
  static bool equal(const Key& key, const char* kept) { return read(kept) == key; }
  static Key read(const char* kept) {
    Key key;
    std::memcpy(&key, kept, sizeof key);
    return key;
  }
};

/// State: what is known about one pair. Needs: answers(limits), whether it is solved and its box
/// contains them; low(), a lower bound of the cost; raise(i64), which never lowers it.
template <class Key, class Limits, class State>
class Memo {
  struct KeyRecord;

 public:
  class alignas(64) Entry : public State {
   public:
    Entry(typename Memo::KeyRecord& record, const Limits& l) : limits(l), record_(record) {}
    Key key() const { return KeptKey<Key>::read(record_.key); }
    const Limits limits;

   private:
    friend class Memo;
    typename Memo::KeyRecord& record_;
  };

  /// `monotone`: what costs so much with more memory costs no less with less. Else each entry
  /// answers for its own limits alone.
  explicit Memo(bool monotone = true) : monotone_(monotone) {}

  /// The entry that answers `key` at `limits`: a solved one whose box contains them, or the one
  /// made for these limits; or else a new one (`found` is false). Its low() is at least that of
  /// every entry with looser limits, if costs are monotone.
  /// Entries stay where they are.
  Entry& find_or_add(const Key& key, u64 hash, const Limits& limits, bool& found) {
    Shard& shard = shard_of(hash);
    std::lock_guard guard(shard.lock);
    return shard.find_or_add(shard.record_of(key, hash), limits, found, monotone_);
  }
  /// The same, but nothing is added: null if there is none.
  Entry* find(const Key& key, u64 hash, const Limits& limits) {
    Shard& shard = shard_of(hash);
    std::lock_guard guard(shard.lock);
    const u32 index = shard.slots.empty() ? 0 : shard.slot_of(key, hash).index;
    if (index == 0) return nullptr;
    i64 low = 0;
    return shard.find(shard.keys[index - 1], limits, low, monotone_);
  }
  /// find_or_add() for the key of an entry.
  Entry& find_or_add(Entry& sibling, const Limits& limits, bool& found) {
    Shard& shard = shard_of(sibling.record_.hash);
    std::lock_guard guard(shard.lock);
    return shard.find_or_add(sibling.record_, limits, found, monotone_);
  }

  /// The entry of the same key whose limits are the loosest of those that contain `entry`'s; itself
  /// if there is no other.
  Entry& loosest_of(Entry& entry) {
    std::lock_guard guard(shard_of(entry.record_.hash).lock);
    Entry* best = &entry;
    Limits loosest = entry.limits;
    for (const Item& item : entry.record_.newest_first())
      if (loosest.within(item.limits)) {
        loosest = item.limits;
        best = item.entry;
      }
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
  /// Limits beside one another, as some keys have hundreds, all of which are compared.
  struct Item {
    Limits limits;
    Entry* entry;
  };
  struct KeyRecord {
    const char* key;
    u64 hash;
    Item* first = nullptr;
    u32 count = 0, capacity = 0;
    struct NewestFirst {
      const Item *oldest, *behind;
      auto begin() const { return std::reverse_iterator(behind); }
      auto end() const { return std::reverse_iterator(oldest); }
    };
    NewestFirst newest_first() const { return {first, first + count}; }
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

    /// Where the key is, or would be.
    Slot& slot_of(const Key& key, u64 hash) {
      u32 mask = static_cast<u32>(slots.size() - 1), tag = static_cast<u32>(hash >> 32);
      for (u32 at = static_cast<u32>(hash) & mask;; at = (at + 1) & mask) {
        if (slots[at].index == 0) return slots[at];
        if (slots[at].tag != tag) continue;
        const KeyRecord& r = keys[slots[at].index - 1];
        if (r.hash == hash && KeptKey<Key>::equal(key, r.key)) return slots[at];
      }
    }

    KeyRecord& record_of(const Key& key, u64 hash) {
      if ((keys.size() + 1) * 2 > slots.size()) grow();
      Slot& slot = slot_of(key, hash);
      if (slot.index == 0) {
        char* kept = static_cast<char*>(arena.allocate(KeptKey<Key>::bytes(key), 1));
        KeptKey<Key>::write(key, kept);
        keys.push_back({kept, hash});
        slot = {static_cast<u32>(hash >> 32), static_cast<u32>(keys.size())};
      }
      return keys[slot.index - 1];
    }

    /// The entry that answers, or else the one of these limits. Raises `low` to what looser limits
    /// are known to cost if there is none.
    Entry* find(const KeyRecord& record, const Limits& limits, i64& low, bool monotone) {
      Entry* same = nullptr;
      for (const Item& item : record.newest_first()) {
        if (monotone ? !limits.within(item.limits) : limits != item.limits) continue;
        if (item.entry->answers(limits)) return item.entry;
        if (limits == item.limits) same = item.entry;
        low = std::max(low, item.entry->low());
      }
      return same;
    }

    Entry& find_or_add(KeyRecord& record, const Limits& limits, bool& found, bool monotone) {
      i64 low = 0;
      Entry* known = find(record, limits, low, monotone);
      found = known != nullptr;
      if (found) return *known;
      Entry& entry = entries.emplace_back(record, limits);
      if (monotone) entry.raise(low);
      append(record, {limits, &entry});
      return entry;
    }

    void append(KeyRecord& record, const Item& item) {
      if (record.count == record.capacity) {
        const u32 capacity = std::max<u32>(2, record.capacity * 2);
        void* memory = arena.allocate(capacity * sizeof(Item), alignof(Item));
        record.first =
            std::uninitialized_copy_n(record.first, record.count, static_cast<Item*>(memory)) -
            record.count;
        record.capacity = capacity;
      }
      std::construct_at(record.first + record.count++, item);
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
  const bool monotone_;
};

}  // namespace morello

#endif
