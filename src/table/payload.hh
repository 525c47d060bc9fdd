// SPDX-License-Identifier: MIT
// The inside of a table file: content <-> sections. docs/table-format.md has every byte.
#ifndef MORELLO_TABLE_PAYLOAD_HH
#define MORELLO_TABLE_PAYLOAD_HH

#include "table/cells.hh"

namespace morello {

/// Of everything but the identity. REQUIRES: check(content) finds nothing.
Sections write_payload(const TableContent& content);

/// The content, checked, without an identity. Whatever the bytes: what the content takes is counted
/// first, and counts are believed only after they were compared with the bytes there are.
/// @return CORRUPT_TABLE, TABLE_TOO_LARGE, or what `source` says.
Result<TableContent> read_payload(const SectionSource& source, Allowance& allowance);

}  // namespace morello

#endif
