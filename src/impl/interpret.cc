// SPDX-License-Identifier: MIT
#include "impl/interpret.hh"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/gather.hh"
#include "spec/rescale.hh"
#include "support/number.hh"

namespace morello {
namespace {

/// What may be done with one element of a buffer.
enum class Mark : u8 {
  kOutside,    // belongs to no tensor: gaps between rows
  kUndefined,  // may be written, holds poison
  kDefined,
};

struct Buffer {
  Dtype dtype{};
  char* data = nullptr;
  u64 elements = 0;
  bool writable = true;
  std::vector<Mark> marks;
  std::vector<char> own;  // storage of temporaries

  void poison(i64 at) {
    store_number(dtype, data, at,
                 is_integer(dtype) ? 85 : std::numeric_limits<double>::quiet_NaN());
  }
};

/// One operand of a node during one execution.
struct Place {
  Buffer* buffer = nullptr;
  i64 offset = 0;
  View view;
};
using Places = std::array<Place, kMaxOperands>;

/// New buffers of one node.
using Buffers = std::array<Place, kMaxBuffers>;

/// Calls f(offset) for each element of `operand`; stops at the first false.
template <class F>
bool for_each_element(const Spec& spec, const Operand& operand, const View& view, i64 offset, F& f,
                      int dim = 0) {
  if (dim == spec.rank) return f(offset);
  if (!has_dim(operand.dims, dim)) return for_each_element(spec, operand, view, offset, f, dim + 1);
  for (u32 i = 0; i < spec.size[dim]; i++)
    if (!for_each_element(spec, operand, view, offset + view.dim[dim].at(i), f, dim + 1))
      return false;
  return true;
}

/// The same for all elements of the axes that windows are on.
template <class F>
bool for_each_on_axes(const Spec& spec, const Operand& operand, View view, i64 offset, F& f) {
  Spec axes = spec;
  Operand whole = operand;
  for (int w = 0; w < kMaxWindows; w++) {
    if (!operand.has_window(w)) continue;
    const Window& window = spec.window[w];
    axes.size[window.outer] = axis_size(spec, operand, window.outer);
    view.dim[window.outer].stride[0] /= window.step;
    whole.dims = static_cast<DimMask>(whole.dims & ~(1u << window.inner));
  }
  return for_each_element(axes, whole, view, offset, f);
}

Buffer new_run(Dtype dtype, u64 elements) {
  Buffer b;
  b.dtype = dtype;
  b.elements = elements;
  b.own.resize(b.elements * size_of(b.dtype));
  b.data = b.own.data();
  for (u64 i = 0; i < b.elements; i++) b.poison(static_cast<i64>(i));
  b.marks.assign(b.elements, Mark::kUndefined);
  return b;
}

Buffer new_buffer_of(const Spec& spec, const Operand& operand) {
  return new_run(operand.dtype, dense_elements(spec, operand));
}

class Interpreter {
 public:
  explicit Interpreter(const ImplTree& tree) : tree_(tree) {}

  Result<InterpretStats> run(Views views, std::span<const OperandMemory> operands) {
    const Spec& spec = tree_.nodes[0].spec;
    std::array<Buffer, kMaxOperands> buffers;
    Places places;
    choose_views(views);
    for (int o = 0; o < spec.operand_count; o++) {
      buffers[o].dtype = spec.operand[o].dtype;
      buffers[o].data = static_cast<char*>(operands[o].data);
      buffers[o].elements = operands[o].elements;
      places[o] = {&buffers[o], views[o].begin, views[o]};
      places[o].view.begin = 0;
      if (!mark_root(spec, o, places[o])) return *error_;
    }
    if (!run_node(0, places)) return *error_;
    for (int o = 0; o < spec.operand_count; o++) {
      const std::vector<Mark>& marks = buffers[o].marks;
      auto missed = std::find(marks.begin(), marks.end(), Mark::kUndefined);
      if (missed == marks.end()) continue;
      fail(0, o, "leaves element", missed - marks.begin(), "unwritten");
      return *error_;
    }
    return stats_;
  }

 private:
  /// The layouts that Choose nodes fix, at the top of the tree, replace those of the caller.
  void choose_views(Views& views) const {
    NodeId id = 0;
    while (const auto* choose = std::get_if<Choose>(&tree_.nodes[id].kind)) {
      views[choose->operand] = dense_view(tree_.nodes[id].spec, choose->placed);
      id = tree_.nodes[id].children[0].node;
    }
  }

  bool mark_root(const Spec& spec, int index, Place& place) {
    const Operand& operand = spec.operand[index];
    Buffer& b = *place.buffer;
    b.marks.assign(b.elements, Mark::kOutside);
    b.writable = operand.access != Access::kIn;
    auto mark = [&](i64 at) {
      if (at < 0 || static_cast<u64>(at) >= b.elements)
        return fail(0, index, "has element", at, "outside of its memory");
      b.marks[at] = operand.access == Access::kOut ? Mark::kUndefined : Mark::kDefined;
      if (operand.access == Access::kOut) b.poison(at);
      return true;
    };
    // A copy reads all of the axis, of which windows may leave out some.
    return for_each_on_axes(spec, operand, place.view, place.offset, mark);
  }

