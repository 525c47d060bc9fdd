// SPDX-License-Identifier: MIT
// Bytes that callers of an emitted function provide: enough for each of its variants.
#ifndef MORELLO_CAPI_TOOLS_EMIT_SIZES_HH
#define MORELLO_CAPI_TOOLS_EMIT_SIZES_HH

#include <algorithm>

#include "emit/parts.hh"

namespace morello::tools {

/// What the variants need at most.
template <typename F>
size_t most(const Function& f, F bytes_of) {
  size_t bytes = 0;
  for (const Variant& v : f.variants) bytes = std::max<size_t>(bytes, bytes_of(v.kernel.get()));
  return bytes;
}

inline size_t scratch_bytes(const Function& f) { return most(f, morello_kernel_scratch_size); }

inline size_t operand_bytes(const Function& f, uint32_t operand) {
  return most(f, [&](const morello_kernel* k) { return morello_kernel_operand_size(k, operand); });
}

inline size_t pack_scratch_bytes(const Function& f, uint32_t operand) {
  return most(f, [&](const morello_kernel* k) {
    morello_code code;
    morello_kernel_code_get(k, static_cast<int32_t>(operand), &code, sizeof code);
    return code.scratch_size;
  });
}

}  // namespace morello::tools

#endif
