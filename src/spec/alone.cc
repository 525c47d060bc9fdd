// SPDX-License-Identifier: MIT
#include "spec/alone.hh"

#include <bit>

namespace morello {

Spec product_alone(const Spec& spec, int stage, const std::array<DimMask, kMaxStages>& dims,
                   u8& seen) {
  const Stage& product = spec.stage[stage];
  Spec alone;
  alone.serial = true;
  std::array<u8, kMaxDims> name{};
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(dims[static_cast<size_t>(stage)], d)) {
      name[d] = alone.rank;
      alone.size[alone.rank++] = spec.size[d];
    }
  const auto renamed = [&](DimMask of) {
    DimMask all = 0;
    for (of = static_cast<DimMask>(of & dims[static_cast<size_t>(stage)]); of != 0;
         of = static_cast<DimMask>(of & (of - 1)))
      all = static_cast<DimMask>(all | 1u << name[static_cast<size_t>(std::countr_zero(of))]);
    return all;
  };
  alone.operand_count = 3;
  alone.stage_count = 1;
  for (size_t i : {0, 1}) {
    const Ref in = product.in[i];
    Operand& x = alone.operand[i];
    if (is_operand(in)) {
      x = spec.operand[in];
      x.dims = renamed(x.dims);
      for (int j = 0; j < x.layout.count(); j++) x.layout.dim[j] = name[x.layout.dim[j]];
    } else {
      const Stage& made = spec.stage[stage_of(in)];
      x.dtype = made.dtype;
      x.dims = renamed(static_cast<DimMask>(dims[stage_of(in)] & ~made.reduce));
    }
    if (!is_operand(in) || (seen >> in & 1) != 0) {
      x.level = Level::kL1;
      x.free_layout = true;
    } else {
      seen = static_cast<u8>(seen | 1u << in);
    }
  }
  Operand& out = alone.out();
  out.dtype = product.dtype == Dtype::kI32 ? Dtype::kI8 : Dtype::kBf16;
  out.level = Level::kL1;
  out.access = Access::kOut;
  out.dims = static_cast<DimMask>(alone.all_dims() & ~renamed(product.reduce));
  out.contig = static_cast<u8>(std::popcount(out.dims));
  alone.stage[0] = product;
  alone.stage[0].in = {0, 1, kNoRef};
  alone.stage[0].reduce = renamed(product.reduce);
  alone.stage[0].out = 2;
  return alone;
}

}  // namespace morello
