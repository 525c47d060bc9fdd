// SPDX-License-Identifier: MIT
#include "spec/canonical.hh"

#include <algorithm>
#include <bit>

#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Collects the first thing that is wrong.
class Judge {
 public:
  template <class... Parts>
  bool require(bool holds, const Parts&... parts) {
    if (!holds && bad_.empty()) (append(parts), ...);
    return holds;
  }
  void take(std::string bad, const std::string& where) {
    if (bad_.empty() && !bad.empty()) bad_ = where + bad;
  }
  bool ok() const { return bad_.empty(); }
  std::string result() { return std::move(bad_); }

 private:
  void append(const char* text) { bad_ += text; }
  void append(int number) { bad_ += std::to_string(number); }
  std::string bad_;
};

bool is_known(Dtype dtype) {
  return std::find(std::begin(kAllDtypes), std::end(kAllDtypes), dtype) != std::end(kAllDtypes);
}

/// How many inputs a stage has; -1: there is no such operation, or it may not reduce.
int inputs_of(const Stage& stage) {
  if (stage.op == Op::kMulAdd) return 2;
  if (can_reduce(stage.op) && stage.in[1] == kNoRef) return 1;
  if (stage.op == Op::kGather) return std::popcount(stage.reduce) > 1 ? -1 : 2;
  if (stage.reduce != 0) return -1;
  if (stage.op == Op::kFill) return 0;
  if (stage.op == Op::kCopy || stage.op == Op::kKeep) return 1;
  const int inputs = elementwise_inputs(stage.op);
  return inputs == 0 ? -1 : inputs;
}

Dtype dtype_of(const Spec& spec, Ref ref) {
  return is_value(ref) ? spec.stage[stage_of(ref)].dtype : spec.operand[ref].dtype;
}

/// The index is an integer, and has not what it names places of.
void judge_gather(const Spec& spec, const Stage& stage, int index, Judge& judge) {
  judge.require(is_integer(dtype_of(spec, stage.in[1])), "stage ", index,
                " gathers by what is no integer");
  judge.require((stage.reduce & ~dims_of(spec, stage.in[0])) == 0 &&
                    (stage.reduce & dims_of(spec, stage.in[1])) == 0,
                "stage ", index, " gathers along a dimension of its index");
  judge.require(stage.dtype == computed_in(dtype_of(spec, stage.in[0])), "stage ", index,
                " gathers in another element type");
}

void judge_stage(const Spec& spec, int index, Judge& judge) {
  const Stage& stage = spec.stage[index];
  const int inputs = inputs_of(stage);
  if (!judge.require(inputs >= 0, "stage ", index, " has no such operation, or must not reduce"))
    return;
  judge.require(stage.reserved == 0, "stage ", index, " has a reserved byte set");
  judge.require(is_known(stage.dtype), "stage ", index, " has no known element type");
  for (int i = 0; i < kMaxInputs; i++) {
    const Ref in = stage.in[i];
    if (i >= inputs)
      judge.require(in == kNoRef, "stage ", index, " has too many inputs");
    else if (is_value(in))
      judge.require((in - kFirstValue) % 4 == 0 && stage_of(in) < index, "stage ", index,
                    " reads the value of no earlier stage");
    else if (in == kConstant)
      judge.require(inputs >= 2 && stage.op != Op::kMulAdd && stage.op != Op::kGather &&
                        std::count(stage.in.begin(), stage.in.end(), kConstant) == 1,
                    "stage ", index, " reads a constant, and not as one of several inputs");
    else
      judge.require(in < spec.operand_count, "stage ", index, " reads no operand");
  }
  if (!judge.ok()) return;
  judge.require(stage.op == Op::kFill || reads_constant(stage) || stage.constant == 0, "stage ",
                index, " has a constant that it does not read");
  judge.require(size_of(stage.dtype) == 4 || stage.constant >> 16 == 0, "stage ", index,
                " has a constant with more bits than its element type");
  judge.require((stage.reduce & ~spec.all_dims()) == 0, "stage ", index,
                " reduces dimensions that there are not");
  if (stage.op == Op::kGather) judge_gather(spec, stage, index, judge);
  const bool integer = is_integer(stage.dtype);
  if (integer) {
    judge.require(stage.dtype == Dtype::kI32, "stage ", index, " is not computed in i32");
    judge.require(has_integers(stage.op), "stage ", index, " has no integers");
    for (int i = 0; i < inputs; i++) {
      const Ref in = stage.in[i];
      if (in == kConstant) continue;
      judge.require(is_integer(dtype_of(spec, in)), "stage ", index,
                    " computes floats in integers");
    }
  }
  if (is_reduction(stage))
    judge.require(computed_in(stage.dtype) == stage.dtype, "stage ", index,
                  " sums in a narrow element type");
  if (stage.out == kNoRef) return;
  if (!judge.require(
          stage.out < spec.operand_count && spec.operand[stage.out].access != Access::kIn, "stage ",
          index, " writes no output"))
    return;
  judge.require(!integer || !is_narrow_float(spec.operand[stage.out].dtype), "stage ", index,
                " writes an integer as a float of 16 bits, without rounding to f32 first");
  const DimMask value = dims_of(spec, value_of(index)), out = spec.operand[stage.out].dims;
  judge.require((value & ~out) == 0, "stage ", index, " writes an output that lacks dimensions");
  if (!accumulates(spec, stage)) return;
  judge.require(spec.operand[stage.out].dtype == stage.dtype, "stage ", index,
                " adds to an output of another element type");
  judge.require(!is_read(spec, value_of(index)), "stage ", index,
                " adds to an output, and is read by another stage");
}

