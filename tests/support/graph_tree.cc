// SPDX-License-Identifier: MIT
#include "graph_tree.hh"

#include <algorithm>
#include <numeric>

#include "impl/microkernel_id.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/gather.hh"
#include "spec/roles.hh"
#include "spec/terms.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

/// The dimensions called as the last output has them, from slow to fast.
Spec by_output(const Spec& spec, Binding& binding) {
  std::array<u8, kMaxDims> now;
  now.fill(kNoDim);
  u8 next = 0;
  const Layout order = plain_layout(spec.out().layout);
  for (int i = 0; i < order.count(); i++) now[order.dim[i]] = next++;
  for (u8& d : now)
    if (d == kNoDim) d = next++;
  std::array<u8, kMaxDims> dims{};
  for (int d = 0; d < spec.rank; d++) dims[now[d]] = binding.dim[d];
  binding.dim = dims;
  return renumbered(spec, now);
}

class GraphTreeMaker {
 public:
  GraphTreeMaker(Random& random, GraphTreeCounts& counts) : random_(random), counts_(counts) {}

  ImplTree make(const Spec& spec, int depth) {
    tree_.target = fixed_target(Isa::kAvx2);
    grow(spec, depth);
    return std::move(tree_);
  }

 private:
  NodeId grow(const Spec& spec, int depth) {
    const NodeId id = static_cast<NodeId>(tree_.nodes.size());
    tree_.nodes.push_back({spec, Select{static_cast<u16>(MicrokernelId::kScalarMap)}, {}, 10, {}});
    if (depth <= 0 || id > 200) return id;
    if (const int o = bordered_operand(spec); o >= 0 && chance(random_, 70)) {
      if (!chance(random_, 60) || !grow_places(id, spec, depth - 1))
        grow_pad(id, spec, o, depth - 1);
      return id;
    }
    if (spec.diagonal.used() && chance(random_, 50)) {
      grow_diagonal(id, spec, depth - 1);
      return id;
    }
    if (const int stage = gather_at_one_place(spec); stage >= 0 && chance(random_, 70)) {
      tree_.nodes[id].kind = Index{static_cast<u8>(stage)};
      counts_.indices++;
      const Gathered part = gathered(spec, stage);
      add_child(id, part.spec, part.binding, depth - 1);
      return id;
    }
    switch (pick(random_, 0, 4)) {
      case 0:
        grow_loop(id, spec, depth - 1);
        break;
      case 1:
        grow_move(id, spec, depth - 1);
        break;
      case 2:
        grow_fill(id, spec, depth - 1);
        break;
      default:
        if (spec.stage_count > 1)
          grow_cut(id, spec, static_cast<int>(pick(random_, 1, spec.stage_count - 1u)), depth - 1);
        else
          grow_loop(id, spec, depth - 1);
        break;
    }
    return id;
  }

  void add_child(NodeId id, const Spec& spec, const Binding& binding, int depth, u64 times = 1) {
    const NodeId child = grow(spec, depth);
    ImplNode& node = tree_.nodes[id];
    node.children.push_back({child, binding});
    node.cost += static_cast<i64>(times) * tree_.nodes[child].cost;
    node.peaks = max_of(node.peaks, tree_.nodes[child].peaks);
  }

  /// Parts of the places of a window with borders, of any size. False: they are not divided.
  bool grow_places(NodeId id, const Spec& spec, int depth) {
    for (u8 dim = 0; dim < spec.rank; dim++) {
      const u32 size = chance(random_, 30) ? 1 : pick(random_, 1, spec.size[dim] - 1);
      if (!may_divide_border(spec, dim, size)) continue;
      tree_.nodes[id].kind = Divide{dim, size};
      counts_.border_cuts++;
      for (bool first : {true, false}) {
        const PaddedPart part = part_of_border(spec, dim, size, first);
        add_child(id, part.spec, part.binding, depth);
      }
      return true;
    }
    return false;
  }

