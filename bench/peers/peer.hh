// SPDX-License-Identifier: MIT
// What other libraries offer on a problem. Each is a Peer. Those that need headers are modules of
// their own, loaded where they were built: two versions of one library, or one source compiled for
// two instruction sets, must not see each other's symbols.
#ifndef MORELLO_BENCH_PEERS_PEER_HH
#define MORELLO_BENCH_PEERS_PEER_HH

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "problem.hh"

namespace morello::bench {

/// One way to do one problem.
struct Method {
  std::string name;         // "as given", "packed", "column-major"
  size_t packed_bytes = 0;  // 0: operand 1 is read as the Spec states it
  /// Brings operand 1 into the method's own form, outside of what is timed.
  std::function<void(const void* given, void* packed)> pack{};
  /// Once. Inputs in the order of the Spec, operand 1 packed if that is asked for; output last.
  std::function<void(void* const* operands)> run{};
};

struct Offer {
  std::vector<Method> methods;
  std::string reason;  // in a few words, if there is no method
};

inline Offer refuse(std::string reason) { return {{}, std::move(reason)}; }

struct Peer {
  std::string name;   // "oneDNN 3.2"
  std::string about;  // what it runs: version, kernels that it chose
  std::function<Offer(const Problem&)> offer;
};

/// What a module is told when it is loaded.
struct Setting {
  std::string cap;  // name of the Cap
  uint32_t threads = 1;
  double search_seconds = 0;  // for our kernels; 0: no limit
};

/// A module exports this under kModuleEntry, and never goes away.
using ModuleEntry = void(const Setting& setting, std::vector<Peer>* peers);
inline constexpr const char* kModuleEntry = "morello_bench_peers";
#define MORELLO_BENCH_MODULE extern "C" __attribute__((visibility("default"))) void

/// A batch is a loop of calls: calls one(a, b, c) for each matrix.
template <typename One>
void for_each_matrix(const Matmul& p, const void* a, const void* b, void* c, One one) {
  const auto at = [](const void* data, int64_t stride, int64_t i, int32_t type) {
    return static_cast<const char*>(data) + i * stride * static_cast<int64_t>(size_of(type));
  };
  for (int64_t i = 0; i < p.batch; ++i) {
    one(at(a, p.a.batch_stride, i, p.a_type), at(b, p.b.batch_stride, i, p.b_type),
        const_cast<char*>(at(c, p.c.batch_stride, i, p.c_type)));
  }
}

/// For libraries without fusion: a second pass. Compiled like an application's own loop.
inline void add_bias_and_relu(const Matmul& p, const void* bias, void* result) {
  const float* add = static_cast<const float*>(bias);
  float* c = static_cast<float*>(result);
  for (int64_t i = 0; i < p.m; ++i, c += p.n) {
    if (p.bias) {
      for (int64_t j = 0; j < p.n; ++j) c[j] += add[j];
    }
    if (p.relu) {
      for (int64_t j = 0; j < p.n; ++j) c[j] = c[j] < 0 ? 0 : c[j];
    }
  }
}

/// The same problem with a row-major output: C^T = B^T A^T.
struct ByRows {
  Matmul matmul;
  int a = 0, b = 1;  // operands
};

inline ByRows by_rows(Matmul p) {
  if (p.c.by_rows()) return {p, 0, 1};
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_type, p.b_type);
  p.a = p.a.transposed();
  p.b = p.b.transposed();
  p.c = p.c.transposed();
  return {p, 1, 0};
}

/// The whole problem from a call one(a, b, c) that multiplies two matrices.
template <typename One>
Method from_matrices(const std::string& name, const Matmul& given, One one) {
  const ByRows rows = by_rows(given);
  Method method{name};
  method.run = [rows, one](void* const* operands) {
    const Matmul& p = rows.matmul;
    void* c = operands[p.bias ? 3 : 2];
    for_each_matrix(p, operands[rows.a], operands[rows.b], c, one);
    if (p.bias || p.relu) add_bias_and_relu(p, operands[2], c);
  };
  return method;
}

/// What `offer` says of a matmul with types that modules compiled from source know: it is called as
/// offer.operator()<A, B, C>(matmul).
template <typename Bf16, typename F>
Offer offer_by_types(const Problem& problem, F offer) {
  if (!problem.matmul) return refuse("no such operation");
  const Matmul& p = *problem.matmul;
  if (p.is(MORELLO_F32, MORELLO_F32, MORELLO_F32))
    return offer.template operator()<float, float, float>(p);
  if (!p.c.by_rows()) return refuse("no such layouts");
  if (p.is(MORELLO_BF16, MORELLO_BF16, MORELLO_F32))
    return offer.template operator()<Bf16, Bf16, float>(p);
  if (p.is(MORELLO_F32, MORELLO_BF16, MORELLO_F32))
    return offer.template operator()<float, Bf16, float>(p);
  if (p.is(MORELLO_U8, MORELLO_I8, MORELLO_I32))
    return offer.template operator()<uint8_t, int8_t, int32_t>(p);
  if (p.is(MORELLO_I8, MORELLO_I8, MORELLO_I32))
    return offer.template operator()<int8_t, int8_t, int32_t>(p);
  return refuse("no such types");
}

/// What the peers make of free weights besides a form of their own: a column-major copy.
/// REQUIRES: the weights of `p` are free.
Matmul with_columns(const Matmul& p);
/// The copy.
void to_columns(const Matmul& p, const void* given, void* copy);

}  // namespace morello::bench

#endif
