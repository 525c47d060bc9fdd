// SPDX-License-Identifier: MIT
// A whole table as text: what it promises, and every box with its decision.
#ifndef MORELLO_TABLE_DUMP_HH
#define MORELLO_TABLE_DUMP_HH

#include <string>

#include "table/content.hh"

namespace morello {

/// One line per promise, group and box. Groups are numbered.
std::string dump_text(const TableContent& content);
/// The same as one JSON object.
std::string dump_json(const TableContent& content);

}  // namespace morello

#endif
