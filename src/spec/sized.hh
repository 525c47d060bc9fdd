// SPDX-License-Identifier: MIT
// Specs with a size that is known only when their kernel runs: "matmul f32[?<=512,768]
// f32[768,3072]". Such a Spec is a Statement for each size up to its bound. Rows (what has the
// size) do not depend on one another, so that a run is one of several smaller sizes, one after
// another.
#ifndef MORELLO_SPEC_SIZED_HH
#define MORELLO_SPEC_SIZED_HH

#include <string>
#include <string_view>
#include <vector>

#include "spec/statement.hh"

namespace morello {

/// Has it a run-time size?
bool has_run_time_size(std::string_view text);

/// Immutable.
class Sized {
 public:
  inline static constexpr i64 kLargest = 65536;

  /// docs/spec-language.md has the grammar, and what can have a run-time size. Errors have a line
  /// and column. REQUIRES: has_run_time_size(text).
  static Result<Sized> parse(std::string_view text);

  /// As written, on one line, without comments, and with the outputs.
  const std::string& text() const { return text_; }
  i64 largest() const noexcept { return largest_; }
  /// REQUIRES: 1 <= size <= largest().
  Result<Statement> at(i64 size) const { return morello::parse(source_, size); }
  /// Of each tensor: which axis has the size, or -1.
  const std::vector<int>& axes() const { return axes_; }

 private:
  class Parser;

  std::string source_, text_;
  i64 largest_ = 0;
  std::vector<int> axes_;
};

}  // namespace morello

#endif
