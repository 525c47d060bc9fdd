// SPDX-License-Identifier: MIT
#include "table/encode.hh"

#include "table/identity.hh"
#include "table/payload.hh"

namespace morello {
namespace {

std::optional<Error> find_other(const TableIdentity& found, const TableIdentity& wanted) {
  if (found == wanted) return std::nullopt;
  return Error{MORELLO_INCOMPATIBLE_TABLE, "the table is of another " + difference(found, wanted)};
}

}  // namespace

Bytes encode(const TableContent& content) {
  return write_frame(content.identity, write_payload(content));
}

Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options) {
  Result<Frame> frame = read_frame(file, options.max_bytes);
  if (!frame) return frame.error();
  if (options.wanted != nullptr)
    if (auto other = find_other(frame->identity, *options.wanted)) return *other;
  if (options.wanted_of)
    if (auto other = find_other(frame->identity, options.wanted_of(frame->identity))) return *other;
  Result<TableContent> content =
      read_payload([&](Section section) { return decompress(*frame, section); }, options.max_bytes);
  if (content) content->identity = frame->identity;
  return content;
}

}  // namespace morello
