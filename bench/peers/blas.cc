// SPDX-License-Identifier: MIT
// OpenBLAS and BLIS: f32 through the interface that both have, and OpenBLAS's bf16 where it was
// built with it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "caps.hh"
#include "load.hh"

namespace morello::bench {
namespace {

// Of cblas.h.
constexpr int kRowMajor = 101, kColMajor = 102, kNoTrans = 111, kTrans = 112;
using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
using Sgemv = void(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                   const float* x, int incx, float beta, float* y, int incy);
using Sbgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                    const uint16_t* a, int lda, const uint16_t* b, int ldb, float beta, float* c,
                    int ldc);
using Somatcopy = void(int order, int transpose, int rows, int columns, float alpha,
                       const float* from, int ldf, float* to, int ldt);

struct Blas {
  Sgemm* sgemm = nullptr;
  Sgemv* sgemv = nullptr;
  Sbgemm* sbgemm = nullptr;        // may be missing
  Somatcopy* somatcopy = nullptr;  // likewise
};

int transposed(const Matrix& matrix) { return matrix.by_rows() ? kNoTrans : kTrans; }
int narrow(int64_t value) { return static_cast<int>(value); }

/// One row is a matrix times a vector, for which BLAS has a call of its own.
bool is_vector(const Matmul& p) {
  return p.m == 1 && (p.k == 1 || p.a.column_stride == 1) && (p.n == 1 || p.c.column_stride == 1);
}

void vector_product(const Blas& blas, const Matmul& p, const float* a, const float* b, float* c) {
  const Matrix weights = p.b.transposed();  // n x k
  blas.sgemv(weights.by_rows() ? kRowMajor : kColMajor, kNoTrans, narrow(p.n), narrow(p.k), 1.0f, b,
             narrow(weights.leading()), a, 1, p.accumulate ? 1.0f : 0.0f, c, 1);
}

template <typename Gemm, typename Element>
void product(Gemm* gemm, const Matmul& p, const Element* a, const Element* b, float* c) {
  gemm(kRowMajor, transposed(p.a), transposed(p.b), narrow(p.m), narrow(p.n), narrow(p.k), 1.0f, a,
       narrow(p.a.leading()), b, narrow(p.b.leading()), p.accumulate ? 1.0f : 0.0f, c,
       narrow(p.c.leading()));
}

Offer offer_matmul(const Blas& blas, const Matmul& given) {
  const Matmul p = by_rows(given).matmul;
  if (p.is(MORELLO_F32, MORELLO_F32, MORELLO_F32)) {
    const auto one = [blas, p](const void* a, const void* b, void* c) {
      const auto *x = static_cast<const float*>(a), *y = static_cast<const float*>(b);
      if (is_vector(p)) {
        vector_product(blas, p, x, y, static_cast<float*>(c));
      } else {
        product(blas.sgemm, p, x, y, static_cast<float*>(c));
      }
    };
    return {{from_matrices("as given", given, one)}, ""};
  }
  if (!p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32)) return refuse("no such types");
  if (blas.sbgemm == nullptr) return refuse("built without bf16");
  const auto one = [blas, p](const void* a, const void* b, void* c) {
    product(blas.sbgemm, p, static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b),
            static_cast<float*>(c));
  };
  return {{from_matrices("as given", given, one)}, ""};
}

Offer offer(const Blas& blas, const Problem& problem) {
  if (problem.matmul) return offer_matmul(blas, *problem.matmul);
  if (!problem.transpose || blas.somatcopy == nullptr) return refuse("no such operation");
  const int rows = narrow(problem.transpose->rows), columns = narrow(problem.transpose->columns);
  Method method{"as given"};
  method.run = [=](void* const* operands) {
    blas.somatcopy(kRowMajor, kTrans, rows, columns, 1.0f, static_cast<const float*>(operands[0]),
                   columns, static_cast<float*>(operands[1]), rows);
  };
  return {{method}, ""};
}

/// BLIS ends the process if it is asked for kernels that it was built without: asked in another
/// one.
bool blis_has(void* library, const std::string& number) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("BLIS_ARCH_TYPE", number.c_str(), 1);
    close(STDERR_FILENO);
    if (auto* query = find<int()>(library, "bli_arch_query_id")) query();
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// BLIS chooses by number, and numbers differ between versions. Its AVX2 code is tuned per maker.
void choose_blis_kernels(const Setting& setting, void* library) {
  auto* name_of = find<const char*(int)>(library, "bli_arch_string");
  if (name_of == nullptr) return;
  __builtin_cpu_init();
  const std::string wanted = (find_cap(setting.cap)->features & kAvx512) != 0 ? "skx"
                             : __builtin_cpu_is("amd")                        ? "zen3"
                                                                              : "haswell";
  constexpr int kMost = 10;  // all versions have more than that
  for (int number = 0; number < kMost; ++number) {
    const std::string text = std::to_string(number);
    if (name_of(number) != wanted || !blis_has(library, text)) continue;
    setenv("BLIS_ARCH_TYPE", text.c_str(), 1);
  }
}

}  // namespace

void add_openblas(std::vector<Peer>* peers) {
  void* library = open_library({"libopenblas.so.0", "libopenblas.so"});
  if (library == nullptr) return;
  const Blas blas = {find<Sgemm>(library, "cblas_sgemm"), find<Sgemv>(library, "cblas_sgemv"),
                     find<Sbgemm>(library, "cblas_sbgemm"),
                     find<Somatcopy>(library, "cblas_somatcopy")};
  if (blas.sgemm == nullptr || blas.sgemv == nullptr) return;
  std::string about;
  if (auto* config = find<char*()>(library, "openblas_get_config")) about = config();
  if (auto* core = find<char*()>(library, "openblas_get_corename")) {
    about += std::string(", kernels ") + core();
  }
  peers->push_back({"OpenBLAS", about, [blas](const Problem& p) { return offer(blas, p); }});
}

void add_blis(const Setting& setting, std::vector<Peer>* peers) {
  void* library = open_library({"libblis.so.4", "libblis.so.5", "libblis.so"});
  if (library == nullptr) return;
  choose_blis_kernels(setting, library);
  const Blas blas = {find<Sgemm>(library, "cblas_sgemm"), find<Sgemv>(library, "cblas_sgemv"),
                     nullptr, nullptr};
  if (blas.sgemm == nullptr || blas.sgemv == nullptr) return;
  std::string about = "BLIS";
  if (auto* version = find<const char*()>(library, "bli_info_get_version_str")) {
    about += std::string(" ") + version();
  }
  auto* id = find<int()>(library, "bli_arch_query_id");
  auto* name_of = find<const char*(int)>(library, "bli_arch_string");
  if (id != nullptr && name_of != nullptr) about += std::string(", kernels ") + name_of(id());
  peers->push_back({"BLIS", about, [blas](const Problem& p) { return offer(blas, p); }});
}

}  // namespace morello::bench
