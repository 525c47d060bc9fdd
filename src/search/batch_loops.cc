// SPDX-License-Identifier: MIT
#include "search/batch_loops.hh"

#include <algorithm>
#include <array>
#include <cmath>

#include "actions/narrow.hh"
#include "actions/placement.hh"

namespace morello {
namespace {

/// Leaves those actions that `keep` wants, if `needs` wants one of them. True if some were left
/// out.
template <class Keep, class Needs>
bool filter(ActionList& list, const Keep& keep, const Needs& needs) {
  ActionList kept;
  bool good = false;
  for (const Action& action : list) {
    good = good || needs(action);
    if (keep(action)) kept.add(action);
  }
  if (!good || kept.size() == list.size()) return false;
  std::swap(list, kept);
  return true;
}

/// Tiles that get a buffer of their own, at least, along each dimension.
constexpr u32 kLeastTile = 12;

/// Products of a result, up to which it is results that cost.
constexpr u64 kShallow = 32;

/// Do both factors run along what is reduced, as dot products read them?
bool has_dots(const Spec& spec) {
  for (Ref in : factors_of(spec))
    if (!is_operand(in) || !has_dim(spec.reduced(), unit_dim(spec.operand[in]))) return false;
  return true;
}

/// What loops take of a dimension at a time: one element; or, for vectors along it, a line of
/// results.
u32 loop_size(const Spec& spec, u8 dim, bool in_vectors) {
  if (!in_vectors || dim != unit_dim(spec.out()) || has_dots(spec)) return 1;
  if (points_of(spec, spec.reduced()) <= kShallow) return 1;
  return kLineBytes / size_of(spec.out().dtype);
}

bool brings_nearer(const Action& a) {
  return a.kind == ActionKind::kView || a.kind == ActionKind::kPack || a.kind == ActionKind::kWiden;
}

/// Copies an operand in which neighbours are of one batch, so that a loop over this reads what is
/// near.
bool packs_batch(const Spec& spec, const Action& action) {
  if (action.kind != ActionKind::kPack && action.kind != ActionKind::kWiden) return false;
  const u8 fastest = unit_dim(spec.operand[action.arg]);
  return action.arg != spec.out_index() && fastest != kNoDim && both_have(spec, fastest);
}

/// Elements of operands of which loops over a dimension use parts of lines; of the output twice,
/// for these are written.
u64 parted_by(const Spec& spec, u8 dim) {
  u64 parted = 0;
  for (int o = 0; o < spec.operand_count; o++)
    if (shares_lines(spec, spec.operand[o], dim))
      parted += elements(spec, spec.operand[o]) << (o == spec.out_index() ? 1 : 0);
  return parted;
}

/// Dimensions of the batch that may be loops, those first that leave most lines whole; of equal
/// ones the slowest of the results.
class Batch {
 public:
  explicit Batch(const Spec& spec) {
    std::array<u64, kMaxDims> parted{};
    for (u8 d : spec.out().layout.dim) {
      if (d == kNoDim) break;
      if (spec.size[d] == 1 || !both_have(spec, d)) continue;
      // Each line of results would be written once for each of them, which few products outweigh.
      if (d == unit_dim(spec.out()) && spec.out().level == Level::kMemory &&
          points_of(spec, spec.reduced()) <= kShallow)
        continue;
      parted[d] = parted_by(spec, d);
      dim_[count_++] = d;
    }
    std::stable_sort(dim_.begin(), dim_.begin() + count_,
                     [&](u8 x, u8 y) { return parted[x] < parted[y]; });
  }
  const u8* begin() const { return dim_.data(); }
  const u8* end() const { return dim_.data() + count_; }

 private:
  std::array<u8, kMaxDims> dim_{};
  int count_ = 0;
};

/// The largest operand in memory of which loops over a dimension use parts of lines, or -1.
int parted_operand(const Spec& spec, u8 dim) {
  int parted = -1;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level != Level::kMemory || !shares_lines(spec, x, dim)) continue;
    if (parted < 0 || elements(spec, x) > elements(spec, spec.operand[parted])) parted = o;
  }
  return parted;
}

