// SPDX-License-Identifier: MIT
// Rows by blocks: exponentials below the greatest element of each block, and a merge of what blocks
// leave. So a block is brought near once for its greatest element and its exponentials, and what is
// computed of a row, such as scores, need not be kept in whole.
#include <bit>

#include "actions/part.hh"
#include "actions/placement.hh"
#include "spec/rescale.hh"

namespace morello {
namespace {

constexpr u32 kLeastElements = 64, kMostBlocks = 1024;
constexpr u32 kLine = kLineBytes / 4;  // of elements

Ref held_in(const Spec& spec, int exponentials) {
  const int out = output_for_value(spec, exponentials);
  return out < 0 ? kNoRef : static_cast<Ref>(out);
}

/// What a Spec becomes by an action, and what is kept between its parts.
struct Cut {
  Rescaled rescaled;
  RescaleBuffers buffers;
  std::array<KeptValue, kMaxBuffers + 1> kept;
  size_t count = 0;
};

std::optional<Cut> cut_by(const Spec& spec, int most, u32 size, Level level) {
  const std::optional<Rescaled> r =
      rescaled(spec, most, size, held_in(spec, rescaled_exponentials(spec, most)));
  if (!r) return std::nullopt;
  Cut cut{*r, rescale_buffers(*r, level), {}, 0};
  int buffer = 0;
  for (int s = 0; s < r->whole.stage_count; s++) {
    if (r->left >> s & 1) {
      const Operand& x = cut.buffers.buffer[static_cast<size_t>(buffer)];
      cut.kept[cut.count++] = {s, x, new_buffer(buffer++)};
    } else if (s == r->held) {
      cut.kept[cut.count++] = {s, r->whole.operand[r->held_in], r->held_in};
    }
  }
  return cut;
}

u64 lines_of(const Cut& cut) {
  u64 lines = 0;
  for (int i = 0; i < cut.buffers.count; i++)
    lines += footprint(cut.rescaled.whole, cut.buffers.buffer[static_cast<size_t>(i)]).lines;
  return lines;
}

/// Of everything that has the dimension, what one row, or all that share it, meet.
u64 bytes_of_row(const Spec& spec, u8 dim) {
  const DimMask batches = static_cast<DimMask>(inner_dims(spec) & parallel_dims(spec));
  u64 bytes = 0;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (has_dim(x.dims, dim))
      bytes += points_of(spec, static_cast<DimMask>(x.dims & ~batches)) * size_of(x.dtype);
  }
  return bytes;
}

/// Sizes that divide the row; of those within a factor of two the largest, and one of whole lines
/// first. Blocks that L1 holds end before what is asked for of memory has come, so that they wait
/// at each beginning.
void list_sizes(const Spec& spec, u8 most, const ActionContext& context, ActionList& out) {
  const u8 dim = rescaled_dim(spec, most);
  const u32 row = spec.size[dim];
  const bool few = context.restricts(Restriction::kFewBlocks);
  const u64 bytes = bytes_of_row(spec, dim);
  const u64 least = few ? 2 * context.target->at(Level::kL1).bytes : 0;  // of a block
  u32 best = 0;
  auto add = [&] {
    if (best == 0) return;
    const std::optional<Cut> cut = cut_by(spec, most, best, Level::kL1);
    if (!cut) return;
    u32 kept = cut->rescaled.left;
    if (cut->rescaled.held >= 0) kept |= 1u << cut->rescaled.held;
    if (!fits_cut(cut->rescaled.whole, kept, true)) return;
    bool nearest = true;
    each_level(lines_of(*cut), context, [&](Level level) {
      if (!few || (nearest && level != Level::kMemory))
        out.add({ActionKind::kRescale, most, level, {}, best});
      nearest = false;
    });
  };
  for (u32 blocks = 2; blocks <= kMostBlocks && row / blocks >= kLeastElements; blocks++) {
    if (row % blocks != 0 || bytes / blocks < least) continue;
    const u32 size = row / blocks;
    if (few && best != 0 && std::bit_width(size) == std::bit_width(best)) {
      if (best % kLine != 0 && size % kLine == 0) best = size;
      continue;
    }
    add();
    best = size;
  }
  add();
}

/// What L2 holds is there as fast as exponentials take it, so blocks of it only add their starts:
/// that prices, which add up, do not say. Before that, rows come one after the other; after that,
/// operands come nearer.
bool is_worth_it(const Spec& spec, u8 dim, const ActionContext& context) {
  DimMask shared = parallel_dims(spec);  // by all operands
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (has_dim(x.dims, dim) && x.level != Level::kMemory) return false;
    shared = static_cast<DimMask>(shared & x.dims);
  }
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(shared, d) && may_tile(spec, d, 1)) return false;
  return bytes_of_row(spec, dim) >= context.target->at(Level::kL2).bytes;
}

void list_rescale(const Spec& spec, const Limits&, const ActionContext& context, ActionList& out) {
  if (is_chain(spec)) return;
  for (u8 s = 0; s < spec.stage_count; s++) {
    if (rescaled_exponentials(spec, s) < 0) continue;
    if (!context.restricts(Restriction::kFewBlocks) ||
        is_worth_it(spec, rescaled_dim(spec, s), context))
      list_sizes(spec, s, context, out);
  }
}

bool derive_rescale(const Spec& spec, const Limits& limits, const Action& a, const ActionContext&,
                    Derivation& d) {
  const Cut cut = *cut_by(spec, a.arg, a.size, a.level);
  d.level = a.level;
  d.amount = lines_of(cut);
  Limits rest = limits;
  if (!subtract(rest, d.level, d.amount)) return false;
  const std::span kept(cut.kept.data(), cut.count);
  part_before(cut.rescaled.whole, kept, rest, d.child[0]);
  part_after(cut.rescaled.whole, kept, rest, d.child[1]);
  d.count = 2;
  return true;
}

decltype(ImplNode::kind) rescale_node(const Spec& spec, const Action& a, const ActionContext&) {
  return Rescale{a.arg, held_in(spec, rescaled_exponentials(spec, a.arg)), a.level, a.size};
}

}  // namespace

extern const Rewrite kRescaleRewrite = {ActionKind::kRescale, list_rescale, derive_rescale,
                                        rescale_node};

}  // namespace morello
