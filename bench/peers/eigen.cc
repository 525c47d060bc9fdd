// SPDX-License-Identifier: MIT
// Eigen, compiled once per cap. It multiplies f32; other types are cast in the expression, as its
// users write it.
#include <Eigen/Core>
#include <string>

#include "peer.hh"

namespace morello::bench {
namespace {

template <typename T, int order>
using View = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>, 0,
                        Eigen::OuterStride<>>;
template <typename T>
using Result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
                          Eigen::OuterStride<>>;

template <typename C, typename Left, typename Right>
void multiply(const Matmul& p, const Left& a, const Right& b, void* c) {
  Result<C> result(static_cast<C*>(c), p.m, p.n, Eigen::OuterStride<>(p.c.row_stride));
  if (p.accumulate) {
    result.noalias() += a.template cast<C>() * b.template cast<C>();
  } else {
    result.noalias() = a.template cast<C>() * b.template cast<C>();
  }
}

template <typename A, typename B, typename C, int order_a, int order_b>
Offer offer_orders(const Matmul& given, const Matmul& p) {
  const auto one = [p](const void* a, const void* b, void* c) {
    const View<A, order_a> left(static_cast<const A*>(a), p.m, p.k,
                                Eigen::OuterStride<>(p.a.leading()));
    const View<B, order_b> right(static_cast<const B*>(b), p.k, p.n,
                                 Eigen::OuterStride<>(p.b.leading()));
    multiply<C>(p, left, right, c);
  };
  return {{from_matrices("as given", given, one)}, ""};
}

template <typename A, typename B, typename C>
Offer offer_types(const Matmul& given) {
  constexpr int kRows = Eigen::RowMajor, kColumns = Eigen::ColMajor;
  const Matmul p = by_rows(given).matmul;
  if (p.a.by_rows() && p.b.by_rows()) return offer_orders<A, B, C, kRows, kRows>(given, p);
  if (p.a.by_rows()) return offer_orders<A, B, C, kRows, kColumns>(given, p);
  if (p.b.by_rows()) return offer_orders<A, B, C, kColumns, kRows>(given, p);
  return offer_orders<A, B, C, kColumns, kColumns>(given, p);
}

Offer offer(const Problem& problem) {
  return offer_by_types<Eigen::bfloat16>(
      problem,
      []<typename A, typename B, typename C>(const Matmul& p) { return offer_types<A, B, C>(p); });
}

}  // namespace

MORELLO_BENCH_MODULE morello_bench_peers(const Setting& setting, std::vector<Peer>* peers) {
#ifndef _OPENMP
  if (setting.threads != 1) return;
#else
  static_cast<void>(setting);
#endif
  peers->push_back(
      {"Eigen",
       "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) +
           "." + std::to_string(EIGEN_MINOR_VERSION) + ", " + Eigen::SimdInstructionSetsInUse(),
       offer});
}

}  // namespace morello::bench
