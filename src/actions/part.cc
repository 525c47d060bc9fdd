// SPDX-License-Identifier: MIT
#include "actions/part.hh"

#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using StageMask = u32;
static_assert(kMaxStages <= 32);
constexpr bool has_stage(StageMask mask, int s) { return mask >> s & 1; }

/// Adds the stages whose values those in `needed` read, but for what `kept` (-1: none) is and what
/// only it needs.
StageMask with_sources(const Spec& spec, StageMask needed, int kept) {
  for (int s = spec.stage_count - 1; s >= 0; s--) {
    if (!has_stage(needed, s)) continue;
    for (Ref in : spec.stage[s].in)
      if (is_value(in) && stage_of(in) != kept) needed |= 1u << stage_of(in);
  }
  return needed;
}

/// All that lead to outputs other than that of stage `kept`.
StageMask stages_after(const Spec& spec, int kept, bool readable) {
  StageMask needed = 0;
  for (int s = 0; s < spec.stage_count; s++)
    if (s != kept && spec.stage[s].out != kNoRef) needed |= 1u << s;
  return with_sources(spec, needed, readable ? kept : -1);
}

/// Some stages of a Spec as one of its own. Operands are numbered as stages read them, then those
/// that they write; what nothing uses is left out.
class Part {
 public:
  Part(const Spec& whole, StageMask stages, const KeptValue* kept)
      : whole_(whole), stages_(stages), kept_(kept) {
    part_.serial = whole.serial;
    part_.rank = whole.rank;
    part_.size = whole.size;
    part_.window = whole.window;
  }

  /// The value of the last stage is written to `out`, and that of no other stage is.
  Child into(const KeptValue& out, const Limits& limits) {
    target_ = &out;
    return finish(limits);
  }
  Child to_outputs(const Limits& limits) { return finish(limits); }

 private:
  struct Place {
    Operand operand;
    u8 parent = 0;
  };

  /// What stage `s` writes to; nothing if its value stays inside.
  bool writes(int s, Place& place) const {
    if (target_) {
      if (s != target_->stage) return false;
      place = {target_->operand, target_->place};
    } else {
      const Ref out = whole_.stage[s].out;
      if (out == kNoRef || (kept_ && s == kept_->stage)) return false;
      place = {whole_.operand[out], out};
    }
    return true;
  }

  bool reads(Ref in, Place& place) const {
    if (is_operand(in)) {
      place = {whole_.operand[in], in};
    } else if (kept_ && kept_->readable && is_value(in) && stage_of(in) == kept_->stage) {
      place = {kept_->operand, kept_->place};
    } else {
      return false;
    }
    place.operand.access = Access::kIn;
    return true;
  }

  bool is_written(u8 parent) const {
    Place place;
    for (int s = 0; s < whole_.stage_count; s++)
      if (has_stage(stages_, s) && writes(s, place) && place.parent == parent) return true;
    return false;
  }

  void add(const Place& place) {
    for (int o = 0; o < part_.operand_count; o++)
      if (binding_[o] == place.parent) return;
    binding_[part_.operand_count] = place.parent;
    part_.operand[part_.operand_count++] = place.operand;
  }
  Ref number_of(u8 parent) const {
    Ref o = 0;
    while (binding_[o] != parent) o++;
    return o;
  }

  void add_operands() {
    Place place;
    u8 read = 0;  // of what is written as well: bit o
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s)) continue;
      for (Ref in : whole_.stage[s].in) {
        if (!reads(in, place)) continue;
        if (!is_written(place.parent))
          add(place);
        else if (!is_new_buffer(place.parent))
          read = static_cast<u8>(read | 1u << place.parent);
      }
    }
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s) || !writes(s, place)) continue;
      // What another part reads of it is not what this one adds to.
      const bool reads = !is_new_buffer(place.parent) && read >> place.parent & 1;
      const Stage& stage = whole_.stage[s];
      const bool adds = place.parent == stage.out && accumulates(whole_, stage);
      place.operand.access = reads || adds ? Access::kInOut : Access::kOut;
      outputs_[output_count_++] = place;
    }
    // In the order that they have in the whole: the last one gives the dimensions their numbers.
    for (int o = 0; o < kMaxOperands; o++)
      for (int i = 0; i < output_count_; i++)
        if (outputs_[i].parent == o || (is_new_buffer(outputs_[i].parent) && o == 0))
          add(outputs_[i]);
  }

  void add_stages() {
    std::array<Ref, kMaxStages> now{};
    Place place;
    for (int s = 0; s < whole_.stage_count; s++) {
      if (!has_stage(stages_, s)) continue;
      Stage stage = whole_.stage[s];
      for (Ref& in : stage.in) {
        if (reads(in, place))
          in = number_of(place.parent);
        else if (is_value(in))
          in = now[stage_of(in)];
      }
      stage.out = writes(s, place) ? number_of(place.parent) : kNoRef;
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

  Child finish(const Limits& limits) {
    add_operands();
    add_stages();
    DimMask used = part_.reduced();  // if no operand has them: so often the same value is added
    for (int o = 0; o < part_.operand_count; o++) {
      forget_pitch(part_.operand[o]);
      used = static_cast<DimMask>(used | part_.operand[o].dims);
    }
    for (int d = 0; d < part_.rank; d++)
      if (!has_dim(used, d)) part_.size[d] = 1;  // as good as that
    Child child{part_, limits, 1, {}};
    drop_unit_dims(child.spec, &child.binding);
    child.binding.operand = binding_;
    assert_canonical(child.spec);
    return child;
  }

  const Spec& whole_;
  StageMask stages_;
  const KeptValue* kept_;
  const KeptValue* target_ = nullptr;
  Spec part_;
  std::array<u8, kMaxOperands> binding_{};
  std::array<Place, kMaxOperands> outputs_{};
  int output_count_ = 0;
};

}  // namespace

Child part_before(const Spec& whole, const KeptValue& kept, const Limits& limits) {
  return Part(whole, with_sources(whole, 1u << kept.stage, -1), nullptr).into(kept, limits);
}

Child part_after(const Spec& whole, const KeptValue& kept, const Limits& limits) {
  return Part(whole, stages_after(whole, kept.stage, kept.readable), &kept).to_outputs(limits);
}

bool fits_after(const Spec& whole, int stage, bool readable) {
  u32 operands = 0;  // bit o
  int count = readable ? 1 : 0;
  const StageMask stages = stages_after(whole, stage, readable);
  auto use = [&](Ref ref) {
    if (!is_operand(ref) || operands >> ref & 1) return;
    operands |= 1u << ref;
    count++;
  };
  for (int s = 0; s < whole.stage_count; s++) {
    if (!has_stage(stages, s)) continue;
    for (Ref in : whole.stage[s].in) {
      const bool overwritten = is_operand(in) && in == whole.stage[stage].out;
      if (overwritten && whole.operand[in].access == Access::kInOut) return false;
      use(in);
    }
    if (s != stage) use(whole.stage[s].out);
  }
  return stages != 0 && count <= kMaxOperands;
}

Child fill_part(const Spec& whole, const Stage& stage, u32 bits, const Limits& limits) {
  Spec fill = whole;  // whose stage reads nothing
  fill.stage = {Stage{.op = Op::kFill, .dtype = stage.dtype, .constant = bits}};
  fill.stage_count = 1;
  return Part(fill, 1, nullptr).into({0, whole.operand[stage.out], stage.out}, limits);
}

}  // namespace morello
