// SPDX-License-Identifier: MIT
// The iteration space of a Statement: which dimension each axis of each tensor is, and whether the
// shapes fit one another.
#include <algorithm>

#include "spec/graph.hh"

namespace morello {
namespace {

using Head = Statement::Head;

Place tensor_place(int index) { return {Place::Kind::kTensor, index}; }
Place size_place(int index, int axis) { return {Place::Kind::kSize, index, axis}; }
int rank_of(const Tensor& t) { return static_cast<int>(t.shape.size()); }

/// Batch axes, then m, n, k.
MaybeFault label_matmul(const Statement& s, Space& space) {
  int rank = rank_of(s.tensors[0]);
  for (int i = 0; i < 2; i++)
    if (rank_of(s.tensors[i]) < 2)
      return fault(MORELLO_INVALID_SHAPE, tensor_place(i), "matmul needs at least 2 axes, but ",
                   tensor_name(s, i), " is ", shape_name(s.tensors[i]));
  if (rank_of(s.tensors[1]) != rank)
    return fault(MORELLO_INVALID_SHAPE, tensor_place(1), "input 0 of matmul has ", rank,
                 " axes, but input 1 has ", rank_of(s.tensors[1]),
                 "; all tensors must have the same leading axes");
  int m = rank - 2, n = rank - 1, k = rank;
  for (int batch = 0; batch < m; batch++) {
    space.axes[0].push_back(batch);
    space.axes[1].push_back(batch);
    space.result.push_back(batch);
  }
  space.axes[0].insert(space.axes[0].end(), {m, k});
  space.axes[1].insert(space.axes[1].end(), {k, n});
  space.result.insert(space.result.end(), {m, n});
  space.rank = rank + 1;
  return std::nullopt;
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

MaybeFault subscript_fault(Status status, size_t byte, std::string_view what) {
  return fault(
      status, {Place::Kind::kArgument, 0, static_cast<int>(byte)}, what, " at byte ", byte,
      " of the subscripts; they are letters, two inputs and an output, such as bmk,bkn->bmn");
}

/// A dimension per letter, numbered as they appear.
MaybeFault label_einsum(const Statement& s, Space& space) {
  const std::string& text = s.subscripts;
  std::string letters;
  std::array<std::vector<int>*, 3> parts = {&space.axes[0], &space.axes[1], &space.result};
  int part = 0;
  for (size_t i = 0; i < text.size(); i++) {
    std::string_view separator = part == 0 ? "," : "->";
    if (part < 2 && text.compare(i, separator.size(), separator) == 0) {
      i += separator.size() - 1;
      part++;
      continue;
    }
    if (!is_letter(text[i]))
      return subscript_fault(MORELLO_SYNTAX_ERROR, i, "unexpected character");
    if (parts[part]->size() == MORELLO_MAX_RANK)
      return subscript_fault(MORELLO_UNSUPPORTED, i,
                             concat("more than ", MORELLO_MAX_RANK, " letters for one tensor"));
    size_t letter = letters.find(text[i]);
    if (letter == std::string::npos) {
      if (part == 2) return subscript_fault(MORELLO_SYNTAX_ERROR, i, "a letter that no input has");
      letter = letters.size();
      letters += text[i];
    }
    int dim = static_cast<int>(letter);
    if (std::find(parts[part]->begin(), parts[part]->end(), dim) != parts[part]->end())
      return subscript_fault(MORELLO_UNSUPPORTED, i, "a diagonal (one letter twice in a tensor)");
    parts[part]->push_back(dim);
  }
  if (part < 2)
    return subscript_fault(MORELLO_SYNTAX_ERROR, text.size(),
                           part == 0 ? "no ',' found" : "no '->' found");
  for (int i = 0; i < 2; i++)
    if (space.axes[i].size() != s.tensors[i].shape.size())
      return fault(MORELLO_INVALID_SHAPE, tensor_place(i), "the subscripts name ",
                   space.axes[i].size(), " axes of input ", i, ", but it is ",
                   shape_name(s.tensors[i]));
  space.rank = static_cast<int>(letters.size());
  return std::nullopt;
}

MaybeFault label_reduce(const Statement& s, Space& space) {
  space.rank = rank_of(s.tensors[0]);
  if (s.axis >= static_cast<u32>(space.rank))
    return fault(MORELLO_INVALID_SHAPE, {Place::Kind::kArgument}, "there is no axis ", s.axis,
                 " in ", shape_name(s.tensors[0]), "; axes are counted from 0");
  for (int dim = 0; dim < space.rank; dim++) {
    space.axes[0].push_back(dim);
    if (dim != static_cast<int>(s.axis)) space.result.push_back(dim);
  }
  return std::nullopt;
}

MaybeFault label_transpose(const Statement& s, Space& space) {
  space.rank = rank_of(s.tensors[0]);
  if (s.permutation.size() != s.tensors[0].shape.size())
    return fault(MORELLO_INVALID_SHAPE, {Place::Kind::kArgument}, "the permutation has ",
                 s.permutation.size(), " axes, but the input is ", shape_name(s.tensors[0]));
  for (int i = 0; i < space.rank; i++) {
    int dim = static_cast<int>(s.permutation[i]);
    space.axes[0].push_back(i);
    if (s.permutation[i] >= static_cast<u32>(space.rank) ||
        std::find(space.result.begin(), space.result.end(), dim) != space.result.end())
      return fault(
          MORELLO_INVALID_SHAPE, {Place::Kind::kArgument, 0, i}, "axis ", s.permutation[i],
          " is out of range or twice in the permutation; it must name each axis from 0 to ",
          space.rank - 1, " once");
    space.result.push_back(dim);
  }
  return std::nullopt;
}

/// Sizes of dimensions, from the inputs of the head; equal wherever a dimension appears.
MaybeFault size_dims(const Statement& s, Space& space) {
  std::array<std::array<int, 2>, kMaxSpaceDims> first{};  // tensor and axis that gave the size
  for (int i = 0; i < head_inputs(s.head); i++) {
    for (int axis = 0; axis < rank_of(s.tensors[i]); axis++) {
      int dim = space.axes[i][axis];
      i64 size = s.tensors[i].shape[axis];
      if (space.size[dim] == 0) {
        space.size[dim] = size;
        first[dim] = {i, axis};
      } else if (space.size[dim] != size) {
        return fault(MORELLO_INVALID_SHAPE, size_place(i, axis), "axis ", axis, " of input ", i,
                     " has size ", size, ", but axis ", first[dim][1], " of input ", first[dim][0],
                     " has size ", space.size[dim], "; they must be equal");
      }
    }
  }
  return std::nullopt;
}

/// The shape that NumPy gives to an elementwise operation on the inputs of the head.
MaybeFault broadcast_shape(const Statement& s, std::vector<i64>& shape) {
  for (int i = 0; i < head_inputs(s.head); i++) {
    const std::vector<i64>& next = s.tensors[i].shape;
    if (next.size() > shape.size()) shape.insert(shape.begin(), next.size() - shape.size(), 1);
    size_t shift = shape.size() - next.size();
    for (size_t axis = 0; axis < next.size(); axis++) {
      i64& size = shape[axis + shift];
      if (size != next[axis] && size != 1 && next[axis] != 1)
        return fault(MORELLO_INVALID_SHAPE, size_place(i, static_cast<int>(axis)), "axis ", axis,
                     " of input ", i, " has size ", next[axis], ", but another input has size ",
                     size, " there; they must be equal, or one of them 1");
      size = std::max(size, next[axis]);
    }
  }
  return std::nullopt;
}

/// Broadcasts input `index` to the head's result, as NumPy does.
MaybeFault broadcast_to_result(const Statement& s, int index, Space& space) {
  int rank = rank_of(s.tensors[index]), result = static_cast<int>(space.result.size());
  if (rank > result)
    return fault(MORELLO_INVALID_SHAPE, tensor_place(index), "input ", index, " has ", rank,
                 " axes, but the result it is broadcast to has ", result,
                 "; it must have at most as many");
  for (int axis = 0; axis < rank; axis++) {
    int dim = space.result[axis + result - rank];
    i64 size = s.tensors[index].shape[axis];
    if (size != space.size[dim] && size != 1)
      return fault(MORELLO_INVALID_SHAPE, size_place(index, axis), "axis ", axis, " of input ",
                   index, " has size ", size, ", but axis ", axis + result - rank,
                   " of the result has size ", space.size[dim],
                   "; it must be that, or 1 to be repeated");
    space.axes[index].push_back(size == space.size[dim] ? dim : kBroadcast);
  }
  return std::nullopt;
}

MaybeFault make_elementwise(const Statement& s, bool has_output, Space& space) {
  std::vector<i64> shape;
  if (has_output) {
    shape = s.tensors.back().shape;
  } else if (auto f = broadcast_shape(s, shape)) {
    return f;
  }
  space.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), space.size.begin());
  for (int dim = 0; dim < space.rank; dim++) space.result.push_back(dim);
  for (int i = 0; i < head_inputs(s.head); i++)
    if (auto f = broadcast_to_result(s, i, space)) return f;
  return std::nullopt;
}

MaybeFault make_result(const Statement& s, bool has_output, Space& space) {
  MaybeFault f;
  switch (s.head) {
    case Head::kMatmul:
      f = label_matmul(s, space);
      break;
    case Head::kEinsum:
      f = label_einsum(s, space);
      break;
    case Head::kReduce:
      f = label_reduce(s, space);
      break;
    case Head::kTranspose:
      f = label_transpose(s, space);
      break;
    case Head::kUnary:
    case Head::kBinary:
    case Head::kTernary:
    case Head::kMove:
    case Head::kFill:
    case Head::kGraph:  // has a space of its own
      return make_elementwise(s, has_output, space);
  }
  return f ? f : size_dims(s, space);
}

}  // namespace

MaybeFault make_space(const Statement& s, bool has_output, Space& space) {
  if (s.head == Head::kGraph) return make_graph_space(s, has_output, space);
  if (auto f = make_result(s, has_output, space)) return f;
  if (!has_output) return std::nullopt;

  int out = input_count(s), rank = static_cast<int>(space.result.size());
  const Tensor& t = s.tensors[out];
  if (rank_of(t) != rank)
    return fault(MORELLO_INVALID_SHAPE, tensor_place(out), "the output has ", rank_of(t),
                 " axes, but the result has ", rank);
  for (int axis = 0; axis < rank; axis++)
    if (t.shape[axis] != space.size[space.result[axis]])
      return fault(MORELLO_INVALID_SHAPE, size_place(out, axis), "axis ", axis,
                   " of the output has size ", t.shape[axis], ", but that of the result has size ",
                   space.size[space.result[axis]]);
  space.axes[out] = space.result;
  for (int i = head_inputs(s.head); i < out; i++)
    if (auto f = broadcast_to_result(s, i, space)) return f;
  return std::nullopt;
}

}  // namespace morello
