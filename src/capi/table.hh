// SPDX-License-Identifier: MIT
// The table objects of the C interface, and making them.
#ifndef MORELLO_CAPI_TABLE_HH
#define MORELLO_CAPI_TABLE_HH

#include <memory>
#include <vector>

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "search/sized_pieces.hh"
#include "table/table.hh"

namespace morello {

/// What a table has for one target, number of threads and effort. Tables that are merged share
/// parts.
struct TablePart {
  Table table;
  Target target;  // that of its identity, processors included
};
using TableParts = std::vector<std::shared_ptr<const TablePart>>;

}  // namespace morello

struct morello_table {
  morello::TableParts parts;  // one or more, ascending by place_of(their identities)
  morello::Owners owners;
};

namespace morello {

/// A new object with one owner. REQUIRES: not empty, ascending.
inline morello_table* make_table(TableParts parts) {
  return new morello_table{std::move(parts), {}};
}
/// REQUIRES: table.identity() is that of `target`.
inline std::shared_ptr<const TablePart> make_part(Table table, const Target& target) {
  return std::make_shared<const TablePart>(TablePart{std::move(table), target});
}

/// Of the parts that are for `target` and its processors that which a synthesis with this effort
/// asks: an exact one if that covers the Spec, else one that does and is enough, else the first.
/// With a run-time size, all pieces count; one that covers the largest is next best.
/// nullptr: there is none.
const TablePart* part_for(const morello_table& table, const Target& target,
                          const morello_spec& spec, u64 effort);
/// Of the pieces of a Spec with a run-time size, those that a part covers.
PieceCount count_pieces(const TablePart& part, const Sized& sized);
/// "avx2, 1 thread", of quick searches "avx2, 1 thread, quick": whom a part is for.
std::string name_of(const TablePart& part);
/// Why a part does not cover a Spec: a line of morello_table_miss(). "" if it does.
std::string miss_text(const TablePart& part, const morello_spec& spec);

}  // namespace morello

#endif
