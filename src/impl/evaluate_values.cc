// SPDX-License-Identifier: MIT
#include "impl/evaluate_values.hh"

#include <algorithm>
#include <vector>

#include "impl/arithmetic.hh"
#include "spec/border.hh"
#include "spec/gather.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using Index = std::array<u32, kMaxDims>;

/// Calls f(index) for all points of `dims`; the other indices stay as they are.
template <class F>
void each_point(const Spec& spec, DimMask dims, Index& index, const F& f, int dim = 0) {
  while (dim < spec.rank && !has_dim(dims, dim)) dim++;
  if (dim == spec.rank) return f();
  for (u32 i = 0; i < spec.size[dim]; i++) {
    index[dim] = i;
    each_point(spec, dims, index, f, dim + 1);
  }
  index[dim] = 0;
}

class ValueEvaluator {
 public:
  ValueEvaluator(const Spec& spec, const Views& views, void* const* operands)
      : spec_(spec), views_(views), operands_(operands) {}

  /// Outputs are written when all values are known: what stages read of them is what they held.
  void run() {
    for (int s = 0; s < spec_.stage_count; s++) {
      prepare(s);
      Index index{};
      each_point(spec_, values_[s].dims, index, [&] { value_at(s, index); });
    }
    for (int s = 0; s < spec_.stage_count; s++)
      if (is_operand(spec_.stage[s].out)) write(s);
  }

  /// Computes what these elements of the output need, and no more.
  size_t run_at(int output, std::span<const i64> offsets, double* values) {
    std::vector<Index> at(offsets.size());
    for (size_t i = 0; i < offsets.size(); i++)
      if (!find(output, offsets[i], at[i])) return i;
    int writer = 0;
    for (int s = 0; s < spec_.stage_count; s++) {
      prepare(s);
      if (spec_.stage[s].out == output) writer = s;
    }
    for (size_t i = 0; i < offsets.size(); i++)
      values[i] = rounded(spec_.operand[output].dtype, written(writer, at[i]));
    return offsets.size();
  }

 private:
  void prepare(int s) {
    Value& value = values_[s];
    value.dims = dims_of(spec_, value_of(s));
    u64 size = 1;
    for (int d = 0; d < spec_.rank; d++)
      if (has_dim(value.dims, d)) {
        value.stride[d] = size;
        size *= spec_.size[d];
      }
    value.number.resize(size);
    value.known.resize(size);
  }

  /// Of a stage, at the dimensions of its value that are in `index`.
  double value_at(int s, Index index) {
    const Stage& stage = spec_.stage[s];
    Value& value = values_[s];
    const u64 place = value.place(index);
    if (value.known[place]) return value.number[place];
    double result = identity_of(stage.op, stage.dtype);
    if (is_reduction(stage)) {
      for (int d = 0; d < spec_.rank; d++)
        if (has_dim(stage.reduce, d)) index[d] = 0;
      each_point(spec_, stage.reduce, index, [&] {
        result = combined(stage.op, result, term(stage, index));
        if (stage.dtype == Dtype::kI32) result = wrapped_i32(result);
      });
    } else {
      result = term(stage, index);
    }
    value.known[place] = true;
    return value.number[place] = is_reduction(stage) && accumulates(spec_, stage)
                                     ? result  // rounded with what it is added to
                                     : in_stage(stage, result);
  }

  /// The index of the output's element at `offset`. False if there is none.
  bool find(int output, i64 offset, Index& index) const {
    const View& view = views_[output];
    index = {};
    // Each dimension of an output steps over all those with smaller strides.
    for (DimMask left = spec_.operand[output].dims; left != 0;) {
      int slowest = -1;
      for (int d = 0; d < spec_.rank; d++)
        if (has_dim(left, d) &&
            (slowest < 0 || view.dim[d].stride[0] > view.dim[slowest].stride[0]))
          slowest = d;
      left = static_cast<DimMask>(left & ~(1u << slowest));
      const i64 stride = view.dim[slowest].stride[0], at = offset / stride;
      if (offset < 0 || at >= static_cast<i64>(spec_.size[slowest])) return false;
      index[slowest] = static_cast<u32>(at);
      offset -= at * stride;
    }
    return offset == 0;
  }

