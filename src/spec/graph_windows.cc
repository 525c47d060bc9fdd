// SPDX-License-Identifier: MIT
// Windows over axes of tensors, and what padding leaves of them: a Spec has windows of two
// dimensions past the ends of an axis, and of all other ways to read one the part that is there.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "spec/graph.hh"

namespace morello {
namespace {

using Reading = GraphBuilder::Reading;

/// What windows read of an axis, if they reach past its ends; nothing: they read none of it.
std::optional<Reading> reading_past_ends(const GraphBuilder::Window& w, i64 elements) {
  Reading r;
  r.count = w.count(elements);
  const i64 apart = std::gcd(r.count > 1 ? w.step : 0, w.size > 1 ? w.dilation : 0);
  if (apart == 0) return std::nullopt;  // one element, outside
  // As if there were no other elements than those that lie where windows may read.
  r.apart = apart;
  r.before = (w.before + apart - 1) / apart;
  r.begin = r.before * apart - w.before;
  r.step = r.count > 1 ? w.step / apart : 1;
  r.dilation = w.size > 1 ? w.dilation / apart : 1;
  const i64 axis = std::max<i64>((elements - r.begin + apart - 1) / apart, 0);
  const i64 last = r.step * (r.count - 1) + r.dilation * (w.size - 1) - r.before;
  const i64 inside = std::min(axis, last + 1);
  if (inside < 1) return std::nullopt;
  r.size = w.size;
  r.after = last + 1 - inside;
  if (r.count == 1) {
    // One place is a smaller window, without borders.
    r.first = r.before, r.size = inside;
    r.before = r.after = 0;
  } else if (w.size == 1) {
    // Only reductions leave out what is outside. So there is one to do: of each place and a second
    // element, which is behind the axis everywhere.
    r.second_outside = true;
    r.size = 2;
    r.dilation = r.before + inside;
    r.after = r.count;
  }
  return r;
}

Reading reading_of(const GraphBuilder::Window& w, i64 elements) {
  Reading r;
  r.count = w.count(elements), r.size = w.size;
  r.step = w.step, r.dilation = w.dilation;
  return r;
}

bool is_bordered(const Reading& r) { return (r.before | r.after) != 0; }
bool is_plain(const Reading& r) {
  return std::min(r.step, r.dilation) == 1 && std::max(r.step, r.dilation) <= kMostBorder;
}

}  // namespace

bool GraphBuilder::read_once(const Value& x) const {
  if (x.source.kind != Source::Kind::kTensor) return false;
  int readers = 0;
  for (const Node& node : statement_.nodes)
    for (const Node::Input& in : node.inputs)
      readers += in.kind == Node::Input::Kind::kTensor && in.index == x.source.index;
  return readers == 1;
}

/// False, with a fault, if no Spec can say how an axis is read.
bool GraphBuilder::read_axis(const Window& w, i64 elements, Reading& reading) {
  reading = reading_of(w, elements);
  if (!w.bordered(elements)) return true;
  const std::optional<Reading> r = reading_past_ends(w, elements);
  if (!r) {
    fail(MORELLO_UNSUPPORTED, here(), "all windows over axis ", w.axis,
         " lie in its padding; valid are those that have an element of the input inside");
    return false;
  }
  reading = *r;
  if (!is_bordered(reading)) return true;
  const i64 span = reading.step * (reading.count - 1) + reading.dilation * (reading.size - 1) + 1;
  if (span - reading.before - reading.after < 2)
    fail(
        MORELLO_UNSUPPORTED, here(), "padding of axis ", w.axis, ", of which ", reading.count,
        " windows have one element inside, is not supported; valid is one window, or two elements. "
        "Pad the input, or leave it out");
  else if (std::min(reading.step, reading.dilation) > 1)
    fail(MORELLO_UNSUPPORTED, here(), "padding of axis ", w.axis, " with a stride of ", w.step,
         " and a dilation of ", w.dilation,
         " is not supported; valid are those of which one divides the other. Pad the input, or "
         "leave it out");
  else if (std::max({reading.step, reading.dilation, reading.before, reading.after}) > kMostBorder)
    fail(MORELLO_UNSUPPORTED, here(), "padding of axis ", w.axis,
         " with a width, stride, dilation or, of windows of one element, number of windows above ",
         kMostBorder, " is not supported; pad the input, or leave it out");
  return !failed();
}

Value GraphBuilder::windows(const Value& x, const std::vector<Window>& windows,
                            std::vector<Reading>& readings) {
  if (failed()) return {};
  const Node& node = statement_.nodes[static_cast<size_t>(node_)];
  if (node.inputs[0].kind != Node::Input::Kind::kTensor)
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput),
                "windows over a value are not supported yet, only over an input");
  Use& use = uses_[static_cast<size_t>(x.source.index)];
  const Tensor& t = statement_.tensors[static_cast<size_t>(x.source.index)];
  // Nobody else has seen the axes if this is the first time that the tensor is read.
  if (!read_once(x))
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput), "input ", x.source.index,
                " is read through windows and in another way; pass it as two inputs");
  if (t.kind == Tensor::Kind::kFree)
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput), "input ", x.source.index,
                " is read through windows, and cannot have a free layout");
  use.windowed = true;
  use.strides.clear();
  for (const Window& w : windows)
    if (!read_axis(w, x.axes[static_cast<size_t>(w.axis)].size, readings.emplace_back())) return {};
  const bool bordered = std::any_of(readings.begin(), readings.end(), is_bordered);
  Value result = x;
  result.axes.clear();
  for (int a = 0; a < std::ssize(x.axes); a++) {
    const ValueAxis& axis = x.axes[static_cast<size_t>(a)];
    i64 stride = t.strides[static_cast<size_t>(a)];
    const auto w = std::find_if(windows.begin(), windows.end(),
                                [&](const Window& window) { return window.axis == a; });
    if (w == windows.end()) {
      for (int dim : axis.dims) use.strides.push_back({dim, stride});
      result.axes.push_back(axis);
      continue;
    }
    const Reading& r = readings[static_cast<size_t>(w - windows.begin())];
    if (stride == 0 && is_bordered(r))
      return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput), "padding of axis ", a,
                  ", all of whose elements are one, is not supported; valid are strides above 0. "
                  "Pad the input, or leave it out");
    use.begin += r.begin * stride;
    stride *= r.apart;
    auto add = [&](i64 size, i64 step) {
      result.axes.push_back({size, {}});
      if (size == 1) return;
      result.axes.back().dims = {dims_.fresh(size)};
      use.strides.push_back({result.axes.back().dims[0], step});
    };
    add(r.count, stride * r.step);
    add(r.size, stride * r.dilation);
    if (!bordered || !is_plain(r) || r.count == 1 || r.size == 1 || stride == 0) continue;
    // Of one axis with borders the others are axes too.
    const auto dims = std::prev(use.strides.end(), 2);
    use.borders.push_back({dims[0].first,
                           dims[1].first,
                           stride,
                           {.step = static_cast<u16>(r.step),
                            .dilation = static_cast<u16>(r.dilation),
                            .before = static_cast<u16>(r.before),
                            .after = static_cast<u16>(r.after)}});
  }
  if (!fits(result.axes)) return {};
  return result;
}

Value GraphBuilder::part(const Value& x, size_t axis, i64 first, i64 count, int input) {
  if (failed()) return {};
  if (!read_once(x))
    return fail(MORELLO_UNSUPPORTED, here(Place::Kind::kInput, input),
                "of weights, padding leaves ", count, " of ", x.axes[axis].size, " along axis ",
                axis, "; they have to be an input that nothing else reads");
  Use& use = uses_[static_cast<size_t>(x.source.index)];
  Value result = x;
  const auto at = std::find_if(use.strides.begin(), use.strides.end(),
                               [&](const auto& s) { return s.first == x.axes[axis].dims[0]; });
  use.begin += first * at->second;
  result.axes[axis] = {count, {}};
  if (count == 1) {
    use.strides.erase(at);
  } else {
    at->first = dims_.fresh(count);
    result.axes[axis].dims = {at->first};
  }
  return result;
}

}  // namespace morello
