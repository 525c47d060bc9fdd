// SPDX-License-Identifier: MIT
// Table: decisions that were found once, and the Specs that they are promised to be right for.
#ifndef MORELLO_TABLE_TABLE_HH
#define MORELLO_TABLE_TABLE_HH

#include <optional>

#include "support/insertion_map.hh"
#include "support/result.hh"
#include "table/box_index.hh"
#include "table/content.hh"

namespace morello {

/// Immutable; any number of threads may ask. What it says of a Spec may be wrong, if it is from a
/// file: see program() in table/walk.hh.
class Table {
 public:
  /// @return CORRUPT_TABLE, if one key has boxes with more than 65535 different ends along an axis.
  /// REQUIRES: check(content) (table/check.hh) finds nothing.
  static Result<Table> make(const TableContent& content);
  /// The most memory that make() takes at any time.
  static u64 bytes_to_make(const TableContent& content);

  const TableIdentity& identity() const { return identity_; }
  const std::vector<std::string>& families() const { return families_; }
  std::vector<Promise> promises() const;

  /// Is the program that the decisions describe promised to be the cheapest? `limits` are those of
  /// the target, clamped or not.
  bool promises(const Spec& spec, const Limits& limits) const;
  /// The decision for a Spec at clamped limits. Of a pair that no promised program has, it is a
  /// guess. In under 200 ns.
  std::optional<Action> find(const Spec& spec, const Limits& limits) const;
  /// Does every box that contains the pair decide this, and is there one?
  bool agrees(const Spec& spec, const Limits& limits, const Action& action) const;

  /// Canonical: equal promises and decisions, equal content.
  TableContent content() const;

  size_t keys() const { return decisions_.size(); }
  size_t boxes() const { return box_count_; }
  size_t bytes() const;

 private:
  using Indices = InsertionMap<Spec, BoxIndex>;

  Table() = default;
  bool add_groups(const std::vector<TableGroup>& groups);
  bool add_promises(const std::vector<Promise>& promises);

  TableIdentity identity_;
  std::vector<std::string> families_;
  Indices promised_;   // at limits 0
  Limits limits_;      // of all promises
  Indices decisions_;  // values: into actions_
  std::vector<Action> actions_;
  size_t box_count_ = 0;
};

}  // namespace morello

#endif
