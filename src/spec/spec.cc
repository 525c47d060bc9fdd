// SPDX-License-Identifier: MIT
#include "spec/spec.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace morello {
namespace {

/// One physical dimension of an operand: a dimension's (outer) part, or the inner part of the
/// packed one.
struct Physical {
  u8 dim;
  u32 size;
};

struct PhysicalDims {
  std::array<Physical, kMaxDims + 1> at;
  int count = 0;
};

PhysicalDims physical_dims(const Spec& spec, const Layout& layout) {
  PhysicalDims p;
  for (u8 d : layout.order) {
    if (d == kNoDim) break;
    u32 size = spec.size[d];
    if (d == layout.pack_dim) size = static_cast<u32>(ceil_div(size, layout.pack));
    p.at[p.count++] = {d, size};
  }
  if (layout.packed()) p.at[p.count++] = {layout.pack_dim, layout.pack};
  return p;
}

/// Removes entry `index` (of size 1) from a run of `contig` innermost of `count` dimensions.
void drop_physical(Operand& operand, int count, int index) {
  if (index >= count - operand.contig) operand.contig--;
}

void remove_from_order(Layout& layout, int index) {
  for (int i = index; i + 1 < kMaxDims; i++) layout.order[i] = layout.order[i + 1];
  layout.order[kMaxDims - 1] = kNoDim;
}

/// Panels that hold the whole dimension are an ordinary fastest dimension, `contig` aside.
void normalise_panels(const Spec& spec, Operand& operand) {
  Layout& l = operand.layout;
  if (!l.packed() || spec.size[l.pack_dim] > l.pack) return;
  int rank = l.rank();
  int at = static_cast<int>(std::find(l.order.begin(), l.order.begin() + rank, l.pack_dim) -
                            l.order.begin());
  bool full = spec.size[l.pack_dim] == l.pack;
  u8 dim = l.pack_dim;
  drop_physical(operand, rank + 1, at);
  remove_from_order(l, at);
  l.order[rank - 1] = dim;
  l.pack_dim = kNoDim;
  if (!full && operand.contig > 1) {
    set_pitch(operand, l.pack * size_of(operand.dtype));
    operand.contig = 1;
    forget_pitch(operand);
  }
  l.pack = 0;
}

void drop_unit_dims_of(const Spec& spec, Operand& operand) {
  Layout& l = operand.layout;
  normalise_panels(spec, operand);
  for (int i = 0; i < kMaxDims && l.order[i] != kNoDim;) {
    if (spec.size[l.order[i]] != 1) {
      i++;
      continue;
    }
    drop_physical(operand, l.rank() + l.packed(), i);
    remove_from_order(l, i);
  }
}

/// `operand`, of a Spec whose sizes were those of `before`, as a part of it with the sizes of
/// `after`.
void shrink(const Spec& before, const Spec& after, Operand& operand) {
  PhysicalDims was = physical_dims(before, operand.layout);
  PhysicalDims is = physical_dims(after, operand.layout);
  u64 inside = 1;  // elements of the run so far
  for (int i = 0; i < operand.contig; i++) {
    int at = was.count - 1 - i;
    inside *= was.at[at].size;
    if (was.at[at].size == is.at[at].size) continue;
    if (i + 1 < operand.contig) {
      operand.contig = static_cast<u8>(i + 1);
      set_pitch(operand, inside * size_of(operand.dtype));
      forget_pitch(operand);
    }
    break;
  }
}

}  // namespace

void set_pitch(Operand& operand, u64 bytes) {
  operand.far = bytes >= kFarBytes;
  operand.alias = 0;
  for (u8 alias : {u8{4}, kMaxAliasL1, u8{8}, kMaxAlias})
    if (bytes % (kLineBytes << alias) == 0) operand.alias = alias;
}

