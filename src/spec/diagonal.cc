// SPDX-License-Identifier: MIT
#include "spec/diagonal.hh"

#include <algorithm>
#include <limits>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello {
namespace {

u32 rows_of(const Spec& spec) {
  return spec.diagonal.row == kNoDim ? 1 : spec.size[spec.diagonal.row];
}
u32 columns_of(const Spec& spec) { return spec.size[spec.diagonal.column]; }

/// What a value is at points that nothing keeps, so far as anybody cares.
enum class Masked : u8 { kAny, kLeast, kZero };

/// What a stage that combines nothing makes of what it reads there.
Masked masked_value(const Stage& stage, Masked x, Masked y) {
  const double constant = number_of_bits(stage.dtype, stage.constant);
  const bool scales = stage.in[1] == kConstant && constant > 0 &&
                      constant < std::numeric_limits<double>::infinity();
  switch (stage.op) {
    case Op::kKeep:
      return Masked::kLeast;
    case Op::kCopy:
      return x;
    case Op::kExp:
    case Op::kExp2:
    case Op::kDecay:
    case Op::kSigmoid:
      return x == Masked::kLeast ? Masked::kZero : Masked::kAny;
    case Op::kMul:
      if (x == Masked::kZero || y == Masked::kZero) return Masked::kZero;
      return x == Masked::kLeast && scales ? Masked::kLeast : Masked::kAny;
    case Op::kDiv:
      return x == Masked::kZero || (x == Masked::kLeast && scales) ? x : Masked::kAny;
    case Op::kAdd:
      return x == Masked::kLeast || y == Masked::kLeast ? Masked::kLeast : Masked::kAny;
    case Op::kSub:
      return x == Masked::kLeast ? Masked::kLeast : Masked::kAny;
    default:
      return Masked::kAny;
  }
}

/// Does it make no difference to have fewer columns, if no row keeps the others? What is combined
/// along them is neutral there, and nothing is written.
bool absorbs_masked_columns(const Spec& spec) {
  const u8 column = spec.diagonal.column;
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].access != Access::kIn && has_dim(spec.operand[o].dims, column))
      return false;
  std::array<Masked, kMaxStages> masked{};
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (!has_dim(dims_of(spec, stage), column)) continue;
    auto value = [&](Ref in) { return is_value(in) ? masked[stage_of(in)] : Masked::kAny; };
    const Masked x = value(stage.in[0]), y = value(stage.in[1]);
    if (!has_dim(stage.reduce, column)) {
      if (!is_reduction(stage)) masked[s] = masked_value(stage, x, y);
      continue;
    }
    const bool zero = x == Masked::kZero || (stage.op == Op::kMulAdd && y == Masked::kZero);
    const bool sums = stage.op == Op::kAdd || stage.op == Op::kMulAdd;
    if (!(sums ? zero : is_greatest(stage.op) && x == Masked::kLeast)) return false;
  }
  return true;
}

bool is_aligned(const Spec& spec, int dim, u32 size) {
  for (int o = 0; o < spec.operand_count; o++)
    if (size % spec.operand[o].layout.block_of(dim) != 0) return false;
  return true;
}

/// Cuts a dimension of the whole down to `size` elements.
void cut(DiagonalPart& part, u8 dim, u32 size) {
  u8 now = 0;
  while (part.binding.dim[now] != dim) now++;
  if (part.spec.size[now] == size) return;
  Binding b;
  part.spec = tile(part.spec, now, size, &b);
  Binding whole = part.binding;
  for (int d = 0; d < part.spec.rank; d++) whole.dim[d] = part.binding.dim[b.dim[d]];
  for (int d = part.spec.rank; d < kMaxDims; d++) whole.dim[d] = 0;
  part.binding = whole;
}

/// The dimension of the part that one of the whole is; kNoDim: it has one element.
u8 dim_of_part(const DiagonalPart& part, u8 dim) {
  for (u8 d = 0; d < part.spec.rank; d++)
    if (part.binding.dim[d] == dim) return d;
  return kNoDim;
}

/// Leaves out a copy that changes nothing. False if it has to stay.
bool drop_copy(Spec& spec, int s) {
  const Stage copy = spec.stage[s];
  const Ref from = copy.in[0];
  Spec next = spec;
  if (copy.out != kNoRef) {
    if (s == 0 || from != value_of(s - 1) || spec.operand[copy.out].access != Access::kOut)
      return false;
    Stage& before = next.stage[s - 1];
    if (before.out != kNoRef || before.dtype != copy.dtype) return false;
    before.out = copy.out;
  }
  for (int t = s; t + 1 < next.stage_count; t++) {
    next.stage[t] = next.stage[t + 1];
    for (Ref& in : next.stage[t].in) {
      if (in == value_of(s))
        in = from;
      else if (is_value(in) && stage_of(in) > s)
        in = value_of(stage_of(in) - 1);
    }
  }
  next.stage[--next.stage_count] = Stage{};
  if (next.stage_count == 0 || !not_canonical(next).empty()) return false;
  spec = next;
  return true;
}

}  // namespace

void renumber_pairs(Spec& spec, const std::array<u8, kMaxDims>& now) {
  for (Window& w : spec.window)
    if (w.used()) w.outer = now[w.outer], w.inner = now[w.inner];
  Diagonal& diagonal = spec.diagonal;
  if (!diagonal.used()) return;
  if (diagonal.row != kNoDim) diagonal.row = now[diagonal.row];
  diagonal.column = now[diagonal.column];
}

