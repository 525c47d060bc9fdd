// SPDX-License-Identifier: MIT
#include "capi/tensor.hh"

#include <algorithm>
#include <limits>

namespace morello {
namespace {

constexpr i64 kMaxElements = std::numeric_limits<i32>::max();

std::string at_axis(const char* name, u32 axis, const char* field) {
  return std::string(name) + "." + field + "[" + std::to_string(axis) + "]";
}

std::string list_dtypes() {
  std::string list;
  for (Dtype d : kAllDtypes) {
    if (!list.empty()) list += ", ";
    list += std::to_string(static_cast<int>(d)) + " (" + std::string(name_of(d)) + ")";
  }
  return list;
}

/// Sizes first: strides are computed from them, which must not overflow.
std::optional<Error> check_shape(const morello_tensor& t, const char* name) {
  if (t.rank > MORELLO_MAX_RANK)
    return Error{MORELLO_UNSUPPORTED, std::string(name) + ".rank is " + std::to_string(t.rank) +
                                          "; a tensor has 0 to " +
                                          std::to_string(MORELLO_MAX_RANK) + " axes"};
  i64 elements = 1;
  for (u32 axis = 0; axis < MORELLO_MAX_RANK; axis++) {
    const i64 size = t.shape[axis];
    if (axis >= t.rank && size != 0)
      return Error{MORELLO_INVALID_ARGUMENT, at_axis(name, axis, "shape") + " is " +
                                                 std::to_string(size) +
                                                 "; entries from rank on must be 0"};
    if (axis >= t.rank) continue;
    if (size < 1)
      return Error{MORELLO_INVALID_SHAPE, at_axis(name, axis, "shape") + " is " +
                                              std::to_string(size) + "; sizes are 1 or more"};
    const bool repeats = t.layout == MORELLO_LAYOUT_STRIDED && t.strides[axis] == 0;
    if (repeats && size <= kMaxElements) continue;  // its elements share an address
    if (size > kMaxElements / elements)
      return Error{MORELLO_SIZE_OVERFLOW,
                   "`" + std::string(name) +
                       "` has more than 2147483647 elements, the most that a "
                       "tensor can have"};
    elements *= size;
  }
  return std::nullopt;
}

std::vector<i64> column_major_strides(const std::vector<i64>& shape) {
  std::vector<i64> swapped = shape;
  const size_t n = shape.size();
  std::swap(swapped[n - 1], swapped[n - 2]);
  std::vector<i64> strides = row_major_strides(swapped);
  std::swap(strides[n - 1], strides[n - 2]);
  return strides;
}

std::optional<Error> set_layout(const morello_tensor& t, const char* name, Tensor& tensor) {
  switch (t.layout) {
    case MORELLO_LAYOUT_ROW_MAJOR:
      tensor.strides = row_major_strides(tensor.shape);
      return std::nullopt;
    case MORELLO_LAYOUT_COLUMN_MAJOR:
      if (t.rank < 2)
        return Error{MORELLO_INVALID_LAYOUT, std::string(name) +
                                                 ".layout is column-major, which "
                                                 "swaps the last two axes, but its rank is " +
                                                 std::to_string(t.rank) + "; use row-major"};
      tensor.strides = column_major_strides(tensor.shape);
      return std::nullopt;
    case MORELLO_LAYOUT_STRIDED:
      for (u32 axis = t.rank; axis < MORELLO_MAX_RANK; axis++)
        if (t.strides[axis] != 0)
          return Error{MORELLO_INVALID_ARGUMENT, at_axis(name, axis, "strides") + " is " +
                                                     std::to_string(t.strides[axis]) +
                                                     "; entries from rank on must be 0"};
      tensor.strides.assign(t.strides, t.strides + t.rank);
      return std::nullopt;
    case MORELLO_LAYOUT_FREE:
      tensor.kind = Tensor::Kind::kFree;
      return std::nullopt;
    default:
      return Error{MORELLO_INVALID_LAYOUT,
                   std::string(name) + ".layout is " + std::to_string(t.layout) +
                       "; valid are row-major (0), column-major (1), strided (2) and free (3)"};
  }
}

}  // namespace

Result<Tensor> to_tensor(const morello_tensor* tensor, const char* name) {
  const morello_tensor& t = *tensor;
  Tensor made;
  const auto is_dtype = [&](Dtype d) { return static_cast<i32>(d) == t.dtype; };
  const Dtype* dtype = std::find_if(std::begin(kAllDtypes), std::end(kAllDtypes), is_dtype);
  if (dtype == std::end(kAllDtypes))
    return Error{MORELLO_UNKNOWN_DTYPE, std::string(name) + ".dtype is " + std::to_string(t.dtype) +
                                            "; valid are " + list_dtypes()};
  made.dtype = *dtype;
  if (t.reserved0 != 0)
    return Error{MORELLO_INVALID_ARGUMENT, std::string(name) + ".reserved0 is " +
                                               std::to_string(t.reserved0) + "; it must be 0"};
  if (auto e = check_shape(t, name)) return *e;
  made.shape.assign(t.shape, t.shape + t.rank);
  if (auto e = set_layout(t, name, made)) return *e;
  return made;
}

morello_tensor from_tensor(const Tensor& tensor) {
  morello_tensor t{};
  t.dtype = static_cast<i32>(tensor.dtype);
  t.rank = static_cast<u32>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), t.shape);
  std::copy(tensor.strides.begin(), tensor.strides.end(), t.strides);
  if (tensor.kind == Tensor::Kind::kFree) {
    t.layout = MORELLO_LAYOUT_FREE;
  } else if (tensor.strides == row_major_strides(tensor.shape)) {
    t.layout = MORELLO_LAYOUT_ROW_MAJOR;
  } else if (t.rank >= 2 && tensor.strides == column_major_strides(tensor.shape)) {
    t.layout = MORELLO_LAYOUT_COLUMN_MAJOR;
  } else {
    t.layout = MORELLO_LAYOUT_STRIDED;
  }
  return t;
}

}  // namespace morello
