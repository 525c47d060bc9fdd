// SPDX-License-Identifier: MIT
// Chains are worked on in lines: pieces of one dimension of the output. Every operation then is a
// loop over a line of doubles, and the choice of the operation is outside of it. What is no chain
// is evaluated value by value (evaluate_values.cc).
#include "impl/evaluate.hh"

#include <algorithm>
#include <cassert>

#include "impl/arithmetic.hh"
#include "impl/evaluate_values.hh"
#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

constexpr u32 kLine = 256;
using Line = std::array<double, kLine>;
using Offsets = std::array<i64, kMaxOperands>;

class ChainEvaluator {
 public:
  ChainEvaluator(const Spec& spec, const Views& views, const void* const* operands)
      : spec_(spec), views_(views), operands_(operands), line_dim_(choose_line_dim()) {
    for (int d = 0; d < spec.rank; d++) {
      if (has_dim(spec.reduced(), d))
        inner_[inner_count_++] = d;
      else if (d != line_dim_)
        outer_[outer_count_++] = d;
      if (!has_dim(spec.reduced(), d)) by_stride_[out_count_++] = d;
    }
    std::sort(by_stride_.begin(), by_stride_.begin() + out_count_,
              [&](int a, int b) { return out_view()[a].stride[0] > out_view()[b].stride[0]; });
  }

  void run(void* output) {
    output_ = output;
    run_outer(0, Offsets{});
  }

  /// REQUIRES: seek() finds all.
  void run_at(std::span<const i64> offsets, double* values) {
    for (size_t begin = 0; begin < offsets.size(); begin += kLine) {
      length_ = static_cast<u32>(std::min<size_t>(kLine, offsets.size() - begin));
      for (u32 j = 0; j < length_; j++) {
        seek(offsets[begin + j]);
        for (int o = 0; o < spec_.operand_count; o++) at_[o][j] = here_[o];
      }
      find_patterns();
      compute_line(Offsets{});
      for (u32 j = 0; j < length_; j++) values[begin + j] = rounded(spec_.out().dtype, value_[j]);
    }
  }

  /// Sets here_ to where all operands of the output's element at `offset` are. False if there is
  /// no element.
  bool seek(i64 offset) {
    if (neighbours_ > 0 && offset == position_ + 1) {
      for (int o = 0; o < spec_.operand_count; o++)
        if (has_dim(spec_.operand[o].dims, fastest_)) here_[o] += views_[o].dim[fastest_].stride[0];
      neighbours_--;
      position_++;
      return true;
    }
    neighbours_ = 0;
    position_ = offset;
    here_ = {};
    // Each dimension of an output steps over all those with smaller strides.
    for (int i = 0; i < out_count_; i++) {
      const int d = by_stride_[i];
      const i64 stride = out_view()[d].stride[0], index = offset / stride;
      if (offset < 0 || index >= static_cast<i64>(spec_.size[d])) return false;
      here_ = moved(here_, d, index);
      offset -= index * stride;
      fastest_ = d;
      if (stride == 1) neighbours_ = static_cast<i64>(spec_.size[d]) - 1 - index;
    }
    return offset == 0;
  }

 private:
  const std::array<DimView, kMaxDims>& out_view() const { return views_[spec_.out_index()].dim; }

  /// The output's fastest dimension, unless it is short; kNoDim if the output is a scalar.
  u8 choose_line_dim() const {
    const Layout& l = spec_.out().layout;
    u8 best = l.count() ? l.fastest() : kNoDim;
    if (best == kNoDim || spec_.size[best] >= 16) return best;
    for (u8 d = 0; d < spec_.rank; d++)
      if (!has_dim(spec_.reduced(), d) && spec_.size[d] > 4 * spec_.size[best]) best = d;
    return best;
  }

  Offsets moved(Offsets offsets, int dim, i64 index) const {
    for (int o = 0; o < spec_.operand_count; o++)
      if (has_dim(spec_.operand[o].dims, dim)) offsets[o] += views_[o].dim[dim].at(index);
    return offsets;
  }

