// SPDX-License-Identifier: MIT
// A Spec with a run-time size is parsed with two sizes: what differs has the size, and has to be
// one dimension of the computation whose parts are apart.
#include "spec/sized.hh"

#include <charconv>
#include <optional>

#include "spec/check.hh"
#include "spec/lexer.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

bool is_mark(const Token& token) {
  return token.kind == Token::Kind::kUnknown && token.text == "?";
}

}  // namespace

bool has_run_time_size(std::string_view text) {
  Lexer lexer(text);
  for (Token token = lexer.next(); token.kind != Token::Kind::kEnd; token = lexer.next())
    if (is_mark(token)) return true;
  return false;
}

class Sized::Parser {
 public:
  explicit Parser(std::string_view text) { sized_.source_ = text; }

  Result<Sized> run() {
    if (!scan()) return std::move(error_);
    const i64 large = sized_.largest_, other = large > 2 ? large - 1 : large + 1;
    Result<Statement> statement = sized_.at(large);
    if (!statement) return std::move(statement.error());
    const Result<Statement> differing = sized_.at(other);
    if (!differing) {
      Error error = differing.error();
      error.message = "with the run-time size " + std::to_string(other) + ": " + error.message;
      return error;
    }
    if (!find_axes(*statement, *differing) || !check_dimension(*statement, *differing))
      return std::move(error_);
    write_outputs(*statement);
    return std::move(sized_);
  }

 private:
  bool fail(size_t at, Status status, std::string message) {
    error_ = {status, std::move(message)};
    locate(sized_.source_, at, error_);
    return false;
  }

  /// Collects the text without comments, the bound, and the places of the sizes.
  bool scan() {
    Lexer lexer(sized_.source_);
    bool in_shape = false;
    size_t end = 0;
    for (Token token = lexer.next(); token.kind != Token::Kind::kEnd; token = lexer.next()) {
      in_shape = token.is("[") || (in_shape && !token.is("]"));
      const size_t at = token.at;
      size_t past = at + token.text.size() + (token.kind == Token::Kind::kString ? 2 : 0);
      if (is_mark(token)) {
        if (!first_) first_ = at;
        if (in_shape) places_.push_back(at);
        if (!bound(lexer, at, past)) return false;
      }
      if (!sized_.text_.empty() && at > end) sized_.text_ += ' ';
      sized_.text_ += sized_.source_.substr(at, past - at);
      end = past;
    }
    if (places_.empty()) places_.push_back(*first_);
    if (sized_.largest_ != 0) return true;
    return fail(*first_, MORELLO_SYNTAX_ERROR,
                "a run-time size needs a bound where it is written first, such as ?<=512");
  }

  /// After a '?': its bound, if it has one.
  bool bound(Lexer& lexer, size_t at, size_t& past) {
    Lexer ahead(lexer);
    const Token less = ahead.next();
    if (less.kind != Token::Kind::kUnknown || less.text != "<") return true;
    const Token equal = ahead.next(), number = ahead.next();
    const char* const end = number.text.data() + number.text.size();
    i64 limit = 0;
    const auto [parsed, status] = std::from_chars(number.text.data(), end, limit);
    if (!equal.is("=") || number.kind != Token::Kind::kNumber || parsed != end ||
        status == std::errc::invalid_argument)
      return fail(at, MORELLO_SYNTAX_ERROR, "expected a bound such as ?<=512");
    if (status != std::errc() || limit > kLargest)
      return fail(at, MORELLO_SIZE_OVERFLOW,
                  "the bound of a run-time size is at most " + std::to_string(kLargest));
    if (limit < 2)
      return fail(at, MORELLO_INVALID_SHAPE,
                  "the bound of a run-time size is at least 2; the size 1 is written 1");
    if (sized_.largest_ != 0 && sized_.largest_ != limit)
      return fail(at, MORELLO_UNSUPPORTED,
                  "this is another run-time size than ?<=" + std::to_string(sized_.largest_) +
                      "; a Spec has one, and each ? is that");
    sized_.largest_ = limit;
    past = number.at + number.text.size();
    lexer = ahead;
    return true;
  }

  /// Of the n-th axis that differs; an output that is not written has none.
  size_t place(size_t n) const { return places_[std::min(n, places_.size() - 1)]; }

