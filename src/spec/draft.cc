// SPDX-License-Identifier: MIT
#include "spec/draft.hh"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace morello {
namespace {

/// True if stepping `outer` is the same as stepping over all of `inner`, for every operand, and
/// every stage does the same along both. The output keeps reduced dimensions apart from the others.
bool mergeable(const Draft& draft, const Draft::Dim& outer, const Draft::Dim& inner) {
  if (outer.size * inner.size > std::numeric_limits<i32>::max()) return false;
  if (outer.roles != inner.roles || outer.window || inner.window) return false;
  if (outer.diagonal || inner.diagonal) return false;
  for (int o = 0; o < draft.operands; o++)
    if (outer.stride[o] != inner.stride[o] * inner.size) return false;
  return true;
}

bool merge_two(Draft& draft) {
  for (size_t outer = 0; outer < draft.dims.size(); outer++) {
    for (size_t inner = 0; inner < draft.dims.size(); inner++) {
      if (outer == inner || !mergeable(draft, draft.dims[outer], draft.dims[inner])) continue;
      draft.dims[inner].size *= draft.dims[outer].size;
      draft.dims.erase(draft.dims.begin() + static_cast<std::ptrdiff_t>(outer));
      return true;
    }
  }
  return false;
}

/// The dimensions that an operand has, from slow to fast in its layout. Of those that overlap the
/// longest is the fastest: what vectors run along.
std::vector<u8> layout_order(const Draft& draft, int operand) {
  std::vector<u8> order;
  for (u8 d = 0; d < draft.dims.size(); d++)
    if (draft.has(operand, d)) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](u8 a, u8 b) {
    const i64 x = draft.dims[a].stride[operand], y = draft.dims[b].stride[operand];
    return x != y ? x > y : draft.dims[a].size < draft.dims[b].size;
  });
  return order;
}

