// SPDX-License-Identifier: MIT
#include "actions/part.hh"

#include <bit>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/stages.hh"

namespace morello {
namespace {

using StageMask = u32;
static_assert(kMaxStages <= 32);
constexpr bool has_stage(StageMask mask, int s) { return mask >> s & 1; }

/// Adds the stages whose values those in `needed` read, but for those that are kept and what only
/// they need.
StageMask with_sources(const Spec& spec, StageMask needed, StageMask kept) {
  for (int s = spec.stage_count - 1; s >= 0; s--) {
    if (!has_stage(needed, s)) continue;
    for (Ref in : spec.stage[s].in)
      if (is_value(in) && !has_stage(kept, stage_of(in))) needed |= 1u << stage_of(in);
  }
  return needed;
}

/// All that lead to outputs other than those of the stages that are kept.
StageMask stages_after(const Spec& spec, StageMask kept, bool readable) {
  StageMask needed = 0;
  for (int s = 0; s < spec.stage_count; s++)
    if (!has_stage(kept, s) && spec.stage[s].out != kNoRef) needed |= 1u << s;
  return with_sources(spec, needed, readable ? kept : 0);
}

StageMask stages_of(std::span<const KeptValue> kept) {
  StageMask stages = 0;
  for (const KeptValue& value : kept) stages |= 1u << value.stage;
  return stages;
}

const KeptValue* find(std::span<const KeptValue> values, int stage) {
  for (const KeptValue& value : values)
    if (value.stage == stage) return &value;
  return nullptr;
}

/// Some stages of a Spec as one of its own. Operands are numbered as stages read them, then those
/// that they write; what nothing uses is left out.
class Part {
 public:
  Part(const Spec& whole, StageMask stages, std::span<const KeptValue> kept, Child& child)
      : whole_(whole), stages_(stages), kept_(kept), child_(child), part_(child.spec) {
    part_ = {};
    part_.serial = whole.serial;
    part_.rank = whole.rank;
    part_.size = whole.size;
    part_.window = whole.window;
  }

  /// The values are written to their places, and those of no other stages are.
  void into(std::span<const KeptValue> values, const Limits& limits) {
    targets_ = values;
    finish(limits);
  }
  void to_outputs(const Limits& limits) { finish(limits); }

 private:
  struct Place {
    Operand operand;
    u8 parent = 0;
  };

  /// What stage `s` writes to, by the number in the whole or of a buffer; kNoRef: its value stays
  /// inside.
  u8 target_of(int s) const {
    if (!targets_.empty()) {
      const KeptValue* value = find(targets_, s);
      return value ? value->place : kNoRef;
    }
    const Ref out = whole_.stage[s].out;
    return out == kNoRef || find(kept_, s) ? kNoRef : out;
  }
  const Operand& operand_written(int s) const {
    return targets_.empty() ? whole_.operand[whole_.stage[s].out] : find(targets_, s)->operand;
  }

  /// What is read for `in`, likewise; kNoRef: a value that is inside, or nothing.
  u8 source_of(Ref in) const {
    if (is_operand(in)) return in;
    const KeptValue* value = is_value(in) ? find(kept_, stage_of(in)) : nullptr;
    return value && value->readable ? value->place : kNoRef;
  }
  const Operand& operand_read(Ref in) const {
    return is_operand(in) ? whole_.operand[in] : find(kept_, stage_of(in))->operand;
  }

  /// A bit for each operand of the whole, and each buffer.
  static u32 bit_of(u8 parent) {
    return 1u << (is_new_buffer(parent) ? kMaxOperands + parent - new_buffer(0) : parent);
  }

  void add(const Operand& operand, u8 parent) {
    if (added_ & bit_of(parent)) return;
    added_ |= bit_of(parent);
    binding_[part_.operand_count] = parent;
    part_.operand[part_.operand_count++] = operand;
  }
  Ref number_of(u8 parent) const {
    Ref o = 0;
    while (binding_[o] != parent) o++;
    return o;
  }