void forget_pitch(Operand& operand) {
  if (operand.level == Level::kRegister) return;
  const Layout& l = operand.layout;
  bool near = operand.level == Level::kL1;
  if (operand.level == Level::kL2) operand.alias = std::min(operand.alias, kMaxAliasL1);
  if (near || l.packed()) {
    operand.far = false;
    operand.alias = 0;
  }
  int panel = 0;  // physical dimensions inside a panel
  if (l.packed())
    for (int i = l.rank(); i > 0 && (i == l.rank() || l.order[i] != l.pack_dim); i--) panel++;
  if (near) panel = 1;
  if (panel) operand.contig = std::min(operand.contig, static_cast<u8>(panel));
}

u64 hash_of(const Spec& spec, u64 seed) { return XXH3_64bits_withSeed(&spec, sizeof spec, seed); }

Binding identity_binding(const Spec& spec) {
  Binding b;
  for (u8 d = 0; d < spec.rank; d++) b.dim[d] = d;
  for (u8 o = 0; o < spec.operand_count; o++) b.operand[o] = o;
  return b;
}

void drop_unit_dims(Spec& spec, Binding* binding) {
  std::array<u8, kMaxDims> now{};
  u8 kept = 0;
  for (u8 d = 0; d < spec.rank; d++) now[d] = spec.size[d] == 1 ? kNoDim : kept++;
  if (binding) *binding = identity_binding(spec);
  for (int o = 0; o < spec.operand_count; o++) drop_unit_dims_of(spec, spec.operand[o]);
  if (kept == spec.rank) return;

  auto map_mask = [&](DimMask mask) {
    DimMask out = 0;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(mask, d) && now[d] != kNoDim) out = static_cast<DimMask>(out | 1u << now[d]);
    return out;
  };
  for (int o = 0; o < spec.operand_count; o++) {
    Operand& operand = spec.operand[o];
    operand.dims = map_mask(operand.dims);
    for (u8& d : operand.layout.order)
      if (d != kNoDim) d = now[d];
    if (operand.layout.packed()) operand.layout.pack_dim = now[operand.layout.pack_dim];
  }
  for (int s = 0; s < spec.stage_count; s++) spec.stage[s].reduce = map_mask(spec.stage[s].reduce);
  for (u8 d = 0; d < spec.rank; d++) {
    if (now[d] == kNoDim) continue;
    spec.size[now[d]] = spec.size[d];
    if (binding) binding->dim[now[d]] = d;
  }
  for (u8 d = kept; d < spec.rank; d++) {
    spec.size[d] = 0;
    if (binding) binding->dim[d] = 0;
  }
  spec.rank = kept;
}

bool may_tile(const Spec& spec, int dim, u32 size) {
  for (int o = 0; o < spec.operand_count; o++) {
    const Layout& l = spec.operand[o].layout;
    if (l.pack_dim == dim && size % l.pack != 0) return false;
  }
  return true;
}

Spec tile(const Spec& spec, int dim, u32 size, Binding* binding) {
  Spec child = spec;
  child.size[dim] = size;
  for (int o = 0; o < child.operand_count; o++)
    if (has_dim(child.operand[o].dims, dim)) shrink(spec, child, child.operand[o]);
  drop_unit_dims(child, binding);
  return child;
}

Layout plain_layout(const Layout& layout) {
  Layout plain = layout;
  plain.pack_dim = kNoDim;
  plain.pack = 0;
  return plain;
}

Operand dense_operand(const Spec& spec, Dtype dtype, Level level, Access access, DimMask dims,
                      const Layout& layout) {
  Operand o;
  o.dtype = dtype;
  o.level = level;
  o.access = access;
  o.dims = dims;
  o.layout = layout;
  o.contig = static_cast<u8>(layout.rank() + layout.packed());
  drop_unit_dims_of(spec, o);
  return o;
}

