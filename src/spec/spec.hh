// SPDX-License-Identifier: MIT
// Spec: what the search solves. One general form for every operation: an iteration space of
// dimensions, operands that are indexed by some of them, and scalar stages, which read operands and
// each other's values. Tiling, splitting a reduction, boundary pieces and footprints are derived
// from it once, for all operations.
#ifndef MORELLO_SPEC_SPEC_HH
#define MORELLO_SPEC_SPEC_HH

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "spec/layout.hh"
#include "spec/op.hh"
#include "support/dtype.hh"
#include "support/types.hh"
#include "target/target.hh"

namespace morello {

/// A set of dimensions of one Spec: bit d is dimension d.
using DimMask = u8;
constexpr bool has_dim(DimMask mask, int d) { return d < kMaxDims && (mask >> d & 1); }

enum class Access : u8 { kIn = 0, kOut = 1, kInOut = 2 };  // kOut: overwritten, never read
/// Which registers hold an operand at Level::kRegister: vectors, or tiles of a matrix unit, which
/// no target has yet. Elsewhere kVector.
enum class Bank : u8 { kVector = 0, kTile = 1 };

struct Operand {
  Dtype dtype = Dtype::kF32;
  Level level = Level::kMemory;
  Bank bank = Bank::kVector;
  Access access = Access::kIn;
  DimMask dims = 0;  // the dimensions that index it; the others broadcast it
  /// How many physical dimensions, from the fastest, form one contiguous run. All of them: the
  /// operand is dense. 0: even neighbours along the fastest are apart.
  u8 contig = 0;
  u8 far = 0;  // kFar or kPaged: how far runs are apart, or the only run is from its neighbours
  bool free_layout = false;  // search chooses the layout; only at Level::kMemory
  /// Not dense: where runs begin, and the cache sets that they fall into. In the low three bits one
  /// of kAliases, then kRagged; in the high four bits log2 of lines between places along the
  /// slowest axis of a window, of which tiles keep several: run_alias(), is_ragged() and
  /// window_alias().
  u8 alias = 0;
  u8 windows = 0;  // bit w: an axis of it is window w of the Spec; inputs only
  Layout layout;

