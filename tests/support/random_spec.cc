// SPDX-License-Identifier: MIT
// Draws stages one after the other, over operands that have dimensions but no place yet; then
// outputs for all values that nobody reads; then numbers, layouts and windows. What is drawn is
// canonical by construction: a draw is thrown away only if it has too many operands, points or
// equal stages.
#include "random_spec.hh"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "spec/border.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

constexpr Ref kDraft = 0x80;  // the first operand that has no number yet

/// An operand to be.
struct Draft {
  DimMask dims = 0;
  Dtype dtype = Dtype::kF32;
  Access access = Access::kIn;
};

/// Blocks of random dimensions, as long as there is room.
void add_blocks(const Spec& spec, DimMask whole_only, Layout& l, Random& random) {
  for (u32 tries = pick(random, 1, 5); tries > 0; tries--) {
    const int count = l.count();
    if (count == 0 || count == kMaxPhysical) return;
    const int whole = static_cast<int>(pick(random, 0, static_cast<u32>(count) - 1));
    const u8 d = l.dim[whole];
    int pieces = 0;
    for (int i = 0; i < count; i++) pieces += l.dim[i] == d;
    if (l.block[whole] != 0 || has_dim(whole_only, d) || pieces == kMaxPieces) continue;
    const u32 most = std::min(255u, (spec.size[d] - 1) / l.block_of(d));
    if (most < 2) continue;
    const u32 at = pick(random, static_cast<u32>(whole) + 1, static_cast<u32>(count));
    for (int i = count; i > static_cast<int>(at); i--) {
      l.dim[i] = l.dim[i - 1];
      l.block[i] = l.block[i - 1];
    }
    l.dim[at] = d;
    l.block[at] = static_cast<u8>(pick(random, 2, chance(random, 60) ? std::min(most, 4u) : most));
  }
}

class SpecMaker {
 public:
  SpecMaker(Random& random, const RandomSpecOptions& options)
      : random_(random), options_(options) {}

  bool draw() {
    if (!draw_sizes()) return false;
    const u32 stages = chance(random_, 25) ? 1 : pick(random_, 1, kMaxStages);
    while (stages_.size() < stages)
      if (!draw_stage()) return false;
    if (!draw_outputs() || drafts_.size() > kMaxOperands) return false;
    for (size_t s = 0; s < stages_.size(); s++)
      for (size_t t = 0; t < s; t++)
        if (stages_[s] == stages_[t]) return false;
    number_operands();
    number_dims();
    draw_windows();
    for (int o = 0; o < spec().operand_count; o++) place(o);
    drop_windows(spec());  // that meet no element twice
    spec().serial = chance(random_, 50);
    return true;
  }
  GeneralProblem& problem() { return problem_; }

 private:
  Spec& spec() { return problem_.spec; }
  u32 below(size_t n) { return pick(random_, 0, static_cast<u32>(n) - 1); }
  DimMask some_dims() {
    DimMask all = static_cast<DimMask>(random_() | (chance(random_, 50) ? random_() : 0));
    return static_cast<DimMask>(all & spec().all_dims());
  }
  Dtype any_dtype() { return kAllDtypes[below(std::size(kAllDtypes))]; }

  bool draw_sizes() {
    constexpr u32 kLargest[] = {0, 300, 50, 14, 7, 5, 4, 3, 3};
    spec().rank = static_cast<u8>(pick(random_, chance(random_, 10) ? 0 : 1, kMaxDims));
    for (int d = 0; d < spec().rank; d++) spec().size[d] = pick(random_, 2, kLargest[spec().rank]);
    return volume(spec()) <= options_.max_points;
  }

  // ---- stages

  DimMask dims_of_ref(Ref ref) const {
    return is_value(ref)                       ? value_dims_[stage_of(ref)]
           : ref == kNoRef || ref == kConstant ? DimMask{0}
                                               : drafts_[ref - kDraft].dims;
  }
  Dtype dtype_of(Ref ref) const {
    return is_value(ref) ? stages_[stage_of(ref)].dtype : drafts_[ref - kDraft].dtype;
  }
  bool is_read(Ref ref) const {
    for (const Stage& s : stages_)
      if (std::find(s.in.begin(), s.in.end(), ref) != s.in.end()) return true;
    return false;
  }
  size_t unread() const {
    size_t n = 0;
    for (size_t s = 0; s < stages_.size(); s++) n += !is_read(value_of(static_cast<int>(s)));
    return n;
  }

