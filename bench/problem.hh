// SPDX-License-Identifier: MIT
// What the peers need to know of a Spec: which product of matrices it is. Read from its text, so
// that they can be measured on what this version of the library refuses.
#ifndef MORELLO_BENCH_PROBLEM_HH
#define MORELLO_BENCH_PROBLEM_HH

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "morello/morello.h"

namespace morello::bench {

/// One operand: `layout` is MORELLO_LAYOUT_STRIDED, or FREE with the strides of row-major.
using Tensor = morello_tensor;

/// Bytes of one element; 0 of a type that this program does not know.
constexpr size_t size_of(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
    case MORELLO_I32:
      return 4;
    case MORELLO_BF16:
      return 2;
    case MORELLO_I8:
    case MORELLO_U8:
      return 1;
    default:
      return 0;
  }
}

/// Elements of a tensor, each counted once.
int64_t element_count(const Tensor& tensor);
/// Bytes from the first to past the last element.
size_t bytes_of(const Tensor& tensor);

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
  int32_t a_type = 0, b_type = 0, c_type = 0;  // morello_dtype
  bool free_weights = false;                   // B may be brought into any layout beforehand
  bool accumulate = false;
  bool bias = false;  // operand 2, f32, along n
  bool relu = false;

  bool is(int32_t a_is, int32_t b_is, int32_t c_is) const {
    return a_type == a_is && b_type == b_is && c_type == c_is;
  }
  /// Multiplications and additions, without bias and ReLU.
  double operations() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

/// to[j,i] = from[i,j], both row-major, dense and f32.
struct Transpose {
  int64_t rows = 0, columns = 0;  // of `from`
};

/// A Spec that is one of these two. Its operands in order, the output last.
struct Problem {
  std::vector<Tensor> tensors;
  std::optional<Matmul> matmul;
  std::optional<Transpose> transpose;
};

/// Nothing if `text` is something else, has strides that BLAS does not know, or types that this
/// program does not know.
std::optional<Problem> parse_problem(const std::string& text);

/// The Specs of problem files, one a line; lines with # are comments. Exits with a message if a
/// file cannot be read.
std::vector<std::string> read_problems(const std::vector<std::string>& paths);

}  // namespace morello::bench

#endif
