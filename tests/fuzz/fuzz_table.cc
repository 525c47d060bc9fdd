// SPDX-License-Identifier: MIT
// Fuzz target: any bytes as a table. What is decoded passes the checks, has one encoded form, and
// can be walked: actions can be asked about every Spec that it promises. The first byte says what
// the others are:
//     F  a file
//     C  a file whose checksums are made right first
//     P  decoded sections, each after its length (two bytes)
// meson.build says how to fuzz with it.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "actions/action.hh"
#include "actions/clamp.hh"
#include "table/check.hh"
#include "table/encode.hh"
#include "table/payload.hh"

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
  return read_payload(source, kMaxBytes);
}

/// Places in the header: docs/table-format.md.
constexpr size_t kEntries = 112, kEntryBytes = 24, kHeaderBytes = 264;

void make_checksums_right(Bytes& file) {
  if (file.size() < kHeaderBytes) return;
  size_t at = kHeaderBytes;
  for (size_t s = 0; s < kSections; s++) {
    u8* entry = file.data() + kEntries + s * kEntryBytes;
    u64 length;
    std::memcpy(&length, entry, sizeof length);
    length = std::min<u64>(length, file.size() - at);
    const u64 hash = XXH3_64bits(file.data() + at, length);
    std::memcpy(entry + 16, &hash, sizeof hash);
    at += length;
  }
  const u64 hash = XXH3_64bits(file.data(), kHeaderBytes - sizeof hash);
  std::memcpy(file.data() + kHeaderBytes - sizeof hash, &hash, sizeof hash);
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

void ask_about(const Spec& key, const std::array<u32, kAxes>& at) {
  const Target& target = *fixed_target(Isa::kAvx2);
  ActionContext context{&target};
  Spec spec;
  Limits limits;
  from_grid({key, at}, spec, limits);
  clamp_limits(spec, limits);
  ActionList actions;
  list_actions(spec, limits, context, actions);
  Derivation d;
  for (const Action& action : actions)
    if (preview(spec, limits, action, context, d)) require(d.own >= 0);
  require(!describe(spec).empty());
}

void use(const TableContent& content) {
  require(check(content).empty());
  Result<TableContent> again = read(write_payload(content));
  require(again.ok());
  again->identity = content.identity;
  require(*again == content);
  for (size_t i = 0; i < std::min<size_t>(content.promises.size(), 4); i++) {
    ask_about(content.promises[i].key, content.promises[i].lo);
    ask_about(content.promises[i].key, content.promises[i].hi);
  }
}

}  // namespace
}  // namespace morello

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace morello;
  if (size == 0) return 0;
  Bytes bytes(data + 1, data + size);
  if (data[0] == 'C') make_checksums_right(bytes);
  Result<TableContent> content =
      data[0] == 'P' ? read(sections_of(std::move(bytes))) : decode(bytes, {nullptr, kMaxBytes});
  if (content)
    use(*content);
  else
    require(!content.error().message.empty());
  return 0;
}
