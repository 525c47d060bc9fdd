// SPDX-License-Identifier: MIT
// The sections of a table file as rows that may say anything, and a mutator that knows what the
// rows mean. Shared by the tests of hostile tables and the fuzzer.
#ifndef MORELLO_TESTS_HOSTILE_PARTS_HH
#define MORELLO_TESTS_HOSTILE_PARTS_HH

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "table/frame.hh"

namespace morello::testing {

using Row = std::vector<u32>;

/// Columns of a section, as docs/table-format.md has them; 0: it has texts.
size_t columns_of(Section section);

/// Columns of groups that say how long other sections are.
inline constexpr size_t kGroupAxes = 1, kGroupBoxes = 2, kGroupBase = 3;

struct Parts {
  std::vector<std::string> families;
  std::array<std::vector<Row>, kSections> rows;  // by number of the section; families has none

  std::vector<Row>& operator[](Section s) { return rows[static_cast<size_t>(s)]; }
  const std::vector<Row>& operator[](Section s) const { return rows[static_cast<size_t>(s)]; }
};

/// Nothing, if the sections are not even rows.
std::optional<Parts> parts_of(const Sections& sections);
Sections sections_of(const Parts& parts);

/// A whole file with right checksums, compressed quickly.
Bytes file_of(const TableIdentity& identity, const Sections& sections);

/// Changes one thing: a number, to one that is near a bound, or that another row has; a row, which
/// goes, comes again, or changes its place; a group together with the rows of its boxes, so that
/// all counts still agree; a text; or a count or width of a section against what is there. Nothing
/// grows past `most_rows` rows.
void mutate(Sections& sections, std::mt19937_64& random, size_t most_rows);

}  // namespace morello::testing

#endif
