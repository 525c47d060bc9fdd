// SPDX-License-Identifier: MIT
// Highway's matrix-vector product (hwy/contrib/matvec), compiled once per cap. It wants the weights
// as rows of outputs, and sizes that the compiler knows.
#include <hwy/contrib/matvec/matvec-inl.h>

#include <memory>
#include <string>

#include "peer.hh"

namespace morello::bench {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Types {
  bool a_is_bf16 = false, b_is_bf16 = false;
};

template <size_t outputs, size_t inputs>
Method method_of(const Matmul& p, const std::shared_ptr<hwy::ThreadPool>& pool) {
  using Bf16 = hwy::bfloat16_t;
  const Types types = {p.a_type == MORELLO_BF16, p.b_type == MORELLO_BF16};
  return from_matrices("as given", p, [types, pool](const void* a, const void* b, void* c) {
    float* out = static_cast<float*>(c);
    if (types.a_is_bf16) {
      hn::MatVec<outputs, inputs>(static_cast<const Bf16*>(b), static_cast<const Bf16*>(a), out,
                                  *pool);
    } else if (types.b_is_bf16) {
      hn::MatVec<outputs, inputs>(static_cast<const Bf16*>(b), static_cast<const float*>(a), out,
                                  *pool);
    } else {
      hn::MatVec<outputs, inputs>(static_cast<const float*>(b), static_cast<const float*>(a), out,
                                  *pool);
    }
  });
}

Offer offer(const Problem& problem, const std::shared_ptr<hwy::ThreadPool>& pool) {
  if (!problem.matmul) return refuse("no such operation");
  const Matmul& p = *problem.matmul;
  const bool known = p.is(MORELLO_F32, MORELLO_F32, MORELLO_F32) ||
                     p.is(MORELLO_F32, MORELLO_BF16, MORELLO_F32) ||
                     p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32);
  if (!known) return refuse("no such types");
  if (p.m != 1 || p.batch != 1 || p.accumulate) return refuse("one row only");
  if (p.b.by_rows() || p.b.leading() != p.k) return refuse("column-major weights only");
  const auto is = [&](int64_t n, int64_t k) { return p.n == n && p.k == k; };
  if (is(16384, 2048)) return {{method_of<16384, 2048>(p, pool)}, ""};
  if (is(2048, 16384)) return {{method_of<2048, 16384>(p, pool)}, ""};
  if (is(16381, 2047)) return {{method_of<16381, 2047>(p, pool)}, ""};
  if (is(4096, 4096)) return {{method_of<4096, 4096>(p, pool)}, ""};
  return refuse("not among the sizes it was compiled for");
}

}  // namespace

MORELLO_BENCH_MODULE morello_bench_peers(const Setting& setting, std::vector<Peer>* peers) {
  // It wants the number of threads besides this one.
  const auto pool = std::make_shared<hwy::ThreadPool>(setting.threads - 1);
  const std::string version =
      std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." + std::to_string(HWY_PATCH);
  peers->push_back(
      {"Highway",
       "Highway " + version + ", contrib/matvec for " + hwy::TargetName(HWY_STATIC_TARGET),
       [pool](const Problem& problem) { return offer(problem, pool); }});
}

}  // namespace morello::bench
