// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

#include "fmt/format.h"
#include "peak.hh"
#include "rivals.hh"

namespace morello::tools {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;  // of cblas.h
using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);

template <typename T>
T* find(void* library, const char* name) {
  return reinterpret_cast<T*>(dlsym(library, name));
}

}  // namespace

Rival openblas(int32_t isa, const Product& product) {
  // It reads both when it is loaded. SkylakeX is its AVX-512 code, which old versions do not choose
  // on CPUs that are newer than they are; Haswell is its AVX2 code.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_CORETYPE", has_512_bits(isa) ? "SkylakeX" : "Haswell", 1);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
  Sgemm* sgemm = library != nullptr ? find<Sgemm>(library, "cblas_sgemm") : nullptr;
  if (sgemm == nullptr) return {"OpenBLAS", "not installed (Debian: libopenblas0-pthread)"};

  std::string about = "one thread";
  if (auto* config = find<char*()>(library, "openblas_get_config")) {
    std::string name, version;
    std::istringstream(config()) >> name >> version;
    about = version + ", " + about;
  }
  if (auto* core = find<char*()>(library, "openblas_get_corename")) {
    about += fmt::format(", kernels {}", core());
  }
  return {"OpenBLAS", about, [sgemm, product](float* c) {
            const auto m = static_cast<int>(product.m), n = static_cast<int>(product.n),
                       k = static_cast<int>(product.k);
            sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, product.a, k, product.b, n, 0,
                  c, n);
          }};
}

}  // namespace morello::tools