  /// What one point adds to the value.
  double term(const Stage& stage, const Index& index) {
    if (stage.op == Op::kFill) return constant_of(stage);
    if (stage.op == Op::kGather) return gathered_at(stage, index);
    const double x = input(stage, 0, index);
    const double y = stage.in[1] == kNoRef ? 0 : input(stage, 1, index);
    const double z = stage.in[2] == kNoRef ? 0 : input(stage, 2, index);
    if (is_reduction(stage) && stage.op != Op::kMulAdd) return x;
    if (stage.op == Op::kKeep) return is_kept(index) ? x : masked(x);
    double result = 0;
    with_function(stage.op, stage.dtype, [&](auto f) { result = f(x, y, z); });
    return result;
  }

  double gathered_at(const Stage& stage, Index index) {
    if (const u8 dim = gathered_dim(stage); dim != kNoDim) {
      const double last = static_cast<double>(spec_.size[dim]) - 1;
      index[dim] = static_cast<u32>(std::clamp(read(stage.in[1], index), 0.0, last));
    }
    return read(stage.in[0], index);
  }

  bool is_kept(const Index& index) const {
    const Diagonal& diagonal = spec_.diagonal;
    const u64 row = diagonal.row == kNoDim ? 0 : index[diagonal.row];
    return index[diagonal.column] < row + diagonal.kept;
  }

  double input(const Stage& stage, int i, const Index& index) {
    if (stage.in[i] == kConstant) return constant_of(stage);
    const double x = read(stage.in[i], index);
    return rounds_input(spec_, stage, stage.in[i]) ? static_cast<float>(x) : x;
  }

  double read(Ref ref, const Index& index) {
    if (is_value(ref)) return value_at(stage_of(ref), index);
    i64 before = 0;  // elements
    if (has_borders_ && !inside(ref, index, before)) return border_value(spec_, ref);
    return load_number(spec_.operand[ref].dtype, operands_[ref], offset(ref, index) - before);
  }

  /// False: windows put this point into the border. `before`: what the axes begin with of it.
  bool inside(int operand, const Index& index, i64& before) const {
    const Operand& x = spec_.operand[operand];
    for (int w = 0; w < kMaxWindows; w++) {
      const Window& window = spec_.window[w];
      if (!x.has_window(w) || !is_bordered(window)) continue;
      const i64 at = i64{window.step} * index[window.outer] +
                     i64{window.dilation} * index[window.inner] - window.before;
      if (at < 0 || at >= axis_size(spec_, x, window.outer)) return false;
      before += views_[operand].dim[window.outer].stride[0] / window.step * window.before;
    }
    return true;
  }

  i64 offset(int operand, const Index& index) const {
    i64 at = 0;
    for (int d = 0; d < spec_.rank; d++)
      if (has_dim(spec_.operand[operand].dims, d)) at += views_[operand].dim[d].at(index[d]);
    return at;
  }

  void write(int s) {
    const Stage& stage = spec_.stage[s];
    const Operand& out = spec_.operand[stage.out];
    Index index{};
    each_point(spec_, out.dims, index, [&] {
      store_number(out.dtype, operands_[stage.out], offset(stage.out, index), written(s, index));
    });
  }

  /// Before it is converted to the element type of the output.
  double written(int s, const Index& index) {
    const Stage& stage = spec_.stage[s];
    const double number = value_at(s, index);
    if (!accumulates(spec_, stage)) return number;
    return in_stage(stage, combined(stage.op, read(stage.out, index), number));
  }

  struct Value {
    DimMask dims = 0;
    std::array<u64, kMaxDims> stride{};
    std::vector<double> number;
    std::vector<bool> known;
    u64 place(const Index& index) const {
      u64 i = 0;
      for (int d = 0; d < kMaxDims; d++) i += index[d] * stride[d];
      return i;
    }
  };

  const Spec& spec_;
  const Views& views_;
  void* const* operands_;
  const bool has_borders_ = bordered_operand(spec_) >= 0;
  std::array<Value, kMaxStages> values_;
};

}  // namespace

void evaluate_values(const Spec& spec, const Views& views, void* const* operands) {
  ValueEvaluator(spec, views, operands).run();
}

size_t evaluate_values_at(const Spec& spec, const Views& views, void* const* operands, int output,
                          std::span<const i64> offsets, double* values) {
  return ValueEvaluator(spec, views, operands).run_at(output, offsets, values);
}

}  // namespace morello
