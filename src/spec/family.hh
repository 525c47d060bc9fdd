// SPDX-License-Identifier: MIT
// Families of Statements by text: "matmul f32[<=512,768] f32[768,<=512]". A size "<=512" runs over
// the ladder up to 512; sizes that have to be equal run together. A Spec with a run-time size is a
// family as well: of the pieces that its kernel is made of (search/sized_pieces.hh).
#ifndef MORELLO_SPEC_FAMILY_HH
#define MORELLO_SPEC_FAMILY_HH

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/sized.hh"

namespace morello {

/// Immutable.
class Family {
 public:
  /// docs/spec-language.md has the grammar. Errors have a line and column.
  static Result<Family> parse(std::string_view text);

  /// As written, on one line, without comments.
  const std::string& text() const { return text_; }
  /// Of a Spec with a run-time size, that; its pieces are the members, which are not listed here.
  const std::optional<Sized>& sized() const { return sized_; }
  /// The sizes that each free dimension runs over, ascending. None: the family is one Statement.
  const std::vector<std::vector<u32>>& dims() const { return dims_; }
  u64 members() const;  // saturating; with a run-time size, 1
  /// Element types of the tensors.
  const std::vector<Dtype>& types() const { return types_; }

  /// The member with size dims()[d][at[d]] along each free dimension. An error if it has more
  /// dimensions than are supported, though the largest member has not.
  /// REQUIRES: an index of a size for each of dims(); no run-time size.
  Result<Statement> member(std::span<const u32> at) const;

 private:
  struct Bound {
    size_t at = 0;      // in source_
    size_t length = 0;  // from '<' to the end of the number
    u32 limit = 0;
    size_t dim = 0;  // into dims_
  };
  class Parser;

  std::string with_sizes(std::span<const u32> at) const;

  std::string source_, text_;
  std::vector<Dtype> types_;
  std::vector<Bound> bounds_;
  std::vector<std::vector<u32>> dims_;
  std::optional<Sized> sized_;
};

}  // namespace morello

#endif
