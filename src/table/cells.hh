// SPDX-License-Identifier: MIT
// What the sections of a table file are made of: columns of numbers, or a list of texts, as
// cereal's portable binary archives. cells.cc is the only file that knows cereal.
#ifndef MORELLO_TABLE_CELLS_HH
#define MORELLO_TABLE_CELLS_HH

#include <functional>

#include "table/allowance.hh"
#include "table/frame.hh"

namespace morello {

/// Gives one section after the other, so that no two need to be in memory. Whoever makes it counts
/// the largest one.
using SectionSource = std::function<Result<Bytes>(Section)>;

Error corrupt(Section section, const std::string& what);
Error too_large(Section section, const Allowance& allowance);

Bytes write_texts(const std::vector<std::string>& texts);
Result<std::vector<std::string>> read_texts(const SectionSource& source, Section section,
                                            Allowance& allowance);

/// `cells` column by column. In the section each column has as many bytes per cell as its largest
/// needs: first the lowest bytes of all its cells, then the second bytes, and so on.
Bytes write_cells(const std::vector<u32>& cells, size_t rows, size_t columns);

/// The cells of a section, read in place.
class Cells {
 public:
  static Result<Cells> read(const SectionSource& source, Section section, size_t columns);

  u64 rows() const { return rows_; }
  u32 at(size_t row, size_t column) const {
    const Column& c = columns_[column];
    const u8* byte = bytes_.data() + c.begin + row;
    u32 value = *byte;
    for (int i = 1; i < c.width; i++) value |= u32{*(byte += rows_)} << 8 * i;
    return value;
  }

 private:
  struct Column {
    size_t begin;  // in the section
    u8 width;      // bytes per cell, 1 to 4
  };
  Cells(Bytes bytes, u64 rows) : bytes_(std::move(bytes)), rows_(rows) {}

  Bytes bytes_;
  u64 rows_;
  std::vector<Column> columns_;
};

}  // namespace morello

#endif