  bool has_window(int w) const { return windows >> w & 1; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Log2 of the lines of a power of two that divides the distance of runs: the largest of these.
inline constexpr u8 kRunAlias = 7, kRagged = 8, kWindowAlias = 0xf0;  // bits
inline constexpr std::array<u8, kRunAlias + 1> kAliases = {0, 3, 4, 6, 8, 10};
inline constexpr u8 kAliasCount = 6;
constexpr u8 run_alias(const Operand& x) { return kAliases[x.alias & kRunAlias]; }
/// Do runs begin anywhere inside of lines? Those less than kRaggedBytes apart are not asked.
constexpr bool is_ragged(const Operand& x) { return (x.alias & kRagged) != 0; }
constexpr u8 window_alias(const Operand& x) { return x.alias >> 4; }

/// Two dimensions that index one axis of an operand, at step * outer + dilation * inner - before.
/// The axis has its place in the layout, in whole, under the name of `outer`: without borders the
/// one with the smaller step, and of equal steps the longer one when the window was made.
/// Unused: all 0.
struct Window {
  u8 outer = 0, inner = 0;
  u16 step = 0, dilation = 0;
  u16 before = 0, after = 0;  // places past the ends of the axis: spec/border.hh
  bool used() const { return step != 0; }
  friend bool operator==(const Window&, const Window&) = default;
};
/// Does some element lie at two places of the window's dimensions? (Borders do not count.)
constexpr bool meets_itself(const Window& w, u64 outer_size, u64 inner_size) {
  return w.step * (outer_size - 1) + w.dilation * (inner_size - 1) + 1 < outer_size * inner_size;
}
/// Are some places of the axis at none of the dimensions' pairs?
constexpr bool skips_places(const Window& w, u64 outer_size, u64 inner_size) {
  return (w.dilation != 1 || w.step > inner_size) && (w.step != 1 || w.dilation > outer_size);
}

/// What stages that keep (Op::kKeep) keep: row r has its first `kept` + r columns, and all of the
/// others are -inf. Unused: all 0.
struct Diagonal {
  u8 row = 0;  // kNoDim: one row
  u8 column = 0;
  u16 reserved = 0;
  u32 kept = 0;
  bool used() const { return kept != 0; }
  bool has(int dim) const { return used() && (row == dim || column == dim); }
  friend bool operator==(const Diagonal&, const Diagonal&) = default;
};

/// Where the runs of an operand start to cost extra: prefetchers lose the stream, and soon each run
/// is on a page of its own.
inline constexpr u64 kFarBytes = 1024, kPagedBytes = 3072;
inline constexpr u8 kFar = 1, kPaged = 2;
inline constexpr u64 kRaggedBytes = 512;  // with fewer, neighbours share most lines at both ends
inline constexpr u8 kMaxAlias = kAliases[kAliasCount - 1];  // 64 KiB: one way of a large L2
inline constexpr u8 kMaxAliasL1 = 6;                        // 4 KiB: one way of an L1
/// Lines from one run to the next where these are `bytes` apart, a whole number of lines or next to
/// it: runs that drift apart by a few bytes share sets for many of them. Else 0.
u64 whole_lines(u64 bytes);
/// Sets far and alias for runs that are `bytes` apart; of windows nothing is known.
void set_pitch(Operand& operand, u64 bytes);
/// Sets window_alias() for places that are `bytes` apart.
void set_window_pitch(Operand& operand, u64 bytes);
/// Where runs of `run` entries end earlier, what is left of them may go next: runs that were far
/// apart before meet in the same sets still. What is known of these, in bits of kRunAlias; 0:
/// nothing.
u8 met_runs(const Operand& operand, int run);
/// Behind set_pitch(): the worse of what is known of runs now, and of those before.
void keep_met_runs(Operand& operand, u8 met);
/// Drops what makes no difference at the operand's level, so that more Specs are equal: L2 is left
/// for L1 alone, and from L1 on only the unit dimension matters. Panels are priced as streams, each
/// from its beginning, wherever they are.
void forget_pitch(Operand& operand);

/// What a stage reads or writes: operand 0.., the value of an earlier stage, its own constant, or
/// nothing. On disk.
using Ref = u8;
inline constexpr Ref kNoRef = 0xff;
inline constexpr Ref kConstant = 0x08;
inline constexpr Ref kFirstValue = 0x10;
/// Of each four numbers the first; the others are for stages with several results.
constexpr Ref value_of(int stage) { return static_cast<Ref>(kFirstValue + 4 * stage); }
constexpr bool is_operand(Ref r) { return r < kMaxOperands; }
constexpr bool is_value(Ref r) { return r >= kFirstValue && r < value_of(kMaxStages); }
/// REQUIRES: is_value(r).
constexpr int stage_of(Ref r) { return (r - kFirstValue) / 4; }

/// One scalar step, computed in `dtype`. What it reads are operands, converted when they are
/// loaded, and values of earlier stages. Its own value has the dimensions of what it reads, less
/// those that it combines (`reduce`), and no place in memory: to give it one is a decision of the
/// search. If it is written to an operand, it is converted once, and repeated along dimensions that
/// it lacks.
struct Stage {
  Op op = Op::kCopy;
  Dtype dtype = Dtype::kF32;
  std::array<Ref, kMaxInputs> in = {kNoRef, kNoRef, kNoRef};
  DimMask reduce = 0;
  Ref out = kNoRef;  // the operand that the value is written to, or nothing
  u8 reserved = 0;
  u32 constant = 0;  // bits in `dtype`: of a fill its value; of others what kConstant is
  friend bool operator==(const Stage& a, const Stage& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<Stage>);
/// Does it combine values over reduced dimensions, of which tiling may have left none?
constexpr bool is_reduction(const Stage& stage) {
  return stage.op == Op::kMulAdd || (is_binary(stage.op) && stage.in[1] == kNoRef);
}

constexpr bool reads_constant(const Stage& stage) {
  for (Ref in : stage.in)
    if (in == kConstant) return true;
  return false;
}

/// Canonical form: not_canonical() in spec/canonical.hh has every rule. Equal problems have equal
/// bytes: a plain value, hashed and compared as such. What consumers ask is in spec/roles.hh.
struct Spec {
  u8 rank = 0;
  u8 operand_count = 0;  // inputs, then outputs
  u8 stage_count = 0;
  bool serial = false;  // must not start parallel loops
  std::array<u32, kMaxDims> size{};
  std::array<Window, kMaxWindows> window{};
  Diagonal diagonal;
  std::array<Operand, kMaxOperands> operand{};
  std::array<Stage, kMaxStages> stage{};

  /// The last output; today's actions and microkernels know Specs with one.
  const Operand& out() const { return operand[operand_count - 1]; }
  Operand& out() { return operand[operand_count - 1]; }
  int out_index() const { return operand_count - 1; }
  DimMask reduced() const {
    DimMask all = stage[0].reduce;
    for (int s = 1; s < stage_count; s++) all = static_cast<DimMask>(all | stage[s].reduce);
    return all;
  }
  DimMask all_dims() const { return static_cast<DimMask>((1u << rank) - 1); }

  /// Bytes up to the operands that there are not, and those of the stages that there are: all that
  /// differs between two Specs with as many.
  size_t used_bytes() const { return offsetof(Spec, operand) + operand_count * sizeof(Operand); }
  size_t stage_bytes() const { return stage_count * sizeof(Stage); }

  friend bool operator==(const Spec& a, const Spec& b) {
    return a.operand_count == b.operand_count && std::memcmp(&a, &b, a.used_bytes()) == 0 &&
           std::memcmp(&a.stage, &b.stage, a.stage_bytes()) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<Spec>);

/// Calls f(field) for every number: sizes and counts first, then operand by operand, stage by
/// stage. Whoever reads, writes or compares fields goes through here.
template <class SpecType, class F>
constexpr void each_field(SpecType& spec, F&& f) {
  for (auto& size : spec.size) f(size);
  f(spec.rank), f(spec.operand_count), f(spec.stage_count), f(spec.serial);
  for (auto& x : spec.operand) {
    auto& [dtype, level, bank, access, dims, contig, far, free_layout, alias, windows, layout] = x;
    f(dtype), f(level), f(bank), f(access), f(dims), f(contig), f(far), f(free_layout), f(alias);
    f(windows);
    for (auto& d : layout.dim) f(d);
    for (auto& block : layout.block) f(block);
  }
  for (auto& s : spec.stage) {
    [[maybe_unused]] auto& [op, dtype, in, reduce, out, reserved, constant] = s;
    f(op), f(dtype), f(reduce), f(out), f(constant);
    for (auto& ref : in) f(ref);
  }
  for (auto& w : spec.window) {
    auto& [outer, inner, step, dilation, before, after] = w;
    f(outer), f(inner), f(step), f(dilation), f(before), f(after);
  }
  [[maybe_unused]] auto& [row, column, reserved, kept] = spec.diagonal;
  f(row), f(column), f(kept);
}

/// Without a seed the same everywhere.
u64 hash_of(const Spec& spec, u64 seed = 0);

/// How a child's dimensions and operands are those of its parent. A child's operand that is new
/// buffer i of the parent's node is new_buffer(i).
constexpr u8 new_buffer(int i) { return static_cast<u8>(0xf8 + i); }
constexpr bool is_new_buffer(u8 operand) {
  return operand >= new_buffer(0) && operand < new_buffer(kMaxBuffers);
}
struct Binding {
  std::array<u8, kMaxDims> dim{};          // child dimension -> parent dimension
  std::array<u8, kMaxOperands> operand{};  // child operand -> parent operand
};
Binding identity_binding();

/// Windows that no operand has are gone, and equal ones are one.
void drop_windows(Spec& spec);

/// Removes dimensions of size 1 and renumbers the others, keeping their order. `binding`, if given,
/// receives which they were before.
void drop_unit_dims(Spec& spec, Binding* binding);

/// The piece of `spec` with dimension `dim` cut to `size` elements, canonical.
/// REQUIRES: 1 <= size < spec.size[dim]; may_tile(spec, dim, size) or it is the remainder of such a
/// tile.
Spec tile(const Spec& spec, int dim, u32 size, Binding* binding);
void tile(const Spec& spec, int dim, u32 size, Spec& child, Binding* binding);
/// Makes `part`, of which sizes and windows are those of a part of `whole`, and all else is as
/// there, canonical.
void become_part(const Spec& whole, Spec& part, Binding* binding);
/// False where a tile would start inside a block of a layout, or parts differ in their borders, or
/// in what the diagonal keeps or stages gather.
bool may_tile(const Spec& spec, int dim, u32 size);

/// The dense form of `layout` as an operand: contig and far set. Blocks that the sizes do not reach
/// are normalised away, size-1 dimensions dropped.
Operand dense_operand(const Spec& spec, Dtype dtype, Level level, Access access, DimMask dims,
                      const Layout& layout, u8 windows = 0);
/// The dimensions in the order of their slowest entries, in whole.
Layout plain_layout(const Layout& layout);

/// Neighbours along the outer dimension of a window are steps apart, which makes no run. Borders
/// are copied as axes.
void forget_steps(const Spec& spec, Operand& operand);
/// The entry of an operand's layout that is the slowest axis of a window. REQUIRES: it has one.
int slowest_window(const Spec& spec, const Operand& operand);
/// Elements along an axis of an operand: the size of its dimension, or what a window spans.
u32 axis_size(const Spec& spec, const Operand& operand, int dim);
/// The dimension along which an axis moves by one: of a window, one of its two.
/// REQUIRES: has_plain_windows(spec, operand).
u8 dim_of_axis(const Spec& spec, const Operand& operand, u8 axis);
/// Elements along each entry of an operand's layout.
struct PhysicalDims {
  std::array<u32, kMaxPhysical> size;
  int count;
};
PhysicalDims physical_dims(const Spec& spec, const Operand& operand);

/// The Spec of copying operand `index` of `spec` to `to` (or back, if !in), canonical: operands
/// {source, destination}. The binding names operand `index` and the new buffer. Windows that
/// both have are copied as the axes that they are; of the others each gets elements of its own.
/// REQUIRES: has_plain_windows(spec, to).
Spec move_spec(const Spec& spec, int index, const Operand& to, bool in, Binding* binding);
/// Of each window of the operand, one of the two dimensions steps its axis by one.
bool has_plain_windows(const Spec& spec, const Operand& operand);

/// Elements, contiguous runs and cache lines of an operand's tile. A line counts once per run.
u64 elements(const Spec& spec, const Operand& operand);
struct Footprint {
  u64 bytes = 0;  // including the padding of blocks
  u64 runs = 0;
  u64 lines = 0;
};
Footprint footprint(const Spec& spec, const Operand& operand);
inline bool is_dense(const Operand& operand) { return operand.contig == operand.layout.count(); }
/// The fastest dimension of an operand, if neighbours along it are adjacent; else kNoDim.
inline u8 unit_dim(const Operand& operand) {
  const int count = operand.layout.count();
  return operand.contig == 0 || count == 0 ? kNoDim : operand.layout.dim[count - 1];
}
/// Elements that share a lane of 4 bytes at the operand's fastest place; 1: they do not.
inline u32 lane_group(const Operand& operand) {
  if (!operand.layout.packed()) return 1;  // what searches ask most about
  const u32 block = operand.layout.block[operand.layout.count() - 1];
  return block > 1 && block * size_of(operand.dtype) == 4 ? block : 1;
}
/// Elements of the block at the operand's fastest place; 1: there is none.
inline u32 fast_block(const Operand& operand) {
  if (!operand.layout.packed()) return 1;
  return std::max<u32>(1, operand.layout.block[operand.layout.count() - 1]);
}
/// The dimension along which neighbouring lanes are: what is next to such a group, or unit_dim().
inline u8 lane_dim(const Operand& operand) {
  if (lane_group(operand) == 1) return unit_dim(operand);
  return operand.contig < 2 ? kNoDim : operand.layout.dim[operand.layout.count() - 2];
}
/// Vector registers that hold an operand: vectors along its unit dimension, or one element each if
/// it has none.
u64 vectors(const Spec& spec, const Operand& operand, u32 lanes);
/// Product of all sizes, saturating.
u64 volume(const Spec& spec);

/// One line for logs and Impl trees; not the user's text form.
std::string describe(const Spec& spec);

}  // namespace morello

#endif