  u32 draw_constant(Dtype dtype) {
    return (chance(random_, 50) ? 0x40000000u : 0x3c00u) >> (size_of(dtype) == 2 ? 16 : 0);
  }

  Ref draw_input() {
    const bool full = drafts_.size() + unread() + 1 >= kMaxOperands;
    if (!stages_.empty() && (full || chance(random_, 60))) {
      const int last = static_cast<int>(stages_.size()) - 1;
      for (int s = last; s >= 0; s--)
        if (!is_read(value_of(s)) && chance(random_, full ? 90 : 50)) return value_of(s);
      return value_of(static_cast<int>(below(stages_.size())));
    }
    if (!drafts_.empty() && (full || chance(random_, 25)))
      return static_cast<Ref>(kDraft + below(drafts_.size()));
    drafts_.push_back({some_dims(), any_dtype()});
    return static_cast<Ref>(kDraft + drafts_.size() - 1);
  }

  bool draw_stage() {
    constexpr Op kReducing[] = {Op::kAdd, Op::kMax, Op::kMin, Op::kMulAdd, Op::kMulAdd};
    Stage s;
    bool reduces = false;
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        s.op = kReducing[below(std::size(kReducing))];
        reduces = true;
        break;
      case 3:
        s.op = chance(random_, 30) ? Op::kFill : Op::kCopy;
        break;
      default:
        s.op = kElementwise[below(std::size(kElementwise))].op;
        break;
    }
    const int inputs = s.op == Op::kFill     ? 0
                       : s.op == Op::kMulAdd ? 2
                       : reduces             ? 1
                                             : std::max(1, elementwise_inputs(s.op));
    bool integers = true;
    const int constant = inputs >= 2 && s.op != Op::kMulAdd && chance(random_, 20)
                             ? static_cast<int>(below(static_cast<size_t>(inputs)))
                             : -1;
    for (int i = 0; i < inputs; i++) {
      if (i == constant) {
        s.in[static_cast<size_t>(i)] = kConstant;
        continue;
      }
      s.in[static_cast<size_t>(i)] = draw_input();
      integers &= is_integer(dtype_of(s.in[static_cast<size_t>(i)]));
    }
    if (integers && has_integers(s.op) && chance(random_, 70))
      s.dtype = Dtype::kI32;
    else if (!reduces && chance(random_, 30))
      s.dtype = chance(random_, 50) ? Dtype::kBf16 : Dtype::kF16;
    DimMask dims = 0;
    for (Ref in : s.in) dims = static_cast<DimMask>(dims | dims_of_ref(in));
    if (reduces) {
      s.reduce = static_cast<DimMask>(some_dims() & dims);
      // Nothing has the dimension: the same is added as often as it says.
      if (chance(random_, 5)) s.reduce = static_cast<DimMask>(s.reduce | some_dims());
    }
    if (constant >= 0 || s.op == Op::kFill) s.constant = draw_constant(s.dtype);
    stages_.push_back(s);
    value_dims_.push_back(static_cast<DimMask>(dims & ~s.reduce));
    return drafts_.size() + unread() <= kMaxOperands;
  }

  // ---- outputs

  bool draw_outputs() {
    const size_t inputs = drafts_.size();
    for (size_t s = 0; s < stages_.size(); s++) {
      Stage& stage = stages_[s];
      const bool needed = !is_read(value_of(static_cast<int>(s)));
      if (!needed && !chance(random_, 10)) continue;
      Draft out{value_dims_[s], any_dtype(), Access::kOut};
      if (stage.dtype == Dtype::kI32 && is_narrow_float(out.dtype)) out.dtype = Dtype::kF32;
      if (chance(random_, 15)) out.dims = static_cast<DimMask>(out.dims | some_dims());
      if (needed && is_reduction(stage) && chance(random_, 50)) {
        out.dtype = stage.dtype;
        out.access = Access::kInOut;
      }
      // An output that stages read: an input so far.
      const size_t d = inputs == 0 ? 0 : below(inputs);
      if (inputs > 0 && chance(random_, 20) && drafts_[d].access == Access::kIn &&
          (value_dims_[s] & ~drafts_[d].dims) == 0 &&
          !(stage.dtype == Dtype::kI32 && is_narrow_float(drafts_[d].dtype))) {
        drafts_[d].access = Access::kInOut;
        stage.out = static_cast<Ref>(kDraft + d);
        continue;
      }
      drafts_.push_back(out);
      stage.out = static_cast<Ref>(kDraft + drafts_.size() - 1);
    }
    return std::any_of(stages_.begin(), stages_.end(),
                       [](const Stage& s) { return s.out != kNoRef; });
  }

  /// Inputs as stages read them, then outputs in any order.
  void number_operands() {
    std::vector<Ref> order;
    auto add = [&](Ref draft) {
      if (draft < kDraft || draft == kNoRef) return;
      if (std::find(order.begin(), order.end(), draft) == order.end()) order.push_back(draft);
    };
    for (const Stage& s : stages_)
      for (Ref in : s.in)
        if (in >= kDraft && in != kNoRef && drafts_[in - kDraft].access == Access::kIn) add(in);
    const auto inputs = static_cast<std::ptrdiff_t>(order.size());
    for (const Stage& s : stages_) add(s.out);
    std::shuffle(order.begin() + inputs, order.end(), random_);
    auto number = [&](Ref& ref) {
      if (ref < kDraft || ref == kNoRef) return;
      ref = static_cast<Ref>(std::find(order.begin(), order.end(), ref) - order.begin());
    };
    std::vector<Draft> drafts;
    for (Ref draft : order) drafts.push_back(drafts_[draft - kDraft]);
    drafts_ = std::move(drafts);
    for (Stage& s : stages_) {
      for (Ref& in : s.in) number(in);
      number(s.out);
    }
    spec().operand_count = static_cast<u8>(drafts_.size());
    spec().stage_count = static_cast<u8>(stages_.size());
    std::copy(stages_.begin(), stages_.end(), spec().stage.begin());
  }

  // ---- dimensions and places

  /// As the last output has them from slow to fast, then the others; those that nothing has are
  /// gone.
  void number_dims() {
    std::array<u8, kMaxDims> order;
    std::iota(order.begin(), order.end(), u8{0});
    std::shuffle(order.begin(), order.end(), random_);
    const DimMask out = drafts_.back().dims;
    std::stable_partition(order.begin(), order.end(), [&](u8 d) { return has_dim(out, d); });
    DimMask used = spec().reduced();
    for (const Draft& d : drafts_) used = static_cast<DimMask>(used | d.dims);
    std::array<u8, kMaxDims> now{};
    const std::array<u32, kMaxDims> size = spec().size;
    spec().size = {};
    spec().rank = 0;
    for (u8 d : order) {
      if (!has_dim(used, d)) continue;
      spec().size[spec().rank] = size[d];
      now[d] = spec().rank++;
    }
    auto map = [&](DimMask& mask) {
      DimMask mapped = 0;
      for (int d = 0; d < kMaxDims; d++)
        if (has_dim(mask, d)) mapped = static_cast<DimMask>(mapped | 1u << now[d]);
      mask = mapped;
    };
    for (Draft& d : drafts_) map(d.dims);
    for (int s = 0; s < spec().stage_count; s++) map(spec().stage[s].reduce);
    // Of operands that have no place yet: for what asks for the dimensions of values.
    for (int o = 0; o < spec().operand_count; o++) {
      spec().operand[o].dims = drafts_[o].dims;
      spec().operand[o].access = drafts_[o].access;
    }
  }

  void draw_windows() {
    int windows = 0;
    std::array<DimMask, kMaxOperands> taken{};
    for (int tries = 0; tries < 3 && windows < kMaxWindows; tries++) {
      const u32 o = below(drafts_.size());
      if (drafts_[o].access != Access::kIn || !chance(random_, 50)) continue;
      std::vector<u8> dims;
      for (u8 d = 0; d < spec().rank; d++)
        if (has_dim(drafts_[o].dims & ~taken[o], d)) dims.push_back(d);
      if (dims.size() < 2) continue;
      std::shuffle(dims.begin(), dims.end(), random_);
      Window w{dims[0], dims[1], static_cast<u16>(pick(random_, 1, 3)),
               static_cast<u16>(pick(random_, 1, 3))};
      if (windows == 1 && w == spec().window[0]) continue;
      if (w.step != 1 && w.dilation != 1 && is_bordered(spec(), spec().operand[o])) continue;
      const bool bordered = reduces_alone(static_cast<Ref>(o), w.inner) && chance(random_, 60) &&
                            has_plain_windows(spec(), spec().operand[o]) && draw_border(w);
      const DimMask both = static_cast<DimMask>(1u << w.outer | 1u << w.inner);
      for (u32 x = 0; x < drafts_.size(); x++) {
        if (drafts_[x].access != Access::kIn || (both & ~drafts_[x].dims) != 0 ||
            (both & taken[x]) != 0 || (x != o && (bordered || chance(random_, 50))))
          continue;
        const bool plain = w.step == 1 || w.dilation == 1;
        if (!plain && is_bordered(spec(), spec().operand[x])) continue;
        taken[x] = static_cast<DimMask>(taken[x] | both);
        spec().operand[x].windows = static_cast<u8>(spec().operand[x].windows | 1u << windows);
      }
      spec().window[static_cast<size_t>(windows++)] = w;
    }
  }

  /// One stage reads it, and reduces the dimension.
  bool reduces_alone(Ref operand, u8 dim) const {
    int readers = 0;
    bool reduces = false;
    for (int s = 0; s < problem_.spec.stage_count; s++) {
      const Stage& stage = problem_.spec.stage[s];
      if (std::find(stage.in.begin(), stage.in.end(), operand) == stage.in.end()) continue;
      readers++;
      reduces = is_reduction(stage) && has_dim(stage.reduce, dim);
    }
    return readers == 1 && reduces;
  }

  /// Borders that leave two elements inside. False: there is no room.
  bool draw_border(Window& w) {
    if (w.step != 1 && w.dilation != 1) w.dilation = 1;
    const u32 span = w.step * (spec().size[w.outer] - 1) + w.dilation * (spec().size[w.inner] - 1);
    if (span < 2) return false;
    const u32 all = pick(random_, 1, std::min(span - 1, 5u));
    w.before = static_cast<u16>(pick(random_, 0, all));
    w.after = static_cast<u16>(all - w.before);
    return true;
  }

  /// Layout and pitch of operand `o`, dense or with runs apart.
  void place(int o) {
    const Draft& draft = drafts_[static_cast<size_t>(o)];
    const u8 windows = spec().operand[o].windows;
    DimMask axes = draft.dims, outer = 0;
    for (int w = 0; w < kMaxWindows; w++) {
      if (!(windows >> w & 1)) continue;
      axes = static_cast<DimMask>(axes & ~(1u << spec().window[w].inner));
      outer = static_cast<DimMask>(outer | 1u << spec().window[w].outer);
    }
    Level level = Level::kMemory;
    if (options_.levels && chance(random_, 50)) level = static_cast<Level>(below(kLevels));
    Operand like;
    like.windows = windows;
    const bool bordered = is_bordered(spec(), like);
    if (bordered && level == Level::kRegister) level = Level::kL1;
    const DimMask whole = level == Level::kRegister || bordered ? axes : outer;
    Layout layout = random_blocks(spec(), axes, whole, random_);
    if (o == spec().out_index()) {  // by their numbers
      u8 next = 0;
      std::array<u8, kMaxDims> now{};
      for (int i = 0; i < layout.count(); i++)
        if (layout.block[i] == 0) now[layout.dim[i]] = next++;
      // Blocks were drawn for the sizes of other dimensions.
      layout = plain_layout(layout);
      for (int i = 0; i < layout.count(); i++) layout.dim[i] = now[layout.dim[i]];
      if (level != Level::kRegister && chance(random_, 40)) add_blocks(spec(), 0, layout, random_);
    }
    Operand& x = spec().operand[o];
    x = dense_operand(spec(), draft.dtype, level, draft.access, draft.dims, layout, windows);
    const PhysicalDims p = physical_dims(spec(), x);
    auto& pitch = problem_.pitch[o];
    int apart = -1;  // entry
    if (p.count > 0 && level == Level::kMemory && chance(random_, 30))
      apart = static_cast<int>(below(p.count));
    i64 elements = 1;
    for (int i = p.count - 1; i >= 0; i--) {
      if (i == apart) {
        elements += pick(random_, 1, chance(random_, 10) ? 500 : 3);
        x.contig = std::min(x.contig, static_cast<u8>(p.count - 1 - i));
        set_pitch(x, static_cast<u64>(elements) * size_of(x.dtype));
      }
      pitch[static_cast<size_t>(i)] = elements;
      elements *= p.size[i];
    }
    if (level == Level::kRegister && x.contig != 0) x.contig = static_cast<u8>(p.count);
    forget_pitch(x);
    problem_.views[o] = apart >= 0 ? view_of(x, pitch) : dense_view(spec(), x);
    problem_.data[o].assign(static_cast<size_t>(elements) * size_of(x.dtype), 0);
    x.free_layout = options_.free && level == Level::kMemory && draft.access == Access::kIn &&
                    chance(random_, 30);
  }

  View view_of(const Operand& x, const std::array<i64, kMaxPhysical>& pitch) const {
    View v;
    std::array<u8, kMaxDims> pieces{};
    for (int i = x.layout.count() - 1; i >= 0; i--) {
      const u8 d = x.layout.dim[i], piece = pieces[d]++;
      DimView& view = v.dim[d];
      view.stride[piece] = pitch[static_cast<size_t>(i)];
      if (x.layout.block[i])
        view.block[piece] = x.layout.block[i] * (piece ? view.block[piece - 1] : 1);
    }
    for (int w = 0; w < kMaxWindows; w++) {
      if (!x.has_window(w)) continue;
      const Window& window = problem_.spec.window[w];
      const i64 axis = v.dim[window.outer].stride[0];
      v.dim[window.outer].stride[0] = axis * window.step;
      v.dim[window.inner].stride[0] = axis * window.dilation;
    }
    return v;
  }

  Random& random_;
  const RandomSpecOptions& options_;
  GeneralProblem problem_;
  std::vector<Draft> drafts_;
  std::vector<Stage> stages_;
  std::vector<DimMask> value_dims_;
};

