// SPDX-License-Identifier: MIT
#include "spec/spec.hh"

#include "spec/terms.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "spec/border.hh"
#include "spec/canonical.hh"
#include "spec/diagonal.hh"

namespace morello {
namespace {

/// Removes entry `index`, of size 1.
void drop_entry(Operand& operand, int index) {
  if (index >= operand.layout.count() - operand.contig) operand.contig--;
  operand.layout.erase(index);
}

/// Blocks that hold all there is are ordinary entries, and the slower ones of their dimension gone;
/// where a block is not full, the run ends behind it.
void normalise_blocks(const Spec& spec, Operand& operand) {
  Layout& l = operand.layout;
  if (!l.packed()) return;
  std::array<u32, kMaxDims> left = spec.size;
  u64 inside = 1;  // elements of the faster entries, with their padding
  for (int i = l.count() - 1; i >= 0; i--) {
    const u8 d = l.dim[i], block = l.block[i];
    if (block == 0) {
      inside *= left[d];
      continue;
    }
    inside *= block;
    if (left[d] > block) {
      left[d] = static_cast<u32>(ceil_div(left[d], block));
      continue;
    }
    for (int slower = i - 1; slower >= 0; slower--)
      if (l.dim[slower] == d) {
        drop_entry(operand, slower);
        i--;
      }
    l.block[i] = 0;
    if (left[d] < block) {
      const u32 contig = static_cast<u32>(l.count() - i);
      if (operand.contig > contig) {
        set_pitch(operand, inside * size_of(operand.dtype));
        operand.contig = static_cast<u8>(contig);
        forget_pitch(operand);
      }
    }
  }
}

/// Windows of which one dimension has size 1, or whose elements are each met once, are ordinary
/// dimensions, whose elements may be apart.
void normalise_windows(const Spec& spec, Operand& operand) {
  if (operand.windows == 0) return;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!operand.has_window(w)) continue;
    const Window& window = spec.window[w];
    const u32 outer = spec.size[window.outer], inner = spec.size[window.inner];
    const bool one = outer == 1 || inner == 1;
    // Layouts with blocks have no room for one entry more.
    if (!one &&
        (is_bordered(window) || meets_itself(window, outer, inner) || operand.layout.packed()))
      continue;
    Layout& l = operand.layout;
    int at = 0;
    while (l.dim[at] != window.outer) at++;
    u64 inside = size_of(operand.dtype);
    const PhysicalDims p = physical_dims(spec, operand);
    for (int i = at + 1; i < p.count; i++) inside *= p.size[i];
    const bool slowest = slowest_window(spec, operand) == at;
    operand.windows = static_cast<u8>(operand.windows & ~(1u << w));
    if (slowest || operand.windows == 0) operand.alias &= kRunAlias | kRagged;
    const u32 faster = static_cast<u32>(l.count() - 1 - at);
    const bool in_run = operand.contig > faster;
    auto end_run = [&](u32 entries, u64 apart) {
      const u8 met = met_runs(operand, operand.contig), rows = operand.alias & kWindowAlias;
      set_pitch(operand, apart * inside);
      operand.alias |= rows;
      keep_met_runs(operand, met);
      operand.contig = static_cast<u8>(entries);
      forget_pitch(operand);
    };
    if (one) {
      const u32 apart = inner == 1 ? window.step : window.dilation;
      if (inner != 1) l.dim[at] = window.inner;
      if (apart > 1 && in_run && outer * inner != 1) end_run(faster, apart);
      continue;
    }
    const bool in_order = window.step < window.dilation;
    const u8 slow = in_order ? window.inner : window.outer;
    const u8 fast = in_order ? window.outer : window.inner;
    const u32 near = std::min(window.step, window.dilation);
    const u32 far = std::max(window.step, window.dilation);
    l.dim[at] = slow;
    l.insert(at + 1, fast);
    if (!in_run) continue;
    operand.contig++;
    if (near > 1)
      end_run(faster, near);
    else if (far != spec.size[fast])
      end_run(faster + 1, far);
    else
      forget_pitch(operand);
  }
}

void drop_unit_dims_of(const Spec& spec, Operand& operand) {
  normalise_blocks(spec, operand);
  normalise_windows(spec, operand);
  Layout& l = operand.layout;
  for (int i = 0; i < kMaxPhysical && l.dim[i] != kNoDim;)
    if (axis_size(spec, operand, l.dim[i]) != 1)
      i++;
    else
      drop_entry(operand, i);
  forget_steps(spec, operand);
}

