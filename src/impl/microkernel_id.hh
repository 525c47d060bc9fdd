// SPDX-License-Identifier: MIT
// The numbers and names of the microkernels, as decisions: what Impl trees, plans, tables and
// kernel names call them. What they compute and cost is cost/microkernel.hh.
#ifndef MORELLO_IMPL_MICROKERNEL_ID_HH
#define MORELLO_IMPL_MICROKERNEL_ID_HH

#include <iterator>
#include <string_view>

#include "support/types.hh"

namespace morello {

/// On disk: never renumber.
enum class MicrokernelId : u16 {
#define MORELLO_MICROKERNEL(number, name, text) k##name = number,
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
};

inline constexpr MicrokernelId kAllMicrokernels[] = {
#define MORELLO_MICROKERNEL(number, name, text) MicrokernelId::k##name,
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
};

/// Lists of microkernels are indexed by number - 1.
constexpr bool microkernels_in_order() {
  for (size_t i = 0; i < std::size(kAllMicrokernels); i++)
    if (static_cast<size_t>(kAllMicrokernels[i]) != i + 1) return false;
  return true;
}
static_assert(microkernels_in_order());

/// "" for numbers of no microkernel.
constexpr std::string_view name_of(MicrokernelId id) {
  switch (id) {
#define MORELLO_MICROKERNEL(number, name, text) \
  case MicrokernelId::k##name:                  \
    return text;
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
  }
  return "";
}

}  // namespace morello

#endif
