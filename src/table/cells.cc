// SPDX-License-Identifier: MIT
#include "table/cells.hh"

#include <istream>
#include <sstream>
#include <streambuf>

// cereal includes <iostream>, whose header (of libstdc++ before 13) makes every library that has
// seen it run code when it is loaded. Neither cereal nor this file uses std::cout and its like.
#define _GLIBCXX_IOSTREAM 1
#include <cereal/archives/portable_binary.hpp>

namespace morello {
namespace {

using Output = cereal::PortableBinaryOutputArchive;

Bytes bytes_of(const std::ostringstream& stream) {
  const std::string_view bytes = stream.view();
  return {bytes.begin(), bytes.end()};
}

/// A stream buffer on bytes that are there.
class Memory : public std::streambuf {
 public:
  explicit Memory(const Bytes& bytes) {
    char* begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));  // only read
    setg(begin, begin, begin + bytes.size());
  }
  size_t left() const { return static_cast<size_t>(egptr() - gptr()); }
};

/// Reads a section. Throws cereal::Exception where it ends too early or is not little-endian.
class Input {
 public:
  explicit Input(const Bytes& bytes)
      : memory_(bytes), stream_(&memory_), archive_(stream_, Options::LittleEndian()) {
    if (bytes[0] != 1) throw cereal::Exception("its byte order is not little-endian");
  }
  u64 number() {
    u64 value = 0;
    archive_(value);
    return value;
  }
  void read(std::string& text) { archive_(cereal::binary_data(text.data(), text.size())); }
  size_t left() const { return memory_.left(); }

 private:
  using Options = cereal::PortableBinaryInputArchive::Options;
  Memory memory_;
  std::istream stream_;
  cereal::PortableBinaryInputArchive archive_;
};

}  // namespace

Error corrupt(Section section, const std::string& what) {
  return {MORELLO_CORRUPT_TABLE, "section '" + std::string(name_of(section)) + "': " + what};
}

Error too_large(Section section, const Allowance& allowance) {
  return allowance.too_large("section '" + std::string(name_of(section)) + "'");
}

Bytes write_texts(const std::vector<std::string>& texts) {
  std::ostringstream stream;
  Output archive(stream, Output::Options::LittleEndian());
  archive(u64{texts.size()});
  for (const std::string& text : texts)
    archive(u64{text.size()}, cereal::binary_data(text.data(), text.size()));
  return bytes_of(stream);
}

Result<std::vector<std::string>> read_texts(const SectionSource& source, Section section,
                                            Allowance& allowance) try {
  Result<Bytes> bytes = source(section);
  if (!bytes) return bytes.error();
  Input in(*bytes);
  const u64 count = in.number();
  if (count > in.left() / sizeof(u64))
    return corrupt(section, std::to_string(count) + " texts are said to be in " +
                                std::to_string(in.left()) + " bytes");
  if (!allowance.take(count, sizeof(std::string) + kBlockBytes) || !allowance.take(in.left(), 1))
    return too_large(section, allowance);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    const u64 length = in.number();
    if (length > in.left()) return corrupt(section, "a text is longer than the section");
    text.resize(length);
    in.read(text);
  }
  if (in.left() != 0) return corrupt(section, "more follows after the last text");
  return texts;
} catch (const cereal::Exception& e) {
  return corrupt(section, e.what());
}

Bytes write_cells(const std::vector<u32>& cells, size_t rows, size_t columns) {
  std::vector<u8> widths(columns, 1), planes;
  for (size_t c = 0; c < columns; c++) {
    const u32* column = cells.data() + c * rows;
    for (size_t row = 0; row < rows; row++)
      while (widths[c] < 4 && column[row] >> 8 * widths[c] != 0) widths[c]++;
    for (int plane = 0; plane < widths[c]; plane++)
      for (size_t row = 0; row < rows; row++)
        planes.push_back(static_cast<u8>(column[row] >> 8 * plane));
  }
  std::ostringstream stream;
  Output archive(stream, Output::Options::LittleEndian());
  archive(u64{rows}, cereal::binary_data(widths.data(), columns),
          cereal::binary_data(planes.data(), planes.size()));
  return bytes_of(stream);
}

Result<Cells> Cells::read(const SectionSource& source, Section section, size_t columns) try {
  Result<Bytes> bytes = source(section);
  if (!bytes) return bytes.error();
  Input in(*bytes);
  Cells cells({}, in.number());
  std::string widths(columns, 0);
  in.read(widths);
  const size_t begin = bytes->size() - in.left();
  u64 row_bytes = 0;
  for (char width : widths) {
    if (width < 1 || width > 4) return corrupt(section, "a column is not 1 to 4 bytes wide");
    // What overflows here does not pass the check below.
    cells.columns_.push_back({begin + row_bytes * cells.rows_, static_cast<u8>(width)});
    row_bytes += static_cast<u8>(width);
  }
  if (cells.rows_ != in.left() / row_bytes || in.left() % row_bytes != 0)
    return corrupt(section, std::to_string(cells.rows_) + " rows of " + std::to_string(row_bytes) +
                                " bytes are said to be in " + std::to_string(in.left()) + " bytes");
  cells.bytes_ = std::move(*bytes);
  return cells;
} catch (const cereal::Exception& e) {
  return corrupt(section, e.what());
}

}  // namespace morello
