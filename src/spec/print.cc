// SPDX-License-Identifier: MIT
// The printed form of a Statement: the one text that all equal Statements share.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spec/graph.hh"

namespace morello {
namespace {

using Head = Statement::Head;

template <class Ints>
std::string list(const Ints& ints) {
  std::string text;
  for (size_t i = 0; i < ints.size(); i++) text += concat(i ? "," : "", ints[i]);
  return text;
}

/// The axes from fast to slow, in case the tensor is dense in that order.
std::vector<i64> minor_to_major(const Tensor& t) {
  std::vector<i64> order(t.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
    if (t.strides[a] != t.strides[b]) return t.strides[a] < t.strides[b];
    return t.shape[a] == 1 && t.shape[b] != 1;  // an axis of size 1 does not move the next one
  });
  return order;
}

bool is_reversal(const std::vector<u32>& permutation) {
  for (size_t i = 0; i < permutation.size(); i++)
    if (permutation[i] != permutation.size() - 1 - i) return false;
  return true;
}

std::string head_text(const Statement& s) {
  std::string text(head_name(s.head, s.op));
  if (s.head == Head::kEinsum) text += concat(" \"", s.subscripts, "\"");
  if (s.head == Head::kFill) text += concat(" ", number_text(s.tensors[0].dtype, s.fill_value));
  for (int i = 0; i < head_inputs(s.head); i++) text += concat(" ", tensor_text(s.tensors[i]));
  if (s.head == Head::kReduce) text += concat(" axis=", s.axis);
  if (s.head == Head::kTranspose && !is_reversal(s.permutation))
    text += concat(" perm=", list(s.permutation));
  return text;
}

std::string step_text(const Statement& s, const Step& step) {
  if (step.operand < 0) return concat(" -> ", name_of(step.op));
  const Tensor& operand = s.tensors[step.operand];
  switch (step.op) {
    case Op::kAdd:
      return concat(operand.shape.size() == 1 ? " + bias " : " + ", tensor_text(operand));
    case Op::kSub:
      return concat(" - ", tensor_text(operand));
    case Op::kMul:
      return concat(" * ", tensor_text(operand));
    case Op::kDiv:
      return concat(" / ", tensor_text(operand));
    default:
      return concat(" -> ", name_of(step.op), " ", tensor_text(operand));
  }
}

}  // namespace

std::string tensor_text(const Tensor& t) {
  std::string text = shape_name(t);
  if (t.kind == Tensor::Kind::kFree) return text + "{*}";
  if (t.strides == row_major_strides(t.shape)) return text;
  std::vector<i64> order = minor_to_major(t);
  if (t.strides == dense_strides(t.shape, order)) return text + concat("{", list(order), "}");
  return text + concat("{strides=", list(t.strides), "}");
}

std::string number_text(Dtype dtype, double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  char* end = buffer + sizeof buffer;
  end = is_integer(dtype) ? std::to_chars(buffer, end, value).ptr
                          : std::to_chars(buffer, end, static_cast<float>(value)).ptr;
  return std::string(buffer, end);
}

std::string print(const Statement& s) {
  if (s.head == Head::kGraph) return print_graph(s);
  std::string text = head_text(s);
  for (const Step& step : s.steps) text += step_text(s, step);
  return text + concat(s.accumulate ? " += " : " -> ", tensor_text(s.tensors.back()));
}

u64 hash_of(const Statement& s) {
  std::string text = print(s);
  return XXH3_64bits(text.data(), text.size());
}

bool operator==(const Statement& a, const Statement& b) {
  bool same_value = std::bit_cast<u64>(a.fill_value) == std::bit_cast<u64>(b.fill_value) ||
                    (std::isnan(a.fill_value) && std::isnan(b.fill_value));
  return a.head == b.head && a.op == b.op && a.subscripts == b.subscripts &&
         a.permutation == b.permutation && a.axis == b.axis && same_value &&
         a.accumulate == b.accumulate && a.tensors == b.tensors && a.steps == b.steps &&
         a.nodes == b.nodes && a.outputs == b.outputs;
}

}  // namespace morello
