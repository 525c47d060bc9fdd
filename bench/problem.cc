// SPDX-License-Identifier: MIT
#include "problem.hh"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace morello::bench {
namespace {

constexpr struct {
  const char* name;
  int32_t dtype;
} kTypes[] = {{"f32", MORELLO_F32}, {"bf16", MORELLO_BF16}, {"i8", MORELLO_I8},
              {"u8", MORELLO_U8},   {"i32", MORELLO_I32},   {"f16", MORELLO_F16}};

/// Words up to a comment.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text.substr(0, text.find('#')));
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Numbers between commas; nothing if something else is there.
std::optional<std::vector<int64_t>> numbers(const std::string& text) {
  std::vector<int64_t> values;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    char* end = nullptr;
    values.push_back(std::strtoll(part.c_str(), &end, 10));
    if (part.empty() || *end != '\0') return std::nullopt;
  }
  if (values.size() > MORELLO_MAX_RANK) return std::nullopt;
  return values;
}

/// Strides of a dense tensor whose axes `order` lists from the fastest to the slowest.
bool set_order(const std::vector<int64_t>& order, Tensor* tensor) {
  if (order.size() != tensor->rank) return false;
  int64_t stride = 1;
  for (int64_t axis : order) {
    if (axis < 0 || axis >= tensor->rank) return false;
    tensor->strides[axis] = stride;
    stride *= tensor->shape[axis];
  }
  return true;
}

/// dtype[shape]{layout}, without white space.
std::optional<Tensor> parse_tensor(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  Tensor tensor = {};
  tensor.layout = MORELLO_LAYOUT_STRIDED;
  for (const auto& type : kTypes) {
    if (text.substr(0, open) == type.name) tensor.dtype = type.dtype;
  }
  const auto shape = numbers(text.substr(open + 1, close - open - 1));
  if (size_of(tensor.dtype) == 0 || !shape) return std::nullopt;
  tensor.rank = static_cast<uint32_t>(shape->size());
  std::vector<int64_t> row_major;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    if ((*shape)[axis] < 1) return std::nullopt;
    tensor.shape[axis] = (*shape)[axis];
    row_major.insert(row_major.begin(), axis);
  }
  set_order(row_major, &tensor);

  const std::string layout = text.substr(close + 1);
  if (layout.empty()) return tensor;
  if (layout.size() < 3 || layout.front() != '{' || layout.back() != '}') return std::nullopt;
  const std::string inside = layout.substr(1, layout.size() - 2);
  if (inside == "*") {
    tensor.layout = MORELLO_LAYOUT_FREE;
    return tensor;
  }
  constexpr const char* kStrides = "strides=";
  const bool strided = inside.rfind(kStrides, 0) == 0;
  const auto values = numbers(strided ? inside.substr(std::string(kStrides).size()) : inside);
  if (!values) return std::nullopt;
  if (!strided) return set_order(*values, &tensor) ? std::optional(tensor) : std::nullopt;
  if (values->size() != tensor.rank) return std::nullopt;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) tensor.strides[axis] = (*values)[axis];
  return tensor;
}

std::optional<Matrix> matrix(const Tensor& tensor) {
  if (tensor.rank < 2 || tensor.rank > 3) return std::nullopt;
  Matrix result = {tensor.strides[tensor.rank - 2], tensor.strides[tensor.rank - 1],
                   tensor.rank == 3 ? tensor.strides[0] : 0};
  // The stride of an axis with one element says nothing; BLAS wants one that fits.
  const int64_t rows = tensor.shape[tensor.rank - 2], columns = tensor.shape[tensor.rank - 1];
  if (columns == 1 && result.row_stride != 1) result.column_stride = 1;
  if (rows == 1 && result.column_stride == 1) result.row_stride = columns;
  if (result.row_stride != 1 && result.column_stride != 1) return std::nullopt;
  return result;
}

