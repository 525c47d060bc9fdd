// SPDX-License-Identifier: MIT
#include "table/frame.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

namespace morello {
namespace {

// No ASCII at first, then line ends: what transfers as text do to a file shows.
constexpr std::array<u8, 8> kMagic = {0x89, 'M', 'T', 'A', 'B', '\r', '\n', 0x1a};
constexpr int kCompressionLevel = 19;  // tables are written seldom, and shipped
constexpr size_t kNameBytes = 32;      // zeros at the end

/// As it is in the file; integers are little-endian, as this platform has them.
struct Header {
  struct Entry {
    u64 stored_bytes, decoded_bytes;
    u64 hash;  // of the stored bytes
  };
  std::array<u8, 8> magic;
  u32 version;
  u32 header_bytes;
  u64 target_fingerprint, cost_model_fingerprint, action_fingerprint;
  u32 processors;
  u32 sections;
  std::array<char, kNameBytes> target, machine;
  std::array<Entry, kSections> section;
  u32 part, parts;  // so that a file that lacks some is noticed
  // Then in kEffortVersion 8 bytes of effort, and in each the hash of all before it, of 8 bytes.
};
static_assert(sizeof(Header) == 264 && std::has_unique_object_representations_v<Header>);

/// Exact tables have the first version, which older libraries read as well.
constexpr u32 kExactVersion = 6, kEffortVersion = MORELLO_TABLE_FORMAT_VERSION;
constexpr bool has_effort(u32 version) { return version == kEffortVersion; }
constexpr u32 header_bytes_of(u32 version) {
  return sizeof(Header) + (has_effort(version) ? 2 : 1) * sizeof(u64);
}

u64 hash_of(const void* bytes, size_t count) { return XXH3_64bits(bytes, count); }

/// Writes the hash at the end of a header.
void seal(u8* header, u32 bytes) {
  const u64 hash = hash_of(header, bytes - sizeof(u64));
  std::memcpy(header + bytes - sizeof(u64), &hash, sizeof(u64));
}

std::array<char, kNameBytes> to_field(const std::string& name) {
  assert(name.size() < kNameBytes);
  std::array<char, kNameBytes> field{};
  name.copy(field.data(), kNameBytes - 1);
  return field;
}

/// Printable, then zeros.
bool is_name(const std::array<char, kNameBytes>& field) {
  auto end = std::find(field.begin(), field.end(), '\0');
  return end != field.end() &&
         std::all_of(field.begin(), end, [](char c) { return c >= ' ' && c <= '~'; }) &&
         std::all_of(end, field.end(), [](char c) { return c == '\0'; });
}

Bytes compress(const Bytes& bytes) {
  Bytes out(ZSTD_compressBound(bytes.size()));
  const size_t length =
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kCompressionLevel);
  if (ZSTD_isError(length)) throw std::bad_alloc();  // there is room: nothing else can fail
  out.resize(length);
  return out;
}

std::string quoted(Section section) { return "section '" + std::string(name_of(section)) + "'"; }
std::string count(u64 bytes) { return std::to_string(bytes) + " bytes"; }
Error corrupt(std::string what) { return {MORELLO_CORRUPT_TABLE, std::move(what)}; }

/// A header, and what some have.
struct ReadHeader {
  Header header;
  u64 effort = 0;
};
Result<ReadHeader> read_header(std::span<const u8> file) {
  if (file.empty()) return corrupt("the file is empty");
  if (std::memcmp(file.data(), kMagic.data(), std::min(file.size(), kMagic.size())) != 0)
    return corrupt("no table: the file does not begin as one");
  const auto ends_within = [&] {
    return corrupt("the file ends within the header, after " + count(file.size()));
  };
  if (file.size() < header_bytes_of(kExactVersion)) return ends_within();
  ReadHeader read;
  Header& h = read.header;
  std::memcpy(&h, file.data(), sizeof h);
  if (h.version != kExactVersion && h.version != kEffortVersion)
    return Error{MORELLO_INCOMPATIBLE_TABLE, "table format: file " + std::to_string(h.version) +
                                                 ", wanted " + std::to_string(kExactVersion) +
                                                 " or " + std::to_string(kEffortVersion)};
  const u32 bytes = header_bytes_of(h.version);
  if (file.size() < bytes) return ends_within();
  u64 hash;
  std::memcpy(&hash, file.data() + bytes - sizeof hash, sizeof hash);
  if (hash_of(file.data(), bytes - sizeof hash) != hash)
    return corrupt("the header is damaged: its checksum is wrong");
  if (has_effort(h.version)) std::memcpy(&read.effort, file.data() + sizeof h, sizeof(u64));
  if (has_effort(h.version) && read.effort != MORELLO_EFFORT_QUICK)
    return Error{MORELLO_INCOMPATIBLE_TABLE, "effort: file " + std::to_string(read.effort) +
                                                 ", known " +
                                                 std::to_string(u64{MORELLO_EFFORT_QUICK})};
  if (h.header_bytes != bytes || h.sections != kSections || !is_name(h.target) ||
      !is_name(h.machine))
    return corrupt("the header is malformed");
  if (h.processors < 1 || h.processors > kMaxProcessors)
    return corrupt("the header says " + std::to_string(h.processors) +
                   " threads of a program; valid are 1 to " + std::to_string(kMaxProcessors));
  if (h.part >= h.parts || h.parts > kMaxParts)
    return corrupt("the header is of part " + std::to_string(h.part) + " of " +
                   std::to_string(h.parts) + "; valid are up to " + std::to_string(kMaxParts));
  return read;
}

/// Compressed bytes that say themselves what the header says about them.
bool is_one_zstd_frame(const Frame::Part& part) {
  return ZSTD_findFrameCompressedSize(part.stored.data(), part.stored.size()) ==
             part.stored.size() &&
         ZSTD_getFrameContentSize(part.stored.data(), part.stored.size()) == part.decoded_bytes;
}

}  // namespace

