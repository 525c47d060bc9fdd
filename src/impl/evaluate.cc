// SPDX-License-Identifier: MIT
// Works on lines: pieces of one dimension of the output. Every operation then is a loop over a line
// of doubles, and the choice of the operation is outside of it.
#include "impl/evaluate.hh"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace morello {
namespace {

constexpr u32 kLine = 256;
using Line = std::array<double, kLine>;
using Offsets = std::array<i64, kMaxOperands>;

class Evaluator {
 public:
  Evaluator(const Spec& spec, const Views& views, void* const* operands)
      : spec_(spec), views_(views), operands_(operands), line_dim_(choose_line_dim()) {
    for (int d = 0; d < spec.rank; d++) {
      if (d == line_dim_) continue;
      if (has_dim(spec.reduced(), d))
        inner_[inner_count_++] = d;
      else
        outer_[outer_count_++] = d;
    }
  }

  void run() { run_outer(0, Offsets{}); }

 private:
  /// The output's fastest dimension, unless it is short; kNoDim if the output is a scalar.
  u8 choose_line_dim() const {
    const Layout& l = spec_.out().layout;
    u8 best = l.rank() ? l.order[l.rank() - 1] : kNoDim;
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
        broadcast_[o] = !moves;
      }
      run_line(offsets);
    }
  }

  void run_line(const Offsets& offsets) {
    const Stage& first = spec_.stage[0];
    if (is_reduction(first)) {
      value_.fill(identity_of(first.op));
      reduce(0, offsets);
      if (spec_.stage_count == 1 && spec_.out().access == Access::kInOut) {
        load(spec_.out_index(), offsets, y_);
        combine(first.op, y_, value_);
        value_ = y_;
      }
    } else {
      apply(first, offsets);
    }
    round_value();
    for (int s = 1; s < spec_.stage_count; s++) {
      apply(spec_.stage[s], offsets);
      round_value();
    }
    store(offsets);
  }

  void reduce(int depth, const Offsets& offsets) {
    if (depth < inner_count_) {
      int d = inner_[depth];
      for (u32 i = 0; i < spec_.size[d]; i++) reduce(depth + 1, moved(offsets, d, i));
      return;
    }
    const Stage& stage = spec_.stage[0];
    load(stage.in0, offsets, x_);
    if (stage.op == Op::kMulAdd) {
      load(stage.in1, offsets, y_);
      for (u32 j = 0; j < length_; j++) value_[j] += x_[j] * y_[j];
    } else {
      combine(stage.op, value_, x_);
    }
  }

  /// a = op(a, b)
  void combine(Op op, Line& a, const Line& b) const {
    switch (op) {
      case Op::kMax:
        for (u32 j = 0; j < length_; j++) a[j] = a[j] > b[j] ? a[j] : b[j];
        break;
      case Op::kMin:
        for (u32 j = 0; j < length_; j++) a[j] = a[j] < b[j] ? a[j] : b[j];
        break;
      default:
        for (u32 j = 0; j < length_; j++) a[j] += b[j];
        break;
    }
  }

  template <class F>
  void each(F f) {
    for (u32 j = 0; j < length_; j++) value_[j] = f(x_[j], y_[j]);
  }

  /// value = op(in0, in1)
  void apply(const Stage& stage, const Offsets& offsets) {
    if (stage.in0 != kNone) load(stage.in0, offsets, x_);
    if (stage.in1 != kNone) load(stage.in1, offsets, y_);
    switch (stage.op) {
      case Op::kFill:
        value_.fill(spec_.fill_value);
        break;
      case Op::kCopy:
        each([](double x, double) { return x; });
        break;
#define MORELLO_ELEMENTWISE(constant, name, number, inputs, ...)              \
  case Op::constant:                                                          \
    each([]([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { \
      return __VA_ARGS__;                                                     \
    });                                                                       \
    break;
#include "spec/elementwise.def"
#undef MORELLO_ELEMENTWISE
      case Op::kMulAdd:
        assert(false && "a multiply-add is a reduction");
        break;
    }
  }

  /// Dividing, adding and so on in double and rounding once gives the f32 result exactly: double
  /// has more than twice the digits.
  void round_value() {
    for (u32 j = 0; j < length_; j++) value_[j] = static_cast<float>(value_[j]);
  }

  void load(int input, const Offsets& offsets, Line& line) const {
    if (input == kPrevious) {
      std::copy_n(value_.begin(), length_, line.begin());
      return;
    }
    const float* p = static_cast<const float*>(operands_[input]) + offsets[input];
    const auto& at = at_[input];
    if (broadcast_[input]) {
      std::fill_n(line.begin(), length_, *p);
    } else if (length_ > 1 && at[length_ - 1] - at[0] == length_ - 1 && at[1] - at[0] == 1) {
      std::copy_n(p + at[0], length_, line.begin());
    } else {
      for (u32 j = 0; j < length_; j++) line[j] = p[at[j]];
    }
  }

  void store(const Offsets& offsets) const {
    int out = spec_.out_index();
    float* p = static_cast<float*>(operands_[out]) + offsets[out];
    for (u32 j = 0; j < length_; j++) p[at_[out][j]] = static_cast<float>(value_[j]);
  }

  const Spec& spec_;
  const Views& views_;
  void* const* operands_;
  u8 line_dim_;
  std::array<int, kMaxDims> outer_{}, inner_{};  // the other dimensions: of the output, and reduced
  int outer_count_ = 0, inner_count_ = 0;
  u32 length_ = 0;                                       // of the current line
  std::array<std::array<i64, kLine>, kMaxOperands> at_;  // offsets along it
  std::array<bool, kMaxOperands> broadcast_{};
  Line value_{}, x_{}, y_{};
};

}  // namespace

bool is_reduction(const Stage& stage) {
  return stage.op == Op::kMulAdd || (is_binary(stage.op) && stage.in1 == kNone);
}

void evaluate(const Spec& spec, const Views& views, void* const* operands) {
  for (int o = 0; o < spec.operand_count; o++) assert(spec.operand[o].dtype == Dtype::kF32);
  Evaluator(spec, views, operands).run();
}

}  // namespace morello
