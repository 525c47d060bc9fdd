// SPDX-License-Identifier: MIT
// Random Specs by seed, as a just-in-time caller might ask for: mostly f32 matmuls of up to `most`
// per dimension, in every order of axes, batches of two dimensions with scales and bias; also
// narrow types and graphs.
#ifndef MORELLO_BENCH_RANDOM_MIXED_HH
#define MORELLO_BENCH_RANDOM_MIXED_HH

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace morello::bench {

class RandomMixed {
 public:
  RandomMixed(uint64_t seed, uint64_t most) : random_(seed), most_(most) {}

  /// One in eight is a graph, one in eight has narrow types, two are batches of two dimensions.
  std::string text() {
    switch (below(8)) {
      case 0:
        return graph();
      case 1:
        return narrow();
      case 2:
      case 3:
        return batches();
      default:
        return plain();
    }
  }

  /// A matmul in f32, one in five a batch, one in five with steps.
  std::string plain() {
    const uint64_t m = size(), n = size(), k = size();
    switch (below(5)) {
      case 0: {
        const uint64_t b = 2 + below(15);
        return "matmul " + tensor("f32", {b, m, k}, false) + " " + tensor("f32", {b, k, n}, false);
      }
      case 1:
        return "matmul " + tensor("f32", {m, k}) + " " + tensor("f32", {k, n}) + " + " +
               tensor("f32", {n}) + " -> relu -> " + tensor("f32", {m, n});
      default:
        return "matmul " + tensor("f32", {m, k}) + " " + tensor("f32", {k, n}) +
               (below(4) == 0 ? " += " : " -> ") + tensor("f32", {m, n});
    }
  }

  /// A matmul of bf16 or bytes.
  std::string narrow() {
    const uint64_t m = size(), n = size(), k = size();
    if (below(2) == 0)
      return "matmul " + tensor("bf16", {m, k}) + " " + tensor("bf16", {k, n}) + " -> " +
             tensor(below(2) == 0 ? "bf16" : "f32", {m, n}, false);
    return "matmul " + tensor("u8", {m, k}) + " " + tensor("i8", {k, n}) + " -> " +
           tensor("i32", {m, n}, false);
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  /// Half of them evenly between 1 and `most`, half with each power of two as likely.
  uint64_t size() { return size(most_); }
  uint64_t size(uint64_t most) {
    if (below(2) == 0) return 1 + below(most);
    uint64_t bits = 1;
    while (uint64_t{1} << bits < most) bits++;
    const uint64_t low = uint64_t{1} << below(bits);
    return std::min(most, low + below(low));
  }

  std::string tensor(const char* type, const std::vector<uint64_t>& sizes, bool orders = true) {
    std::string text = type + std::string("[");
    for (size_t i = 0; i < sizes.size(); i++)
      text += (i == 0 ? "" : ",") + std::to_string(sizes[i]);
    text += "]";
    std::vector<size_t> order(sizes.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = order.size() - 1 - i;
    if (!orders || below(2) == 0) return text;
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[below(i)]);
    text += "{";
    for (size_t i = 0; i < order.size(); i++)
      text += (i == 0 ? "" : ",") + std::to_string(order[i]);
    return text + "}";
  }

  std::string batches() {
    const uint64_t a = 1 + below(4), b = 1 + below(16), m = size(1024), n = size(1024),
                   k = size(512);
    std::string text = "matmul " + tensor("f32", {a, b, m, k}) + " " + tensor("f32", {a, b, k, n});
    if (below(2) == 0) text += " * " + tensor("f32", {}, false);
    if (below(3) == 0) text += " * " + tensor("f32", {m, 1}, false);
    if (below(2) == 0) text += " + " + tensor("f32", {n}, false);
    if (below(4) == 0) text += " + " + tensor("f32", {a, b, m, n});
    return text + " -> " + tensor("f32", {a, b, m, n});
  }

  std::string graph() {
    const uint64_t m = size(1024), n = size(1024), k = size(256);
    switch (below(5)) {
      case 0:
        return "softmax " + tensor("f32", {m, n}, false) + " axis=1";
      case 1:
        return "rmsnorm " + tensor("f32", {m, n}, false) + " " + tensor("f32", {n}) + " axis=1";
      case 2: {
        const uint64_t heads = 1 + below(8);
        return "attention " + tensor("f32", {heads, m, k}, false) + " " +
               tensor("f32", {heads, n, k}, false) + " " + tensor("f32", {heads, n, k}, false);
      }
      case 3: {
        const uint64_t side = 8 + below(50), in = 1 + below(64), out = 1 + below(64);
        return "conv2d " + tensor("f32", {1, in, side, side}, false) + " " +
               tensor("f32", {out, in, 3, 3}, false);
      }
      default:
        return "reduce_sum " + tensor("f32", {m, n}) + " axis=" + std::to_string(below(2));
    }
  }

  std::mt19937_64 random_;
  const uint64_t most_;
};

}  // namespace morello::bench

#endif
