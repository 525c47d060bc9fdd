// SPDX-License-Identifier: MIT
// MKL, opened at run time: f32, bf16 x bf16 and u8 x i8, with and without packed weights.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "load.hh"

namespace morello::bench {
namespace {

// Of mkl_cblas.h, 32-bit integers.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112, kPacked = 151, kMatrixB = 162,
              kFixOffset = 173;
using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const void* a, int lda, const void* b, int ldb, float beta, void* c, int ldc);
using Int8Gemm = void(int order, int transpose_a, int transpose_b, int offset, int m, int n, int k,
                      float alpha, const void* a, int lda, int8_t ao, const void* b, int ldb,
                      int8_t bo, float beta, int32_t* c, int ldc, const int32_t* co);
using PackSize = size_t(int identifier, int m, int n, int k);
using Pack = void(int order, int identifier, int transpose, int m, int n, int k, float alpha,
                  const void* from, int ld, void* to);
using PackLow = void(int order, int identifier, int transpose, int m, int n, int k,
                     const void* from, int ld, void* to);
using Compute = void(int order, int transpose_a, int transpose_b, int m, int n, int k,
                     const void* a, int lda, const void* b, int ldb, float beta, void* c, int ldc);
using ComputeLow = void(int order, int transpose_a, int transpose_b, int m, int n, int k,
                        float alpha, const void* a, int lda, const void* b, int ldb, float beta,
                        void* c, int ldc);

int narrow(int64_t value) { return static_cast<int>(value); }
int transposed(const Matrix& matrix) { return matrix.by_rows() ? kNoTrans : kTrans; }

/// The calls for one combination of types. Those that are missing are null.
struct Calls {
  Sgemm* gemm = nullptr;          // f32 and bf16
  Int8Gemm* int8_gemm = nullptr;  // u8 x i8
  PackSize* pack_size = nullptr;
  Pack* pack = nullptr;  // f32 takes alpha here ..
  PackLow* pack_low = nullptr;
  Compute* compute = nullptr;
  ComputeLow* compute_low = nullptr;  // .. the others there
  Int8Gemm* int8_compute = nullptr;
};

/// i8 x i8 is u8 x i8 of A + 128, and an offset.
struct Shifted {
  std::vector<uint8_t> bytes;
  const void* of(const void* a, const Matmul& p) {
    const int64_t lines = p.a.by_rows() ? p.m : p.k;
    bytes.resize(static_cast<size_t>(lines * p.a.leading()));
    const auto* from = static_cast<const uint8_t*>(a);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = from[i] ^ 0x80;
    return bytes.data();
  }
};

Method as_given(const Calls& calls, const Matmul& given) {
  const Matmul p = by_rows(given).matmul;
  auto shifted = std::make_shared<Shifted>();
  return from_matrices("as given", given, [=](const void* a, const void* b, void* c) {
    const int m = narrow(p.m), n = narrow(p.n), k = narrow(p.k);
    const int lda = narrow(p.a.leading()), ldb = narrow(p.b.leading()), ldc = narrow(p.c.leading());
    const float beta = p.accumulate ? 1.0f : 0.0f;
    if (calls.int8_gemm == nullptr) {
      calls.gemm(kRowMajor, transposed(p.a), transposed(p.b), m, n, k, 1.0f, a, lda, b, ldb, beta,
                 c, ldc);
      return;
    }
    const bool is_signed = p.a_type == MORELLO_I8;
    const int32_t zero = 0;
    calls.int8_gemm(kRowMajor, transposed(p.a), transposed(p.b), kFixOffset, m, n, k, 1.0f,
                    is_signed ? shifted->of(a, p) : a, lda, is_signed ? -128 : 0, b, ldb, 0, beta,
                    static_cast<int32_t*>(c), ldc, &zero);
  });
}

Method packed(const Calls& calls, const Matmul& p) {
  const int m = narrow(p.m), n = narrow(p.n), k = narrow(p.k);
  const int lda = narrow(p.a.leading()), ldb = narrow(p.b.leading()), ldc = narrow(p.c.leading());
  Method method = from_matrices("packed", p, [=](const void* a, const void* b, void* c) {
    const float beta = p.accumulate ? 1.0f : 0.0f;
    if (calls.compute != nullptr) {
      calls.compute(kRowMajor, transposed(p.a), kPacked, m, n, k, a, lda, b, ldb, beta, c, ldc);
    } else if (calls.compute_low != nullptr) {
      calls.compute_low(kRowMajor, transposed(p.a), kPacked, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                        ldc);
    } else {
      const int32_t zero = 0;
      calls.int8_compute(kRowMajor, transposed(p.a), kPacked, kFixOffset, m, n, k, 1.0f, a, lda, 0,
                         b, ldb, 0, beta, static_cast<int32_t*>(c), ldc, &zero);
    }
  });
  method.packed_bytes = calls.pack_size(kMatrixB, m, n, k);
  method.pack = [=](const void* given, void* to) {
    if (calls.pack != nullptr) {
      calls.pack(kRowMajor, kMatrixB, transposed(p.b), m, n, k, 1.0f, given, ldb, to);
    } else {
      calls.pack_low(kRowMajor, kMatrixB, transposed(p.b), m, n, k, given, ldb, to);
    }
  };
  return method;
}

Calls calls_for(void* library, const Matmul& p) {
  Calls calls;
  const auto low = [&](const std::string& name) {
    calls.pack_size = find<PackSize>(library, (name + "_pack_get_size").c_str());
    calls.pack_low = find<PackLow>(library, (name + "_pack").c_str());
  };
  if (p.is(MORELLO_F32, MORELLO_F32, MORELLO_F32)) {
    calls.gemm = find<Sgemm>(library, "cblas_sgemm");
    calls.pack_size = find<PackSize>(library, "cblas_sgemm_pack_get_size");
    calls.pack = find<Pack>(library, "cblas_sgemm_pack");
    calls.compute = find<Compute>(library, "cblas_sgemm_compute");
  } else if (p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32)) {
    calls.gemm = find<Sgemm>(library, "cblas_gemm_bf16bf16f32");
    low("cblas_gemm_bf16bf16f32");
    calls.compute_low = find<ComputeLow>(library, "cblas_gemm_bf16bf16f32_compute");
  } else if (p.b_type == MORELLO_I8 && p.c_type == MORELLO_I32 && size_of(p.a_type) == 1) {
    // In row-major order the unsigned matrix is the first one.
    calls.int8_gemm = find<Int8Gemm>(library, "cblas_gemm_s8u8s32");
    low("cblas_gemm_s8u8s32");
    calls.int8_compute = find<Int8Gemm>(library, "cblas_gemm_s8u8s32_compute");
  }
  return calls;
}