void judge_stages(const Spec& spec, Judge& judge) {
  for (int s = 0; s < kMaxStages && judge.ok(); s++) {
    if (s < spec.stage_count)
      judge_stage(spec, s, judge);
    else
      judge.require(spec.stage[s] == Stage{}, "unused stage ", s, " is not empty");
  }
  if (!judge.ok()) return;
  for (int s = 0; s < spec.stage_count; s++) {
    judge.require(spec.stage[s].out != kNoRef || is_read(spec, value_of(s)), "the value of stage ",
                  s, " is not used");
    for (int t = 0; t < s; t++)
      judge.require(spec.stage[s] != spec.stage[t], "stages ", t, " and ", s, " are the same");
  }
}

/// There is one if a stage keeps, and all values that are kept have its dimensions.
void judge_diagonal(const Spec& spec, Judge& judge) {
  const Diagonal& diagonal = spec.diagonal;
  DimMask dims = 0;
  bool keeps = false;
  if (diagonal.used()) {
    const bool rows = diagonal.row != kNoDim;
    if (!judge.require(diagonal.column < spec.rank && diagonal.column != diagonal.row &&
                           (!rows || diagonal.row < spec.rank) && diagonal.reserved == 0,
                       "the diagonal has no two dimensions"))
      return;
    dims = static_cast<DimMask>(1u << diagonal.column | (rows ? 1u << diagonal.row : 0));
  } else {
    judge.require(diagonal == Diagonal{}, "there is no diagonal, but something of one");
  }
  for (int s = 0; s < spec.stage_count; s++) {
    if (spec.stage[s].op != Op::kKeep) continue;
    keeps = true;
    judge.require(spec.stage[s].dtype == Dtype::kF32, "stage ", s, " keeps no f32");
    judge.require((dims & ~dims_of(spec, value_of(s))) == 0, "stage ", s,
                  " lacks a dimension of the diagonal");
  }
  judge.require(keeps == diagonal.used(), "a diagonal without a stage that keeps, or the reverse");
  judge.require(!keeps || spec.operand_count < kMaxOperands, "has no room for a mask");
}

/// Inputs first, each one read, in the order in which stages read them; then outputs, each written
/// once and read only if kInOut.
void judge_uses(const Spec& spec, Judge& judge) {
  int next = 0;  // input to be met
  for (int s = 0; s < spec.stage_count; s++)
    for (Ref in : spec.stage[s].in) {
      if (!is_operand(in)) continue;
      const bool output = spec.operand[in].access != Access::kIn;
      judge.require(!output || spec.operand[in].access == Access::kInOut, "output ", in,
                    " is read, but not kInOut");
      if (output || in < next) continue;
      judge.require(in == next, "operand ", in, " is read before operand ", next);
      next++;
    }
  bool outputs = false;
  for (int o = 0; o < spec.operand_count && judge.ok(); o++) {
    if (spec.operand[o].access == Access::kIn) {
      judge.require(o < next, "no stage reads operand ", o);
      continue;
    }
    outputs = true;
    int writers = 0;
    for (int s = 0; s < spec.stage_count; s++) writers += spec.stage[s].out == o;
    judge.require(writers == 1, "output ", o, " has ", writers, " writers");
  }
  judge.require(outputs, "there is no output");
}

