// SPDX-License-Identifier: MIT
#include "table/encode.hh"

#include <algorithm>

#include "table/identity.hh"
#include "table/payload.hh"
#include "table/table.hh"

namespace morello {
namespace {

std::optional<Error> find_other(const TableIdentity& found, const TableIdentity& wanted) {
  if (found == wanted) return std::nullopt;
  return Error{MORELLO_INCOMPATIBLE_TABLE, "the table is of another " + difference(found, wanted)};
}

/// That which is longest when decoded: one after the other is in memory.
Section largest(const Frame& frame) {
  const auto part = std::max_element(
      frame.parts.begin(), frame.parts.end(),
      [](const auto& a, const auto& b) { return a.decoded_bytes < b.decoded_bytes; });
  return static_cast<Section>(part - frame.parts.begin());
}

}  // namespace

Bytes encode(const TableContent& content) {
  return write_frame(content.identity, write_payload(content));
}

Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options) {
  Result<Frame> frame = read_frame(file);
  if (!frame) return frame.error();
  if (options.wanted != nullptr)
    if (auto other = find_other(frame->identity, *options.wanted)) return *other;
  if (options.wanted_of)
    if (auto other = find_other(frame->identity, options.wanted_of(frame->identity))) return *other;
  Allowance allowance(options.max_bytes);
  const Section section = largest(*frame);
  const u64 section_bytes = frame->part(section).decoded_bytes;
  if (!allowance.take(options.taken, 1)) return allowance.too_large("the file");
  if (!allowance.take(section_bytes, 1)) return too_large(section, allowance);
  Result<TableContent> content =
      read_payload([&](Section s) { return decompress(*frame, s); }, allowance);
  if (!content) return content;
  allowance.give_back(section_bytes);
  if (!allowance.take(Table::bytes_to_make(*content), 1)) return allowance.too_large("the index");
  content->identity = frame->identity;
  return content;
}

}  // namespace morello