double any_number(Dtype dtype, Random& random) {
  if (dtype != Dtype::kF32 || chance(random, 5))
    return number_of_bits(dtype, static_cast<u32>(random()));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {0.0, -0.0, 1, kInfinity, -kInfinity, 1e-40, 3e38, 1e-20};
  if (chance(random, 5)) return kOdd[pick(random, 0, std::size(kOdd) - 1)];
  return std::uniform_real_distribution<float>(-2, 2)(random);
}

}  // namespace

void GeneralProblem::fill(Random& random, Numbers numbers) {
  for (int o = 0; o < spec.operand_count; o++) {
    const Dtype dtype = spec.operand[o].dtype;
    const i64 n = static_cast<i64>(data[o].size() / size_of(dtype));
    for (i64 i = 0; i < n; i++) {
      const double small = static_cast<double>(pick(random, 0, 4)) - 2;
      store_number(dtype, data[o].data(), i,
                   numbers == Numbers::kSmall ? small : any_number(dtype, random));
    }
  }
}

std::vector<OperandMemory> GeneralProblem::memory() {
  std::vector<OperandMemory> m;
  for (int o = 0; o < spec.operand_count; o++)
    m.push_back({data[o].data(), data[o].size() / size_of(spec.operand[o].dtype)});
  return m;
}