Spec move_spec(const Spec& spec, int index, const Operand& to, bool in, Binding* binding) {
  // The dimensions of the operand, in an order that depends only on the destination's layout, so
  // that equal moves meet in the memo.
  const Operand& from = spec.operand[index];
  Spec m;
  m.serial = true;
  m.operand_count = 2;
  m.stage_count = 1;
  m.stage[0] = {Op::kCopy, 0, kNone, 0};
  m.operand[0] = in ? from : to;
  m.operand[1] = in ? to : from;
  m.operand[0].access = Access::kIn;
  m.operand[1].access = Access::kOut;
  for (int o = 0; o < 2; o++) forget_pitch(m.operand[o]);
  Binding b;
  std::array<u8, kMaxDims> now{};
  const Layout& order = m.operand[1].layout;
  for (int i = 0, n = order.rank(); i < n; i++) {
    u8 d = order.order[i];
    now[d] = m.rank;
    b.dim[m.rank] = d;
    m.size[m.rank++] = spec.size[d];
  }
  for (int o = 0; o < 2; o++) {
    Operand& operand = m.operand[o];
    operand.dims = m.all_dims();
    for (u8& d : operand.layout.order)
      if (d != kNoDim) d = now[d];
    if (operand.layout.packed()) operand.layout.pack_dim = now[operand.layout.pack_dim];
  }
  b.operand[in ? 0 : 1] = static_cast<u8>(index);
  b.operand[in ? 1 : 0] = kNewBuffer;
  if (binding) *binding = b;
  return m;
}

u64 elements(const Spec& spec, const Operand& operand) {
  u64 n = 1;
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(operand.dims, d)) n *= spec.size[d];
  return n;
}

Footprint footprint(const Spec& spec, const Operand& operand) {
  PhysicalDims p = physical_dims(spec, operand.layout);
  u64 run = 1, runs = 1;
  for (int i = 0; i < p.count; i++) (i >= p.count - operand.contig ? run : runs) *= p.at[i].size;
  u64 run_bytes = run * size_of(operand.dtype);
  return {run_bytes * runs, runs, runs * ceil_div(run_bytes, kLineBytes)};
}

bool is_dense(const Operand& operand) {
  return operand.contig == operand.layout.rank() + operand.layout.packed();
}

u8 unit_dim(const Operand& operand) {
  if (operand.contig == 0) return kNoDim;
  if (operand.layout.packed()) return operand.layout.pack_dim;
  int rank = operand.layout.rank();
  return rank == 0 ? kNoDim : operand.layout.order[rank - 1];
}

u64 vectors(const Spec& spec, const Operand& operand, u32 lanes) {
  u64 n = 1;
  u8 along = unit_dim(operand);
  for (int d = 0; d < spec.rank; d++) {
    if (!has_dim(operand.dims, d)) continue;
    n *= d == along ? ceil_div(spec.size[d], lanes) : spec.size[d];
  }
  return n;
}

u64 volume(const Spec& spec) {
  u64 v = 1;
  for (int d = 0; d < spec.rank; d++)
    if (__builtin_mul_overflow(v, u64{spec.size[d]}, &v)) return ~u64{0};
  return v;
}

namespace {

std::string describe(const Operand& operand) {
  std::string s(name_of(operand.dtype));
  s += '(';
  for (int i = 0, n = operand.layout.rank(); i < n; i++) {
    if (i) s += ',';
    s += 'd' + std::to_string(operand.layout.order[i]);
  }
  if (operand.layout.packed())
    s += '/' + std::to_string(operand.layout.pack) + ":d" + std::to_string(operand.layout.pack_dim);
  s += ')';
  if (operand.level > Level::kL1 && !is_dense(operand))
    s += (operand.far ? " far" : " near") + std::to_string(operand.contig);
  if (operand.free_layout) s += " free";
  s += '@';
  s += name_of(operand.level);
  return s;
}

}  // namespace

std::string describe(const Spec& spec) {
  std::string s;
  for (int i = 0; i < spec.stage_count; i++) {
    if (i) s += '+';
    s += name_of(spec.stage[i].op);
  }
  s += '[';
  for (int d = 0; d < spec.rank; d++) {
    if (d) s += ',';
    if (has_dim(spec.reduced(), d)) s += '/';
    s += std::to_string(spec.size[d]);
  }
  s += ']';
  for (int o = 0; o < spec.operand_count; o++) {
    if (o == spec.out_index()) s += spec.out().access == Access::kInOut ? " +=" : " =>";
    s += ' ' + describe(spec.operand[o]);
  }
  return s;
}

}  // namespace morello
