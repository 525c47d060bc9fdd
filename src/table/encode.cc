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

Bytes encode(const std::vector<TableContent>& parts) {
  std::vector<Bytes> files;
  for (const TableContent& part : parts) files.push_back(encode(part));
  return join({files.begin(), files.end()});
}

Result<TableContent> decode(const Frame& frame, const DecodeOptions& options) {
  if (options.wanted != nullptr)
    if (auto other = find_other(frame.identity, *options.wanted)) return *other;
  if (options.wanted_of)
    if (auto other = find_other(frame.identity, options.wanted_of(frame.identity))) return *other;
  Allowance allowance(options.max_bytes);
  const Section section = largest(frame);
  const u64 section_bytes = frame.part(section).decoded_bytes;
  if (!allowance.take(options.taken, 1)) return allowance.too_large("the file");
  if (!allowance.take(section_bytes, 1)) return too_large(section, allowance);
  Result<TableContent> content =
      read_payload([&](Section s) { return decompress(frame, s); }, allowance);
  if (!content) return content;
  allowance.give_back(section_bytes);
  if (!allowance.take(Table::bytes_to_make(*content), 1)) return allowance.too_large("the index");
  content->identity = frame.identity;
  return content;
}

std::optional<Error> decode_parts(std::span<const u8> file, const DecodeOptions& options,
                                  const TakePart& take) {
  const Result<std::vector<Frame>> frames = read_frames(file);
  if (!frames) return frames.error();
  DecodeOptions counted = options;
  for (const Frame& frame : *frames) {
    Result<TableContent> part = decode(frame, counted);
    if (!part) return std::move(part.error());
    counted.taken += Table::bytes_to_make(*part);
    if (std::optional<Error> error = take(std::move(*part))) return error;
  }
  return std::nullopt;
}

Result<TableContent> decode(std::span<const u8> file, const DecodeOptions& options) {
  const Result<std::vector<Frame>> frames = read_frames(file);
  if (!frames) return frames.error();
  if (frames->size() == 1) return decode(frames->front(), options);
  return Error{MORELLO_INCOMPATIBLE_TABLE,
               "the table has " + std::to_string(frames->size()) + " parts; one is wanted"};
}

}  // namespace morello
