// SPDX-License-Identifier: MIT
#include "problem.hh"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "fmt/format.h"
#include "handles.hh"

namespace morello::bench {
namespace {

std::vector<std::string> words_of(const morello_spec* spec) {
  std::istringstream text(tools::text_of(morello_spec_print, spec));
  return {std::istream_iterator<std::string>(text), {}};
}

std::optional<morello_tensor> operand(const morello_spec* spec, uint32_t index) {
  morello_tensor tensor = {};
  if (morello_spec_operand(spec, index, &tensor) != MORELLO_OK) return std::nullopt;
  if (tensor.dtype != MORELLO_F32) return std::nullopt;
  if (tensor.layout == MORELLO_LAYOUT_FREE) {
    // A peer gets the matrix as it was before our kernel's packing.
    int64_t stride = 1;
    for (uint32_t axis = tensor.rank; axis-- > 0; stride *= tensor.shape[axis]) {
      tensor.strides[axis] = stride;
    }
  }
  return tensor;
}

std::optional<Matrix> matrix(const morello_tensor& tensor) {
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

}  // namespace

std::optional<Matmul> as_matmul(const morello_spec* spec) {
  const std::vector<std::string> words = words_of(spec);
  if (words.size() < 5 || words[0] != "matmul") return std::nullopt;
  const uint32_t last = morello_spec_operand_count(spec) - 1;
  const auto a = operand(spec, 0), b = operand(spec, 1), c = operand(spec, last);
  if (!a || !b || !c) return std::nullopt;
  const auto a_matrix = matrix(*a), b_matrix = matrix(*b), c_matrix = matrix(*c);
  if (!a_matrix || !b_matrix || !c_matrix) return std::nullopt;

  Matmul matmul;
  size_t next = 3;
  if (words[next] == "+" && words.size() > next + 4 && words[next + 1] == "bias") {
    matmul.bias = true;
    next += 3;
  }
  if (words[next] == "->" && words.size() > next + 3 && words[next + 1] == "relu") {
    matmul.relu = true;
    next += 2;
  }
  if (words.size() != next + 2) return std::nullopt;
  matmul.accumulate = words[next] == "+=";
  matmul.batch = c->rank == 3 ? c->shape[0] : 1;
  matmul.m = c->shape[c->rank - 2];
  matmul.n = c->shape[c->rank - 1];
  matmul.k = a->shape[a->rank - 1];
  matmul.a = *a_matrix;
  matmul.b = *b_matrix;
  matmul.c = *c_matrix;
  const bool plain_output = matmul.c.by_rows() && matmul.c.leading() == matmul.n;
  if ((matmul.bias || matmul.relu) && (!plain_output || matmul.batch != 1)) return std::nullopt;
  return matmul;
}

std::optional<Transpose> as_transpose(const morello_spec* spec) {
  const std::vector<std::string> words = words_of(spec);
  if (words.size() != 4 || words[0] != "transpose") return std::nullopt;
  const auto from = operand(spec, 0), to = operand(spec, 1);
  if (!from || !to || from->rank != 2) return std::nullopt;
  const auto dense = [](const morello_tensor& tensor) {
    return tensor.strides[1] == 1 && tensor.strides[0] == tensor.shape[1];
  };
  if (!dense(*from) || !dense(*to)) return std::nullopt;
  return Transpose{from->shape[0], from->shape[1]};
}

std::vector<std::string> read_problems(const std::vector<std::string>& paths) {
  std::vector<std::string> problems;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) {
      fmt::print(stderr, "{}: cannot be read\n", path);
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