/// The tensors of `words` from `next` on, and what stands between them.
std::optional<Problem> parse_matmul(const std::vector<std::string>& words) {
  Problem problem;
  Matmul matmul;
  const auto add = [&](const std::string& word) {
    const std::optional<Tensor> tensor = parse_tensor(word);
    if (tensor) problem.tensors.push_back(*tensor);
    return tensor.has_value();
  };
  if (words.size() < 5 || !add(words[1]) || !add(words[2])) return std::nullopt;
  size_t next = 3;
  if (words[next] == "+" && words.size() > next + 3) {
    next += parse_tensor(words[next + 1]) ? 1 : 2;  // a name may come first
    if (!add(words[next++]) || problem.tensors.back().rank != 1) return std::nullopt;
    if (problem.tensors.back().dtype != MORELLO_F32) return std::nullopt;
    matmul.bias = true;
  }
  if (words[next] == "->" && words.size() > next + 3 && words[next + 1] == "relu") {
    matmul.relu = true;
    next += 2;
  }
  if (words.size() != next + 2 || !add(words[next + 1])) return std::nullopt;
  matmul.accumulate = words[next] == "+=";
  if (!matmul.accumulate && words[next] != "->") return std::nullopt;

  const Tensor &a = problem.tensors[0], &b = problem.tensors[1], &c = problem.tensors.back();
  const auto a_matrix = matrix(a), b_matrix = matrix(b), c_matrix = matrix(c);
  if (!a_matrix || !b_matrix || !c_matrix || a.layout == MORELLO_LAYOUT_FREE) return std::nullopt;
  matmul.free_weights = b.layout == MORELLO_LAYOUT_FREE;
  matmul.batch = c.rank == 3 ? c.shape[0] : 1;
  matmul.m = c.shape[c.rank - 2];
  matmul.n = c.shape[c.rank - 1];
  matmul.k = a.shape[a.rank - 1];
  matmul.a = *a_matrix;
  matmul.b = *b_matrix;
  matmul.c = *c_matrix;
  matmul.a_type = a.dtype;
  matmul.b_type = b.dtype;
  matmul.c_type = c.dtype;
  if (b.shape[b.rank - 2] != matmul.k || b.shape[b.rank - 1] != matmul.n) return std::nullopt;
  if (a.shape[a.rank - 2] != matmul.m || a.rank != c.rank || b.rank != c.rank) return std::nullopt;
  const bool plain_output = matmul.c.by_rows() && matmul.c.leading() == matmul.n;
  if ((matmul.bias || matmul.relu) &&
      (!plain_output || matmul.batch != 1 || matmul.c_type != MORELLO_F32)) {
    return std::nullopt;
  }
  problem.matmul = matmul;
  return problem;
}

std::optional<Problem> parse_transpose(const std::vector<std::string>& words) {
  if (words.size() != 4 || words[2] != "->") return std::nullopt;
  const auto from = parse_tensor(words[1]), to = parse_tensor(words[3]);
  const auto plain = [](const std::optional<Tensor>& tensor) {
    return tensor && tensor->rank == 2 && tensor->dtype == MORELLO_F32 && tensor->strides[1] == 1 &&
           tensor->strides[0] == tensor->shape[1];
  };
  if (!plain(from) || !plain(to)) return std::nullopt;
  return Problem{{*from, *to}, std::nullopt, Transpose{from->shape[0], from->shape[1]}};
}

}  // namespace

int64_t element_count(const Tensor& tensor) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) count *= tensor.shape[axis];
  return count;
}

size_t bytes_of(const Tensor& tensor) {
  int64_t last = 0;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    last += tensor.strides[axis] * (tensor.shape[axis] - 1);
  }
  return static_cast<size_t>(last + 1) * size_of(tensor.dtype);
}

std::optional<Problem> parse_problem(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return std::nullopt;
  if (words[0] == "matmul") return parse_matmul(words);
  if (words[0] == "transpose") return parse_transpose(words);
  return std::nullopt;
}

std::vector<std::string> read_problems(const std::vector<std::string>& paths) {
  std::vector<std::string> problems;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      std::exit(2);
    }
    for (std::string line; std::getline(file, line);) {
      const size_t first = line.find_first_not_of(" \t\r");
      if (first != line.npos && line[first] != '#') problems.push_back(line);
    }
  }
  return problems;
}

}  // namespace morello::bench
