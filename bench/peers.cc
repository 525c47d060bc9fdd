// SPDX-License-Identifier: MIT
#include "peers.hh"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "problem.hh"

#ifdef MORELLO_HAVE_OPENBLAS
#include <cblas.h>
#endif
#ifdef MORELLO_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

namespace morello::bench {
namespace {

/// Libraries without fusion need a second pass. Compiled like an application's own loop.
void add_bias_and_relu(const Matmul& matmul, const float* bias, float* c) {
  for (int64_t i = 0; i < matmul.m; ++i, c += matmul.n) {
    if (matmul.bias) {
      for (int64_t j = 0; j < matmul.n; ++j) c[j] += bias[j];
    }
    if (matmul.relu) {
      for (int64_t j = 0; j < matmul.n; ++j) c[j] = c[j] < 0 ? 0 : c[j];
    }
  }
}

#ifdef MORELLO_HAVE_OPENBLAS
CBLAS_TRANSPOSE cblas_order(const Matrix& matrix) {
  return matrix.by_rows() ? CblasNoTrans : CblasTrans;
}

/// y = M x or M^T x, for the row-major `matrix` of rows x columns.
void openblas_vector(const Matrix& matrix, int64_t rows, int64_t columns, const float* values,
                     const float* x, float* y, bool accumulate) {
  const bool by_rows = matrix.by_rows();
  cblas_sgemv(by_rows ? CblasRowMajor : CblasColMajor, CblasNoTrans, static_cast<int>(rows),
              static_cast<int>(columns), 1.0f, values, static_cast<int>(matrix.leading()), x, 1,
              accumulate ? 1.0f : 0.0f, y, 1);
}

void openblas_gemm(const Matmul& p, const float* a, const float* b, float* c) {
  // One row is a matrix times a vector, for which BLAS has a call of its own.
  if (p.m == 1 && (p.k == 1 || p.a.column_stride == 1) && (p.n == 1 || p.c.column_stride == 1)) {
    openblas_vector(p.b.transposed(), p.n, p.k, b, a, c, p.accumulate);
    return;
  }
  cblas_sgemm(CblasRowMajor, cblas_order(p.a), cblas_order(p.b), static_cast<int>(p.m),
              static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, a,
              static_cast<int>(p.a.leading()), b, static_cast<int>(p.b.leading()),
              p.accumulate ? 1.0f : 0.0f, c, static_cast<int>(p.c.leading()));
}
#endif

#ifdef MORELLO_HAVE_LIBXSMM
/// libxsmm is column-major: a row-major matrix is its transpose, so C = A B is C^T = B^T A^T.
libxsmm_smmfunction libxsmm_gemm(const Matmul& p) {
  const auto leading = [](const Matrix& matrix) { return static_cast<int>(matrix.leading()); };
  const int lda = leading(p.b), ldb = leading(p.a), ldc = leading(p.c);
  const float alpha = 1, beta = p.accumulate ? 1 : 0;
  const int flags = (p.b.by_rows() ? 0 : LIBXSMM_GEMM_FLAG_TRANS_A) |
                    (p.a.by_rows() ? 0 : LIBXSMM_GEMM_FLAG_TRANS_B);
  return libxsmm_smmdispatch(static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k),
                             &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr);
}
#endif

/// The same problem with a row-major output: C^T = B^T A^T.
struct ByRows {
  Matmul problem;
  uint32_t a = 0, b = 1;  // operands
};

ByRows by_rows(Matmul p) {
  if (p.c.by_rows()) return {p, 0, 1};
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  p.a = p.a.transposed();
  p.b = p.b.transposed();
  p.c = p.c.transposed();
  return {p, 1, 0};
}

[[maybe_unused]] Peer batched(const char* name, const Matmul& matmul, tools::Operands* operands,
                              std::function<void(const float*, const float*, float*)> one) {
  const ByRows rows = by_rows(matmul);
  const Matmul p = rows.problem;
  const float *a = operands->given(rows.a), *b = operands->given(rows.b);
  const float* bias = p.bias ? operands->given(2) : nullptr;
  return {name, [=](float* c) {
            for (int64_t i = 0; i < p.batch; ++i) {
              one(a + i * p.a.batch_stride, b + i * p.b.batch_stride, c + i * p.c.batch_stride);
            }
            if (p.bias || p.relu) add_bias_and_relu(p, bias, c);
          }};
}

[[maybe_unused]] void add_matmul_peers(const Matmul& matmul, tools::Operands* operands,
                                       std::vector<Peer>* peers) {
  const Matmul p = by_rows(matmul).problem;
#ifdef MORELLO_HAVE_OPENBLAS
  peers->push_back(
      batched("OpenBLAS", matmul, operands,
              [p](const float* a, const float* b, float* c) { openblas_gemm(p, a, b, c); }));
#endif
#ifdef MORELLO_HAVE_LIBXSMM
  if (const libxsmm_smmfunction gemm = libxsmm_gemm(p)) {
    peers->push_back(batched("libxsmm", matmul, operands,
                             [gemm](const float* a, const float* b, float* c) { gemm(b, a, c); }));
  }
#endif
  static_cast<void>(p);
  static_cast<void>(operands);
  static_cast<void>(peers);
}

[[maybe_unused]] void add_transpose_peers(const Transpose& transpose, tools::Operands* operands,
                                          std::vector<Peer>* peers) {
  [[maybe_unused]] const float* from = operands->given(0);
  [[maybe_unused]] const int rows = static_cast<int>(transpose.rows);
  [[maybe_unused]] const int columns = static_cast<int>(transpose.columns);
#ifdef MORELLO_HAVE_OPENBLAS
  peers->push_back({"OpenBLAS", [=](float* to) {
                      cblas_somatcopy(CblasRowMajor, CblasTrans, rows, columns, 1.0f, from, columns,
                                      to, rows);
                    }});
#endif
#ifdef MORELLO_HAVE_LIBXSMM
  peers->push_back({"libxsmm", [=](float* to) {
                      const auto width = static_cast<libxsmm_blasint>(columns);
                      const auto height = static_cast<libxsmm_blasint>(rows);
                      libxsmm_otrans(to, from, sizeof(float), width, height, width, height);
                    }});
#endif
  static_cast<void>(peers);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> peer_environment(int32_t isa) {
  const bool avx512 = isa == MORELLO_ISA_AVX512;
  // OpenBLAS chooses its kernels by the name of a core. SkylakeX is the AVX-512 one for f32 (later
  // names differ in bf16 only); asked itself, an old version takes AVX2 kernels on CPUs that are
  // newer than it. Haswell is the AVX2 one, also for Zen.
  return {{"OPENBLAS_CORETYPE", avx512 ? "SkylakeX" : "Haswell"},
          {"OPENBLAS_NUM_THREADS", "1"},
          {"OMP_NUM_THREADS", "1"},
          {"LIBXSMM_TARGET", avx512 ? "skx" : "hsw"}};
}

std::vector<Peer> peers_for(const morello_spec* spec, tools::Operands* operands) {
  std::vector<Peer> peers;
  if (const std::optional<Matmul> matmul = as_matmul(spec)) {
    add_matmul_peers(*matmul, operands, &peers);
  } else if (const std::optional<Transpose> transpose = as_transpose(spec)) {
    add_transpose_peers(*transpose, operands, &peers);
  }
  return peers;
}

std::vector<std::string> describe_peers() {
  std::vector<std::string> lines;
#ifdef MORELLO_HAVE_OPENBLAS
  lines.push_back(fmt::format("{}, kernels {}", openblas_get_config(), openblas_get_corename()));
#endif
#ifdef MORELLO_HAVE_LIBXSMM
  libxsmm_init();
  lines.push_back(
      fmt::format("libxsmm {}, kernels {}", LIBXSMM_VERSION, libxsmm_get_target_arch()));
#endif
  return lines;
}

}  // namespace morello::bench