  void run_outer(int depth, const Offsets& offsets) {
    if (depth < outer_count_) {
      int d = outer_[depth];
      for (u32 i = 0; i < spec_.size[d]; i++) run_outer(depth + 1, moved(offsets, d, i));
      return;
    }
    u32 size = line_dim_ == kNoDim ? 1 : spec_.size[line_dim_];
    for (u32 begin = 0; begin < size; begin += kLine) {
      length_ = std::min(kLine, size - begin);
      for (int o = 0; o < spec_.operand_count; o++) {
        bool moves = line_dim_ != kNoDim && has_dim(spec_.operand[o].dims, line_dim_);
        for (u32 j = 0; j < length_; j++)
          at_[o][j] = moves ? views_[o].dim[line_dim_].at(begin + j) : 0;
      }
      find_patterns();
      compute_line(offsets);
      store(offsets);
    }
  }

  /// Which operands of a line are one element, or neighbours in memory.
  void find_patterns() {
    for (int o = 0; o < spec_.operand_count; o++) {
      const auto& at = at_[o];
      broadcast_[o] = contiguous_[o] = true;
      for (u32 j = 1; j < length_; j++) {
        broadcast_[o] &= at[j] == at[0];
        contiguous_[o] &= at[j] == at[0] + j;
      }
    }
  }

  /// Leaves the values in value_.
  void compute_line(const Offsets& offsets) {
    const Stage& head = head_of(spec_);
    if (is_reduction(head)) {
      value_.fill(identity_of(head.op, head.dtype));
      reduce(0, offsets);
      if (accumulates(spec_, head)) {
        load(head, head.out, offsets, y_);
        for (u32 j = 0; j < length_; j++) value_[j] = combined(head.op, y_[j], value_[j]);
      }
    } else {
      apply(head, offsets);
    }
    round_value(head);
    for (int s = 1; s < spec_.stage_count; s++) {
      apply(spec_.stage[s], offsets);
      round_value(spec_.stage[s]);
    }
  }

  void reduce(int depth, const Offsets& offsets) {
    if (depth < inner_count_) {
      int d = inner_[depth];
      for (u32 i = 0; i < spec_.size[d]; i++) reduce(depth + 1, moved(offsets, d, i));
      return;
    }
    const Stage& stage = head_of(spec_);
    load(stage, stage.in[0], offsets, x_);
    if (stage.op == Op::kMulAdd) {
      load(stage, stage.in[1], offsets, y_);
      if (stage.dtype == Dtype::kI32)
        for (u32 j = 0; j < length_; j++)
          value_[j] = wrapped_i32(value_[j] + product_of_integers(x_[j], y_[j]));
      else
        for (u32 j = 0; j < length_; j++) value_[j] += x_[j] * y_[j];
    } else if (stage.op == Op::kAdd && stage.dtype == Dtype::kI32) {
      for (u32 j = 0; j < length_; j++) value_[j] = wrapped_i32(value_[j] + x_[j]);
    } else if (stage.op == Op::kAdd) {
      for (u32 j = 0; j < length_; j++) value_[j] += x_[j];
    } else {
      for (u32 j = 0; j < length_; j++) value_[j] = combined(stage.op, value_[j], x_[j]);
    }
  }

  /// value = op(in...)
  void apply(const Stage& stage, const Offsets& offsets) {
    if (stage.op == Op::kFill) {
      value_.fill(constant_of(stage));
      return;
    }
    load(stage, stage.in[0], offsets, x_);
    if (stage.in[1] != kNoRef) load(stage, stage.in[1], offsets, y_);
    if (stage.in[2] != kNoRef) load(stage, stage.in[2], offsets, z_);
    with_function(stage.op, stage.dtype, [&](auto f) {
      for (u32 j = 0; j < length_; j++) value_[j] = f(x_[j], y_[j], z_[j]);
    });
  }

  void round_value(const Stage& stage) {
    if (stage.dtype == Dtype::kF32)
      for (u32 j = 0; j < length_; j++) value_[j] = static_cast<float>(value_[j]);
    else
      for (u32 j = 0; j < length_; j++) value_[j] = in_stage(stage, value_[j]);
  }

