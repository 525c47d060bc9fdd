// SPDX-License-Identifier: MIT
// The list of microkernels; each is defined in the file of its kind.
#include <array>

#include "cost/microkernel.hh"

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

}  // namespace morello
