// SPDX-License-Identifier: MIT
#include "parts.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "table/cells.hh"

namespace morello::testing {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

/// A number near a bound of something, or any.
u32 number(Random& random) {
  constexpr u32 kBounds[] = {0,        1,  2, 16, 17, 255, 256, 65535, 1u << 24, (1u << 31) - 3,
                             1u << 31, ~0u};
  const u32 bound = kBounds[below(random, std::size(kBounds))];
  return random() % 4 == 0 ? static_cast<u32>(random())
                           : bound + static_cast<u32>(random() % 3) - 1;
}

std::vector<Row>::iterator any(std::vector<Row>& rows, Random& random) {
  return rows.begin() + static_cast<std::ptrdiff_t>(below(random, rows.size()));
}

void change_number(std::vector<Row>& rows, Random& random) {
  if (rows.empty()) return;
  Row& row = *any(rows, random);
  u32& cell = row[below(random, row.size())];
  switch (random() % 4) {
    case 0:
      cell = number(random);
      break;
    case 1:
      cell += static_cast<u32>(random() % 5) - 2;
      break;
    case 2:
      cell ^= 1u << random() % 32;
      break;
    default:
      cell = (*any(rows, random))[static_cast<size_t>(&cell - row.data())];
  }
}

void change_rows(std::vector<Row>& rows, Random& random, size_t most_rows) {
  if (rows.empty()) return;
  const auto at = any(rows, random);
  switch (random() % 4) {
    case 0:
      rows.erase(at);
      break;
    case 1:
      std::swap(*at, *any(rows, random));
      break;
    case 2:
      if (rows.size() < most_rows) rows.insert(at, Row(*at));
      break;
    default: {
      // Very many alike, or in which one number goes up.
      const size_t more =
          std::min(most_rows - std::min(most_rows, rows.size()), size_t{1} << random() % 17);
      const size_t column = below(random, at->size());
      const u32 step = random() % 3 == 0 ? 0 : 1;
      std::vector<Row> copies(more, *at);
      for (size_t i = 0; i < more; i++) copies[i][column] += step * static_cast<u32>(i + 1);
      rows.insert(at + 1, copies.begin(), copies.end());
    }
  }
}

/// Another number of boxes of a group, with all that belongs to them. Only of tables with one group
/// are bounds found: axis by axis, then box by box.
void change_boxes(Parts& parts, Random& random, size_t most_rows) {
  if (parts[Section::kGroups].size() != 1) return;
  Row& group = parts[Section::kGroups][0];
  std::vector<Row>&bounds = parts[Section::kBounds], &actions = parts[Section::kActions];
  const size_t axes = static_cast<size_t>(std::popcount(group[kGroupAxes])), boxes = actions.size();
  if (boxes == 0 || bounds.size() != boxes * axes) return;
  const size_t wanted = std::min(most_rows / (axes + 1), size_t{1} << random() % 17);
  const u32 step = random() % 3 == 0 ? 0 : 1;
  std::vector<Row> more;
  for (size_t axis = 0; axis < axes; axis++)
    for (size_t box = 0; box < wanted; box++) {
      Row row = bounds[axis * boxes + box % boxes];
      row[random() % 8 == 0] += step * static_cast<u32>(box / boxes);
      more.push_back(row);
    }
  bounds = std::move(more);
  const std::vector<Row> old = actions;
  actions.resize(wanted);
  for (size_t box = 0; box < wanted; box++) actions[box] = old[box % boxes];
  group[kGroupBoxes] = static_cast<u32>(wanted);
}

void change_families(Parts& parts, Random& random, size_t most_rows) {
  const size_t count = std::min(most_rows, size_t{1} << random() % 10);
  parts.families.clear();
  for (size_t i = 0; i < count; i++)
    parts.families.push_back(std::string(random() % 20, static_cast<char>(32 + random() % 95)) +
                             std::to_string(random() % 3 ? i : 0));
  if (random() % 2) std::sort(parts.families.begin(), parts.families.end());
}

/// Counts and widths, which are at the beginning of a section, or any other byte.
void change_bytes(Bytes& bytes, Random& random) {
  if (bytes.empty()) return;
  const size_t at = below(random, random() % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 24));
  bytes[at] = random() % 2 ? static_cast<u8>(random()) : static_cast<u8>(bytes[at] + 1);
  if (random() % 8 == 0) bytes.resize(below(random, bytes.size() + 1));
}

