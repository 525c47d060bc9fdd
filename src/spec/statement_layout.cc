// SPDX-License-Identifier: MIT
// Shapes and strides of the tensors of a Statement: dense strides, spans, and what may be wrong.
#include <algorithm>

#include "spec/check.hh"

namespace morello {
namespace {

/// Bytes that one tensor may span: no process has more addresses.
constexpr i64 kMaxSpanBytes = i64{1} << 47;

MaybeFault check_sizes(const Statement& s, int index) {
  const Tensor& t = s.tensors[index];
  i64 elements = 1;  // that have an address: an axis with stride 0 repeats them
  for (int axis = 0; axis < static_cast<int>(t.shape.size()); axis++) {
    Place place{Place::Kind::kSize, index, axis};
    if (t.shape[axis] < 1)
      return fault(MORELLO_INVALID_SHAPE, place, "axis ", axis, " of ", tensor_name(s, index),
                   " has size ", t.shape[axis], "; sizes must be at least 1");
    if (t.shape[axis] <= kMaxElements && axis < std::ssize(t.strides) && t.strides[axis] == 0)
      continue;
    if (__builtin_mul_overflow(elements, t.shape[axis], &elements) || elements > kMaxElements)
      return fault(MORELLO_SIZE_OVERFLOW, place, tensor_name(s, index),
                   " has more than 2147483647 elements, the most that is supported");
  }
  return std::nullopt;
}

MaybeFault check_strides(const Statement& s, int index) {
  const Tensor& t = s.tensors[index];
  if (t.kind == Tensor::Kind::kFree) {
    if (t.strides.empty()) return std::nullopt;
    return fault(MORELLO_INVALID_ARGUMENT, {Place::Kind::kTensor, index}, tensor_name(s, index),
                 " has a free layout and strides; a free layout has none");
  }
  if (t.strides.size() != t.shape.size())
    return fault(MORELLO_INVALID_LAYOUT, {Place::Kind::kLayout, index}, tensor_name(s, index),
                 " has ", t.strides.size(), " strides for ", t.shape.size(),
                 " axes; give one for each axis");
  for (int axis = 0; axis < static_cast<int>(t.strides.size()); axis++)
    if (t.strides[axis] < 0)
      return fault(MORELLO_INVALID_LAYOUT, {Place::Kind::kLayout, index, axis}, "axis ", axis,
                   " of ", tensor_name(s, index), " has stride ", t.strides[axis],
                   "; strides must not be negative");
  if (span_elements(t) == kTooLarge)
    return fault(MORELLO_SIZE_OVERFLOW, {Place::Kind::kLayout, index}, tensor_name(s, index),
                 " spans more than 2^47 bytes with these strides; make them smaller");
  return std::nullopt;
}

}  // namespace

std::vector<i64> dense_strides(const std::vector<i64>& shape, std::span<const i64> minor_to_major) {
  std::vector<i64> strides(shape.size());
  u64 stride = 1;
  for (i64 axis : minor_to_major) {
    strides[axis] = static_cast<i64>(stride);
    stride *= static_cast<u64>(shape[axis]);
  }
  return strides;
}

std::vector<i64> row_major_strides(const std::vector<i64>& shape) {
  std::vector<i64> order;
  for (i64 axis = std::ssize(shape); axis-- > 0;) order.push_back(axis);
  return dense_strides(shape, order);
}

i64 span_elements(const Tensor& t) {
  std::vector<i64> row_major;
  if (t.kind == Tensor::Kind::kFree) row_major = row_major_strides(t.shape);
  const std::vector<i64>& strides = t.kind == Tensor::Kind::kFree ? row_major : t.strides;
  i64 span = 1;
  for (size_t axis = 0; axis < t.shape.size(); axis++) {
    i64 reach;
    if (__builtin_mul_overflow(t.shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(span, reach, &span) || span > kMaxSpanBytes / size_of(t.dtype))
      return kTooLarge;
  }
  return span;
}

MaybeFault check_tensor(const Statement& s, int index) {
  const Tensor& t = s.tensors[index];
  Place place{Place::Kind::kTensor, index};
  if (std::find(std::begin(kAllDtypes), std::end(kAllDtypes), t.dtype) == std::end(kAllDtypes))
    return fault(MORELLO_UNKNOWN_DTYPE, place, tensor_name(s, index), " has element type ",
                 static_cast<int>(t.dtype), ", which is none of morello_dtype");
  if (t.shape.size() > MORELLO_MAX_RANK)
    return fault(MORELLO_UNSUPPORTED, place, tensor_name(s, index), " has ", t.shape.size(),
                 " axes; at most ", MORELLO_MAX_RANK, " are supported");
  if (auto f = check_sizes(s, index)) return f;
  if (auto f = check_strides(s, index)) return f;
  if (!has_output_at(s, index)) return std::nullopt;

  if (t.kind == Tensor::Kind::kFree)
    return fault(MORELLO_INVALID_LAYOUT, {Place::Kind::kLayout, index}, "the layout of ",
                 tensor_name(s, index), " is free; only inputs may leave it to the library");
  // Each element of an output has an address of its own if every axis steps over all faster ones.
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(t.shape.size()); axis++)
    if (t.shape[axis] > 1) axes.push_back(axis);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return t.strides[a] < t.strides[b]; });
  i64 span = 1;
  for (int axis : axes) {
    if (t.strides[axis] < span)
      return fault(MORELLO_INVALID_LAYOUT, {Place::Kind::kLayout, index, axis}, "axis ", axis,
                   " of ", tensor_name(s, index), " has stride ", t.strides[axis],
                   ", so elements may overlap; here it must be at least ", span,
                   ", the span of the axes with smaller strides");
    span += (t.shape[axis] - 1) * t.strides[axis];
  }
  return std::nullopt;
}

}  // namespace morello
