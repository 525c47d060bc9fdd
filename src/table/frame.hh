// SPDX-License-Identifier: MIT
// The outside of a table file: magic number, version, identity, and sections that are compressed
// and checked one by one. docs/table-format.md has every byte. Knows nothing of what is inside.
#ifndef MORELLO_TABLE_FRAME_HH
#define MORELLO_TABLE_FRAME_HH

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "support/file.hh"
#include "support/result.hh"
#include "table/content.hh"

namespace morello {

/// In this order in the file.
enum class Section { kFamilies, kKeys, kPromises, kGroups, kBounds, kActions };
inline constexpr size_t kSections = 6;
std::string_view name_of(Section section);

/// Decoded sections, by number.
using Sections = std::array<Bytes, kSections>;

/// A file of one part.
Bytes write_frame(const TableIdentity& identity, const Sections& sections);

/// A frame that was checked: a part of a file.
struct Frame {
  struct Part {
    std::span<const u8> stored;  // compressed; points into the file
    u64 decoded_bytes = 0;
  };
  TableIdentity identity;
  std::span<const u8> bytes;          // all of it; points into the file
  std::array<Part, kSections> parts;  // by number of the section
  const Part& part(Section section) const { return parts[static_cast<size_t>(section)]; }
};

/// Most threads of a program that a table may be for.
inline constexpr u32 kMaxProcessors = 1024;

/// Most parts of a file.
inline constexpr u32 kMaxParts = 1024;

/// Whom a part answers: no two parts of a file are for the same, and they are ascending. What is
/// equal here may still have other fingerprints.
inline auto place_of(const TableIdentity& identity) {
  return std::tie(identity.target, identity.machine, identity.processors, identity.effort);
}

/// Checks all that can be checked without decompressing: every checksum, every number of the
/// headers, and every length against the file's. Allocates next to nothing.
/// @return one frame or more; CORRUPT_TABLE; INCOMPATIBLE_TABLE for another format version.
Result<std::vector<Frame>> read_frames(std::span<const u8> file);

/// One file of several frames, from as many files. REQUIRES: each is a frame of a valid file, and
/// they are ascending by place_of().
Bytes join(const std::vector<std::span<const u8>>& frames);

/// One section, decompressed: exactly as long as the header says. CORRUPT_TABLE.
Result<Bytes> decompress(const Frame& frame, Section section);

}  // namespace morello

#endif
