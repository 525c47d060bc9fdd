// SPDX-License-Identifier: MIT
#include "table/cells.hh"

#include <cereal/archives/portable_binary.hpp>
#include <istream>
#include <sstream>
#include <streambuf>

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

Error too_large(Section section) {
  return corrupt(section, "with it the table takes more memory than allowed");
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
  if (!allowance.take(count, sizeof(std::string)) || !allowance.take(in.left(), 1))
    return too_large(section);
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

Bytes write_cells(const std::vector<u32>& cells, size_t rows) {
  const size_t count = cells.size();
  Bytes planes(4 * count);
  for (size_t plane = 0; plane < 4; plane++)
    for (size_t i = 0; i < count; i++)
      planes[plane * count + i] = static_cast<u8>(cells[i] >> 8 * plane);
  std::ostringstream stream;
  Output archive(stream, Output::Options::LittleEndian());
  archive(u64{rows}, cereal::binary_data(planes.data(), planes.size()));
  return bytes_of(stream);
}

Result<Cells> Cells::read(const SectionSource& source, Section section, size_t columns) try {
  Result<Bytes> bytes = source(section);
  if (!bytes) return bytes.error();
  Input in(*bytes);
  const u64 rows = in.number(), row_bytes = 4 * columns, left = in.left();
  if (rows != left / row_bytes || left % row_bytes != 0)
    return corrupt(section, std::to_string(rows) + " rows of " + std::to_string(row_bytes) +
                                " bytes are said to be in " + std::to_string(left) + " bytes");
  return Cells(std::move(*bytes), rows, columns);
} catch (const cereal::Exception& e) {
  return corrupt(section, e.what());
}

}  // namespace morello