  void add_operands() {
    u32 written = 0, read = 0;  // read: of what is written as well
    for (int s = 0; s < whole_.stage_count; s++)
      if (has_stage(stages_, s))
        if (const u8 parent = target_of(s); parent != kNoRef) written |= bit_of(parent);
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s)) continue;
      for (Ref in : whole_.stage[s].in) {
        const u8 parent = source_of(in);
        if (parent == kNoRef) continue;
        if (written & bit_of(parent)) {
          read |= bit_of(parent);
        } else if (!(added_ & bit_of(parent))) {
          add(operand_read(in), parent);
          part_.operand[part_.operand_count - 1].access = Access::kIn;
        }
      }
    }
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s)) continue;
      const u8 parent = target_of(s);
      if (parent == kNoRef) continue;
      // What another part reads of it is not what this one adds to.
      const bool reads = !is_new_buffer(parent) && (read & bit_of(parent));
      const Stage& stage = whole_.stage[s];
      const bool adds = parent == stage.out && accumulates(whole_, stage);
      Place& place = outputs_[output_count_++];
      place = {operand_written(s), parent};
      place.operand.access = reads || adds ? Access::kInOut : Access::kOut;
    }
    // Buffers in the order of the stages, as outputs are where they are some, and all others as in
    // the whole: the last one gives the dimensions their numbers.
    bool buffers = false;
    for (int i = 0; i < output_count_; i++) buffers |= is_new_buffer(outputs_[i].parent);
    for (int o = 0; o < (buffers ? 1 : kMaxOperands); o++)
      for (int i = 0; i < output_count_; i++)
        if (buffers || outputs_[i].parent == o) add(outputs_[i].operand, outputs_[i].parent);
  }

  void add_diagonal() {
    for (int s = 0; s < part_.stage_count; s++)
      if (part_.stage[s].op == Op::kKeep) part_.diagonal = whole_.diagonal;
  }

  void add_stages() {
    std::array<Ref, kMaxStages> now{};
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s)) continue;
      Stage stage = whole_.stage[s];
      for (Ref& in : stage.in) {
        if (const u8 parent = source_of(in); parent != kNoRef)
          in = number_of(parent);
        else if (is_value(in))
          in = now[stage_of(in)];
      }
      const u8 parent = target_of(s);
      stage.out = parent == kNoRef ? kNoRef : number_of(parent);
      now[s] = value_of(number_of(stage));
    }
  }

  bool is_added_to(Ref out) const {
    return out != kNoRef && part_.operand[out].access == Access::kInOut;
  }

  /// Stages that differed in what they write to may be one now.
  int number_of(const Stage& stage) {
    for (int s = 0; s < part_.stage_count; s++) {
      Stage& other = part_.stage[s];
      Stage same = stage;
      same.out = other.out;
      if (other != same || (stage.out != kNoRef && other.out != kNoRef)) continue;
      if (is_added_to(stage.out) || is_added_to(other.out)) continue;
      if (stage.out != kNoRef) other.out = stage.out;
      return s;
    }
    part_.stage[part_.stage_count] = stage;
    return part_.stage_count++;
  }

  /// A value that is rounded to the element type of its new place, and not read here, is rounded
  /// when it is written, as by any output: what remains is a Spec like those without casts.
  void leave_rounding_to_outputs() {
    for (int s = part_.stage_count - 1; s >= 0; s--) {
      Stage& stage = part_.stage[s];
      if (stage.op != Op::kCopy || !is_narrow_float(stage.dtype) || stage.out == kNoRef) continue;
      const Operand& out = part_.operand[stage.out];
      if (out.dtype != stage.dtype || out.access != Access::kOut || is_read(part_, value_of(s)))
        continue;
      if (!take_over(stage))
        stage.dtype = Dtype::kF32;
      else
        drop_stage(part_, s);
    }
  }

  /// Does what a copy reads have an output to write now? Only the copy read it.
  bool take_over(Stage& copy) {
    if (!is_value(copy.in[0])) return false;
    Stage& from = part_.stage[stage_of(copy.in[0])];
    int readers = 0;
    for (int s = 0; s < part_.stage_count; s++)
      for (Ref in : part_.stage[s].in) readers += in == copy.in[0];
    if (from.dtype != Dtype::kF32 || from.out != kNoRef || readers > 1) return false;
    from.out = copy.out;
    return true;
  }

  void finish(const Limits& limits) {
    add_operands();
    add_stages();
    add_diagonal();
    leave_rounding_to_outputs();
    DimMask used = part_.reduced();  // if no operand has them: so often the same value is added
    for (int o = 0; o < part_.operand_count; o++) {
      forget_pitch(part_.operand[o]);
      used = static_cast<DimMask>(used | part_.operand[o].dims);
    }
    for (int d = 0; d < part_.rank; d++)
      if (!has_dim(used, d)) part_.size[d] = 1;  // as good as that
    drop_unit_dims(part_, &child_.binding);
    child_.binding.operand = binding_;
    child_.limits = limits;
    child_.times = 1;
    assert_canonical(part_);
  }

  const Spec& whole_;
  StageMask stages_;
  std::span<const KeptValue> kept_, targets_;
  Child& child_;
  Spec& part_;     // the child's
  u32 added_ = 0;  // operands of the part, by bit_of()
  std::array<u8, kMaxOperands> binding_{};
  std::array<Place, kMaxOperands> outputs_{};
  int output_count_ = 0;
};

}  // namespace