  void load(const Stage& stage, Ref input, const Offsets& offsets, Line& line) const {
    if (input == kConstant) return line.fill(constant_of(stage));
    fetch(input, offsets, line);
    if (!rounds_input(spec_, stage, input)) return;
    for (u32 j = 0; j < length_; j++) line[j] = static_cast<float>(line[j]);
  }

  void fetch(Ref input, const Offsets& offsets, Line& line) const {
    if (is_value(input)) {
      std::copy_n(value_.begin(), length_, line.begin());
      return;
    }
    const Dtype dtype = spec_.operand[input].dtype;
    if (dtype != Dtype::kF32) {
      for (u32 j = 0; j < length_; j++)
        line[j] = load_number(dtype, operands_[input], offsets[input] + at_[input][j]);
      return;
    }
    const float* p = static_cast<const float*>(operands_[input]) + offsets[input];
    const auto& at = at_[input];
    if (broadcast_[input]) {
      std::fill_n(line.begin(), length_, p[at[0]]);
    } else if (contiguous_[input]) {
      std::copy_n(p + at[0], length_, line.begin());
    } else {
      for (u32 j = 0; j < length_; j++) line[j] = p[at[j]];
    }
  }

  void store(const Offsets& offsets) const {
    int out = spec_.out_index();
    for (u32 j = 0; j < length_; j++)
      store_number(spec_.out().dtype, output_, offsets[out] + at_[out][j], value_[j]);
  }

  const Spec& spec_;
  const Views& views_;
  const void* const* operands_;
  void* output_ = nullptr;
  u8 line_dim_;
  std::array<int, kMaxDims> outer_{}, inner_{};  // the other dimensions: of the output, and reduced
  int outer_count_ = 0, inner_count_ = 0;
  std::array<int, kMaxDims> by_stride_{};  // dimensions of the output, largest strides first
  int out_count_ = 0;
  // The element that seek() found: its offset, those of all operands, and how many more follow it
  // in memory along `fastest_`.
  i64 position_ = 0;
  Offsets here_{};
  i64 neighbours_ = 0;
  int fastest_ = 0;
  u32 length_ = 0;                                       // of the current line
  std::array<std::array<i64, kLine>, kMaxOperands> at_;  // offsets along it
  std::array<bool, kMaxOperands> broadcast_{}, contiguous_{};
  Line value_{}, x_{}, y_{}, z_{};
};

/// Where the views begin.
std::array<void*, kMaxOperands> begins(const Spec& spec, const Views& views,
                                       const void* const* operands) {
  std::array<void*, kMaxOperands> at{};
  for (int o = 0; o < spec.operand_count; o++) {
    const i64 bytes = views[o].begin * static_cast<i64>(size_of(spec.operand[o].dtype));
    at[o] = static_cast<char*>(const_cast<void*>(operands[o])) + bytes;
  }
  return at;
}

}  // namespace

void evaluate(const Spec& spec, const Views& views, void* const* given) {
  const auto operands = begins(spec, views, given);
  if (is_chain(spec) && bordered_operand(spec) < 0 && !spec.diagonal.used())
    ChainEvaluator(spec, views, operands.data()).run(operands[spec.out_index()]);
  else
    evaluate_values(spec, views, operands.data());
}

size_t evaluate_at(const Spec& spec, const Views& views, const void* const* given, int output,
                   std::span<const i64> offsets, double* values) {
  const auto operands = begins(spec, views, given);
  if (!is_chain(spec) || bordered_operand(spec) >= 0 || spec.diagonal.used())
    return evaluate_values_at(spec, views, operands.data(), output, offsets, values);
  ChainEvaluator evaluator(spec, views, operands.data());
  for (size_t i = 0; i < offsets.size(); i++)
    if (!evaluator.seek(offsets[i])) return i;
  evaluator.run_at(offsets, values);
  return offsets.size();
}

}  // namespace morello
