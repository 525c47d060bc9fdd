// SPDX-License-Identifier: MIT
// Tables as bytes. Equal contents, equal bytes (with one version of zstd).
#ifndef MORELLO_TABLE_ENCODE_HH
#define MORELLO_TABLE_ENCODE_HH

#include <functional>
#include <optional>

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

/// A file with several parts. REQUIRES: of each, check() finds nothing; ascending by place_of().
Bytes encode(const std::vector<TableContent>& parts);

/// Untrusted bytes: whatever they are, time and memory are bounded, and what is returned as content
/// has passed check(). Gives each part to `take`, which makes a Table of it before the next one
/// comes, or ends the call with an error; `wanted_of` is asked about each.
/// @return CORRUPT_TABLE; TABLE_TOO_LARGE; INCOMPATIBLE_TABLE, naming what differs from what is
/// wanted; what `take` returns.
using TakePart = std::function<std::optional<Error>(TableContent)>;
std::optional<Error> decode_parts(std::span<const u8> file, const DecodeOptions& options,
                                  const TakePart& take);
/// The same for one part that was found by read_frames().
Result<TableContent> decode(const Frame& frame, const DecodeOptions& options);
/// The same for a file of one part; INCOMPATIBLE_TABLE also if it has several.
Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options = {});

}  // namespace morello

#endif
