// SPDX-License-Identifier: MIT
// libxsmm: the whole problem as one kernel, without blocking by hand. Types of less than 32 bits
// want the weights in groups of as many elements along k as fill 32 bits (VNNI).
#include <libxsmm.h>

#include <cstring>
#include <string>

#include "peer.hh"

namespace morello::bench {
namespace {

int narrow(int64_t value) { return static_cast<int>(value); }

/// Sizes for libxsmm, which is column-major: C = A B is C^T = B^T A^T there.
struct Sizes {
  explicit Sizes(const Matmul& p)
      : m(narrow(p.n)),
        n(narrow(p.m)),
        k(narrow(p.k)),
        lda(narrow(p.b.leading())),
        ldb(narrow(p.a.leading())),
        ldc(narrow(p.c.leading())) {}
  libxsmm_blasint m, n, k, lda, ldb, ldc;
};

Offer offer_f32(const Matmul& given) {
  const Matmul p = by_rows(given).matmul;
  const Sizes s(p);
  const float alpha = 1, beta = p.accumulate ? 1 : 0;
  const int flags = (p.b.by_rows() ? 0 : LIBXSMM_GEMM_FLAG_TRANS_A) |
                    (p.a.by_rows() ? 0 : LIBXSMM_GEMM_FLAG_TRANS_B);
  const libxsmm_smmfunction gemm =
      libxsmm_smmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldc, &alpha, &beta, &flags, nullptr);
  if (gemm == nullptr) return refuse("no kernel for it");
  const auto one = [gemm](const void* a, const void* b, void* c) {
    gemm(static_cast<const float*>(b), static_cast<const float*>(a), static_cast<float*>(c));
  };
  return {{from_matrices("as given", given, one)}, ""};
}

/// weights[k,n] as [k/group][n][group], zeros where k ends.
void to_groups(const Matmul& p, int64_t group, const void* given, void* packed) {
  const auto size = static_cast<int64_t>(size_of(p.b_type));
  const char* from = static_cast<const char*>(given);
  char* to = static_cast<char*>(packed);
  for (int64_t k = 0; k < p.k; k += group) {
    for (int64_t n = 0; n < p.n; ++n) {
      for (int64_t g = 0; g < group; ++g, to += size) {
        const int64_t at = (k + g) * p.b.row_stride + n * p.b.column_stride;
        std::memcpy(to, from + at * size, static_cast<size_t>(size));
      }
    }
  }
}

/// A kernel of two pointers to inputs and one to the result, whatever their types.
using Kernel = void (*)(const void* weights, const void* a, void* c);

Kernel low_kernel(const Matmul& p) {
  Sizes s(p);
  s.lda = s.m;  // the groups are dense
  const int flags = LIBXSMM_GEMM_FLAG_VNNI_A;
  if (p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32)) {
    const float alpha = 1, beta = p.accumulate ? 1 : 0;
    return reinterpret_cast<Kernel>(libxsmm_bsmmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldc,
                                                         &alpha, &beta, &flags, nullptr));
  }
  const int alpha = 1, beta = p.accumulate ? 1 : 0;
  if (p.is(MORELLO_U8, MORELLO_I8, MORELLO_I32)) {
    return reinterpret_cast<Kernel>(libxsmm_subimmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldc,
                                                           &alpha, &beta, &flags, nullptr));
  }
  return reinterpret_cast<Kernel>(libxsmm_ssbimmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldc,
                                                         &alpha, &beta, &flags, nullptr));
}

Offer offer_low(const Matmul& p) {
  const bool known = p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32) ||
                     p.is(MORELLO_U8, MORELLO_I8, MORELLO_I32) ||
                     p.is(MORELLO_I8, MORELLO_I8, MORELLO_I32);
  if (!known) return refuse("no such types");
  const int64_t group = 4 / static_cast<int64_t>(size_of(p.b_type));
  if (!p.free_weights) return refuse("packed weights only");
  if (p.batch != 1 || !p.a.by_rows() || !p.c.by_rows()) return refuse("one plain matrix only");
  if (p.k % group != 0) return refuse("k in whole groups only");
  const Kernel kernel = low_kernel(p);
  if (kernel == nullptr) return refuse("no kernel for it");
  Method method = from_matrices(
      "packed", p, [kernel](const void* a, const void* b, void* c) { kernel(b, a, c); });
  method.packed_bytes = static_cast<size_t>(p.k * p.n) * size_of(p.b_type);
  method.pack = [p, group](const void* given, void* packed) { to_groups(p, group, given, packed); };
  return {{method}, ""};
}

Offer offer(const Problem& problem) {
  if (problem.matmul) {
    const bool f32 = problem.matmul->is(MORELLO_F32, MORELLO_F32, MORELLO_F32);
    return f32 ? offer_f32(*problem.matmul) : offer_low(*problem.matmul);
  }
  if (!problem.transpose) return refuse("no such operation");
  const auto rows = static_cast<libxsmm_blasint>(problem.transpose->rows);
  const auto columns = static_cast<libxsmm_blasint>(problem.transpose->columns);
  Method method{"as given"};
  method.run = [=](void* const* operands) {
    libxsmm_otrans(operands[1], operands[0], sizeof(float), columns, rows, columns, rows);
  };
  return {{method}, ""};
}

}  // namespace

MORELLO_BENCH_MODULE morello_bench_peers(const Setting& setting, std::vector<Peer>* peers) {
  if (setting.threads != 1) return;  // one kernel is one thread
  libxsmm_init();
  peers->push_back(
      {"libxsmm",
       std::string("libxsmm ") + LIBXSMM_VERSION + ", kernels " + libxsmm_get_target_arch(),
       offer});
}

}  // namespace morello::bench