/// One stage reads the operand, and leaves out what is outside; some of it is inside.
void judge_border(const Spec& spec, int w, Judge& judge) {
  const Window& window = spec.window[w];
  if (!judge.ok() || !is_bordered(window)) return;
  const u64 span = u64{window.step} * (spec.size[window.outer] - 1) +
                   u64{window.dilation} * (spec.size[window.inner] - 1) + 1;
  judge.require(span >= u64{window.before} + window.after + 2, "window ", w,
                " has less than two elements inside");
  int owners = 0, readers = 0;
  for (Ref o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (!x.has_window(w)) continue;
    owners++;
    judge.require(!x.layout.packed(), "window ", w, " has borders, over blocks");
    judge.require(has_plain_windows(spec, x), "window ", w,
                  " has borders, and an axis of its operand moves by one along no dimension");
    for (int s = 0; s < spec.stage_count; s++) {
      const Stage& stage = spec.stage[s];
      if (std::find(stage.in.begin(), stage.in.end(), o) == stage.in.end()) continue;
      readers++;
      judge.require(is_reduction(stage) && (has_dim(stage.reduce, window.inner) ||
                                            has_dim(stage.reduce, window.outer)),
                    "window ", w, " has borders, and stage ", s, " does not reduce them");
    }
  }
  judge.require(owners == 1 && readers == 1, "window ", w, " has borders, and several readers");
}

void judge_windows(const Spec& spec, Judge& judge) {
  u8 used = 0;
  for (int o = 0; o < spec.operand_count; o++)
    used = static_cast<u8>(used | spec.operand[o].windows);
  for (int w = 0; w < kMaxWindows; w++) {
    const Window& window = spec.window[w];
    if (!(used >> w & 1)) {
      judge.require(window == Window{}, "window ", w, " is not used");
      judge.require(used >> w == 0, "window ", w, " is left out");
      continue;
    }
    judge.require(
        window.outer < spec.rank && window.inner < spec.rank && window.outer != window.inner,
        "window ", w, " has no two dimensions");
    judge.require(window.step >= 1 && window.dilation >= 1, "window ", w, " does not move");
    judge_border(spec, w, judge);
  }
  judge.require(used >> kMaxWindows == 0, "there are no such windows");
  judge.require(spec.window[0] != spec.window[1] || !spec.window[0].used(),
                "two windows are the same");
}

/// The dimensions that have an entry in the layout: not the inner ones of windows. False: windows
/// share a dimension, or the operand lacks one.
bool axes_of(const Spec& spec, const Operand& x, DimMask& axes) {
  axes = x.dims;
  DimMask seen = 0;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!x.has_window(w)) continue;
    const Window& window = spec.window[w];
    const DimMask both = static_cast<DimMask>(1u << window.outer | 1u << window.inner);
    if ((both & ~x.dims) != 0 || (both & seen) != 0) return false;
    seen = static_cast<DimMask>(seen | both);
    axes = static_cast<DimMask>(axes & ~(1u << window.inner));
  }
  return true;
}

std::string not_canonical_operand(const Spec& spec, const Operand& x) {
  Judge judge;
  judge.require(is_known(x.dtype), "has no known element type");
  judge.require(x.level <= Level::kMemory, "has no such level");
  judge.require(x.access <= Access::kInOut, "has no such access");
  judge.require(x.bank <= Bank::kTile, "has no such bank");
  judge.require((x.dims & ~spec.all_dims()) == 0, "has dimensions that there are not");
  judge.require(x.windows == 0 || x.access == Access::kIn, "is an output with windows");
  judge.require(x.bank == Bank::kVector || x.level == Level::kRegister, "has a bank in memory");
  DimMask axes = 0;
  if (!judge.ok() || !judge.require(axes_of(spec, x, axes), "has windows over wrong dimensions"))
    return judge.result();
  judge.take(not_canonical(x.layout, axes), "");
  for (int w = 0; w < kMaxWindows; w++)
    judge.require(!x.has_window(w) || x.layout.block_of(spec.window[w].outer) == 1,
                  "has a window in blocks");
  judge.require(x.contig <= x.layout.count(), "has a run of more than all dimensions");
  judge.require((x.alias & kRunAlias) < kAliasCount, "has no such alias");
  judge.require(window_alias(x) <= (x.windows ? kMaxAlias : 0), "has no such window's alias");
  return judge.result();
}

