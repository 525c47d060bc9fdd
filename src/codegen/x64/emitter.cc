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

std::vector<i64> places_along(const PlanCall& call, Ref operand, std::span<const u8> dims) {
  std::vector<i64> places = {0};
  for (u8 d : dims) {
    std::vector<i64> finer;
    for (i64 place : places)
      for (u32 i = 0; i < call.spec.size[d]; i++)
        finer.push_back(place + i * call.operand[operand].stride[d]);
    places = std::move(finer);
  }
  return places;
}

std::vector<i64> places_of_rows(const PlanCall& call, Ref operand) {
  const Layout& tile = call.spec.out().layout;
  std::vector<u8> dims;
  for (int at = 0; at < tile.count(); at++)
    if (tile.dim[at] != unit_dim(call.spec.out())) dims.push_back(tile.dim[at]);
  return places_along(call, operand, dims);
}

}  // namespace morello::x64
