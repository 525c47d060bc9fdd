// SPDX-License-Identifier: MIT
// What the sections of a table file are made of: columns of numbers, or a list of texts, as
// cereal's portable binary archives. cells.cc is the only file that knows cereal.
#ifndef MORELLO_TABLE_CELLS_HH
#define MORELLO_TABLE_CELLS_HH

#include <functional>

#include "table/frame.hh"

namespace morello {

/// Gives one section after the other, so that no two need to be in memory.
using SectionSource = std::function<Result<Bytes>(Section)>;

/// What is still allowed to be allocated on behalf of a file.
class Allowance {
 public:
  explicit Allowance(u64 bytes) : left_(bytes) {}
  bool take(u64 count, u64 size) {
    u64 bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  u64 left_;
};

Error corrupt(Section section, const std::string& what);
Error too_large(Section section);

Bytes write_texts(const std::vector<std::string>& texts);
Result<std::vector<std::string>> read_texts(const SectionSource& source, Section section,
                                            Allowance& allowance);

/// `cells` column by column. In the section the lowest bytes of all cells come first, then the
/// second bytes, the third and the fourth: most are 0, which costs nothing once compressed.
Bytes write_cells(const std::vector<u32>& cells, size_t rows);

/// The cells of a section, read in place.
class Cells {
 public:
  static Result<Cells> read(const SectionSource& source, Section section, size_t columns);

  u64 rows() const { return rows_; }
  u32 at(size_t row, size_t column) const {
    const u8* low = bytes_.data() + (bytes_.size() - 4 * cells_) + column * rows_ + row;
    return low[0] | u32{low[cells_]} << 8 | u32{low[2 * cells_]} << 16 | u32{low[3 * cells_]} << 24;
  }

 private:
  Cells(Bytes bytes, u64 rows, size_t columns)
      : bytes_(std::move(bytes)), rows_(rows), cells_(rows * columns) {}

  Bytes bytes_;
  u64 rows_, cells_;
};

}  // namespace morello

#endif
