// SPDX-License-Identifier: MIT
// InsertionMap: a hash map that keeps its entries in the order in which they came.
#ifndef MORELLO_SUPPORT_INSERTION_MAP_HH
#define MORELLO_SUPPORT_INSERTION_MAP_HH

#include <utility>
#include <vector>

#include "support/hash_seed.hh"

namespace morello {

/// Key needs == and hash_of(key, seed), found by argument. The seed is different in each process,
/// so that nobody can plan keys that collide. One thread at a time, or any number if none adds.
template <class Key, class Value>
class InsertionMap {
 public:
  struct Entry {
    Key key;
    Value value;
  };

  /// Of a key, for those who ask twice: in this map alone.
  u32 hash(const Key& key) const { return static_cast<u32>(hash_of(key, seed_) >> 32); }

  /// Null if it is not there. Valid until the next add().
  const Value* find(const Key& key) const { return find(key, hash(key)); }
  const Value* find(const Key& key, u32 hash) const {
    if (slots_.empty()) return nullptr;
    u32 entry = slots_[probe(key, hash)].entry;
    return entry ? &entries_[entry - 1].value : nullptr;
  }
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

  /// REQUIRES: it is not there.
  Value& add(const Key& key, Value value) { return add(key, hash(key), std::move(value)); }
  Value& add(const Key& key, u32 hash, Value value) {
    if ((entries_.size() + 1) * 2 > slots_.size()) grow();
    size_t slot = probe(key, hash);
    entries_.push_back({key, std::move(value)});
    slots_[slot] = {hash, static_cast<u32>(entries_.size())};
    return entries_.back().value;
  }

  void reserve(size_t entries) {
    entries_.reserve(entries);
    while (entries * 2 > slots_.size()) grow();
  }
  size_t size() const { return entries_.size(); }
  /// In the order of their addition; references are valid until the next add().
  const Entry& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  /// What it holds itself; what values own comes on top.
  size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(Slot);
  }
  void shrink_to_fit() { entries_.shrink_to_fit(); }

 private:
  struct Slot {
    u32 hash = 0;
    u32 entry = 0;  // 1 + index into entries_, 0: empty
  };

  size_t probe(const Key& key, u32 hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
      const Slot& s = slots_[slot];
      if (s.entry == 0 || (s.hash == hash && entries_[s.entry - 1].key == key)) return slot;
    }
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& s : old) {
      if (s.entry == 0) continue;
      size_t slot = s.hash & mask;
      while (slots_[slot].entry) slot = (slot + 1) & mask;
      slots_[slot] = s;
    }
  }

  u64 seed_ = hash_seed();
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // open addressing, a power of two many
};

}  // namespace morello

#endif
