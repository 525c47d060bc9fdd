// SPDX-License-Identifier: MIT
// TableBuilder: from decided pairs and promised Specs to a table.
#ifndef MORELLO_TABLE_TABLE_BUILDER_HH
#define MORELLO_TABLE_TABLE_BUILDER_HH

#include <mutex>
#include <string>
#include <vector>

#include "table/boxes.hh"
#include "table/table.hh"

namespace morello {

/// Things may be added in any order, more than once, and by several threads: the same things make
/// the same table.
class TableBuilder {
 public:
  explicit TableBuilder(TableIdentity identity) { content_.identity = std::move(identity); }

  void add_family(const std::string& family);
  /// `limits` are those of the target; every pair that the program has must be added as well.
  void promise(const Spec& spec, const Limits& limits);
  /// The limits are clamped if they are not.
  void add(const Spec& spec, Limits limits, const Action& action);

  /// @return CORRUPT_TABLE, if a pair was added with two actions, or Specs were promised at
  /// different limits; what Table::make() says.
  Result<Table> build(const BoxForm& form = {});

 private:
  std::mutex mutex_;
  TableContent content_;
  std::vector<GridPoint> promised_;
  InsertionMap<Spec, std::vector<DecidedPoint>> points_;
};

}  // namespace morello

#endif
