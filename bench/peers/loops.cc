// SPDX-License-Identifier: MIT
// What a program does without a library: loops, as the compiler vectorises them. Compiled once per
// cap, with -O3 and -ffast-math.
#include <bit>
#include <cstdint>
#include <string>

#include "peer.hh"

namespace morello::bench {
namespace {

struct Bf16 {
  uint16_t bits;
};

inline float wide(float x) { return x; }
inline float wide(Bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
inline int32_t wide(int8_t x) { return x; }
inline int32_t wide(uint8_t x) { return x; }

/// Columns that one thread takes at a time where rows are added up; a multiple of cache lines.
constexpr int64_t kColumns = 4096;

/// c[j] += a[k] b[k,j]: weights by rows. Several threads share the columns.
template <typename A, typename B, typename C>
void add_rows(const Matmul& p, const A* a, const B* b, C* c) {
  const int64_t parts = (p.n + kColumns - 1) / kColumns;
#pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * kColumns, end = first + kColumns < p.n ? first + kColumns : p.n;
      C* __restrict row = c + i * p.c.row_stride;
      if (!p.accumulate) {
        for (int64_t j = first; j < end; ++j) row[j] = 0;
      }
      for (int64_t k = 0; k < p.k; ++k) {
        const C x = wide(a[i * p.a.row_stride + k * p.a.column_stride]);
        const B* __restrict from = b + k * p.b.row_stride;
        for (int64_t j = first; j < end; ++j) row[j] += x * wide(from[j]);
      }
    }
  }
}

/// Dot products: weights by columns.
template <typename A, typename B, typename C>
void dot_columns(const Matmul& p, const A* a, const B* b, C* c) {
#pragma omp parallel for
  for (int64_t j = 0; j < p.n; ++j) {
    const B* __restrict column = b + j * p.b.column_stride;
    for (int64_t i = 0; i < p.m; ++i) {
      const A* __restrict row = a + i * p.a.row_stride;
      C sum = 0;
      for (int64_t k = 0; k < p.k; ++k) sum += wide(row[k]) * wide(column[k]);
      C* to = c + i * p.c.row_stride + j;
      *to = p.accumulate ? *to + sum : sum;
    }
  }
}

template <typename A, typename B, typename C>
Offer offer_types(const Matmul& given) {
  const Matmul p = by_rows(given).matmul;
  if (!p.b.by_rows() && !p.a.by_rows()) return refuse("no such layouts");
  const auto one = [p](const void* a, const void* b, void* c) {
    const auto* x = static_cast<const A*>(a);
    const auto* y = static_cast<const B*>(b);
    if (p.b.by_rows()) {
      add_rows(p, x, y, static_cast<C*>(c));
    } else {
      dot_columns(p, x, y, static_cast<C*>(c));
    }
  };
  return {{from_matrices("as given", given, one)}, ""};
}

Offer offer(const Problem& problem) {
  return offer_by_types<Bf16>(problem, []<typename A, typename B, typename C>(const Matmul& p) {
    return offer_types<A, B, C>(p);
  });
}

}  // namespace

MORELLO_BENCH_MODULE morello_bench_peers(const Setting& setting, std::vector<Peer>* peers) {
#ifndef _OPENMP
  if (setting.threads != 1) return;
#else
  static_cast<void>(setting);
#endif
  peers->push_back({"loops", "plain loops, -O3 -ffast-math, compiler " __VERSION__, offer});
}

}  // namespace morello::bench
