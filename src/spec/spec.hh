// SPDX-License-Identifier: MIT
// Spec: what the search solves. One general form for every operation: an iteration space of
// dimensions, operands that are indexed by some of them, and a chain of scalar stages. Tiling,
// splitting a reduction, boundary pieces and footprints are derived from it once, for all
// operations.
#ifndef MORELLO_SPEC_SPEC_HH
#define MORELLO_SPEC_SPEC_HH

#include <array>
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

struct Operand {
  Dtype dtype = Dtype::kF32;
  Level level = Level::kMemory;
  Access access = Access::kIn;
  DimMask dims = 0;  // the dimensions that index it; the others broadcast it (inputs only)
  /// How many physical dimensions, from the fastest, form one contiguous run. All of them: the
  /// operand is dense. 0: even neighbours along the fastest are apart. Physical dimensions are the
  /// entries of layout.order, and the inner part of a packed dimension.
  u8 contig = 0;
  bool far = false;  // runs are at least kFarBytes apart, or the only run is so from its neighbours
  bool free_layout = false;  // search chooses the layout; only at Level::kMemory
  /// Not dense: the cache sets that runs fall into. Log2 of the lines of a power of two that
  /// divides the distance of runs: the largest of 4, 6, 8 and kMaxAlias, or 0.
  u8 alias = 0;
  Layout layout;

  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Where the runs of an operand start to cost extra: pages, and prefetchers that lose the stream.
inline constexpr u64 kFarBytes = 1024;
inline constexpr u8 kMaxAlias = 10;   // 64 KiB: one way of a large L2
inline constexpr u8 kMaxAliasL1 = 6;  // 4 KiB: one way of an L1
/// Sets far and alias for runs that are `bytes` apart.
void set_pitch(Operand& operand, u64 bytes);
/// Drops what makes no difference at the operand's level, so that more Specs are equal: L2 is left
/// for L1 alone, and from L1 on only the unit dimension matters. Panels are priced as streams, each
/// from its beginning, wherever they are.
void forget_pitch(Operand& operand);

/// Stage inputs that are no operand.
inline constexpr i8 kPrevious = -1;  // the value of the stage before
inline constexpr i8 kNone = -2;

/// One step of the scalar chain. Stage i may read the value of stage i-1; the last one writes the
/// output. With `reduce` not empty, the value is combined over those dimensions, which no later
/// stage has; only stage 0 may reduce.
struct Stage {
  Op op = Op::kCopy;
  i8 in0 = kNone;
  i8 in1 = kNone;
  DimMask reduce = 0;
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// Canonical form: every size is at least 2 (a scalar has rank 0); dimensions are numbered: those
/// of the output from slow to fast in its layout, then the reduced ones from slow to fast in the
/// layout of the first operand that has them all, or by number. Unused entries are
/// value-initialised, so that equal Specs have equal bytes. A plain value: hash and compare its
/// bytes.
struct Spec {
  std::array<u32, kMaxDims> size{};
  u8 rank = 0;
  u8 operand_count = 0;  // the last operand is the output
  u8 stage_count = 0;
  bool serial = false;  // must not start parallel loops
  float fill_value = 0;
  std::array<Operand, kMaxOperands> operand{};
  std::array<Stage, kMaxStages> stage{};

  const Operand& out() const { return operand[operand_count - 1]; }
  Operand& out() { return operand[operand_count - 1]; }
  int out_index() const { return operand_count - 1; }
  DimMask reduced() const { return stage[0].reduce; }
  DimMask all_dims() const { return static_cast<DimMask>((1u << rank) - 1); }
  /// A reduction that adds to its output (which is then kInOut). Before other stages it does not:
  /// there the old output is what a later stage reads.
  bool accumulates() const {
    return reduced() != 0 && stage_count == 1 && out().access == Access::kInOut;
  }
  /// A stage behind the first one reads what the output held before.
  bool reads_output_late() const { return stage_count > 1 && out().access == Access::kInOut; }

  friend bool operator==(const Spec& a, const Spec& b) {
    return std::memcmp(&a, &b, sizeof(Spec)) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<Operand>);
static_assert(sizeof(Spec) ==
              24 + 4 + 4 + kMaxOperands * sizeof(Operand) + kMaxStages * sizeof(Stage));

/// Without a seed the same everywhere.
u64 hash_of(const Spec& spec, u64 seed = 0);

/// How a child's dimensions and operands are those of its parent. A child's operand that is the new
/// buffer of the parent's node is kNewBuffer.
inline constexpr u8 kNewBuffer = 0xfe;
struct Binding {
  std::array<u8, kMaxDims> dim{};          // child dimension -> parent dimension
  std::array<u8, kMaxOperands> operand{};  // child operand -> parent operand
};
Binding identity_binding(const Spec& spec);

/// Removes dimensions of size 1 and renumbers the others, keeping their order. `binding`, if given,
/// receives which they were before.
void drop_unit_dims(Spec& spec, Binding* binding);

/// The piece of `spec` with dimension `dim` cut to `size` elements, canonical.
/// REQUIRES: 1 <= size < spec.size[dim]; may_tile(spec, dim, size) or it is the remainder of such a
/// tile.
Spec tile(const Spec& spec, int dim, u32 size, Binding* binding);
/// False where a tile would start inside a panel.
bool may_tile(const Spec& spec, int dim, u32 size);

/// The dense form of `layout` as an operand: contig and far set. Panels that the sizes do not reach
/// are normalised away, size-1 dimensions dropped.
Operand dense_operand(const Spec& spec, Dtype dtype, Level level, Access access, DimMask dims,
                      const Layout& layout);
/// Same order of the dimensions, no panels.
Layout plain_layout(const Layout& layout);

/// The Spec of copying operand `index` of `spec` to `to` (or back, if !in), canonical: operands
/// {source, destination}. The binding names operand `index` and kNewBuffer.
Spec move_spec(const Spec& spec, int index, const Operand& to, bool in, Binding* binding);

/// Elements, contiguous runs and cache lines of an operand's tile. A line counts once per run.
u64 elements(const Spec& spec, const Operand& operand);
struct Footprint {
  u64 bytes = 0;  // including the padding of panels
  u64 runs = 0;
  u64 lines = 0;
};
Footprint footprint(const Spec& spec, const Operand& operand);
bool is_dense(const Operand& operand);
/// The fastest dimension of an operand, if neighbours along it are adjacent; else kNoDim.
u8 unit_dim(const Operand& operand);
/// Vector registers that hold an operand: vectors along its unit dimension, or one element each if
/// it has none.
u64 vectors(const Spec& spec, const Operand& operand, u32 lanes);
/// Product of all sizes, saturating.
u64 volume(const Spec& spec);

/// One line for logs and Impl trees; not the user's text form.
std::string describe(const Spec& spec);

}  // namespace morello

#endif
