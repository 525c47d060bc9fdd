// SPDX-License-Identifier: MIT
#include "spec/rescale.hh"

#include <algorithm>
#include <bit>
#include <limits>

#include "spec/roles.hh"

namespace morello {
namespace {

constexpr bool has_stage(u32 mask, int s) { return mask >> s & 1; }

bool reads(const Stage& stage, Ref ref) {
  return std::find(stage.in.begin(), stage.in.end(), ref) != stage.in.end();
}

u32 least_number() { return bits_of_number(Dtype::kF32, std::numeric_limits<float>::lowest()); }

/// What a Spec has to do with the greatest elements of rows.
struct Roles {
  int most = 0, difference = -1, exponential = -1;
  u32 sums = 0;   // of exponentials, or of products with them: bit s
  u32 later = 0;  // all that is known when whole rows are
  u8 dim = 0;
};

/// Those that combine along the rows, and what is made of it.
u32 stages_after_rows(const Spec& spec, u8 dim) {
  u32 later = 0;
  for (int s = 0; s < spec.stage_count; s++) {
    bool is_later = has_dim(spec.stage[s].reduce, dim);
    for (Ref in : spec.stage[s].in) is_later |= is_value(in) && has_stage(later, stage_of(in));
    if (is_later) later |= 1u << s;
  }
  return later;
}

bool is_known_early(const Roles& roles, Ref in) {
  return !is_value(in) || !has_stage(roles.later, stage_of(in));
}

/// Does the sum of a row come to that of its blocks, each times what its exponentials lack?
bool is_sum(const Spec& spec, const Roles& roles, const Stage& stage) {
  const Ref e = value_of(roles.exponential);
  if (stage.reduce != 1u << roles.dim || stage.dtype != Dtype::kF32) return false;
  if (accumulates(spec, stage)) return false;
  if (stage.op == Op::kAdd) return stage.in[0] == e;
  if (stage.op != Op::kMulAdd || !reads(stage, e) || stage.in[0] == stage.in[1]) return false;
  return is_known_early(roles, stage.in[stage.in[0] == e ? 1 : 0]);
}

/// May the dimension of the operands be two?
bool may_split(const Spec& spec, u8 dim) {
  if (spec.rank == kMaxDims || spec.diagonal.used()) return false;
  for (const Window& w : spec.window)
    if (w.used() && (w.outer == dim || w.inner == dim || w.before != 0 || w.after != 0))
      return false;
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level == Level::kRegister || x.free_layout) return false;
    if (has_dim(x.dims, dim) && (x.layout.count() == kMaxPhysical || x.layout.block_of(dim) > 1))
      return false;
  }
  return true;
}

std::optional<Roles> roles_of(const Spec& spec, int most) {
  const Stage& greatest = spec.stage[most];
  if (!is_greatest(greatest.op) || !is_reduction(greatest) || greatest.dtype != Dtype::kF32 ||
      std::popcount(greatest.reduce) != 1 || accumulates(spec, greatest))
    return std::nullopt;
  Roles roles;
  roles.most = most;
  roles.dim = static_cast<u8>(std::countr_zero(greatest.reduce));
  roles.later = stages_after_rows(spec, roles.dim);
  if (!is_known_early(roles, greatest.in[0]) || !may_split(spec, roles.dim)) return std::nullopt;
  for (int s = most + 1; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (stage.op == Op::kSub && stage.dtype == Dtype::kF32 && stage.in[0] == greatest.in[0] &&
        stage.in[1] == value_of(most))
      roles.difference = s;
    if (roles.difference >= 0 && stage.op == Op::kDecay &&
        stage.in[0] == value_of(roles.difference))
      roles.exponential = s;
    if (roles.exponential >= 0 && is_sum(spec, roles, stage)) roles.sums |= 1u << s;
  }
  if (roles.sums == 0 || std::popcount(roles.sums) >= kMaxBuffers) return std::nullopt;
  if (spec.stage[roles.difference].out != kNoRef || spec.stage[roles.exponential].out != kNoRef)
    return std::nullopt;
  return roles;
}

void split(u8 dim, u8 block_dim, Operand& x) {
  if (!has_dim(x.dims, dim)) return;
  const int count = x.layout.count();
  int at = 0;
  while (x.layout.dim[at] != dim) at++;
  x.dims = static_cast<DimMask>(x.dims | 1u << block_dim);
  x.layout.insert(at, block_dim);
  if (at >= count - x.contig) x.contig++;
  forget_pitch(x);
}

