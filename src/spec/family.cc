// SPDX-License-Identifier: MIT
// A family is parsed as the Statement of its largest member, whose text has the sizes where the
// bounds are: so what is wrong is found and placed by the parser of Statements, and the iteration
// space of that Statement says which sizes have to be equal.
#include "spec/family.hh"

#include <cassert>
#include <charconv>
#include <limits>
#include <utility>

#include "spec/check.hh"
#include "spec/ladder.hh"
#include "spec/lexer.hh"

namespace morello {
namespace {

constexpr u32 kLargestBound = 1u << 30;

std::vector<u32> ladder_up_to(u32 limit) {
  std::vector<u32> sizes;
  for (u32 size = 1; size <= limit; size = next_on_ladder(size)) sizes.push_back(size);
  return sizes;
}

Error error_at(std::string_view text, size_t at, Status status, std::string message) {
  Error error{status, std::move(message)};
  locate(text, at, error);
  return error;
}

}  // namespace

/// Finds the bounds and what they are bounds of.
class Family::Parser {
 public:
  explicit Parser(std::string_view text) { family_.source_ = text; }

  Result<Family> run() {
    if (has_run_time_size(family_.source_)) return run_sized();
    if (!scan()) return std::move(error_);
    // Until it is known which of them run together, each bound is a dimension of its own.
    std::vector<u32> largest;
    for (Bound& bound : family_.bounds_) {
      bound.dim = family_.dims_.size();
      family_.dims_.push_back(ladder_up_to(bound.limit));
      largest.push_back(static_cast<u32>(family_.dims_.back().size() - 1));
    }
    const Result<Statement> statement = morello::parse(family_.with_sizes(largest));
    if (!statement) return statement.error();
    if (!join(*statement)) return std::move(error_);
    return std::move(family_);
  }

 private:
  struct Size {
    size_t at = 0;
    i64 bound = -1;  // into bounds_; -1: fixed
  };

  Result<Family> run_sized() {
    Lexer lexer(family_.source_);
    for (Token before, token = lexer.next(); token.kind != Token::Kind::kEnd;) {
      if (token.text == "<" && token.kind == Token::Kind::kUnknown && before.text != "?")
        return error_at(family_.source_, token.at, MORELLO_UNSUPPORTED,
                        "a family has either a run-time size or bounds; write a number here");
      before = std::exchange(token, lexer.next());
    }
    Result<Sized> sized = Sized::parse(family_.source_);
    if (!sized) return std::move(sized.error());
    const Result<Statement> largest = sized->at(sized->largest());
    if (!largest) return largest.error();
    for (const Tensor& t : largest->tensors) family_.types_.push_back(t.dtype);
    family_.text_ = sized->text();
    family_.sized_ = std::move(*sized);
    return std::move(family_);
  }

  bool fail(size_t at, Status status, std::string message) {
    error_ = error_at(family_.source_, at, status, std::move(message));
    return false;
  }

  /// Collects bounds_, sizes_ and the text without comments.
  bool scan() {
    Lexer lexer(family_.source_);
    bool in_shape = false;
    size_t end = 0;
    for (Token token = lexer.next(); token.kind != Token::Kind::kEnd; token = lexer.next()) {
      in_shape = token.is("[") || (in_shape && !token.is("]"));
      const size_t at = token.at;
      if (token.text == "<" && token.kind == Token::Kind::kUnknown) {
        if (!bound(lexer, at, in_shape)) return false;
        token = {Token::Kind::kNumber, {}, at};
        token.text = std::string_view(family_.source_).substr(at, family_.bounds_.back().length);
      } else if (in_shape && token.kind == Token::Kind::kNumber) {
        sizes_.push_back({at, -1});
      }
      const size_t quotes = token.kind == Token::Kind::kString ? 2 : 0;
      if (!family_.text_.empty() && at > end) family_.text_ += ' ';
      family_.text_ += std::string_view(family_.source_).substr(at, token.text.size() + quotes);
      end = at + token.text.size() + quotes;
    }
    return true;
  }