  bool find_axes(const Statement& a, const Statement& b) {
    size_t found = 0;
    for (size_t t = 0; t < a.tensors.size(); t++) {
      const Tensor &x = a.tensors[t], &y = b.tensors[t];
      const size_t first = found;
      size_t axis = x.shape.size();
      for (size_t i = 0; i < x.shape.size(); i++) {
        if (x.shape[i] == y.shape[i]) continue;
        found++;
        axis = i;
      }
      const std::string name = tensor_name(a, static_cast<int>(t));
      if (found > first + 1)
        return fail(place(first + 1), MORELLO_UNSUPPORTED,
                    "this is the second run-time size of " + name + "; a tensor has at most one");
      sized_.axes_.push_back(-1);
      if (found == first) continue;
      if (x.kind == Tensor::Kind::kFree)
        return fail(place(first), MORELLO_UNSUPPORTED,
                    name + " has a run-time size, so its layout cannot be free; leave out {*}");
      if (x.shape[axis] != sized_.largest_ || !same_strides(x, y))
        return fail(place(first), MORELLO_UNSUPPORTED,
                    "a run-time size has to be the outermost axis in memory, or strides given that "
                    "do not depend on it; of " +
                        name +
                        " the distances of elements would depend "
                        "on it");
      if (x.strides[axis] != 0) sized_.axes_.back() = static_cast<int>(axis);
    }
    if (found > 0) return true;
    return fail(*first_, MORELLO_UNSUPPORTED,
                "no tensor has this run-time size; write it as the size of an axis");
  }

  /// But for axes of one element.
  static bool same_strides(const Tensor& x, const Tensor& y) {
    for (size_t i = 0; i < x.shape.size(); i++)
      if (x.shape[i] > 1 && x.strides[i] != y.strides[i]) return false;
    return true;
  }

  bool check_dimension(const Statement& a, const Statement& b) {
    const Result<Lowered> x = lower(a), y = lower(b);
    if (!x || !y) {
      error_ = x ? y.error() : x.error();
      return false;
    }
    const Spec &s = x->spec, &other = y->spec;
    int dim = -1, differing = 0;
    for (int d = 0; d < s.rank; d++) {
      if (s.rank == other.rank && s.size[d] == other.size[d]) continue;
      differing++;
      dim = d;
    }
    const size_t last = place(places_.size() - 1);
    if (differing != 1 || s.operand_count != other.operand_count)
      return fail(last, MORELLO_UNSUPPORTED,
                  "a run-time size has to be one dimension of the computation; here it is several");
    if (has_dim(s.reduced(), dim))
      return fail(last, MORELLO_UNSUPPORTED,
                  "a run-time size cannot be summed, or reduced, over: its rows have to be apart");
    if (!has_dim(parallel_dims(s), dim))
      return fail(last, MORELLO_UNSUPPORTED,
                  std::string(a.outputs.empty() ? "the output" : "every output") +
                      " has to have the run-time size");
    for (const Window& w : s.window)
      if (w.used() && (w.outer == dim || w.inner == dim))
        return fail(last, MORELLO_UNSUPPORTED,
                    "a run-time size cannot be an axis of windows: they overlap");
    if (s.diagonal.has(dim))
      return fail(last, MORELLO_UNSUPPORTED,
                  "a run-time size cannot be an axis of a causal mask: each row keeps others");
    for (size_t o = 0; o < s.operand_count; o++)
      if (has_dim(s.operand[o].dims, dim) != (sized_.axes_[x->argument[o]] >= 0))
        return fail(last, MORELLO_INVALID_SHAPE,
                    tensor_name(a, x->argument[o]) +
                        " has to be written with the run-time size where the others have it");
    return true;
  }

  /// "f32[?,96]", of a tensor that is row-major at every size.
  std::string inferred_text(const Statement& s, size_t tensor) const {
    const Tensor& t = s.tensors[tensor];
    std::string text = concat(name_of(t.dtype), "[");
    for (size_t i = 0; i < t.shape.size(); i++) {
      text += i ? "," : "";
      text += static_cast<int>(i) == sized_.axes_[tensor] ? "?" : std::to_string(t.shape[i]);
    }
    return text + "]";
  }

  /// Says in text_ what the outputs are, if it was left out: printed forms always do.
  void write_outputs(const Statement& s) {
    const size_t first = s.tensors.size() - static_cast<size_t>(output_count(s));
    std::string text = sized_.text_;
    if (s.outputs.empty()) {
      text += " -> " + inferred_text(s, first);
    } else {  // the names after the last ';'
      text.resize(text.rfind(';') + 1);
      Lexer lexer(std::string_view(sized_.text_).substr(text.size()));
      for (size_t t = first; t < s.tensors.size(); t++) {
        text += concat(t == first ? " " : ", ", lexer.next().text, " -> ", inferred_text(s, t));
        lexer.next();
      }
    }
    // Where outputs are written, this is no Spec, or another one.
    const Result<Statement> again = morello::parse(text, sized_.largest_);
    if (again && *again == s) sized_.text_ = std::move(text);
  }

  Sized sized_;
  Error error_;
  std::optional<size_t> first_;  // '?'
  std::vector<size_t> places_;   // of those that are sizes of tensors; or the first
};

Result<Sized> Sized::parse(std::string_view text) { return Parser(text).run(); }

}  // namespace morello