void part_before(const Spec& whole, std::span<const KeptValue> kept, const Limits& limits,
                 Child& out) {
  Part(whole, with_sources(whole, stages_of(kept), 0), {}, out).into(kept, limits);
}

void part_after(const Spec& whole, std::span<const KeptValue> kept, const Limits& limits,
                Child& out) {
  Part(whole, stages_after(whole, stages_of(kept), kept[0].readable), kept, out).to_outputs(limits);
}

namespace {

/// A diagonal becomes a mask.
int most_operands(const Spec& whole) { return kMaxOperands - (whole.diagonal.used() ? 1 : 0); }

/// Has the part that computes values too many operands, with a buffer for each that has no output?
bool overflows_before(const Spec& whole, StageMask kept) {
  u32 operands = 0;  // bit o
  int buffers = 0;
  const StageMask stages = with_sources(whole, kept, 0);
  for (int s = 0; s < whole.stage_count; s++) {
    if (!has_stage(stages, s)) continue;
    for (Ref in : whole.stage[s].in)
      if (is_operand(in)) operands |= 1u << in;
    if (!has_stage(kept, s)) continue;
    if (whole.stage[s].out == kNoRef)
      buffers++;
    else
      operands |= 1u << whole.stage[s].out;
  }
  return std::popcount(operands) + buffers > most_operands(whole);
}

}  // namespace

bool fits_cut(const Spec& whole, u32 kept, bool readable) {
  if (overflows_before(whole, kept)) return false;
  u32 operands = 0;  // bit o
  int count = readable ? std::popcount(kept) : 0;
  const StageMask stages = stages_after(whole, kept, readable);
  auto use = [&](Ref ref) {
    if (!is_operand(ref) || operands >> ref & 1) return;
    operands |= 1u << ref;
    count++;
  };
  for (int s = 0; s < whole.stage_count; s++) {
    if (!has_stage(stages, s)) continue;
    for (Ref in : whole.stage[s].in) {
      for (int k = 0; k < whole.stage_count; k++)
        if (has_stage(kept, k) && is_operand(in) && in == whole.stage[k].out &&
            whole.operand[in].access == Access::kInOut)
          return false;
      use(in);
    }
    if (!has_stage(kept, s)) use(whole.stage[s].out);
  }
  return stages != 0 && count <= most_operands(whole);
}

int output_for_value(const Spec& whole, int stage) {
  const DimMask dims = dims_of(whole, value_of(stage));
  int readers = 0;
  StageMask made_of_it = 1u << stage;
  for (int s = stage + 1; s < whole.stage_count; s++) {
    bool reads = false;
    for (Ref in : whole.stage[s].in) {
      reads |= in == value_of(stage);
      if (is_value(in) && has_stage(made_of_it, stage_of(in))) made_of_it |= 1u << s;
    }
    readers += reads;
  }
  if (whole.stage[stage].out != kNoRef || is_chain(whole) || readers < 2) return -1;
  for (int s = stage + 1; s < whole.stage_count; s++) {
    const Ref out = whole.stage[s].out;
    if (!has_stage(made_of_it, s) || out == kNoRef || is_reduction(whole.stage[s])) continue;
    const Operand& x = whole.operand[out];
    if (x.access == Access::kOut && x.dtype == whole.stage[stage].dtype && x.dims == dims &&
        dims_of(whole, value_of(s)) == dims)
      return out;
  }
  return -1;
}

void fill_part(const Spec& whole, const Stage& stage, u32 bits, const Limits& limits, Child& out) {
  Spec fill = whole;  // whose stage reads nothing
  fill.stage = {Stage{.op = Op::kFill, .dtype = stage.dtype, .constant = bits}};
  fill.stage_count = 1;
  const KeptValue filled{0, whole.operand[stage.out], stage.out};
  Part(fill, 1, {}, out).into(std::span(&filled, 1), limits);
}

}  // namespace morello
