// SPDX-License-Identifier: MIT
#include "codegen/x64/emitter.hh"

namespace morello::x64 {

#define MORELLO_MICROKERNEL(number, name, text) extern const Emitter k##name;
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL

const Emitter* find_emitter(MicrokernelId id) {
  switch (id) {
#define MORELLO_MICROKERNEL(number, name, text) \
  case MicrokernelId::k##name:                  \
    return &k##name;
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
  }
  return nullptr;
}

}  // namespace morello::x64