Offer offer(void* library, const Problem& problem) {
  if (!problem.matmul) return refuse("no such operation");
  const Matmul& p = *problem.matmul;
  const bool f32 = p.is(MORELLO_F32, MORELLO_F32, MORELLO_F32);
  if (!f32 && !p.c.by_rows()) return refuse("no such layouts");
  const Calls calls = calls_for(library, p);
  if (calls.gemm == nullptr && calls.int8_gemm == nullptr) return refuse("no such types");
  const bool can_pack = calls.pack_size != nullptr &&
                        (calls.pack != nullptr || calls.pack_low != nullptr) &&
                        p.a_type != MORELLO_I8 && p.batch == 1;
  if (p.free_weights && can_pack) return {{packed(calls, p)}, ""};
  return {{as_given(calls, p)}, ""};
}

}  // namespace

void add_mkl(std::vector<Peer>* peers) {
  void* library = open_library({"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"});
  if (library == nullptr || find<Sgemm>(library, "cblas_sgemm") == nullptr) return;
  std::string about = "MKL";
  if (auto* version = find<void(char*, int)>(library, "mkl_get_version_string")) {
    char text[200] = {};
    version(text, sizeof text);
    about = text;
    about.erase(about.find_last_not_of(" \0") + 1);
  }
  peers->push_back({"MKL", about, [library](const Problem& p) { return offer(library, p); }});
}

}  // namespace morello::bench