/// Where a tile is one block of the output, its dimensions are no longer in order.
void number_as_output(Spec& spec, Binding* binding) {
  std::array<u8, kMaxDims> order{};  // now -> before
  int next = 0;
  DimMask in_order = 0;
  bool same = true;
  const Layout& out = spec.out().layout;
  for (int i = 0, n = out.count(); i < n; i++) {
    if (out.block[i] != 0) continue;
    same &= out.dim[i] == next;
    order[next++] = out.dim[i];
    in_order = static_cast<DimMask>(in_order | 1u << out.dim[i]);
  }
  if (same) return;
  for (u8 d = 0; d < spec.rank; d++)
    if (!has_dim(in_order, d)) order[next++] = d;
  std::array<u8, kMaxDims> now{};
  const std::array<u32, kMaxDims> size = spec.size;
  const Binding before = binding ? *binding : identity_binding();
  for (u8 d = 0; d < spec.rank; d++) {
    now[order[d]] = d;
    spec.size[d] = size[order[d]];
    if (binding) binding->dim[d] = before.dim[order[d]];
  }
  auto map_mask = [&](DimMask& mask) {
    DimMask mapped = 0;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(mask, d)) mapped = static_cast<DimMask>(mapped | 1u << now[d]);
    mask = mapped;
  };
  for (int o = 0; o < spec.operand_count; o++) {
    map_mask(spec.operand[o].dims);
    for (u8& d : spec.operand[o].layout.dim)
      if (d != kNoDim) d = now[d];
  }
  for (int s = 0; s < spec.stage_count; s++) map_mask(spec.stage[s].reduce);
  renumber_pairs(spec, now);
}

}  // namespace

u64 whole_lines(u64 bytes) {
  constexpr u64 kDrift = 8;  // at most: then each line is in the set of those of 7 other runs
  const u64 lines = (bytes + kLineBytes / 2) / kLineBytes, whole = lines * kLineBytes;
  return std::max(bytes, whole) - std::min(bytes, whole) <= kDrift ? lines : 0;
}

void set_pitch(Operand& operand, u64 bytes) {
  operand.far = bytes >= kPagedBytes ? kPaged : bytes >= kFarBytes ? kFar : u8{0};
  operand.alias = 0;
  const bool ragged = bytes % kLineBytes != 0;
  if (ragged && bytes >= kRaggedBytes) operand.alias = kRagged;
  const u64 lines = whole_lines(bytes);
  if (lines == 0) return;
  // Of few sets each next run has others, if it drifts.
  for (u8 i = 1; i < kAliasCount; i++)
    if (lines % (u64{1} << kAliases[i]) == 0 && (!ragged || kAliases[i] >= 4))
      operand.alias = static_cast<u8>((operand.alias & kRagged) | i);
}

u8 met_runs(const Operand& operand, int run) {
  return run < operand.layout.count() ? operand.alias & kRunAlias : u8{0};
}

void keep_met_runs(Operand& operand, u8 met) {
  if (met > (operand.alias & kRunAlias))
    operand.alias = static_cast<u8>((operand.alias & ~kRunAlias) | met);
}

void set_window_pitch(Operand& operand, u64 bytes) {
  const u64 lines = whole_lines(bytes);
  const int alias = lines == 0 ? 0 : std::min<int>(std::countr_zero(lines), kMaxAlias);
  operand.alias = static_cast<u8>((operand.alias & 15) | alias << 4);
}

void forget_pitch(Operand& operand) {
  if (operand.level == Level::kRegister) return;
  const Layout& l = operand.layout;
  const bool near = operand.level == Level::kL1, packed = l.packed();
  const bool grouped = packed && lane_group(operand) > 1;
  if (operand.level == Level::kL2) {
    while (run_alias(operand) > kMaxAliasL1) operand.alias--;
    operand.alias =
        static_cast<u8>((operand.alias & 15) | std::min(window_alias(operand), kMaxAliasL1) << 4);
  }
  // Groups that share lanes are no panels: to all else, lanes are elements.
  const bool panels = packed && !(grouped && l.blocks() == 1);
  if (near || panels) {
    operand.far = 0;
    operand.alias = 0;
  }
  int inside = 0;  // entries inside a block: behind the slowest entry of a dimension that has one
  if (panels)
    for (int i = 0, n = l.count(); i < n && inside == 0; i++)
      if (l.block[i] == 0 && l.block_of(l.dim[i]) > 1) inside = n - 1 - i;
  if (near) inside = grouped ? 2 : 1;
  if (inside) operand.contig = std::min(operand.contig, static_cast<u8>(inside));
}

