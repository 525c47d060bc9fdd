// SPDX-License-Identifier: MIT
// Making the table objects of the C interface.
#ifndef MORELLO_CAPI_TABLE_HH
#define MORELLO_CAPI_TABLE_HH

#include "capi/boundary.hh"
#include "capi/objects.hh"

namespace morello {

/// A new object with one owner. REQUIRES: table.identity() is that of `target`.
inline morello_table* make_table(Table table, const Target& target) {
  return new morello_table{std::move(table), target, {}};
}

}  // namespace morello

#endif
