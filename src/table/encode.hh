// SPDX-License-Identifier: MIT
// Tables as bytes. Equal contents, equal bytes (with one version of zstd).
#ifndef MORELLO_TABLE_ENCODE_HH
#define MORELLO_TABLE_ENCODE_HH

#include <functional>

#include "table/allowance.hh"
#include "table/frame.hh"

namespace morello {

struct DecodeOptions {
  const TableIdentity* wanted = nullptr;  // refuse a table of another one
  /// Most memory that decoding takes, and then making a Table of the content: all of it, but for
  /// half a MiB. What is too much is refused before it is allocated.
  u64 max_bytes = kDefaultTableMemory;
  u64 taken = 0;  // of this, by the caller already
  /// The same for callers who take more than one: what is wanted, given what the table is of.
  std::function<TableIdentity(const TableIdentity& found)> wanted_of = {};
};

/// REQUIRES: check(content) finds nothing.
Bytes encode(const TableContent& content);

/// Untrusted bytes: whatever they are, time and memory are bounded, and what is returned as content
/// has passed check().
/// @return CORRUPT_TABLE; TABLE_TOO_LARGE; INCOMPATIBLE_TABLE, naming what differs from what is
/// wanted.
Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options = {});

}  // namespace morello

#endif
