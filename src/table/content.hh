// SPDX-License-Identifier: MIT
// What a table consists of, as plain data: what files hold, and what look-up, merge and the
// pictures are made from.
#ifndef MORELLO_TABLE_CONTENT_HH
#define MORELLO_TABLE_CONTENT_HH

#include <compare>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "actions/action.hh"
#include "table/coordinates.hh"

namespace morello {

/// What decisions depend on. A table answers only where all of it is equal.
struct TableIdentity {
  std::string target;              // name, for people: "avx2"
  std::string machine;             // machine model, for people: "generic-x86-64"
  u32 processors = 1;              // most threads of a program; 1: no parallel loops
  u64 target_fingerprint = 0;      // every number of the Target
  u64 cost_model_fingerprint = 0;  // prices of microkernels and moves
  u64 action_fingerprint = 0;      // codes and meanings of actions
  u64 effort = 0;                  // 0, exact; MORELLO_EFFORT_QUICK: see space_of()
  friend bool operator==(const TableIdentity&, const TableIdentity&) = default;
};

/// The Specs that a table promises an optimal program for, in the space of its effort: those with
/// this key, coordinates within lo..hi, limits clamped from the target's, and every size either
/// fixed (lo == hi) or on the ladder of tile sizes. All promises of a table are at the same limits.
struct Promise {
  Spec key;  // of a GridPoint
  std::array<u32, kAxes> lo{}, hi{};
  friend bool operator==(const Promise&, const Promise&) = default;
};

/// The boxes of one key: each decides every point inside. Ascending by lo, then hi, of the varying
/// axes; no two are equal.
struct TableGroup {
  Spec key;                       // of a GridPoint
  u32 axes = 0;                   // bit a: axis a varies within the group
  std::array<u32, kAxes> base{};  // coordinates of the others; 0 where the bit is set
  std::vector<u32> bounds;        // per box: lo of each varying axis, then hi of each
  std::vector<Action> actions;    // per box
  friend bool operator==(const TableGroup&, const TableGroup&) = default;
};

/// Orders of promises and of groups: by the bytes of their keys, then promises by their numbers. A
/// key has one group.
inline std::strong_ordering compare(const Promise& a, const Promise& b) {
  if (int c = std::memcmp(&a.key, &b.key, sizeof(Spec))) return c <=> 0;
  return std::tie(a.lo, a.hi) <=> std::tie(b.lo, b.hi);
}
inline std::strong_ordering compare(const TableGroup& a, const TableGroup& b) {
  return std::memcmp(&a.key, &b.key, sizeof(Spec)) <=> 0;
}

/// Canonical: families, promises, groups and boxes in ascending order, each once. Equal promises,
/// equal bytes, whatever the order in which they were added.
struct TableContent {
  TableIdentity identity;
  std::vector<std::string> families;  // as asked for, sorted, for people
  std::vector<Promise> promises;
  std::vector<TableGroup> groups;
  friend bool operator==(const TableContent&, const TableContent&) = default;
};

}  // namespace morello

#endif