Judge judge_form(const Spec& spec) {
  Judge judge;
  judge.require(spec.rank <= kMaxDims && spec.operand_count >= 1 &&
                    spec.operand_count <= kMaxOperands && spec.stage_count >= 1 &&
                    spec.stage_count <= kMaxStages,
                "has no such rank, or number of operands or stages");
  if (!judge.ok()) return judge;
  for (int o = spec.operand_count; o < kMaxOperands; o++)
    judge.require(spec.operand[o] == Operand{}, "unused operand ", o, " is not empty");
  judge_windows(spec, judge);
  for (int o = 0; o < spec.operand_count && judge.ok(); o++)
    judge.take(not_canonical_operand(spec, spec.operand[o]), "operand " + std::to_string(o) + ' ');
  if (judge.ok()) judge_stages(spec, judge);
  if (judge.ok()) judge_uses(spec, judge);
  if (judge.ok()) judge_diagonal(spec, judge);
  DimMask used = 0;
  for (int o = 0; o < spec.operand_count; o++)
    used = static_cast<DimMask>(used | spec.operand[o].dims);
  if (judge.ok())
    judge.require((used | spec.reduced()) == spec.all_dims(), "has a dimension that nothing has");
  return judge;
}

}  // namespace

std::string not_canonical(const Layout& layout, DimMask dims) {
  Judge judge;
  const int count = layout.count();
  DimMask whole = 0;
  std::array<int, kMaxDims> pieces{};
  for (int i = 0; i < kMaxPhysical; i++) {
    const u8 d = layout.dim[i], block = layout.block[i];
    if (i >= count) {
      judge.require(d == kNoDim && block == 0, "has a layout with a gap");
      continue;
    }
    if (!judge.require(has_dim(dims, d), "has a layout of other dimensions")) break;
    judge.require(++pieces[d] <= kMaxPieces, "has a dimension in too many blocks");
    judge.require(block != 1, "has blocks of 1");
    if (block != 0)
      judge.require(has_dim(whole, d), "has blocks that are slower than the whole");
    else
      judge.require(!has_dim(whole, d), "has a dimension twice");
    whole = static_cast<DimMask>(whole | 1u << d);
  }
  judge.require(!judge.ok() || whole == dims, "has a layout that lacks dimensions");
  return judge.result();
}

std::string not_canonical(const Spec& spec, const Operand& x) {
  Judge judge;
  judge.take(not_canonical_operand(spec, x), "");
  if (!judge.ok()) return judge.result();
  for (int d = 0; d < spec.rank; d++)
    judge.require(x.layout.block_of(d) == 1 || x.layout.block_of(d) < spec.size[d],
                  "has blocks that hold all there is");
  judge.require(!x.free_layout || x.level == Level::kMemory, "is free, but not in memory");
  judge.require(x.far <= kPaged, "is far in a way that there is not");
  if (x.level == Level::kRegister) {
    judge.require(!is_bordered(spec, x), "is in registers, and has borders");
    judge.require(x.far == 0 && x.alias == 0, "is in registers, and remembers memory");
    judge.require(x.contig == 0 || x.contig == x.layout.count(), "is in registers, in parts");
    judge.require(!x.layout.packed(), "is in registers, in blocks");
  }
  Operand forgotten = x;
  forget_pitch(forgotten);
  judge.require(forgotten == x, "remembers more than its level needs");
  return judge.result();
}

std::string not_canonical_form(const Spec& spec) { return judge_form(spec).result(); }

std::string not_canonical(const Spec& spec) {
  Judge judge = judge_form(spec);
  for (int d = 0; d < kMaxDims && judge.ok(); d++)
    judge.require(d < spec.rank ? spec.size[d] >= 2 : spec.size[d] == 0, "dimension ", d,
                  " has a wrong size");
  for (int o = 0; o < spec.operand_count && judge.ok(); o++)
    judge.take(not_canonical(spec, spec.operand[o]), "operand " + std::to_string(o) + ' ');
  if (!judge.ok()) return judge.result();
  const Diagonal& diagonal = spec.diagonal;
  judge.require(!diagonal.used() || diagonal.kept < spec.size[diagonal.column],
                "the diagonal keeps everything");
  // Dimensions are numbered as the output has them, from slow to fast, then the others.
  int next = 0;
  const Layout& out = spec.out().layout;
  for (int i = 0, n = out.count(); i < n; i++)
    if (out.block[i] == 0)
      judge.require(out.dim[i] == next, "dimension ", next, " is not where the output has it"),
          next++;
  return judge.result();
}

}  // namespace morello
