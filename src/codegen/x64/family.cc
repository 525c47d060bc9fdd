// SPDX-License-Identifier: MIT
#include "codegen/x64/family.hh"

namespace morello::x64 {

const Family* find_family(MicrokernelId id) {
  static constexpr const Family* kAll[] = {&kOuterProduct, &kDotProduct, &kMap,
                                           &kScalarMap,    &kReduceRows, &kReduceLanes,
                                           &kScalarReduce, &kTranspose};
  for (const Family* family : kAll)
    if (family->id == id) return family;
  return nullptr;
}

}  // namespace morello::x64