std::string_view name_of(Section section) {
  constexpr std::string_view kNames[kSections] = {"families", "keys",   "promises",
                                                  "groups",   "bounds", "actions"};
  return kNames[static_cast<size_t>(section)];
}

Bytes write_frame(const TableIdentity& identity, const Sections& sections) {
  Header h{};
  h.magic = kMagic;
  h.version = identity.effort == 0 ? kExactVersion : kEffortVersion;
  h.header_bytes = header_bytes_of(h.version);
  h.target_fingerprint = identity.target_fingerprint;
  h.cost_model_fingerprint = identity.cost_model_fingerprint;
  h.action_fingerprint = identity.action_fingerprint;
  assert(identity.processors >= 1 && identity.processors <= kMaxProcessors);
  h.processors = identity.processors;
  h.sections = kSections;
  h.target = to_field(identity.target);
  h.machine = to_field(identity.machine);
  h.parts = 1;
  Bytes file(h.header_bytes);
  for (size_t s = 0; s < kSections; s++) {
    const Bytes stored = compress(sections[s]);
    h.section[s] = {stored.size(), sections[s].size(), hash_of(stored.data(), stored.size())};
    file.insert(file.end(), stored.begin(), stored.end());
  }
  std::memcpy(file.data(), &h, sizeof h);
  if (has_effort(h.version)) std::memcpy(file.data() + sizeof h, &identity.effort, sizeof(u64));
  seal(file.data(), h.header_bytes);
  return file;
}

namespace {

/// The frame that bytes begin with.
Result<Frame> read_frame(std::span<const u8> file, const ReadHeader& read) {
  const Header& h = read.header;
  Frame frame{{h.target.data(), h.machine.data(), h.processors, h.target_fingerprint,
               h.cost_model_fingerprint, h.action_fingerprint, read.effort},
              {},
              {}};
  std::span<const u8> rest = file.subspan(h.header_bytes);
  for (size_t s = 0; s < kSections; s++) {
    const Header::Entry& entry = h.section[s];
    const Section section = static_cast<Section>(s);
    if (entry.stored_bytes > rest.size())
      return corrupt("the file ends within " + quoted(section) + ", of which " +
                     count(rest.size()) + " of " + count(entry.stored_bytes) + " are left");
    frame.parts[s] = {rest.first(entry.stored_bytes), entry.decoded_bytes};
    rest = rest.subspan(entry.stored_bytes);
  }
  frame.bytes = file.first(file.size() - rest.size());
  for (size_t s = 0; s < kSections; s++) {
    const std::span<const u8> stored = frame.parts[s].stored;
    if (hash_of(stored.data(), stored.size()) != h.section[s].hash)
      return corrupt(quoted(static_cast<Section>(s)) + " is damaged: its checksum is wrong");
  }
  return frame;
}

std::string of_part(u32 part, u32 parts) {
  return parts == 1 ? "" : "part " + std::to_string(part) + " of " + std::to_string(parts) + ": ";
}

}  // namespace

Result<std::vector<Frame>> read_frames(std::span<const u8> file) {
  std::vector<Frame> frames;
  u32 parts = 1;
  for (u32 part = 0; part < parts; part++) {
    const auto failed = [&](Error error) {
      error.message = of_part(part, parts) + error.message;
      return error;
    };
    if (part > 0 && file.empty()) return failed(corrupt("the file ends before it"));
    const Result<ReadHeader> read = read_header(file);
    if (!read) return failed(read.error());
    const Header& header = read->header;
    if (part == 0) parts = header.parts;
    if (header.part != part || header.parts != parts)
      return failed(corrupt("in its place is part " + std::to_string(header.part) + " of " +
                            std::to_string(header.parts)));
    Result<Frame> frame = read_frame(file, *read);
    if (!frame) return failed(std::move(frame.error()));
    if (part > 0 && !(place_of(frames.back().identity) < place_of(frame->identity)))
      return failed(corrupt("parts are not ascending"));
    file = file.subspan(frame->bytes.size());
    frames.push_back(std::move(*frame));
  }
  if (!file.empty()) return corrupt(count(file.size()) + " follow after the last section");
  return frames;
}

Bytes join(const std::vector<std::span<const u8>>& frames) {
  Bytes file;
  for (size_t part = 0; part < frames.size(); part++) {
    Header h;
    std::memcpy(&h, frames[part].data(), sizeof h);
    h.part = static_cast<u32>(part);
    h.parts = static_cast<u32>(frames.size());
    const size_t at = file.size();
    file.insert(file.end(), frames[part].begin(), frames[part].end());
    std::memcpy(file.data() + at, &h, sizeof h);
    seal(file.data() + at, h.header_bytes);
  }
  return file;
}

Result<Bytes> decompress(const Frame& frame, Section section) {
  const Frame::Part& part = frame.part(section);
  if (!is_one_zstd_frame(part))
    return corrupt(quoted(section) + " is not one zstd frame of " + count(part.decoded_bytes));
  Bytes bytes(part.decoded_bytes);
  const size_t length =
      ZSTD_decompress(bytes.data(), bytes.size(), part.stored.data(), part.stored.size());
  if (ZSTD_getErrorCode(length) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  if (ZSTD_isError(length) || length != bytes.size())
    return corrupt(quoted(section) + " cannot be decompressed");
  return bytes;
}

}  // namespace morello
