// SPDX-License-Identifier: MIT
// The Spec language: recursive descent, one token of look-ahead, no recursion on the input's depth.
// docs/spec-language.md has the grammar. The parser checks form; check() finds everything else, and
// the parser adds where in the text it is.
#include <algorithm>
#include <charconv>

#include "spec/check.hh"
#include "spec/lexer.hh"

namespace morello {
namespace {

using Head = Statement::Head;

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

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text), token_(lexer_.next()) {}

  Result<Statement> run() {
    Space space;
    Lowered lowered;
    if (!head() || !steps() || !output()) return std::move(error_);
    if (statement_.head == Head::kFill && is_integer(statement_.tensors[0].dtype))
      statement_.fill_value = exact_value_;
    if (auto f = check(statement_, space)) return located(std::move(*f));
    if (auto f = canonicalise(statement_, space, lowered)) return located(std::move(*f));
    return std::move(statement_);
  }

 private:
  // Each of these parses one rule of the grammar, and returns false with error_ set if it cannot.
  bool head();
  bool einsum_subscripts();
  bool axis();
  bool permutation();
  bool fill_value();
  bool steps();
  bool step(Op op);
  bool output();
  bool tensor();
  bool dtype(Tensor& tensor);
  bool layout(Tensor& tensor, TensorPlace& place);
  bool strides(Tensor& tensor, TensorPlace& place);
  bool dimension_order(Tensor& tensor, TensorPlace& place);
  bool integers(std::vector<Int>& list, std::string_view what);
  bool integer(Int& result, std::string_view what);
  bool symbol(std::string_view text);

  void advance() { token_ = lexer_.next(); }
  Token peek() const { return Lexer(lexer_).next(); }
  template <class... Parts>
  bool fail(Status status, size_t at, const Parts&... parts);
  template <class... Parts>
  bool expected(const Parts&... what);
  Error located(Fault fault) const;
  size_t offset_of(const Place& place) const;

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  Statement statement_;
  Error error_;
  size_t head_at_ = 0;
  bool has_own_shape_ = false;       // the output's shape does not follow from the inputs
  std::vector<size_t> argument_at_;  // the subscripts, axis, number, or entries of the permutation
  double exact_value_ = 0;           // what is filled with, before it is rounded to f32
  std::vector<TensorPlace> tensor_at_;
};

/// Six letters for each of three tensors, "," and "->".
constexpr size_t kMaxSubscripts = 3 * MORELLO_MAX_RANK + 3;

std::string list_names(bool steps_only) {
  std::string names;
  for (const HeadName& h : head_names())
    if (h.is_step() || !steps_only) names += concat(names.empty() ? "" : ", ", h.name);
  return names;
}

std::optional<HeadName> find_name(const Token& token) {
  if (token.kind == Token::Kind::kName)
    for (const HeadName& h : head_names())
      if (h.name == token.text) return h;
  return std::nullopt;
}

template <class... Parts>
bool Parser::fail(Status status, size_t at, const Parts&... parts) {
  error_ = {status, concat(parts...)};
  locate(text_, at, error_);
  return false;
}

template <class... Parts>
bool Parser::expected(const Parts&... what) {
  return fail(MORELLO_SYNTAX_ERROR, token_.at, "expected ", what..., ", found ", describe(token_));
}

size_t Parser::offset_of(const Place& place) const {
  size_t entry = static_cast<size_t>(place.entry);
  size_t index = static_cast<size_t>(place.tensor);
  switch (place.kind) {
    case Place::Kind::kHead:
      return head_at_;
    case Place::Kind::kArgument:
      if (statement_.head == Head::kEinsum) return argument_at_[0] + entry;
      return argument_at_.empty() ? head_at_
                                  : argument_at_[std::min(entry, argument_at_.size() - 1)];
    case Place::Kind::kTensor:
    case Place::Kind::kSize:
    case Place::Kind::kLayout:
      break;
  }
  if (index >= tensor_at_.size()) return head_at_;  // an output that was left out
  const TensorPlace& tensor = tensor_at_[index];
  if (place.kind == Place::Kind::kSize) return tensor.size[entry];
  if (place.kind == Place::Kind::kTensor) return tensor.tensor;
  return tensor.stride[entry] ? tensor.stride[entry] : tensor.layout;
}

Error Parser::located(Fault fault) const {
  locate(text_, offset_of(fault.place), fault.error);
  return std::move(fault.error);
}

bool Parser::symbol(std::string_view text) {
  if (!token_.is(text)) return expected("'", text, "'");
  advance();
  return true;
}

bool Parser::head() {
  head_at_ = token_.at;
  auto row = find_name(token_);
  if (!row) {
    std::string names = list_names(false);
    if (token_.kind != Token::Kind::kName) return expected("an operation (", names, ")");
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "unknown operation ", describe(token_),
                "; known are ", names);
  }
  advance();
  statement_.head = row->head;
  statement_.op = row->op;
  if (row->head == Head::kEinsum && !einsum_subscripts()) return false;
  if (row->head == Head::kFill && !fill_value()) return false;
  for (int i = 0; i < head_inputs(row->head); i++)
    if (!tensor()) return false;
  if (row->head == Head::kReduce && !axis()) return false;
  if (row->head == Head::kTranspose && !permutation()) return false;
  has_own_shape_ = row->head == Head::kFill || row->name == "broadcast";
  return true;
}