/// Brings an operand to L2 with its lines whole, before loops over the batch.
class Gathering {
 public:
  /// All are referred to. As keep_first_move() does, it asks for no limits but the target's.
  Gathering(const Spec& spec, int operand, const ActionContext& whole)
      : spec_(spec), operand_(operand), whole_(whole), limits_(limits_of(*whole.target)) {
    // What is written stays for longer.
    lines_ = lines_of_code(limits_.at(Level::kL2));
    room_ = lines_ / (operand == spec.out_index() ? 4 : 3);
  }

  /// What brings it there, of `list`; where it takes too much of L2, tiles of the whole space;
  /// where none makes room, sums come apart from steps, and are added to, for tiles of reduced
  /// dimensions.
  void list(const ActionList& list, ActionList& out) {
    for (const Action& a : list)
      if (moves(a)) out.add(a);
    if (out.size() != 0) return;
    list_actions(spec_, limits_, whole_, all_);
    if (list_tiles(out) || spec_.out().access != Access::kOut ||
        (spec_.operand[operand_].dims & spec_.reduced()) == 0)
      return;
    ActionList cuts;
    for (const Action& a : all_)
      if (a.kind == ActionKind::kBufferize || a.kind == ActionKind::kAccumulate) cuts.add(a);
    if (cuts.size() != 0) std::swap(out, cuts);
  }

 private:
  bool moves(const Action& a) {
    if (a.arg != operand_ || !brings_nearer(a)) return false;
    u64 taken = 0;
    for (int o = 0; o < spec_.operand_count; o++)
      if (spec_.operand[o].level == Level::kL2)
        taken += resident_lines(spec_, spec_.operand[o], Level::kL2);
    return preview(spec_, limits_, a, whole_, d_) && d_.level == Level::kL2 && d_.amount <= room_ &&
           taken + d_.amount <= lines_;
  }

  /// Of results of two dimensions that are both too long, one tile of the longer one, so that what
  /// is brought is a square. Else for each dimension the largest tile that makes room, or if there
  /// is none, the smallest. False: there is none.
  bool list_tiles(ActionList& out) {
    const Operand& x = spec_.operand[operand_];
    std::array<u8, kMaxDims> dims{};
    int sides = 0;
    for (u8 d = 0; d < spec_.rank; d++)
      if (has_dim(x.dims, d) && (!both_have(spec_, d) || has_dim(spec_.reduced(), d)))
        dims[static_cast<size_t>(sides++)] = d;
    if (sides == 2 && operand_ == spec_.out_index()) {
      if (spec_.size[dims[0]] > spec_.size[dims[1]]) std::swap(dims[0], dims[1]);
      const u64 area = u64{spec_.size[dims[0]]} * spec_.size[dims[1]];
      const double part =
          static_cast<double>(room_) / static_cast<double>(resident_lines(spec_, x, Level::kL2));
      const double side = std::sqrt(static_cast<double>(area) * part);
      if (spec_.size[dims[0]] > 1.5 * side && add_square(dims[1], side, out)) return true;
    }
    bool fits = false;
    for (int i = 0; i < sides; i++) fits = add_largest(dims[static_cast<size_t>(i)], out) || fits;
    return fits;
  }

  bool is_tile(const Action& a, u8 dim) const {
    return a.kind == ActionKind::kTile && a.arg == dim && a.size >= kLeastTile && a.size % 4 == 0;
  }

  bool add_square(u8 dim, double side, ActionList& out) {
    constexpr u32 kStep = 16;
    Action near;
    for (const Action& a : all_)
      if (is_tile(a, dim) && a.size >= side && a.size % kStep == 0 &&
          (near.size == 0 || a.size < near.size) && preview(spec_, limits_, a, whole_, d_))
        near = a;
    if (near.size != 0) out.add(near);
    return near.size != 0;
  }

  bool add_largest(u8 dim, ActionList& out) {
    Action largest, smallest;
    for (const Action& a : all_) {
      if (!is_tile(a, dim) || !preview(spec_, limits_, a, whole_, d_)) continue;
      if (smallest.size == 0 || a.size < smallest.size) smallest = a;
      const Spec& part = d_.child[0].spec;
      if (a.size > largest.size &&
          resident_lines(part, part.operand[operand_], Level::kL2) <= room_)
        largest = a;
    }
    if (smallest.size != 0) out.add(largest.size != 0 ? largest : smallest);
    return largest.size != 0;
  }

  const Spec& spec_;
  int operand_;
  const ActionContext& whole_;
  Limits limits_;
  u64 lines_ = 0, room_ = 0;  // of L2; for the operand
  ActionList all_;            // of the whole space
  Derivation d_;
};

