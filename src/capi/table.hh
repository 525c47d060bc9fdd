// SPDX-License-Identifier: MIT
// The table objects of the C interface, and making them.
#ifndef MORELLO_CAPI_TABLE_HH
#define MORELLO_CAPI_TABLE_HH

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "table/table.hh"

struct morello_table {
  morello::Table table;
  morello::Target target;  // that of its identity, processors included
  morello::Owners owners;
};

namespace morello {

/// A new object with one owner. REQUIRES: table.identity() is that of `target`.
inline morello_table* make_table(Table table, const Target& target) {
  return new morello_table{std::move(table), target, {}};
}

}  // namespace morello

#endif