  bool run_node(NodeId id, const Places& places) {
    return std::visit([&](const auto& kind) { return run_kind(id, kind, places); },
                      tree_.nodes[id].kind);
  }

  bool run_kind(NodeId id, const Move& move, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    if (move.view) return run_children(node, places, nullptr);
    return run_with_buffers(node, node.spec, {&move.placed, 1}, places);
  }

  bool run_kind(NodeId id, const Block& block, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    return run_with_buffers(node, node.spec, block.buffers(), places);
  }

  bool run_kind(NodeId id, const Choose&, const Places& places) {
    return run_children(tree_.nodes[id], places, nullptr);
  }

  bool run_kind(NodeId id, const Pad& pad, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    const Spec whole = with_borders_inside(node.spec, pad.operand);
    Buffer memory = new_buffer_of(whole, pad.padded);
    Buffers buffers;
    begin_life(pad.padded.level, memory.elements);
    bool ok = true;
    for (size_t c = 0; ok && c < node.children.size(); c++) {
      const u64 begin = c == 1 ? inner_offset(node.spec, pad.operand, pad.padded) : 0;
      buffers[0] = {&memory, static_cast<i64>(begin),
                    c == 0 ? border_run(whole, pad.padded) : dense_view(whole, pad.padded)};
      ok = run_child(node, node.children[c], places, &buffers);
    }
    end_life(pad.padded.level, memory.elements);
    return ok;
  }

  bool run_kind(NodeId id, const Divide& divide, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    const Spec& spec = node.spec;
    for (bool first : {true, false}) {
      Places part = places;
      for (int o = 0; o < spec.operand_count; o++)
        part[o].offset += elements_to_part(spec, o, part[o].view, divide.dim, divide.size, first);
      if (!run_child(node, node.children[first ? 0 : 1], part, nullptr)) return false;
    }
    return true;
  }

  bool run_kind(NodeId id, const Mask& mask, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    Buffer memory = new_run(mask.mask.dtype, mask_elements(node.spec));
    Buffers buffers;
    buffers[0] = {&memory, 0, mask_view(node.spec)};
    begin_life(mask.mask.level, memory.elements);
    bool ok = true;
    for (size_t c = 0; ok && c < node.children.size(); c++) {
      buffers[0].offset = static_cast<i64>(mask_begin(node.spec, static_cast<int>(c)));
      ok = run_child(node, node.children[c], places, &buffers);
    }
    end_life(mask.mask.level, memory.elements);
    return ok;
  }

  bool run_kind(NodeId id, const Index& index, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    const Stage& stage = node.spec.stage[index.stage];
    const Place& by = places[stage.in[1]];
    if (!check_read(id, stage.in[1], by)) return false;
    Places at = places;
    if (const u8 dim = gathered_dim(stage); dim != kNoDim) {
      const double named = load_number(by.buffer->dtype, by.buffer->data, by.offset);
      const double last = static_cast<double>(node.spec.size[dim]) - 1;
      Place& from = at[stage.in[0]];
      from.offset += from.view.dim[dim].at(static_cast<i64>(std::clamp(named, 0.0, last)));
    }
    return run_children(node, at, nullptr);
  }

  bool run_kind(NodeId id, const Rescale& rescale, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    const Rescaled r = *rescaled(node.spec, rescale.most, rescale.size, rescale.held_in);
    const RescaleBuffers buffers = rescale_buffers(r, rescale.level);
    Places split = places;
    for (int o = 0; o < node.spec.operand_count; o++)
      split[o].view = view_of_blocks(r, places[o].view);
    return run_with_buffers(node, r.whole, buffers.all(), split);
  }

  bool run_kind(NodeId id, const Loop& loop, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    for (u64 t = 0; t < loop.trips; t++) {
      u64 trip = loop.parallel ? loop.trips - 1 - t : t;
      if (!run_child(node, node.children[0], shifted(node, places, loop, trip), nullptr))
        return false;
    }
    if (node.children.size() < 2) return true;
    return run_child(node, node.children[1], shifted(node, places, loop, loop.trips), nullptr);
  }

  static Places shifted(const ImplNode& node, Places places, const Loop& loop, u64 trip) {
    for (int o = 0; o < node.spec.operand_count; o++)
      if (has_dim(node.spec.operand[o].dims, loop.dim))
        places[o].offset += places[o].view.dim[loop.dim].at(static_cast<i64>(trip * loop.tile));
    return places;
  }

  /// @param spec  over whose dimensions the buffers are described.
  bool run_with_buffers(const ImplNode& node, const Spec& spec, std::span<const Operand> operands,
                        const Places& places) {
    std::array<Buffer, kMaxBuffers> memory;
    Buffers buffers;
    for (size_t i = 0; i < operands.size(); i++) {
      memory[i] = new_buffer_of(spec, operands[i]);
      buffers[i] = {&memory[i], 0, dense_view(spec, operands[i])};
      begin_life(operands[i].level, memory[i].elements);
    }
    bool ok = run_children(node, places, &buffers);
    for (size_t i = 0; i < operands.size(); i++) end_life(operands[i].level, memory[i].elements);
    return ok;
  }

