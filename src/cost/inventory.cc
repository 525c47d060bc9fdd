// SPDX-License-Identifier: MIT
// The list of microkernels; each is defined in the file of its kind.
#include <array>

#include "cost/model.hh"
#include "cost/shared.hh"

namespace morello {

#define MORELLO_MICROKERNEL(number, name, text) extern const Microkernel k##name;
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL

Microkernels microkernels() {
  static constexpr std::array kAll = {
#define MORELLO_MICROKERNEL(number, name, text) &k##name,
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
  };
  return kAll;
}

const Microkernel& microkernel(MicrokernelId id) {
  return *microkernels()[static_cast<size_t>(id) - 1];
}

i64 loop_units(const Spec& spec, const Portions& portions, const Target& target) {
  i64 units = 0, times = 1;  // how often the loop along a dimension is run
  for (int d = 0; d < spec.rank; d++) {
    const u32 size = spec.size[d], portion = portions[d];
    if (portion == 0 || size <= portion) continue;
    const i64 loop = saturating_mul(size / portion, target.prices.loop);
    units = saturating_add(units, saturating_mul(static_cast<u64>(times), loop));
    times = saturating_mul(ceil_div(size, portion), times);
  }
  return units;
}

}  // namespace morello
