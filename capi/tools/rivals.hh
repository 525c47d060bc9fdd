// SPDX-License-Identifier: MIT
// What else multiplies matrices on this machine: a plain compiled loop, and OpenBLAS.
#ifndef MORELLO_CAPI_TOOLS_RIVALS_HH
#define MORELLO_CAPI_TOOLS_RIVALS_HH

#include <cstdint>
#include <functional>
#include <string>

namespace morello::tools {

/// C[m,n] = A[m,k] B[k,n], all row-major without gaps.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr, *b = nullptr;
};

struct Rival {
  std::string name;
  std::string about;                    // how it was made; without `run`: why it is not here
  std::function<void(float* c)> run{};  // once
};

// Neither uses more than `isa`, which is not AUTO and which the CPU must have.

/// Loops over i, k and j, as the compiler vectorises them.
Rival plain_loop(int32_t isa, const Product& product);
/// On one thread. Opened at run time, so that nobody needs it to build the tool.
Rival openblas(int32_t isa, const Product& product);

}  // namespace morello::tools

#endif
