// SPDX-License-Identifier: MIT
// Memo: what a search knows about (Spec, limits) pairs. A Spec's entries are boxes of limits: one
// that was solved answers every limit from its peaks up to the limits it was solved for.
//
// Generic over the key, so that toy problems can be searched. One thread at a time.
#ifndef MORELLO_TABLE_MEMO_HH
#define MORELLO_TABLE_MEMO_HH

#include <deque>
#include <vector>

#include "support/alloc.hh"
#include "support/types.hh"

namespace morello {

using EntryId = u32;
inline constexpr EntryId kNoEntry = ~u32{0};

/// Entry needs: limits, peaks, low (a lower bound; the cost once solved), solved, feasible (if
/// solved).
template <class Key, class Limits, class Entry>
class Memo {
 public:
  /// The entry that answers `key` at `limits`: the one made for these limits, or a solved one whose
  /// box contains them. kNoEntry if there is none.
  EntryId find(const Key& key, u64 hash, const Limits& limits) const {
    if (slots_.empty()) return kNoEntry;
    u32 slot = probe(key, hash);
    if (slots_[slot] == 0) return kNoEntry;
    for (EntryId e = keys_[slots_[slot] - 1].first; e != kNoEntry; e = entries_[e].next)
      if (answers(entries_[e].entry, limits)) return e;
    return kNoEntry;
  }

  /// Adds an entry for `key` at `limits`, which find() does not know. Its `low` is at least that of
  /// every entry with looser limits: what costs so much with more memory costs no less with less.
  EntryId add(const Key& key, u64 hash, const Limits& limits) {
    if ((keys_.size() + 1) * 2 > slots_.size()) grow();
    u32 slot = probe(key, hash);
    if (slots_[slot] == 0) {
      keys_.push_back({key, hash, kNoEntry});
      slots_[slot] = static_cast<u32>(keys_.size());
    }
    KeyRecord& record = keys_[slots_[slot] - 1];
    EntryId id = static_cast<EntryId>(entries_.size());
    entries_.push_back({Entry{}, slots_[slot] - 1, record.first});
    Entry& entry = entries_.back().entry;
    entry.limits = limits;
    for (EntryId e = record.first; e != kNoEntry; e = entries_[e].next)
      if (limits.within(entries_[e].entry.limits) && entries_[e].entry.low > entry.low)
        entry.low = entries_[e].entry.low;
    record.first = id;
    return id;
  }

  /// References stay valid: entries and keys never move.
  Entry& operator[](EntryId id) { return entries_[id].entry; }
  const Entry& operator[](EntryId id) const { return entries_[id].entry; }
  const Key& key_of(EntryId id) const { return keys_[entries_[id].key].key; }

  size_t keys() const { return keys_.size(); }
  size_t entries() const { return entries_.size(); }
  size_t bytes() const { return arena_.bytes() + slots_.capacity() * sizeof(u32); }

 private:
  struct KeyRecord {
    Key key;
    u64 hash;
    EntryId first;  // list of its entries, newest first
  };
  struct EntryRecord {
    Entry entry;
    u32 key;
    EntryId next;
  };

  static bool answers(const Entry& e, const Limits& limits) {
    if (e.limits == limits) return true;
    return e.solved && limits.within(e.limits) && (!e.feasible || e.peaks.within(limits));
  }

  u32 probe(const Key& key, u64 hash) const {
    u32 mask = static_cast<u32>(slots_.size() - 1);
    for (u32 slot = static_cast<u32>(hash) & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == 0) return slot;
      const KeyRecord& r = keys_[slots_[slot] - 1];
      if (r.hash == hash && r.key == key) return slot;
    }
  }

  void grow() {
    size_t size = slots_.empty() ? 1024 : slots_.size() * 2;
    slots_.assign(size, 0);
    for (size_t k = 0; k < keys_.size(); k++) {
      u32 mask = static_cast<u32>(size - 1), slot = static_cast<u32>(keys_[k].hash) & mask;
      while (slots_[slot]) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<u32>(k + 1);
    }
  }

  // Open addressing: 1 + index into keys_, 0 empty; a power of two many.
  std::vector<u32, BlockAllocator<u32>> slots_;
  Arena arena_;  // of the two below, which only grow
  std::deque<KeyRecord, ArenaAllocator<KeyRecord>> keys_{ArenaAllocator<KeyRecord>(arena_)};
  std::deque<EntryRecord, ArenaAllocator<EntryRecord>> entries_{
      ArenaAllocator<EntryRecord>(arena_)};
};

}  // namespace morello

#endif
