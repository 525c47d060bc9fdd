// SPDX-License-Identifier: MIT
// What the peers need to know of a Spec: which BLAS call it is.
#ifndef MORELLO_BENCH_PROBLEM_HH
#define MORELLO_BENCH_PROBLEM_HH

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "morello/morello.h"

namespace morello::bench {

/// One matrix of a matmul: the last two axes of an operand. One of the strides is 1.
struct Matrix {
  int64_t row_stride = 0, column_stride = 0;
  int64_t batch_stride = 0;
  bool by_rows() const { return column_stride == 1; }
  int64_t leading() const { return by_rows() ? row_stride : column_stride; }
  /// The same numbers as the transposed matrix.
  Matrix transposed() const { return {column_stride, row_stride, batch_stride}; }
};

/// C[m,n] = A[m,k] B[k,n], `batch` times, then bias and ReLU.
struct Matmul {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a, b, c;
  bool accumulate = false;
  bool bias = false;  // operand 2, along n
  bool relu = false;
};

/// to[j,i] = from[i,j], both row-major and dense.
struct Transpose {
  int64_t rows = 0, columns = 0;  // of `from`
};

/// Nothing if `spec` is something else, or has strides that BLAS does not know.
std::optional<Matmul> as_matmul(const morello_spec* spec);
std::optional<Transpose> as_transpose(const morello_spec* spec);

/// The Specs of problem files, one a line; lines with # are comments. Exits with a message if a
/// file cannot be read.
std::vector<std::string> read_problems(const std::vector<std::string>& paths);

}  // namespace morello::bench

#endif