/// Writes the stages of the whole.
class Writer {
 public:
  Writer(const Spec& spec, const Roles& roles, u32 size, Ref held_in)
      : spec_(spec), roles_(roles), held_in_(held_in), whole_(r_.whole) {
    r_.dim = roles.dim;
    r_.block_dim = spec.rank;
    whole_ = spec;
    whole_.stage = {};
    whole_.stage_count = 0;
    whole_.rank++;
    whole_.size[r_.dim] = size;
    whole_.size[r_.block_dim] = spec.size[r_.dim] / size;
    for (int o = 0; o < spec.operand_count; o++) split(r_.dim, r_.block_dim, whole_.operand[o]);
  }

  std::optional<Rescaled> run() {
    for (int s = 0; s < spec_.stage_count; s++)
      if (!has_stage(roles_.later, s)) now_[s] = add(moved(spec_.stage[s]));
    add_blocks();
    add_merge();
    for (int s = 0; s < spec_.stage_count; s++)
      if (has_stage(roles_.later, s) && now_[s] == kNoRef && is_needed(s)) add_later(s);
    if (overflows_) return std::nullopt;
    return r_;
  }

 private:
  static Stage made(Op op, Ref x, Ref y = kNoRef, DimMask reduce = 0) {
    return {.op = op, .dtype = Dtype::kF32, .in = {x, y, kNoRef}, .reduce = reduce};
  }
  Ref add(const Stage& stage) {
    overflows_ |= whole_.stage_count == kMaxStages;
    if (overflows_) return kNoRef;
    whole_.stage[whole_.stage_count] = stage;
    return value_of(whole_.stage_count++);
  }
  Ref now(Ref in) const { return is_value(in) ? now_[stage_of(in)] : in; }
  Stage moved(Stage stage) const {
    for (Ref& in : stage.in) in = now(in);
    if (has_dim(stage.reduce, r_.dim))
      stage.reduce = static_cast<DimMask>(stage.reduce | 1u << r_.block_dim);
    return stage;
  }
  const Stage& greatest() const { return spec_.stage[roles_.most]; }

  /// In a block of nothing but -inf the exponentials are 0, below a number: it is neutral, unless
  /// there are no other blocks. Sums are then not, for the merge makes NaN of them.
  void add_blocks() {
    const DimMask row = static_cast<DimMask>(1u << r_.dim);
    most_ = add(made(greatest().op, now(greatest().in[0]), kNoRef, row));
    Stage number = made(Op::kFastMax, most_, kConstant);
    number.constant = least_number();
    const Ref difference = add(made(Op::kSub, now(greatest().in[0]), add(number)));
    exponentials_ = add(made(Op::kDecay, difference));
    r_.left = bit_of(most_);
    for (int s = 0; s < spec_.stage_count; s++) {
      if (!has_stage(roles_.sums, s)) continue;
      Stage sum = spec_.stage[s];
      for (Ref& in : sum.in) in = in == value_of(roles_.exponential) ? exponentials_ : now(in);
      sum.out = kNoRef;
      partial_[s] = add(sum);
      r_.left |= bit_of(partial_[s]);
    }
    if (held_in_ == kNoRef || overflows_) return;
    r_.held = stage_of(exponentials_);
    r_.held_in = held_in_;
  }

  void add_merge() {
    const DimMask blocks = static_cast<DimMask>(1u << r_.block_dim);
    Stage most = made(greatest().op, most_, kNoRef, blocks);
    most.out = greatest().out;
    now_[roles_.most] = add(most);
    scale_ = add(made(Op::kDecay, add(made(Op::kSub, most_, now_[roles_.most]))));
    for (int s = 0; s < spec_.stage_count; s++) {
      if (!has_stage(roles_.sums, s)) continue;
      Stage sum = made(Op::kMulAdd, partial_[s], scale_, blocks);
      sum.out = spec_.stage[s].out;
      now_[s] = add(sum);
    }
  }

  /// Stages that only made what the merge leaves are not.
  bool is_needed(int s) const {
    if (s != roles_.difference && s != roles_.exponential) return true;
    if (s == roles_.exponential && held_in_ != kNoRef) return false;
    for (int t = s + 1; t < spec_.stage_count; t++)
      if (reads(spec_.stage[t], value_of(s)) && !has_stage(roles_.sums, t) && is_needed(t))
        return true;
    return false;
  }

