// SPDX-License-Identifier: MIT
#include "spec/parser.hh"

#include <algorithm>
#include <charconv>

namespace morello {

bool TextParser::symbol(std::string_view text) {
  if (!token_.is(text)) return expected("'", text, "'");
  advance();
  return true;
}

bool TextParser::dtype(Tensor& tensor) {
  auto known = dtype_from_name(token_.text);
  if (token_.kind == Token::Kind::kName && !known && peek().is("["))
    return fail(MORELLO_UNKNOWN_DTYPE, token_.at, "unknown element type ", describe(token_),
                "; known are ", dtype_names());
  if (!known) return expected("a tensor such as f32[64,768]");
  tensor.dtype = *known;
  advance();
  return true;
}

bool TextParser::tensor() {
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

bool TextParser::layout(Tensor& tensor, TensorPlace& place) {
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

bool TextParser::strides(Tensor& tensor, TensorPlace& place) {
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

bool TextParser::dimension_order(Tensor& tensor, TensorPlace& place) {
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

bool TextParser::integers(std::vector<Int>& list, std::string_view what) {
  for (;;) {
    Int next;
    if (token_.text == "<" && token_.kind == Token::Kind::kUnknown)
      return fail(MORELLO_SYNTAX_ERROR, token_.at,
                  "a bound such as <=8 is of families, of which tables are made; a size that is "
                  "known only at run time is written ?<=8");
    if (is_run_time_size() ? !run_time_size(next) : !integer(next, what)) return false;
    if (list.size() == MORELLO_MAX_RANK)
      return fail(MORELLO_UNSUPPORTED, next.at, "axis ", MORELLO_MAX_RANK,
                  " is one too many; a tensor has at most ", MORELLO_MAX_RANK, " axes");
    list.push_back(next);
    if (!token_.is(",")) return true;
    advance();
  }
}

/// "?" or "?<=512". Sized has read the bound.
bool TextParser::run_time_size(Int& result) {
  result = {run_time_size_, token_.at};
  if (run_time_size_ == 0)
    return fail(
        MORELLO_UNSUPPORTED, token_.at,
        "'?', a size that is known only at run time, can be used in Specs of kernels and tables "
        "alone; write a number");
  advance();
  if (token_.kind != Token::Kind::kUnknown || token_.text != "<") return true;
  Int bound;
  advance();
  return symbol("=") && integer(bound, "a bound such as ?<=512");
}

bool TextParser::integer(Int& result, std::string_view what) {
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

bool TextParser::number(float& f32, double& exact) {
  bool negative = token_.is("-");
  if (negative) advance();
  const char* end = token_.text.data() + token_.text.size();
  auto [parsed, status] = std::from_chars(token_.text.data(), end, f32);
  if (!is_number(token_) || status == std::errc::invalid_argument || parsed != end)
    return expected("a number such as 0, -1.5, 1e-3, inf or nan");
  if (status != std::errc()) {
    fail(MORELLO_SYNTAX_ERROR, token_.at, describe(token_),
         " is out of the range of f32: 1.4e-45 to 3.4028235e38, 0 or inf");
    error_at_ += token_.text.size();  // it was understood
    return false;
  }
  std::from_chars(token_.text.data(), end, exact);
  if (negative && f32 == f32) f32 = -f32;
  if (negative) exact = -exact;
  advance();
  return true;
}

}  // namespace morello