bool Parser::einsum_subscripts() {
  if (token_.kind != Token::Kind::kString) return expected("subscripts such as \"bmk,bkn->bmn\"");
  argument_at_ = {token_.at + 1};
  statement_.subscripts = token_.text.substr(0, kMaxSubscripts);
  if (token_.text.size() > kMaxSubscripts)
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "the subscripts have ", token_.text.size(),
                " characters; with 6 letters for each tensor at most ", kMaxSubscripts,
                " are needed");
  advance();
  return true;
}

bool Parser::fill_value() {
  argument_at_ = {token_.at};
  bool negative = token_.is("-");
  if (negative) advance();
  float value = 0;
  const char* end = token_.text.data() + token_.text.size();
  auto [parsed, status] = std::from_chars(token_.text.data(), end, value);
  bool is_word =
      token_.kind == Token::Kind::kName && (token_.text == "inf" || token_.text == "nan");
  if ((token_.kind != Token::Kind::kNumber && !is_word) || status == std::errc::invalid_argument ||
      parsed != end)
    return expected("a number such as 0, -1.5, 1e-3, inf or nan");
  if (status != std::errc())
    return fail(MORELLO_SYNTAX_ERROR, token_.at, describe(token_),
                " is out of the range of f32: 1.4e-45 to 3.4028235e38, 0 or inf");
  statement_.fill_value = negative && value == value ? -value : value;
  std::from_chars(token_.text.data(), end, exact_value_);
  if (negative) exact_value_ = -exact_value_;
  advance();
  return true;
}

bool Parser::axis() {
  if (!(token_.kind == Token::Kind::kName && token_.text == "axis")) return expected("axis=");
  advance();
  Int axis;
  if (!symbol("=") || !integer(axis, "an axis")) return false;
  argument_at_ = {axis.at};
  if (axis.value < 0 || axis.value >= MORELLO_MAX_RANK)
    return fail(MORELLO_INVALID_SHAPE, axis.at, "there is no axis ", axis.value,
                "; axes are counted from 0 and a tensor has at most ", MORELLO_MAX_RANK);
  statement_.axis = static_cast<u32>(axis.value);
  return true;
}

bool Parser::permutation() {
  if (!(token_.kind == Token::Kind::kName && token_.text == "perm")) {
    for (size_t i = statement_.tensors[0].shape.size(); i-- > 0;)
      statement_.permutation.push_back(static_cast<u32>(i));
    return true;
  }
  advance();
  std::vector<Int> entries;
  if (!symbol("=") || !integers(entries, "an axis")) return false;
  for (const Int& entry : entries) {
    if (entry.value < 0 || entry.value >= MORELLO_MAX_RANK)
      return fail(MORELLO_INVALID_SHAPE, entry.at, "there is no axis ", entry.value,
                  "; axes are counted from 0 and a tensor has at most ", MORELLO_MAX_RANK);
    argument_at_.push_back(entry.at);
    statement_.permutation.push_back(static_cast<u32>(entry.value));
  }
  return true;
}

bool Parser::steps() {
  constexpr struct {
    std::string_view symbol;
    Op op;
  } kSymbols[] = {{"+", Op::kAdd}, {"-", Op::kSub}, {"*", Op::kMul}, {"/", Op::kDiv}};
  for (;;) {
    Token start = token_;
    auto infix = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                              [&](const auto& s) { return token_.is(s.symbol); });
    bool is_infix = infix != std::end(kSymbols);
    auto row = token_.is("->") ? find_name(peek()) : std::nullopt;
    if (!is_infix && !(row && row->is_step())) return true;
    if (statement_.steps.size() == kMaxSteps)
      return fail(MORELLO_UNSUPPORTED, start.at, "step ", kMaxSteps + 1,
                  " of the Spec begins here; at most ", kMaxSteps,
                  " steps after the operation are supported");
    advance();
    if (!is_infix) advance();
    if (!step(is_infix ? infix->op : row->op)) return false;
  }
}

bool Parser::step(Op op) {
  if (is_unary(op)) {
    statement_.steps.push_back({op, -1});
    return true;
  }
  // A name is a comment on the operand: `+ bias f32[64]`.
  if (token_.kind == Token::Kind::kName && peek().kind == Token::Kind::kName) advance();
  statement_.steps.push_back({op, static_cast<int>(statement_.tensors.size())});
  return tensor();
}

