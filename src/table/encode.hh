// SPDX-License-Identifier: MIT
// Tables as bytes. Equal contents, equal bytes (with one version of zstd).
#ifndef MORELLO_TABLE_ENCODE_HH
#define MORELLO_TABLE_ENCODE_HH

#include <functional>

#include "table/frame.hh"

namespace morello {

struct DecodeOptions {
  const TableIdentity* wanted = nullptr;  // refuse a table of another one
  /// Of the decoded sections together, and of the content: twice this is the most memory taken.
  u64 max_bytes = u64{1} << 30;
  /// The same for callers who take more than one: what is wanted, given what the table is of.
  std::function<TableIdentity(const TableIdentity& found)> wanted_of = {};
};

/// REQUIRES: check(content) finds nothing.
Bytes encode(const TableContent& content);

/// Untrusted bytes: whatever they are, time and memory are bounded, and what is returned as content
/// has passed check().
/// @return CORRUPT_TABLE; INCOMPATIBLE_TABLE, naming what differs from what is wanted.
Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options = {});

}  // namespace morello

#endif
