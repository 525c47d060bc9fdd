// SPDX-License-Identifier: MIT
// In libmorello-runtime instead of cache.cc: what makes no kernels has none to keep.
#include "capi/objects.hh"

namespace morello {

Result<std::unique_ptr<KernelCache>> open_cache(const std::string&, u64) {
  return std::unique_ptr<KernelCache>();
}

}  // namespace morello