  void begin_life(Level level, u64 elements) {
    u64& now = live_elements_[static_cast<int>(level)];
    u64& peak = stats_.peak_elements[static_cast<int>(level)];
    now += elements;
    peak = std::max(peak, now);
  }
  void end_life(Level level, u64 elements) { live_elements_[static_cast<int>(level)] -= elements; }

  bool run_children(const ImplNode& node, const Places& places, const Buffers* buffers) {
    for (const Edge& edge : node.children)
      if (!run_child(node, edge, places, buffers)) return false;
    return true;
  }

  bool run_child(const ImplNode& node, const Edge& edge, const Places& places,
                 const Buffers* buffers) {
    const Spec& child = tree_.nodes[edge.node].spec;
    Places bound;
    for (int o = 0; o < child.operand_count; o++) {
      u8 from = edge.binding.operand[o];
      const bool is_new = is_new_buffer(from);
      const Place* made = is_new && buffers ? &(*buffers)[from - new_buffer(0)] : nullptr;
      if (is_new ? !made || !made->buffer : from >= node.spec.operand_count)
        return fail(edge.node, o, "is bound to operand", from, "that its parent does not have");
      const Place& parent = is_new ? *made : places[from];
      bound[o] = {parent.buffer, parent.offset, bind_view(parent.view, child, edge.binding)};
    }
    return run_node(edge.node, bound);
  }

  bool run_kind(NodeId id, const Select&, const Places& places) {
    const Spec& spec = tree_.nodes[id].spec;
    Views views;
    std::array<void*, kMaxOperands> pointers{};
    for (int o = 0; o < spec.operand_count; o++) {
      if (spec.operand[o].access != Access::kOut && !check_read(id, o, places[o])) return false;
      views[o] = places[o].view;
      pointers[o] = places[o].buffer->data +
                    places[o].offset * static_cast<i64>(size_of(spec.operand[o].dtype));
      if (places[o].buffer->dtype != spec.operand[o].dtype)
        return fail(id, o, "has another element type than its memory, at", 0, "");
    }
    for (int o = 0; o < spec.operand_count; o++)
      if (spec.operand[o].access != Access::kIn && !mark_written(id, o, places[o])) return false;
    evaluate(spec, views, pointers.data());
    stats_.leaves++;
    stats_.points += volume(spec);
    return true;
  }

  bool check_read(NodeId id, int index, const Place& place) {
    const Spec& spec = tree_.nodes[id].spec;
    const Buffer& b = *place.buffer;
    auto check = [&](i64 at) {
      if (at < 0 || static_cast<u64>(at) >= b.elements || b.marks[at] == Mark::kOutside)
        return fail(id, index, "is read at element", at, "outside of it");
      if (b.marks[at] == Mark::kUndefined)
        return fail(id, index, "is read at element", at, "which nothing wrote before");
      return true;
    };
    const Operand& x = spec.operand[index];
    if (is_bordered(spec, x)) return for_each_on_axes(spec, x, place.view, place.offset, check);
    return for_each_element(spec, x, place.view, place.offset, check);
  }

  bool mark_written(NodeId id, int index, const Place& place) {
    const Spec& spec = tree_.nodes[id].spec;
    Buffer& b = *place.buffer;
    auto mark = [&](i64 at) {
      if (!b.writable) return fail(id, index, "writes element", at, "of an input");
      if (at < 0 || static_cast<u64>(at) >= b.elements || b.marks[at] == Mark::kOutside)
        return fail(id, index, "is written at element", at, "outside of it");
      b.marks[at] = Mark::kDefined;
      return true;
    };
    return for_each_element(spec, spec.operand[index], place.view, place.offset, mark);
  }

  bool fail(NodeId id, int operand, const char* what, i64 at, const char* why) {
    error_ =
        Error{MORELLO_INTERNAL,
              "node " + std::to_string(id) + ", " + describe(tree_.nodes[id].spec) + ": operand " +
                  std::to_string(operand) + ' ' + what + ' ' + std::to_string(at) + ' ' + why};
    return false;
  }

  const ImplTree& tree_;
  InterpretStats stats_;
  std::array<u64, kLevels> live_elements_{};
  std::optional<Error> error_;
};

}  // namespace

Result<InterpretStats> interpret(const ImplTree& tree, const Views& views,
                                 std::span<const OperandMemory> operands) {
  if (tree.nodes.empty()) return Error{MORELLO_INVALID_ARGUMENT, "the Impl tree has no node"};
  const Spec& spec = tree.nodes[0].spec;
  if (operands.size() != spec.operand_count)
    return Error{MORELLO_INVALID_ARGUMENT,
                 "the Impl tree has " + std::to_string(spec.operand_count) +
                     " operands, but memory was given for " + std::to_string(operands.size())};
  return Interpreter(tree).run(views, operands);
}

}  // namespace morello