  void grow_loop(NodeId id, const Spec& spec, int depth) {
    if (spec.rank == 0) return;
    const u8 dim = static_cast<u8>(pick(random_, 0, spec.rank - 1u));
    if (!has_dim(static_cast<DimMask>(parallel_dims(spec) | fold_dims(spec)), dim)) return;
    u32 blocks = 1;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& x = spec.operand[o];
      if (x.level == Level::kRegister && has_dim(x.dims, dim)) return;
      blocks = std::lcm(blocks, x.layout.block_of(dim));
    }
    const u32 most = (spec.size[dim] - 1) / blocks;
    if (most == 0 || has_dim(bordered_dims(spec), dim) || spec.diagonal.has(dim)) return;
    const u32 size = blocks * pick(random_, 1, most);
    Loop loop{dim, size, spec.size[dim] / size, false};
    loop.parallel = !spec.serial && has_dim(parallel_dims(spec), dim) && chance(random_, 50);
    tree_.nodes[id].kind = loop;
    counts_.loops++;
    for (u32 piece : {size, spec.size[dim] % size}) {
      if (piece == 0) continue;
      Binding binding;
      Spec child = tile(spec, dim, piece, &binding);
      child.serial = child.serial || loop.parallel;
      add_child(id, child, binding, depth, piece == size ? loop.trips : 1);
    }
  }

  /// The element type of a buffer: one that loses nothing.
  Dtype buffer_dtype(const Spec& spec, int index) {
    const Operand& from = spec.operand[index];
    if (from.access == Access::kInOut || chance(random_, 50)) return from.dtype;
    if (from.access == Access::kIn) return computed_in(from.dtype);
    for (int s = 0; s < spec.stage_count; s++)
      if (spec.stage[s].out == index) return spec.stage[s].dtype;
    return from.dtype;
  }

  void grow_move(NodeId id, const Spec& spec, int depth) {
    const u8 index = static_cast<u8>(pick(random_, 0, spec.operand_count - 1u));
    const Operand& from = spec.operand[index];
    if (from.level == Level::kRegister || is_bordered(spec, from)) return;
    const bool last = index == spec.out_index();
    const bool may_register = last && !from.layout.packed();
    Move move;
    move.operand = index;
    move.placed = from;
    const Level to =
        static_cast<Level>(pick(random_, may_register ? 0 : 1, static_cast<u32>(from.level)));
    move.placed.level = to;
    move.view = to != Level::kRegister && to < from.level && chance(random_, 25);
    Spec body = spec;
    Binding binding = identity_binding();
    if (!move.view) {
      const bool axes_only = from.windows != 0 && chance(random_, 60);
      if (axes_only && !has_plain_windows(spec, from)) return;
      const u8 windows = axes_only ? from.windows : u8{0};
      Layout layout = plain_layout(from.layout);
      if (!last) {
        DimMask outer = 0, axes = from.dims;
        for (int w = 0; w < kMaxWindows; w++)
          if (windows >> w & 1) {
            outer = static_cast<DimMask>(outer | 1u << spec.window[w].outer);
            axes = static_cast<DimMask>(axes & ~(1u << spec.window[w].inner));
          }
        layout = random_blocks(spec, axes, outer, random_);
      }
      move.placed = dense_operand(spec, buffer_dtype(spec, index), to, from.access, from.dims,
                                  layout, windows);
      binding.operand[index] = new_buffer(0);
      counts_.copies++;
      counts_.windows += from.windows != 0;
    } else {
      counts_.views++;
    }
    body.operand[index] = move.placed;
    forget_pitch(body.operand[index]);
    drop_windows(body);
    if (!move.view && from.access == Access::kIn) merge_terms(body, binding);
    tree_.nodes[id].kind = move;
    Binding copy;
    if (!move.view && from.access != Access::kOut) {
      const Spec in = move_spec(spec, index, move.placed, true, &copy);
      add_child(id, in, copy, depth / 2);
    }
    add_child(id, body, binding, depth);
    if (!move.view && from.access != Access::kIn) {
      const Spec out = move_spec(spec, index, move.placed, false, &copy);
      add_child(id, out, copy, depth / 2);
    }
  }

  /// In the operand's layout, or with neighbours that share lanes.
  Layout layout_with_borders(const Spec& spec, const Operand& x) {
    Layout layout = x.layout;
    if (size_of(x.dtype) == 4 || layout.packed() || chance(random_, 50)) return layout;
    const u8 d = layout.dim[pick(random_, 0, static_cast<u32>(layout.count()) - 1)];
    const u32 group = 4 / size_of(x.dtype);
    for (int w = 0; w < kMaxWindows; w++)
      if (x.has_window(w) && spec.window[w].outer == d) return layout;
    if (spec.size[d] <= group) return layout;
    layout.append(d, static_cast<u8>(group));
    counts_.grouped_pads++;
    return layout;
  }

  void grow_pad(NodeId id, const Spec& spec, int o, int depth) {
    const Operand padded =
        padded_operand(spec, o, static_cast<Level>(pick(random_, 1, kLevels - 1u)),
                       layout_with_borders(spec, spec.operand[o]));
    tree_.nodes[id].kind = Pad{static_cast<u8>(o), padded};
    counts_.pads++;
    const PaddedPart fill = border_fill(spec, o, padded), copy = border_copy(spec, o, padded);
    const PaddedPart rest = border_rest(spec, o, padded);
    add_child(id, fill.spec, fill.binding, depth / 2);
    add_child(id, copy.spec, copy.binding, depth / 2);
    add_child(id, rest.spec, rest.binding, depth);
  }

  /// Rows at any place, or a mask.
  void grow_diagonal(NodeId id, const Spec& spec, int depth) {
    const u8 row = spec.diagonal.row;
    const u32 rows = row == kNoDim ? 0 : pick(random_, 0, spec.size[row] - 1);
    if (rows > 0 && may_divide_rows(spec, rows)) {
      tree_.nodes[id].kind = Divide{row, rows};
      counts_.divides++;
      for (bool first : {true, false}) {
        const DiagonalPart part = part_of_rows(spec, rows, first);
        counts_.columns_left_out += volume(part.spec) < volume(spec);
        add_child(id, part.spec, part.binding, depth);
      }
      return;
    }
    const Level level = static_cast<Level>(pick(random_, 1, kLevels - 1u));
    const Operand mask = mask_operand(spec, level);
    tree_.nodes[id].kind = Mask{mask};
    counts_.masks++;
    for (const DiagonalPart& part :
         {mask_fill(spec, level, true), mask_fill(spec, level, false), masked_rest(spec, mask)})
      add_child(id, part.spec, part.binding, depth);
  }

  /// An output is neutral first, then added to.
  void grow_fill(NodeId id, const Spec& spec, int depth) {
    for (int s = 0; s < spec.stage_count; s++) {
      const Stage& stage = spec.stage[s];
      if (!is_operand(stage.out) || !is_reduction(stage) || is_read(spec, value_of(s))) continue;
      const Operand& out = spec.operand[stage.out];
      if (out.access != Access::kOut || out.dtype != stage.dtype) continue;
      Spec fill;
      fill.serial = spec.serial;
      fill.rank = spec.rank;
      fill.size = spec.size;
      fill.operand_count = fill.stage_count = 1;
      fill.operand[0] = out;
      fill.stage[0].op = Op::kFill;
      fill.stage[0].dtype = stage.dtype;
      fill.stage[0].out = 0;
      fill.stage[0].constant = bits_of_number(stage.dtype, identity_of(stage.op, stage.dtype));
      for (int d = 0; d < fill.rank; d++)
        if (!has_dim(out.dims, d)) fill.size[d] = 1;
      Binding binding;
      drop_unit_dims(fill, &binding);
      fill = by_output(fill, binding);
      binding.operand[0] = stage.out;
      Spec body = spec;
      body.operand[stage.out].access = Access::kInOut;
      tree_.nodes[id].kind = Block{};
      counts_.fills++;
      add_child(id, fill, binding, depth);
      add_child(id, body, identity_binding(), depth);
      return;
    }
  }

  // ---- cuts

  struct Cut {
    int at = 0;  // stages before it, and from it on
    Block block;
    std::array<u8, kMaxStages> crosses{};  // where the value of a stage is for the second part
  };

  static bool is_read_in(const Spec& spec, Ref ref, int first, int last) {
    for (int s = first; s < last; s++)
      for (Ref in : spec.stage[s].in)
        if (in == ref) return true;
    return false;
  }

  bool find_places(const Spec& spec, Cut& cut) {
    for (int s = 0; s < cut.at; s++) {
      const Stage& stage = spec.stage[s];
      if (is_operand(stage.out) && spec.operand[stage.out].access == Access::kInOut &&
          is_read_in(spec, stage.out, cut.at, spec.stage_count))
        return false;  // it would be overwritten before
      if (!is_read_in(spec, value_of(s), cut.at, spec.stage_count)) continue;
      const DimMask dims = dims_of(spec, value_of(s));
      if (is_operand(stage.out)) {
        const Operand& out = spec.operand[stage.out];
        if (out.access != Access::kOut || out.dims != dims || out.dtype != stage.dtype)
          return false;
        cut.crosses[s] = stage.out;
        continue;
      }
      if (cut.block.buffer_count == kMaxBuffers) return false;
      cut.crosses[s] = new_buffer(cut.block.buffer_count);
      cut.block.buffer[cut.block.buffer_count++] = dense_operand(
          spec, stage.dtype, Level::kL1, Access::kOut, dims, random_blocks(spec, dims, 0, random_));
    }
    return true;
  }

  void grow_cut(NodeId id, const Spec& spec, int at, int depth) {
    Cut cut;
    cut.at = at;
    if (!find_places(spec, cut)) return;
    Binding bindings[2];
    const Spec parts[2] = {part_of(spec, cut, 0, at, bindings[0]),
                           part_of(spec, cut, at, spec.stage_count, bindings[1])};
    for (const Spec& part : parts)
      if (part.operand_count + (part.diagonal.used() ? 1 : 0) > kMaxOperands) return;
    tree_.nodes[id].kind = cut.block;
    counts_.cuts++;
    counts_.cuts_of_three += cut.block.buffer_count == kMaxBuffers;
    for (int i = 0; i < 2; i++) add_child(id, parts[i], bindings[i], depth);
  }

  static Operand operand_of(const Spec& spec, const Cut& cut, u8 slot) {
    return is_new_buffer(slot) ? cut.block.buffer[slot - new_buffer(0)] : spec.operand[slot];
  }

  /// Stages [first, last). More than kMaxOperands: it has no room.
  static Spec part_of(const Spec& spec, const Cut& cut, int first, int last, Binding& binding) {
    Spec p;
    p.serial = spec.serial;
    p.rank = spec.rank;
    p.size = spec.size;
    p.window = spec.window;
    for (int s = first; s < last; s++)
      if (spec.stage[s].op == Op::kKeep) p.diagonal = spec.diagonal;
    std::vector<u8> inputs, outputs;  // operands of the parent, or new buffers
    auto slot_of = [&](Ref ref) {
      return is_value(ref) && stage_of(ref) < first ? cut.crosses[stage_of(ref)] : ref;
    };
    auto out_of = [&](int s) {
      const Stage& stage = spec.stage[s];
      return stage.out == kNoRef && last == cut.at && is_new_buffer(cut.crosses[s]) ? cut.crosses[s]
                                                                                    : stage.out;
    };
    auto add = [](std::vector<u8>& to, u8 slot) {
      if (std::find(to.begin(), to.end(), slot) == to.end()) to.push_back(slot);
    };
    for (int s = first; s < last; s++)
      if (out_of(s) != kNoRef) add(outputs, out_of(s));
    for (int s = first; s < last; s++)
      for (Ref in : spec.stage[s].in) {
        const u8 slot = slot_of(in);
        if (in == kNoRef || in == kConstant || is_value(slot)) continue;
        if (std::find(outputs.begin(), outputs.end(), slot) == outputs.end()) add(inputs, slot);
      }
    p.operand_count = static_cast<u8>(inputs.size() + outputs.size());
    if (p.operand_count > kMaxOperands) return p;
    std::vector<u8> slots = inputs;
    slots.insert(slots.end(), outputs.begin(), outputs.end());
    auto number = [&](u8 slot) {
      return static_cast<Ref>(std::find(slots.begin(), slots.end(), slot) - slots.begin());
    };
    for (int s = first; s < last; s++) {
      Stage& stage = p.stage[p.stage_count++] = spec.stage[s];
      for (Ref& in : stage.in) {
        const u8 slot = slot_of(in);
        if (in != kNoRef && in != kConstant)
          in = is_value(slot) ? value_of(stage_of(slot) - first) : number(slot);
      }
      stage.out = out_of(s) == kNoRef ? kNoRef : number(out_of(s));
    }
    DimMask used = p.reduced();
    for (size_t o = 0; o < slots.size(); o++) {
      Operand& x = p.operand[o] = operand_of(spec, cut, slots[o]);
      forget_pitch(x);
      used = static_cast<DimMask>(used | x.dims);
      if (o < inputs.size()) {
        x.access = Access::kIn;
      } else if (x.access == Access::kInOut) {
        // What the other part reads of it is not what this one adds to.
        bool reads = is_read_in(spec, slots[o], first, last);
        for (int s = first; s < last; s++)
          reads |= spec.stage[s].out == slots[o] && accumulates(spec, spec.stage[s]);
        if (!reads) x.access = Access::kOut;
      }
    }
    for (int d = 0; d < p.rank; d++)
      if (!has_dim(used, d)) p.size[d] = 1;
    drop_unit_dims(p, &binding);
    p = by_output(p, binding);
    for (size_t o = 0; o < slots.size(); o++) binding.operand[o] = slots[o];
    return p;
  }

  Random& random_;
  GraphTreeCounts& counts_;
  ImplTree tree_;
};

}  // namespace

ImplTree random_graph_tree(const Spec& spec, Random& random, int depth, GraphTreeCounts& counts) {
  return GraphTreeMaker(random, counts).make(spec, depth);
}

bool splits_reduction(const ImplTree& tree) {
  for (const ImplNode& node : tree.nodes)
    if (const auto* loop = std::get_if<Loop>(&node.kind))
      if (has_dim(node.spec.reduced(), loop->dim)) return true;
  return false;
}

}  // namespace morello::testing