int slowest_window(const Spec& spec, const Operand& operand) {
  const auto is_axis = [&](u8 dim) {
    for (int w = 0; w < kMaxWindows; w++)
      if (operand.has_window(w) && spec.window[w].outer == dim) return true;
    return false;
  };
  int at = 0;
  while (!is_axis(operand.layout.dim[at])) at++;
  return at;
}

void forget_steps(const Spec& spec, Operand& operand) {
  for (int w = 0; w < kMaxWindows; w++)
    if (operand.contig != 0 && operand.has_window(w) && spec.window[w].step != 1 &&
        operand.layout.fastest() == spec.window[w].outer && !is_bordered(spec, operand)) {
      operand.contig = 0;
      set_pitch(operand, 0);
    }
}

u64 hash_of(const Spec& spec, u64 seed) {
  for (int s = 0; s < spec.stage_count; s++) {
    u64 first;
    std::memcpy(&first, &spec.stage[s], sizeof first);
    seed = (seed ^ first ^ u64{spec.stage[s].constant} << 21) * 0x9e3779b97f4a7c15u;
    seed ^= seed >> 29;
  }
  return XXH3_64bits_withSeed(&spec, spec.used_bytes(), seed);
}

Binding identity_binding() { return {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}; }

void drop_windows(Spec& spec) {
  u8 used = 0;
  for (int o = 0; o < spec.operand_count; o++)
    used = static_cast<u8>(used | spec.operand[o].windows);
  int kept = 0;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!(used >> w & 1)) continue;
    int now = 0;
    while (now < kept && spec.window[now] != spec.window[w]) now++;
    if (now == kept) kept++;
    if (now == w) continue;
    spec.window[now] = spec.window[w];
    for (Operand& x : spec.operand)
      x.windows = static_cast<u8>((x.windows & ~(1u << w)) | (x.has_window(w) ? 1u << now : 0));
  }
  for (; kept < kMaxWindows; kept++) spec.window[kept] = {};
}

void drop_unit_dims(Spec& spec, Binding* binding) {
  std::array<u8, kMaxDims> now{};
  u8 kept = 0;
  for (u8 d = 0; d < spec.rank; d++) now[d] = spec.size[d] == 1 ? kNoDim : kept++;
  if (binding) *binding = identity_binding();
  for (int o = 0; o < spec.operand_count; o++) {
    const bool packed = spec.operand[o].layout.packed();
    drop_unit_dims_of(spec, spec.operand[o]);
    if (packed) forget_pitch(spec.operand[o]);
  }
  if (kept == spec.rank) {
    if (spec.window[0].used()) drop_windows(spec);
    number_as_output(spec, binding);
    return;
  }

  auto map_mask = [&](DimMask mask) {
    DimMask out = 0;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(mask, d) && now[d] != kNoDim) out = static_cast<DimMask>(out | 1u << now[d]);
    return out;
  };
  for (int o = 0; o < spec.operand_count; o++) {
    Operand& operand = spec.operand[o];
    operand.dims = map_mask(operand.dims);
    for (u8& d : operand.layout.dim)
      if (d != kNoDim) d = now[d];
  }
  drop_windows(spec);
  renumber_pairs(spec, now);
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
  number_as_output(spec, binding);
}

Layout plain_layout(const Layout& layout) {
  Layout plain;
  for (int i = 0, n = layout.count(); i < n; i++)
    if (layout.block[i] == 0) plain.append(layout.dim[i]);
  return plain;
}

Operand dense_operand(const Spec& spec, Dtype dtype, Level level, Access access, DimMask dims,
                      const Layout& layout, u8 windows) {
  Operand o;
  o.dtype = dtype;
  o.level = level;
  o.access = access;
  o.dims = dims;
  o.windows = windows;
  o.layout = layout;
  if (windows != 0) {  // what they leave out is not there
    normalise_blocks(spec, o);
    normalise_windows(spec, o);
    set_pitch(o, 0);
  }
  o.contig = static_cast<u8>(o.layout.count());
  drop_unit_dims_of(spec, o);
  return o;
}

u32 axis_size(const Spec& spec, const Operand& operand, int dim) {
  if (operand.windows)
    for (int w = 0; w < kMaxWindows; w++) {
      const Window& window = spec.window[w];
      if (operand.has_window(w) && window.outer == dim)
        return window.step * (spec.size[window.outer] - 1) +
               window.dilation * (spec.size[window.inner] - 1) + 1 - window.before - window.after;
    }
  return spec.size[dim];
}

u8 dim_of_axis(const Spec& spec, const Operand& operand, u8 axis) {
  for (int w = 0; w < kMaxWindows; w++)
    if (operand.has_window(w) && spec.window[w].outer == axis && spec.window[w].step != 1)
      return spec.window[w].inner;
  return axis;
}