void append_number(Bytes& bytes, u64 n) {
  for (int i = 0; i < 8; i++) bytes.push_back(static_cast<u8>(n >> 8 * i));
}

}  // namespace

size_t columns_of(Section section) {
  constexpr size_t kColumns[kSections] = {0, 346, 45, 25, 2, 5};
  return kColumns[static_cast<size_t>(section)];
}

std::optional<Parts> parts_of(const Sections& sections) {
  Parts parts;
  const SectionSource source = [&](Section s) -> Result<Bytes> {
    if (sections[static_cast<size_t>(s)].empty()) return Error{MORELLO_CORRUPT_TABLE, "empty"};
    return sections[static_cast<size_t>(s)];
  };
  Allowance allowance(~u64{0});
  Result<std::vector<std::string>> families = read_texts(source, Section::kFamilies, allowance);
  if (!families) return std::nullopt;
  parts.families = std::move(*families);
  for (size_t s = 1; s < kSections; s++) {
    const Section section = static_cast<Section>(s);
    const Result<Cells> cells = Cells::read(source, section, columns_of(section));
    if (!cells) return std::nullopt;
    for (size_t row = 0; row < cells->rows(); row++) {
      Row& numbers = parts[section].emplace_back(columns_of(section));
      for (size_t column = 0; column < numbers.size(); column++)
        numbers[column] = cells->at(row, column);
    }
  }
  return parts;
}

Sections sections_of(const Parts& parts) {
  Sections sections;
  sections[0] = write_texts(parts.families);
  for (size_t s = 1; s < kSections; s++) {
    const std::vector<Row>& rows = parts.rows[s];
    const size_t columns = columns_of(static_cast<Section>(s));
    std::vector<u32> cells(rows.size() * columns);
    for (size_t row = 0; row < rows.size(); row++)
      for (size_t column = 0; column < columns; column++)
        cells[column * rows.size() + row] = rows[row][column];
    sections[s] = write_cells(cells, rows.size(), columns);
  }
  return sections;
}

Bytes file_of(const TableIdentity& identity, const Sections& sections) {
  // The header of a table that has nothing, in which the sections are exchanged.
  constexpr size_t kProcessors = 40, kEntries = 112, kHeader = 272;
  TableIdentity any = identity;
  any.processors = 1;
  Bytes file = write_frame(any, {});
  file.resize(kHeader);
  std::memcpy(file.data() + kProcessors, &identity.processors, sizeof identity.processors);
  Bytes entries;
  for (const Bytes& section : sections) {
    Bytes stored(ZSTD_compressBound(section.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), section.data(), section.size(), 1));
    append_number(entries, stored.size());
    append_number(entries, section.size());
    append_number(entries, XXH3_64bits(stored.data(), stored.size()));
    file.insert(file.end(), stored.begin(), stored.end());
  }
  std::copy(entries.begin(), entries.end(), file.begin() + kEntries);
  const u64 hash = XXH3_64bits(file.data(), kHeader - sizeof hash);
  std::memcpy(file.data() + kHeader - sizeof hash, &hash, sizeof hash);
  return file;
}

void mutate(Sections& sections, Random& random, size_t most_rows) {
  std::optional<Parts> parts = parts_of(sections);
  const size_t section = 1 + below(random, kSections - 1);
  if (!parts || random() % 8 == 0) {
    change_bytes(sections[below(random, kSections)], random);
    return;
  }
  switch (random() % 8) {
    case 0:
      change_families(*parts, random, most_rows);
      break;
    case 1:
    case 2:
      change_boxes(*parts, random, most_rows);
      break;
    case 3:
    case 4:
      change_rows(parts->rows[section], random, most_rows);
      break;
    default:
      change_number(parts->rows[section], random);
  }
  sections = sections_of(*parts);
}

}  // namespace morello::testing
