// SPDX-License-Identifier: MIT
// PairMap: what is known of (Spec, limits) pairs, in the order in which they came.
#ifndef MORELLO_ACTIONS_PAIR_MAP_HH
#define MORELLO_ACTIONS_PAIR_MAP_HH

#include <vector>

#include "spec/limits.hh"
#include "spec/spec.hh"

namespace morello {

/// Limits are compared as they are: clamp them first. One thread at a time.
template <class Value>
class PairMap {
 public:
  struct Entry {
    Spec spec;
    Limits limits;
    Value value;
  };

  /// Null if it is not there. Valid until the next add().
  Value* find(const Spec& spec, const Limits& limits) {
    if (slots_.empty()) return nullptr;
    u32 slot = slots_[probe(spec, limits, hash_of(spec, limits))].entry;
    return slot ? &entries_[slot - 1].value : nullptr;
  }

  /// REQUIRES: it is not there.
  void add(const Spec& spec, const Limits& limits, Value value) {
    if ((entries_.size() + 1) * 2 > slots_.size()) grow();
    u32 hash = hash_of(spec, limits);
    Slot& slot = slots_[probe(spec, limits, hash)];
    entries_.push_back({spec, limits, std::move(value)});
    slot = {hash, static_cast<u32>(entries_.size())};
  }

  size_t size() const { return entries_.size(); }
  const Entry& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  struct Slot {
    u32 hash = 0;
    u32 entry = 0;  // 1 + index into entries_, 0: empty
  };

  static u32 hash_of(const Spec& spec, const Limits& limits) {
    u64 use = static_cast<u64>(limits.use[0]) | static_cast<u64>(limits.use[1]) << 8 |
              static_cast<u64>(limits.use[2]) << 16;
    return static_cast<u32>((morello::hash_of(spec) ^ use * 0x9e3779b97f4a7c15u) >> 32);
  }

  size_t probe(const Spec& spec, const Limits& limits, u32 hash) const {
    for (size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].entry == 0) return slot;
      const Entry& e = entries_[slots_[slot].entry - 1];
      if (slots_[slot].hash == hash && e.limits == limits && e.spec == spec) return slot;
    }
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.entry == 0) continue;
      size_t slot = s.hash & (slots_.size() - 1);
      while (slots_[slot].entry) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = s;
    }
  }

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // open addressing, a power of two many
};

}  // namespace morello

#endif