PhysicalDims physical_dims(const Spec& spec, const Operand& operand) {
  const Layout& l = operand.layout;
  PhysicalDims p;
  p.count = l.count();
  if (!l.packed() && operand.windows == 0) {
    for (int i = 0; i < p.count; i++) p.size[i] = spec.size[l.dim[i]];
    return p;
  }
  std::array<u32, kMaxDims> left = spec.size;
  for (int w = 0; w < kMaxWindows; w++)
    if (operand.has_window(w))
      left[spec.window[w].outer] = axis_size(spec, operand, spec.window[w].outer);
  for (int i = p.count - 1; i >= 0; i--) {
    const u8 d = l.dim[i], block = l.block[i];
    p.size[i] = block ? block : left[d];
    if (block) left[d] = static_cast<u32>(ceil_div(left[d], block));
  }
  return p;
}

bool has_plain_windows(const Spec& spec, const Operand& operand) {
  for (int w = 0; w < kMaxWindows; w++)
    if (operand.has_window(w) && spec.window[w].step != 1 && spec.window[w].dilation != 1)
      return false;
  return true;
}

Spec move_spec(const Spec& spec, int index, const Operand& to, bool in, Binding* binding) {
  // The dimensions of the operand, in an order that depends only on the destination's layout, so
  // that equal moves meet in the memo.
  const Operand& from = spec.operand[index];
  Spec m;
  m.serial = true;
  m.operand_count = 2;
  m.stage_count = 1;
  m.stage[0] = {Op::kCopy, copied_in(from.dtype, to.dtype), {0, kNoRef, kNoRef}, 0, 1, 0, 0};
  m.operand[0] = in ? from : to;
  m.operand[1] = in ? to : from;
  m.operand[0].access = Access::kIn;
  m.operand[1].access = Access::kOut;
  for (int o = 0; o < 2; o++) forget_pitch(m.operand[o]);
  Binding b;
  std::array<u8, kMaxDims> now{};
  const Layout& order = m.operand[1].layout;
  const u8 apart = static_cast<u8>(from.windows & ~to.windows);
  for (int i = 0, n = order.count(); i < n; i++) {
    if (order.block[i] != 0) continue;
    const u8 d = order.dim[i];
    now[d] = m.rank;
    b.dim[m.rank] = dim_of_axis(spec, to, d);
    m.size[m.rank++] = axis_size(spec, to, d);
  }
  for (int o = 0; o < 2; o++) {
    Operand& operand = m.operand[o];
    operand.dims = m.all_dims();
    operand.windows = static_cast<u8>(operand.windows & apart);
    if (operand.windows == 0) operand.alias &= kRunAlias | kRagged;
    for (u8& d : operand.layout.dim)
      if (d != kNoDim) d = now[d];
  }
  for (int w = 0; w < kMaxWindows; w++) {
    if (!(apart >> w & 1)) continue;
    m.window[w] = spec.window[w];
    m.window[w].outer = now[spec.window[w].outer];
    m.window[w].inner = now[spec.window[w].inner];
  }
  if (apart != 0) drop_windows(m);
  b.operand[in ? 0 : 1] = static_cast<u8>(index);
  b.operand[in ? 1 : 0] = new_buffer(0);
  if (m.operand[0].level != Level::kRegister && m.operand[1].level != Level::kRegister)
    merge_runs(m, b);
  if (binding) *binding = b;
  assert_canonical(m);
  return m;
}

u64 elements(const Spec& spec, const Operand& operand) {
  u64 n = 1;
  if (operand.windows) {
    for (int i = 0, count = operand.layout.count(); i < count; i++)
      if (operand.layout.block[i] == 0) n *= axis_size(spec, operand, operand.layout.dim[i]);
    return n;
  }
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(operand.dims, d)) n *= spec.size[d];
  return n;
}

Footprint footprint(const Spec& spec, const Operand& operand) {
  u64 run = 1, runs = 1;
  const int count = operand.layout.count(), run_begins = count - operand.contig;
  if (operand.windows == 0 && !operand.layout.packed()) {
    for (int i = 0; i < count; i++)
      (i >= run_begins ? run : runs) *= spec.size[operand.layout.dim[i]];
  } else {
    const PhysicalDims p = physical_dims(spec, operand);
    for (int i = 0; i < count; i++) (i >= run_begins ? run : runs) *= p.size[i];
  }
  u64 run_bytes = run * size_of(operand.dtype);
  return {run_bytes * runs, runs, runs * ceil_div(run_bytes, kLineBytes)};
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

}  // namespace morello