bool Parser::output() {
  bool accumulate = token_.is("+=");
  if (accumulate || token_.is("->")) {
    advance();
    statement_.accumulate = accumulate;
    if (!accumulate && token_.kind == Token::Kind::kName && !dtype_from_name(token_.text) &&
        !peek().is("["))
      return expected("an output such as f32[64,768], or a step (", list_names(true), ")");
    if (!tensor()) return false;
    return token_.kind == Token::Kind::kEnd || expected("the end of the Spec after its output");
  }
  if (token_.kind != Token::Kind::kEnd)
    return expected("'->', '+=' or a step ('+', '-', '*', '/')");
  if (has_own_shape_)
    return expected("'->' and an output, whose shape does not follow from the input");
  if (auto f = infer_output(statement_)) {
    error_ = located(std::move(*f));
    return false;
  }
  return true;
}

bool Parser::dtype(Tensor& tensor) {
  auto known = dtype_from_name(token_.text);
  if (token_.kind == Token::Kind::kName && !known && peek().is("["))
    return fail(MORELLO_UNKNOWN_DTYPE, token_.at, "unknown element type ", describe(token_),
                "; known are ", dtype_names());
  if (!known) return expected("a tensor such as f32[64,768]");
  tensor.dtype = *known;
  advance();
  return true;
}

bool Parser::tensor() {
  Tensor tensor;
  TensorPlace place;
  std::vector<Int> sizes;
  place.tensor = place.layout = token_.at;
  if (!dtype(tensor) || !symbol("[")) return false;
  if (!token_.is("]") && !integers(sizes, "a size")) return false;
  for (const Int& size : sizes) {
    place.size[tensor.shape.size()] = size.at;
    tensor.shape.push_back(size.value);
  }
  if (!token_.is("]")) return expected("',' or ']'");
  advance();
  tensor.strides = row_major_strides(tensor.shape);
  if (token_.is("{") && !layout(tensor, place)) return false;
  statement_.tensors.push_back(std::move(tensor));
  tensor_at_.push_back(place);
  return true;
}

bool Parser::layout(Tensor& tensor, TensorPlace& place) {
  place.layout = token_.at;
  advance();
  if (token_.is("*")) {
    advance();
    tensor.kind = Tensor::Kind::kFree;
    tensor.strides.clear();
  } else if (token_.kind == Token::Kind::kName && token_.text == "strides") {
    advance();
    if (!strides(tensor, place)) return false;
  } else if (!dimension_order(tensor, place)) {
    return false;
  }
  if (!token_.is("}")) return expected("',' or '}'");
  advance();
  return true;
}

bool Parser::strides(Tensor& tensor, TensorPlace& place) {
  std::vector<Int> list;
  if (!symbol("=")) return false;
  if (!token_.is("}") && !integers(list, "a stride")) return false;
  tensor.strides.clear();
  for (const Int& stride : list) {
    place.stride[tensor.strides.size()] = stride.at;
    tensor.strides.push_back(stride.value);
  }
  return true;
}

bool Parser::dimension_order(Tensor& tensor, TensorPlace& place) {
  std::vector<Int> list;
  std::vector<i64> order;
  i64 rank = std::ssize(tensor.shape);
  if (!token_.is("}") && !integers(list, "'*', strides=, or axes from fast to slow such as 1,0"))
    return false;
  for (const Int& axis : list) {
    if (axis.value < 0 || axis.value >= rank || std::count(order.begin(), order.end(), axis.value))
      return fail(MORELLO_INVALID_LAYOUT, axis.at, "axis ", axis.value,
                  " is out of range or twice in this layout; it must name each of the ", rank,
                  " axes of ", shape_name(tensor), " once, counted from 0, the fastest first");
    order.push_back(axis.value);
  }
  if (std::ssize(order) != rank)
    return fail(MORELLO_INVALID_LAYOUT, place.layout, "this layout names ", order.size(),
                " of the ", rank, " axes of ", shape_name(tensor),
                "; it must name each once, the fastest first");
  tensor.strides = dense_strides(tensor.shape, order);
  return true;
}

bool Parser::integers(std::vector<Int>& list, std::string_view what) {
  for (;;) {
    Int next;
    if (!integer(next, what)) return false;
    if (list.size() == MORELLO_MAX_RANK)
      return fail(MORELLO_UNSUPPORTED, next.at, "axis ", MORELLO_MAX_RANK,
                  " is one too many; a tensor has at most ", MORELLO_MAX_RANK, " axes");
    list.push_back(next);
    if (!token_.is(",")) return true;
    advance();
  }
}

bool Parser::integer(Int& result, std::string_view what) {
  result.at = token_.at;
  bool negative = token_.is("-");
  if (negative) advance();
  const char* end = token_.text.data() + token_.text.size();
  auto [parsed, status] = std::from_chars(token_.text.data(), end, result.value);
  if (token_.kind != Token::Kind::kNumber || parsed != end) return expected(what);
  if (status != std::errc())
    return fail(MORELLO_SIZE_OVERFLOW, result.at, describe(token_), " does not fit in 64 bits");
  if (negative) result.value = -result.value;
  advance();
  return true;
}

}  // namespace

Result<Statement> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace morello