/// Renumbers the dimensions as the comment of Spec says.
void number_dims(Draft& draft) {
  std::vector<u8> order = layout_order(draft, draft.operands - 1);
  std::vector<u8> reduced;
  for (u8 d = 0; d < draft.dims.size(); d++)
    if (draft.is_reduced(d)) reduced.push_back(d);
  for (int o = 0; o + 1 < draft.operands; o++) {
    auto has = [&](u8 d) { return draft.has(o, d); };
    if (!std::all_of(reduced.begin(), reduced.end(), has)) continue;
    reduced = layout_order(draft, o);
    std::erase_if(reduced, [&](u8 d) { return !draft.is_reduced(d); });
    break;
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  std::vector<Draft::Dim> dims;
  for (u8 d : order) dims.push_back(draft.dims[d]);
  draft.dims = std::move(dims);
}

/// Names the dimensions of bordered windows as they are numbered now, in the order of layouts.
void name_windows(const Draft& draft, Spec& spec) {
  for (size_t w = 0; w < draft.bordered.size(); w++) {
    const Draft::Bordered& bordered = draft.bordered[w];
    Window& window = spec.window[w] = bordered.window;
    for (u8 d : layout_order(draft, bordered.operand)) {
      if (draft.dims[d].window != 2 * w + 1 && draft.dims[d].window != 2 * w + 2) continue;
      window.inner = window.outer;
      window.outer = d;  // the fastest at last
    }
    if (draft.dims[window.outer].window == 2 * w + 2) std::swap(window.step, window.dilation);
  }
}

/// What an operand has in its layout: a dimension, or a window under the name of its outer one.
struct Axis {
  u8 dim;
  i64 stride;
};

/// The window of two dimensions that overlap: some of what one steps over the other does as well.
/// Its number; -1: they do not, or there is no room for more windows.
int overlap(const Draft& draft, Spec& spec, int operand, u8 slow, u8 fast) {
  const Draft::Dim &a = draft.dims[fast], &b = draft.dims[slow];
  const i64 apart = std::gcd(a.stride[operand], b.stride[operand]);
  const i64 step = a.stride[operand] / apart, dilation = b.stride[operand] / apart;
  if (dilation > std::numeric_limits<u16>::max()) return -1;
  const Window window{fast, slow, static_cast<u16>(step), static_cast<u16>(dilation), 0, 0};
  // What has borders is copied by axes, and moves by one along each.
  const bool has_borders =
      std::any_of(draft.bordered.begin(), draft.bordered.end(),
                  [&](const Draft::Bordered& bordered) { return bordered.operand == operand; });
  if (has_borders && step != 1 && dilation != 1) return -1;
  if (!meets_itself(window, static_cast<u64>(a.size), static_cast<u64>(b.size))) return -1;
  for (int w = 0; w < kMaxWindows; w++) {
    if (spec.window[w].used() && spec.window[w] != window) continue;
    spec.window[w] = window;
    return w;
  }
  return -1;
}

/// From slow to fast; sets the operand's windows.
std::vector<Axis> make_axes(const Draft& draft, Spec& spec, int index, Operand& o) {
  const std::vector<u8> order = layout_order(draft, index);
  std::vector<Axis> axes;
  for (size_t i = 0; i < order.size(); i++) {
    const u8 d = order[i];
    const i64 stride = draft.dims[d].stride[index];
    if (const int window = draft.dims[d].window;
        window != 0 && draft.bordered[static_cast<size_t>(window - 1) / 2].operand == index) {
      const size_t w = static_cast<size_t>(window - 1) / 2;
      o.windows = static_cast<u8>(o.windows | 1u << w);
      if (spec.window[w].outer == d) axes.push_back({d, draft.bordered[w].stride});
      continue;
    }
    const bool may = !draft.is_output(index) && !o.free_layout && i + 1 < order.size() &&
                     draft.dims[order[i + 1]].window == 0;
    const int w = may ? overlap(draft, spec, index, d, order[i + 1]) : -1;
    if (w < 0) {
      axes.push_back({d, stride});
      continue;
    }
    i++;
    o.windows = static_cast<u8>(o.windows | 1u << w);
    axes.push_back({order[i], std::gcd(stride, draft.dims[order[i]].stride[index])});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  return axes;
}

Operand make_operand(const Draft& draft, Spec& spec, int index, const Tensor& tensor) {
  Operand o;
  o.dtype = tensor.dtype;
  for (u8 d = 0; d < draft.dims.size(); d++)
    if (draft.has(index, d)) o.dims = static_cast<DimMask>(o.dims | 1u << d);
  o.free_layout = tensor.kind == Tensor::Kind::kFree && std::popcount(o.dims) > 1;
  const std::vector<Axis> axes = make_axes(draft, spec, index, o);
  for (const Axis& axis : axes) o.layout.append(axis.dim);
  i64 run = 1;  // elements of the contiguous run
  for (size_t i = axes.size(); i-- > 0; o.contig++) {
    // What is chosen is dense, whatever a part of the user's is.
    if (axes[i].stride != run && !o.free_layout) {
      set_pitch(o, static_cast<u64>(axes[i].stride) * size_of(o.dtype));
      break;
    }
    run *= axis_size(spec, o, axes[i].dim);
  }
  forget_steps(spec, o);
  return o;
}

}  // namespace

MaybeFault place_operands(const Statement& s, const std::vector<int>& arguments, Draft& draft,
                          Lowered& lowered) {
  while (merge_two(draft)) continue;
  number_dims(draft);
  if (draft.dims.size() > kMaxDims)
    return fault(MORELLO_UNSUPPORTED, {}, "the iteration space has ", draft.dims.size(),
                 " dimensions after merging adjacent ones; at most ", kMaxDims,
                 " are supported: denser layouts merge more");
  Spec& spec = lowered.spec;
  spec.rank = static_cast<u8>(draft.dims.size());
  spec.operand_count = static_cast<u8>(draft.operands);
  for (int d = 0; d < spec.rank; d++) spec.size[d] = static_cast<u32>(draft.dims[d].size);
  name_windows(draft, spec);
  for (int o = 0; o < draft.operands; o++) {
    const Tensor& t = s.tensors[arguments[o]];
    spec.operand[o] = make_operand(draft, spec, o, t);
    for (int d = 0; d < spec.rank; d++) lowered.view[o].dim[d].stride[0] = draft.dims[d].stride[o];
    lowered.bytes[o] = static_cast<u64>(span_elements(t)) * size_of(t.dtype);
    lowered.argument[o] = static_cast<u8>(arguments[o]);
  }
  for (int o = draft.operands - draft.outputs; o < draft.operands; o++) {
    const int output = arguments[o] - (static_cast<int>(s.tensors.size()) - draft.outputs);
    spec.operand[o].access = output_of(s, output).accumulate ? Access::kInOut : Access::kOut;
  }
  return std::nullopt;
}

bool round_to_f32(Spec& spec) {
  Stage& last = spec.stage[spec.stage_count - 1];
  if (last.dtype != Dtype::kI32 || !is_narrow_float(spec.out().dtype)) return true;
  if (spec.stage_count == kMaxStages) return false;
  Stage& copy = spec.stage[spec.stage_count] =
      make_stage(Op::kCopy, value_of(spec.stage_count - 1));
  copy.dtype = Dtype::kF32;
  copy.out = last.out;
  last.out = kNoRef;
  spec.stage_count++;
  return true;
}

}  // namespace morello