std::array<void*, kMaxOperands> GeneralProblem::pointers() {
  std::array<void*, kMaxOperands> p{};
  for (int o = 0; o < spec.operand_count; o++) p[o] = data[o].data();
  return p;
}

GeneralProblem random_general(Random& random, const RandomSpecOptions& options) {
  for (;;) {
    SpecMaker maker(random, options);
    if (maker.draw()) return std::move(maker.problem());
  }
}

Layout random_blocks(const Spec& spec, DimMask dims, DimMask whole_only, Random& random) {
  Layout l;
  for (u8 d = 0; d < kMaxDims; d++)
    if (has_dim(dims, d)) l.append(d);
  std::shuffle(l.dim.begin(), l.dim.begin() + l.count(), random);
  if (chance(random, 40)) add_blocks(spec, whole_only, l, random);
  return l;
}

Spec renumbered(const Spec& spec, const std::array<u8, kMaxDims>& now) {
  Spec s = spec;
  auto map = [&](DimMask mask) {
    DimMask mapped = 0;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(mask, d)) mapped = static_cast<DimMask>(mapped | 1u << now[d]);
    return mapped;
  };
  for (int d = 0; d < spec.rank; d++) s.size[now[d]] = spec.size[d];
  for (int o = 0; o < s.operand_count; o++) {
    s.operand[o].dims = map(s.operand[o].dims);
    for (u8& d : s.operand[o].layout.dim)
      if (d != kNoDim) d = now[d];
  }
  for (int i = 0; i < s.stage_count; i++) s.stage[i].reduce = map(s.stage[i].reduce);
  for (Window& w : s.window)
    if (w.used()) w.outer = now[w.outer], w.inner = now[w.inner];
  if (Diagonal& diagonal = s.diagonal; diagonal.used()) {
    if (diagonal.row != kNoDim) diagonal.row = now[diagonal.row];
    diagonal.column = now[diagonal.column];
  }
  return s;
}

}  // namespace morello::testing
