// SPDX-License-Identifier: MIT
// Fuzz target: any bytes as a table. What is decoded passes the checks, has one encoded form, and
// can be walked: actions can be asked about every Spec that it promises. The first byte says what
// the others are:
//     F  a file
//     C  a file whose checksums are made right first
//     P  decoded sections, each after its length (two bytes)
// The mutator knows what sections mean (tests/hostile/parts.hh), and half of the time changes bytes
// as any fuzzer does. meson.build says how to fuzz with it.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "../hostile/parts.hh"
#include "../support/least.hh"
#include "actions/action.hh"
#include "actions/clamp.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "table/check.hh"
#include "table/encode.hh"
#include "table/payload.hh"
#include "table/table.hh"

namespace morello {
namespace {

constexpr u64 kMaxBytes = 1 << 22;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

Result<TableContent> read(const Sections& sections) {
  auto source = [&](Section section) -> Result<Bytes> {
    return sections[static_cast<size_t>(section)];
  };
  Allowance allowance(kMaxBytes);
  return read_payload(source, allowance);
}

/// Places in the header: docs/table-format.md.
constexpr size_t kEntries = 112, kEntryBytes = 24, kVersion = 8;

/// Of each part.
void make_checksums_right(std::span<u8> file) {
  if (file.size() <= kVersion) return;
  const size_t header_bytes = file[kVersion] == MORELLO_TABLE_FORMAT_VERSION ? 280 : 272;
  if (file.size() < header_bytes) return;
  size_t at = header_bytes;
  for (size_t s = 0; s < kSections; s++) {
    u8* entry = file.data() + kEntries + s * kEntryBytes;
    u64 length;
    std::memcpy(&length, entry, sizeof length);
    length = std::min<u64>(length, file.size() - at);
    const u64 hash = XXH3_64bits(file.data() + at, length);
    std::memcpy(entry + 16, &hash, sizeof hash);
    at += length;
  }
  const u64 hash = XXH3_64bits(file.data(), header_bytes - sizeof hash);
  std::memcpy(file.data() + header_bytes - sizeof hash, &hash, sizeof hash);
  make_checksums_right(file.subspan(at));
}

Sections sections_of(Bytes bytes) {
  Sections sections;
  size_t at = 0;
  for (Bytes& section : sections) {
    if (bytes.size() - at < 2) break;
    const size_t length = std::min<size_t>(bytes[at] | bytes[at + 1] << 8, bytes.size() - at - 2);
    at += 2;
    section.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return sections;
}

/// The other way round; nothing, if that is longer than `most`.
Bytes bytes_of(const Sections& sections, size_t most) {
  Bytes bytes;
  for (const Bytes& section : sections) {
    if (section.size() > 0xffff) return {};
    bytes.push_back(static_cast<u8>(section.size()));
    bytes.push_back(static_cast<u8>(section.size() >> 8));
    bytes.insert(bytes.end(), section.begin(), section.end());
  }
  return bytes.size() <= most ? bytes : Bytes();
}

/// The decoded sections of a file or of such bytes.
std::optional<Sections> sections_of_input(const u8* data, size_t size) {
  if (size == 0) return std::nullopt;
  const Bytes bytes(data + 1, data + size);
  if (data[0] == 'P') return sections_of(bytes);
  const Result<std::vector<Frame>> frames = read_frames(bytes);
  if (!frames) return std::nullopt;
  const Frame* frame = &frames->front();
  Sections sections;
  for (size_t s = 0; s < kSections; s++) {
    if (frame->parts[s].decoded_bytes > 0xffff) return std::nullopt;
    Result<Bytes> section = decompress(*frame, static_cast<Section>(s));
    if (!section) return std::nullopt;
    sections[s] = std::move(*section);
  }
  return sections;
}

void ask_about(const Spec& key, const std::array<u32, kAxes>& at) {
  const Target& target = *fixed_target(Isa::kAvx2);
  static const Bounds bounds(target);
  ActionContext context{&target};
  Spec spec;
  Limits limits;
  from_grid({key, at}, spec, limits);
  clamp_limits(spec, limits);
  ActionList actions;
  list_actions(spec, limits, context, actions);
  Derivation d;
  for (const Action& action : actions)
    if (preview(spec, limits, action, context, d)) require(testing::least_of(d, bounds) >= 0);
  require(!describe(spec).empty());
}

/// As a Spec with it is, whatever its coordinates.
void require_canonical(const Spec& key) {
  Spec spec = key;
  const Ref out = static_cast<Ref>(spec.out_index());
  spec.out().access = is_read(spec, out) ? Access::kInOut : Access::kOut;
  require(not_canonical_form(spec).empty());
}

void use(const TableContent& content) {
  for (const Promise& p : content.promises) require_canonical(p.key);
  for (const TableGroup& g : content.groups) require_canonical(g.key);
  require(check(content).empty());
  Result<TableContent> again = read(write_payload(content));
  require(again.ok());
  again->identity = content.identity;
  require(*again == content);
  if (Result<Table> table = Table::make(content)) {
    require(check(table->content()).empty());
  }
  for (size_t i = 0; i < std::min<size_t>(content.promises.size(), 4); i++) {
    ask_about(content.promises[i].key, content.promises[i].lo);
    ask_about(content.promises[i].key, content.promises[i].hi);
  }
}

}  // namespace
}  // namespace morello

// There is none where corpora are only run again.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace morello;
  std::mt19937_64 random(seed);
  std::optional<Sections> sections = sections_of_input(data, size);
  if (sections && most > 0 && random() % 2 == 0) {
    for (u64 changes = 1 + random() % 3; changes > 0; changes--)
      testing::mutate(*sections, random, 1 + most / 8);
    const Bytes bytes = bytes_of(*sections, most - 1);
    if (!bytes.empty()) {
      data[0] = 'P';
      std::copy(bytes.begin(), bytes.end(), data + 1);
      return bytes.size() + 1;
    }
  }
  return LLVMFuzzerMutate == nullptr ? size : LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace morello;
  if (size == 0) return 0;
  Bytes bytes(data + 1, data + size);
  if (data[0] == 'C') make_checksums_right(bytes);
  if (data[0] == 'P') {
    const Result<TableContent> content = read(sections_of(std::move(bytes)));
    if (content)
      use(*content);
    else
      require(!content.error().message.empty());
    return 0;
  }
  const std::optional<Error> error =
      decode_parts(bytes, {nullptr, kMaxBytes}, [](TableContent content) -> std::optional<Error> {
        use(content);
        return std::nullopt;
      });
  require(!error || !error->message.empty());
  return 0;
}
