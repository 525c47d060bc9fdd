// SPDX-License-Identifier: MIT
// What a program does without a library. Compiled with -O3 and fused multiply-adds, see
// meson.build.
#include <algorithm>

#include "peak.hh"
#include "rivals.hh"

namespace morello::tools {
namespace {

__attribute__((always_inline)) inline void multiply(const Product& p, float* c) {
  for (int64_t i = 0; i < p.m; ++i) {
    float* __restrict row = c + i * p.n;
    std::fill(row, row + p.n, 0.0f);
    for (int64_t k = 0; k < p.k; ++k) {
      const float x = p.a[i * p.k + k];
      const float* b = p.b + k * p.n;
      for (int64_t j = 0; j < p.n; ++j) row[j] += x * b[j];
    }
  }
}

__attribute__((target("avx2,fma"))) void multiply_avx2(const Product& product, float* c) {
  multiply(product, c);
}

__attribute__((target("avx512f,avx512vl,fma"))) void multiply_avx512(const Product& product,
                                                                     float* c) {
  multiply(product, c);
}

}  // namespace

Rival plain_loop(int32_t isa, const Product& product) {
  const auto run = has_512_bits(isa) ? multiply_avx512 : multiply_avx2;
  return {"plain loop", "for i, k, j; compiled with -O3",
          [run, product](float* c) { run(product, c); }};
}

}  // namespace morello::tools
