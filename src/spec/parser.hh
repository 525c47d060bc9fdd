// SPDX-License-Identifier: MIT
// What the parsers of Statements and of graphs share: tokens, tensors, numbers, and where in the
// text things are.
#ifndef MORELLO_SPEC_PARSER_HH
#define MORELLO_SPEC_PARSER_HH

#include "spec/check.hh"
#include "spec/lexer.hh"
#include "spec/operations.hh"

namespace morello {

struct TensorPlace {
  size_t tensor = 0;
  size_t layout = 0;  // its '{', or the tensor
  std::array<size_t, MORELLO_MAX_RANK> size{};
  std::array<size_t, MORELLO_MAX_RANK> stride{};
};

/// An integer and where it stands.
struct Int {
  i64 value = 0;
  size_t at = 0;
};

class TextParser {
 public:
  /// `run_time_size`: what "?" stands for; 0: it may not be used.
  explicit TextParser(std::string_view text, i64 run_time_size = 0)
      : text_(text), lexer_(text), token_(lexer_.next()), run_time_size_(run_time_size) {}

 protected:
  // Each of these parses one rule of the grammar, and returns false with error_ set if it cannot.
  bool tensor();
  bool integers(std::vector<Int>& list, std::string_view what);
  bool integer(Int& result, std::string_view what);
  /// A run-time size stands here.
  bool is_run_time_size() const {
    return token_.kind == Token::Kind::kUnknown && token_.text == "?";
  }
  /// With its sign. `f32` is rounded; `exact` is not, and of the same sign.
  bool number(float& f32, double& exact);
  bool symbol(std::string_view text);

  /// A number begins here, sign aside.
  static bool is_number(const Token& token) {
    return token.kind == Token::Kind::kNumber ||
           (token.kind == Token::Kind::kName && (token.text == "inf" || token.text == "nan"));
  }
  void advance() { token_ = lexer_.next(); }
  Token peek() const { return Lexer(lexer_).next(); }
  template <class... Parts>
  bool fail(Status status, size_t at, const Parts&... parts) {
    error_ = {status, concat(parts...)};
    error_at_ = at;
    locate(text_, at, error_);
    return false;
  }
  template <class... Parts>
  bool expected(const Parts&... what) {
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "expected ", what..., ", found ",
                describe(token_));
  }
  /// REQUIRES: the place is about a tensor of tensor_at_.
  size_t offset_of_tensor(const Place& place) const {
    const TensorPlace& tensor = tensor_at_[static_cast<size_t>(place.tensor)];
    const auto entry = static_cast<size_t>(place.entry);
    if (place.kind == Place::Kind::kSize) return tensor.size[entry];
    if (place.kind == Place::Kind::kTensor) return tensor.tensor;
    return tensor.stride[entry] ? tensor.stride[entry] : tensor.layout;
  }

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  i64 run_time_size_;
  Statement statement_;
  std::vector<TensorPlace> tensor_at_;
  Error error_;
  size_t error_at_ = 0;

 private:
  bool run_time_size(Int& result);
  bool dtype(Tensor& tensor);
  bool layout(Tensor& tensor, TensorPlace& place);
  bool strides(Tensor& tensor, TensorPlace& place);
  bool dimension_order(Tensor& tensor, TensorPlace& place);
};

/// A Statement of several operations; else the error, where it is, and whether it is one of
/// meaning, for the text has the form of a graph.
Result<Statement> parse_graph(std::string_view text, i64 run_time_size, size_t& error_at,
                              bool& formed);

}  // namespace morello

#endif