u64 kept_points(const Spec& spec, DimMask dims) {
  const Diagonal& diagonal = spec.diagonal;
  const u64 rows = rows_of(spec), columns = columns_of(spec);
  const u64 all = points_of(spec, dims);
  if (!has_dim(dims, diagonal.column)) return all;
  const u64 last = std::min(columns, diagonal.kept + rows - 1);  // of the last row
  if (diagonal.row == kNoDim || !has_dim(dims, diagonal.row)) return all / columns * last;
  // The first rows have one more each.
  const u64 growing = last - diagonal.kept;
  const u64 kept = growing * diagonal.kept + growing * (growing - 1) / 2 + (rows - growing) * last;
  u64 points = 0;
  return __builtin_mul_overflow(all / (rows * columns), kept, &points) ? ~u64{0} >> 1 : points;
}

bool may_divide_rows(const Spec& spec, u32 rows) {
  const u8 row = spec.diagonal.row;
  for (int o = 0; o < spec.operand_count; o++)  // register tiles have no parts
    if (spec.operand[o].level == Level::kRegister) return false;
  return row != kNoDim && rows >= 1 && rows < spec.size[row] && has_dim(parallel_dims(spec), row) &&
         is_aligned(spec, row, rows);
}

DiagonalPart part_of_rows(const Spec& spec, u32 rows, bool first) {
  const Diagonal whole = spec.diagonal;
  const u32 count = first ? rows : spec.size[whole.row] - rows;
  const u32 kept = first ? whole.kept : whole.kept + rows;
  DiagonalPart part{spec, identity_binding()};
  part.spec.diagonal = {};
  u32 keeping = 0;  // bit s
  for (int s = 0; s < spec.stage_count; s++) {
    if (spec.stage[s].op != Op::kKeep) continue;
    part.spec.stage[s].op = Op::kCopy;
    keeping |= 1u << s;
  }
  const u32 last = std::min(columns_of(spec), kept + count - 1);
  cut(part, whole.row, count);
  if (is_aligned(spec, whole.column, last) && absorbs_masked_columns(spec))
    cut(part, whole.column, last);
  const u8 column = dim_of_part(part, whole.column);
  if (column != kNoDim && kept < part.spec.size[column]) {
    part.spec.diagonal = {dim_of_part(part, whole.row), column, 0, kept};
    for (int s = 0; s < spec.stage_count; s++)
      if (keeping >> s & 1) part.spec.stage[s].op = Op::kKeep;
  } else {
    for (int s = spec.stage_count - 1; s >= 0; s--)
      if (keeping >> s & 1) drop_copy(part.spec, s);
  }
  assert_canonical(part.spec);
  return part;
}

Operand mask_operand(const Spec& spec, Level level) {
  const Diagonal& diagonal = spec.diagonal;
  Operand x;
  x.level = level;
  if (diagonal.row != kNoDim) x.layout.append(diagonal.row);
  x.layout.append(diagonal.column);
  for (int i = 0, n = x.layout.count(); i < n; i++)
    x.dims = static_cast<DimMask>(x.dims | 1u << x.layout.dim[i]);
  x.contig = 1;
  return x;
}

u64 mask_elements(const Spec& spec) { return u64{rows_of(spec)} + columns_of(spec) - 1; }

View mask_view(const Spec& spec) {
  View view;
  if (spec.diagonal.row != kNoDim) view.dim[spec.diagonal.row].stride[0] = -1;
  view.dim[spec.diagonal.column].stride[0] = 1;
  return view;
}

u64 mask_begin(const Spec& spec, int part) {
  const u64 first_row = rows_of(spec) - 1;
  return part == 0 ? 0 : part == 1 ? first_row + spec.diagonal.kept : first_row;
}

DiagonalPart mask_fill(const Spec& spec, Level level, bool kept) {
  const u64 middle = mask_begin(spec, 1);
  const u64 elements = kept ? middle : mask_elements(spec) - middle;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Spec m;
  m.serial = true;
  m.rank = elements > 1;
  m.operand_count = m.stage_count = 1;
  m.stage[0] = {.op = Op::kFill,
                .out = 0,
                .constant = bits_of_number(Dtype::kF32, kept ? kInfinity : -kInfinity)};
  Layout layout;
  if (m.rank > 0) {
    m.size[0] = static_cast<u32>(elements);
    layout.append(0);
  }
  m.operand[0] = dense_operand(m, Dtype::kF32, level, Access::kOut, m.all_dims(), layout);
  Binding b{};
  b.dim[0] = spec.diagonal.column;
  b.operand[0] = new_buffer(0);
  assert_canonical(m);
  return {m, b};
}

DiagonalPart masked_rest(const Spec& spec, const Operand& mask) {
  DiagonalPart rest{spec, identity_binding()};
  // Inputs are numbered as stages read them.
  int first = 0;
  while (spec.stage[first].op != Op::kKeep) first++;
  Ref place = 0;
  for (int s = 0; s < first; s++)
    for (Ref in : spec.stage[s].in)
      if (is_operand(in) && spec.operand[in].access == Access::kIn)
        place = std::max(place, static_cast<Ref>(in + 1));
  Spec& m = rest.spec;
  for (int o = m.operand_count; o > place; o--) {
    m.operand[o] = m.operand[o - 1];
    rest.binding.operand[o] = static_cast<u8>(o - 1);
  }
  m.operand_count++;
  m.operand[place] = mask;
  forget_pitch(m.operand[place]);
  rest.binding.operand[place] = new_buffer(0);
  auto moved = [&](Ref& ref) {
    if (is_operand(ref) && ref >= place) ref++;
  };
  for (int s = 0; s < m.stage_count; s++) {
    Stage& stage = m.stage[s];
    for (Ref& in : stage.in) moved(in);
    moved(stage.out);
    if (stage.op != Op::kKeep) continue;
    stage.op = Op::kFastMin;
    stage.in = {place, stage.in[0], kNoRef};
  }
  m.diagonal = {};
  assert_canonical(m);
  return rest;
}

}  // namespace morello
