// SPDX-License-Identifier: MIT
#include "impl/interpret.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/dtype.hh"

namespace morello {
namespace {

/// What may be done with one element of a buffer.
enum class Mark : u8 {
  kOutside,    // belongs to no tensor: gaps between rows
  kUndefined,  // may be written, holds poison
  kDefined,
};

struct Buffer {
  float* data = nullptr;
  u64 elements = 0;
  bool writable = true;
  std::vector<Mark> marks;
  std::vector<float> own;  // storage of temporaries
};

/// One operand of a node during one execution.
struct Place {
  Buffer* buffer = nullptr;
  i64 offset = 0;
  View view;
};
using Places = std::array<Place, kMaxOperands>;

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

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

Buffer new_buffer(const Spec& spec, const Operand& operand) {
  Buffer b;
  b.elements = dense_elements(spec, operand);
  b.own.assign(b.elements, kPoison);
  b.data = b.own.data();
  b.marks.assign(b.elements, Mark::kUndefined);
  return b;
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
      buffers[o].data = static_cast<float*>(operands[o].data);
      buffers[o].elements = operands[o].elements;
      places[o] = {&buffers[o], 0, views[o]};
      if (!mark_root(spec, o, places[o])) return *error_;
    }
    if (!run_node(0, places)) return *error_;
    const Buffer& out = buffers[spec.out_index()];
    auto missed = std::find(out.marks.begin(), out.marks.end(), Mark::kUndefined);
    if (missed != out.marks.end()) {
      fail(0, spec.out_index(), "leaves element", missed - out.marks.begin(), "unwritten");
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
      if (operand.access == Access::kOut) b.data[at] = kPoison;
      return true;
    };
    return for_each_element(spec, operand, place.view, 0, mark);
  }

  bool run_node(NodeId id, const Places& places) {
    return std::visit([&](const auto& kind) { return run_kind(id, kind, places); },
                      tree_.nodes[id].kind);
  }

  bool run_kind(NodeId id, const Move& move, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    if (move.view) return run_children(node, places, nullptr);
    return run_with_buffer(node, move.placed, places);
  }

  bool run_kind(NodeId id, const Block& block, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    if (!block.has_buffer) return run_children(node, places, nullptr);
    return run_with_buffer(node, block.buffer, places);
  }

  bool run_kind(NodeId id, const Choose&, const Places& places) {
    return run_children(tree_.nodes[id], places, nullptr);
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

  bool run_with_buffer(const ImplNode& node, const Operand& operand, const Places& places) {
    Buffer buffer = new_buffer(node.spec, operand);
    u64& now = live_elements_[static_cast<int>(operand.level)];
    u64& peak = stats_.peak_elements[static_cast<int>(operand.level)];
    now += buffer.elements;
    peak = std::max(peak, now);
    Place place{&buffer, 0, dense_view(node.spec, operand)};
    bool ok = run_children(node, places, &place);
    now -= buffer.elements;
    return ok;
  }

  bool run_children(const ImplNode& node, const Places& places, const Place* buffer) {
    for (const Edge& edge : node.children)
      if (!run_child(node, edge, places, buffer)) return false;
    return true;
  }

  bool run_child(const ImplNode& node, const Edge& edge, const Places& places,
                 const Place* buffer) {
    const Spec& child = tree_.nodes[edge.node].spec;
    Places bound;
    for (int o = 0; o < child.operand_count; o++) {
      u8 from = edge.binding.operand[o];
      if (from == kNewBuffer ? !buffer : from >= node.spec.operand_count)
        return fail(edge.node, o, "is bound to operand", from, "that its parent does not have");
      const Place& parent = from == kNewBuffer ? *buffer : places[from];
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
      pointers[o] = places[o].buffer->data + places[o].offset;
    }
    if (!mark_written(id, places[spec.out_index()])) return false;
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
    return for_each_element(spec, spec.operand[index], place.view, place.offset, check);
  }

  bool mark_written(NodeId id, const Place& place) {
    const Spec& spec = tree_.nodes[id].spec;
    Buffer& b = *place.buffer;
    auto mark = [&](i64 at) {
      if (!b.writable) return fail(id, spec.out_index(), "writes element", at, "of an input");
      if (at < 0 || static_cast<u64>(at) >= b.elements || b.marks[at] == Mark::kOutside)
        return fail(id, spec.out_index(), "is written at element", at, "outside of it");
      b.marks[at] = Mark::kDefined;
      return true;
    };
    return for_each_element(spec, spec.out(), place.view, place.offset, mark);
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
