// SPDX-License-Identifier: MIT
// Is a table's content what it should be? It may come from anybody's file.
#ifndef MORELLO_TABLE_CHECK_HH
#define MORELLO_TABLE_CHECK_HH

#include <string>

#include "table/content.hh"

namespace morello {

/// What is wrong with the content and where, or "": every key is one of Specs that actions may be
/// asked about at all coordinates of the table, every number is in its range, and the order is
/// canonical. Says nothing about whether the decisions are right.
std::string check(const TableContent& content);

/// The same for one key.
std::string check_key(const Spec& key);

}  // namespace morello

#endif