/// Loops, while there is a batch; beside them, what brings operands nearer of which they use parts
/// of lines.
bool keep_loops(const Spec& spec, const ActionContext& whole, bool in_vectors, ActionList& list) {
  for (u8 dim : Batch(spec)) {
    const u32 size = loop_size(spec, dim, in_vectors);
    const auto loops = [&](const Action& action) {
      return action.kind == ActionKind::kTile && action.arg == dim && action.size == size;
    };
    // Lines of results that loops write parts of should stay near.
    const bool shares = dim == unit_dim(spec.out()) && spec.out().level == Level::kMemory;
    const auto gathers = [&](const Action& a) {
      if (!shares) return false;
      if (a.kind == ActionKind::kTile) return has_dim(spec.out().dims, a.arg);
      return (a.kind == ActionKind::kView || a.kind == ActionKind::kPack) &&
             a.arg == spec.out_index();
    };
    const auto keep = [&](const Action& action) {
      return loops(action) || gathers(action) || action.kind == ActionKind::kParallelTile ||
             packs_batch(spec, action);
    };
    bool has_loop = false;
    for (const Action& action : list) has_loop = has_loop || loops(action);
    if (!has_loop && size > 1) {  // where a line is one vector: narrower spaces have tiles of two
      ActionList all;
      list_actions(spec, limits_of(*whole.target), whole, all);
      for (const Action& action : all) {
        if (!loops(action)) continue;
        list.add(action);
        has_loop = true;
      }
    }
    if (!has_loop) continue;
    const int parted = parted_operand(spec, dim);
    ActionList gathered;
    if (parted >= 0) Gathering(spec, parted, whole).list(list, gathered);
    if (gathered.size() == 0) return filter(list, keep, loops);
    for (const Action& action : list)
      if (loops(action) || action.kind == ActionKind::kParallelTile) gathered.add(action);
    std::swap(list, gathered);
    return true;
  }
  return false;
}

/// Where a loop has left results that are apart in memory: they are made in a buffer.
bool keep_buffers(const Spec& spec, ActionList& list) {
  const Operand& out = spec.out();
  if (out.level == Level::kRegister || out.dims == 0 || unit_dim(out) != kNoDim) return false;
  const auto buffers = [&](const Action& a) {
    return a.kind == ActionKind::kBufferize ||
           ((a.kind == ActionKind::kPack || a.kind == ActionKind::kWiden) &&
            a.arg == spec.out_index());
  };
  const auto keep = [&](const Action& a) {
    return buffers(a) || a.kind == ActionKind::kParallelTile ||
           (a.kind == ActionKind::kTile && a.size >= kLeastTile && has_dim(out.dims, a.arg));
  };
  return filter(list, keep, buffers);
}

/// keep_first_move() of the first operand that the limits have room for.
void keep_move_that_fits(const Spec& spec, const Limits& limits, const ActionContext& context,
                         ActionList& list) {
  Derivation d;
  ActionList left = list, first;
  for (;;) {
    first = left;
    keep_first_move(spec, context, first);
    if (first.size() == left.size()) return;
    int operand = -1;
    bool fits = false;
    for (const Action& a : first) {
      if (!brings_nearer(a)) continue;
      operand = a.arg;
      fits = fits || preview(spec, limits, a, context, d);
    }
    if (fits) return std::swap(list, first);
    ActionList others;
    for (const Action& a : left)
      if (!brings_nearer(a) || a.arg != operand) others.add(a);
    std::swap(left, others);
  }
}

}  // namespace

bool multiplies_batches(const Spec& spec) {
  if (!contraction_of(spec) || !is_chain(spec)) return false;
  if (points_of(spec, spec.reduced()) <= kShallow) return false;
  for (u8 d = 0; d < spec.rank; d++)
    if (spec.size[d] > 1 && both_have(spec, d) && has_dim(spec.out().dims, d)) return true;
  return false;
}

void BatchLoops::list(const Spec& spec, const Limits& limits, ActionList& out) const {
  list_actions(spec, limits, all_, out);
  if (contraction_of(spec) && is_chain(spec) && !keep_loops(spec, whole_, in_vectors_, out))
    keep_buffers(spec, out);
  if (asks_limits_)
    keep_move_that_fits(spec, limits, context_, out);
  else
    keep_first_move(spec, context_, out);
}

}  // namespace morello