  /// After its '<'.
  bool bound(Lexer& lexer, size_t at, bool in_shape) {
    const Token equal = lexer.next(), number = lexer.next();
    Bound bound{at, number.at + number.text.size() - at};
    const char* const end = number.text.data() + number.text.size();
    const auto [parsed, status] = std::from_chars(number.text.data(), end, bound.limit);
    if (!equal.is("=") || equal.at != at + 1 || number.kind != Token::Kind::kNumber ||
        number.at != at + 2 || parsed != end || status == std::errc::invalid_argument)
      return fail(at, MORELLO_SYNTAX_ERROR, "expected a bound such as <=512");
    if (!in_shape)
      return fail(at, MORELLO_SYNTAX_ERROR,
                  "a bound stands for a size, as in f32[<=512,64]; here is none");
    if (status != std::errc() || bound.limit > kLargestBound)
      return fail(at, MORELLO_SIZE_OVERFLOW, "a bound is at most " + std::to_string(kLargestBound));
    if (bound.limit < 2)
      return fail(at, MORELLO_INVALID_SHAPE, "a bound is at least 2; the size 1 is written 1");
    sizes_.push_back({at, std::ssize(family_.bounds_)});
    family_.bounds_.push_back(bound);
    return true;
  }

  /// Makes one dimension of those that `largest` has as one.
  bool join(const Statement& largest) {
    Space space;
    [[maybe_unused]] const MaybeFault fault = check(largest, space);
    assert(!fault);
    family_.types_.clear();
    for (const Tensor& t : largest.tensors) family_.types_.push_back(t.dtype);
    std::vector<const Size*> first(kMaxSpaceDims);
    std::vector<std::vector<u32>> dims;
    size_t next = 0;
    for (size_t t = 0; t < largest.tensors.size(); t++)
      for (size_t axis = 0; axis < largest.tensors[t].shape.size(); axis++) {
        if (next == sizes_.size()) break;  // an output that is not written
        const Size& size = sizes_[next++];
        const int dim = space.axes[t][axis];
        if (dim == kBroadcast) continue;
        const Size*& known = first[static_cast<size_t>(dim)];
        if (known && !same(*known, size)) return false;
        if (!known && size.bound >= 0) {
          Bound& bound = bound_of(size);
          dims.push_back(std::move(family_.dims_[bound.dim]));
          bound.dim = dims.size() - 1;
        } else if (known && size.bound >= 0) {
          bound_of(size).dim = bound_of(*known).dim;
        }
        if (!known) known = &size;
      }
    family_.dims_ = std::move(dims);
    return true;
  }

  Bound& bound_of(const Size& size) { return family_.bounds_[static_cast<size_t>(size.bound)]; }

  /// Do two sizes that have to be equal run together?
  bool same(const Size& a, const Size& b) {
    if (a.bound < 0 && b.bound < 0) return true;
    if (a.bound >= 0 && b.bound >= 0 && bound_of(a).limit == bound_of(b).limit) return true;
    Error place;
    locate(family_.source_, a.at, place);
    return fail(b.at, MORELLO_INVALID_SHAPE,
                "this size has to be equal to the one at " + std::to_string(place.line) + ":" +
                    std::to_string(place.column) +
                    "; write both as the same bound, or both as the same number");
  }

  Family family_;
  Error error_;
  std::vector<Size> sizes_;
};

Result<Family> Family::parse(std::string_view text) { return Parser(text).run(); }

u64 Family::members() const {
  u64 members = 1;
  for (const std::vector<u32>& sizes : dims_) {
    if (members > std::numeric_limits<u64>::max() / sizes.size())
      return std::numeric_limits<u64>::max();
    members *= sizes.size();
  }
  return members;
}

/// Everything stays in its place: no size is longer than its bound.
std::string Family::with_sizes(std::span<const u32> at) const {
  std::string text = source_;
  for (const Bound& bound : bounds_) {
    std::string size = std::to_string(dims_[bound.dim][at[bound.dim]]);
    size.resize(bound.length, ' ');
    text.replace(bound.at, bound.length, size);
  }
  return text;
}

Result<Statement> Family::member(std::span<const u32> at) const {
  return morello::parse(with_sizes(at));
}

}  // namespace morello