  void add_later(int s) {
    const Stage& stage = spec_.stage[s];
    const Ref e = value_of(roles_.exponential);
    if (held_in_ == kNoRef || !reads(stage, e)) {
      now_[s] = add(moved(stage));
      return;
    }
    const Ref factor = stage.in[stage.in[0] == e ? 1 : 0];
    if (stage.op == Op::kMul && factor != e && !has_dim(dims_of(spec_, factor), r_.dim)) {
      // One factor for each block.
      Stage scaled = made(Op::kMul, scale_, now(factor));
      if (factor == kConstant) scaled.constant = stage.constant;
      Stage product = made(Op::kMul, exponentials_, add(scaled));
      product.out = stage.out;
      now_[s] = add(product);
      return;
    }
    if (now_[roles_.exponential] == kNoRef)
      now_[roles_.exponential] = add(made(Op::kMul, exponentials_, scale_));
    now_[s] = add(moved(stage));
  }

  static u32 bit_of(Ref value) { return value == kNoRef ? 0 : 1u << stage_of(value); }

  const Spec& spec_;
  const Roles& roles_;
  Ref held_in_;
  Rescaled r_;
  Spec& whole_;
  std::array<Ref, kMaxStages> now_ = no_refs(), partial_ = no_refs();
  Ref most_ = kNoRef, exponentials_ = kNoRef, scale_ = kNoRef;
  bool overflows_ = false;

  static constexpr std::array<Ref, kMaxStages> no_refs() {
    std::array<Ref, kMaxStages> refs{};
    refs.fill(kNoRef);
    return refs;
  }
};

}  // namespace

int rescaled_exponentials(const Spec& spec, int most) {
  const std::optional<Roles> roles = roles_of(spec, most);
  return roles ? roles->exponential : -1;
}

u8 rescaled_dim(const Spec& spec, int most) {
  return static_cast<u8>(std::countr_zero(spec.stage[most].reduce));
}

std::optional<Rescaled> rescaled(const Spec& spec, int most, u32 size, Ref held_in) {
  const std::optional<Roles> roles = roles_of(spec, most);
  return Writer(spec, *roles, size, held_in).run();
}

u8 dim_of_blocks(const Spec& spec) {
  for (int s = 1; s < spec.stage_count; s++) {
    const Stage& number = spec.stage[s];
    if (number.op != Op::kFastMax || number.in[1] != kConstant ||
        number.constant != least_number() || !is_value(number.in[0]))
      continue;
    const Stage& most = spec.stage[stage_of(number.in[0])];
    if (!is_greatest(most.op) || std::popcount(most.reduce) != 1) continue;
    const int dim = std::countr_zero(most.reduce);
    DimMask slower = parallel_dims(spec);
    for (int o = 0; o < spec.operand_count; o++) {
      const Layout& l = spec.operand[o].layout;
      const auto at = std::find(l.dim.begin(), l.dim.end(), dim);
      if (at == l.dim.end()) continue;
      slower = static_cast<DimMask>(slower & (at == l.dim.begin() ? 0 : 1u << at[-1]));
    }
    return std::popcount(slower) == 1 ? static_cast<u8>(std::countr_zero(slower)) : kNoDim;
  }
  return kNoDim;
}

RescaleBuffers rescale_buffers(const Rescaled& r, Level level) {
  RescaleBuffers buffers;
  for (int s = 0; s < r.whole.stage_count; s++) {
    if (!has_stage(r.left, s)) continue;
    const DimMask dims = dims_of(r.whole, value_of(s));
    Layout layout;
    layout.append(r.block_dim);
    for (u8 d = 0; d < r.block_dim; d++)
      if (has_dim(dims, d)) layout.append(d);
    buffers.buffer[static_cast<size_t>(buffers.count++)] =
        dense_operand(r.whole, r.whole.stage[s].dtype, level, Access::kOut, dims, layout);
  }
  return buffers;
}

View view_of_blocks(const Rescaled& r, const View& view) {
  View v = view;
  v.dim[r.block_dim] = {};
  v.dim[r.block_dim].stride[0] = view.dim[r.dim].stride[0] * r.whole.size[r.dim];
  return v;
}

}  // namespace morello
