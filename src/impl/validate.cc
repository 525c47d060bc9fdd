// SPDX-License-Identifier: MIT
// Checks an Impl tree against the rules that its readers rely on. A child is compared with what its
// parent's decision makes of the parent's Spec, both in the parent's numbering.
#include <algorithm>
#include <vector>

#include "impl/impl.hh"
#include "impl/microkernel_id.hh"
#include "impl/unbound.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/gather.hh"
#include "spec/rescale.hh"
#include "spec/roles.hh"
#include "spec/terms.hh"
#include "support/number.hh"

namespace morello {
namespace {

class Validator {
 public:
  explicit Validator(const ImplTree& tree) : tree_(tree) {}

  std::string run() {
    if (tree_.nodes.empty()) return "the tree has no node";
    std::vector<bool> has_parent(tree_.nodes.size());
    has_parent[0] = true;
    for (id_ = 0; id_ < tree_.nodes.size() && problem_.empty(); id_++) {
      const ImplNode& node = tree_.nodes[id_];
      if (!has_parent[id_]) return fail("has no parent");
      if (!check_edges(node)) break;
      for (const Edge& edge : node.children) has_parent[edge.node] = true;
      check_decision(node);
    }
    return problem_;
  }

 private:
  std::string fail(const std::string& what) {
    if (problem_.empty())
      problem_ =
          "node " + std::to_string(id_) + ", " + describe(tree_.nodes[id_].spec) + ": " + what;
    return problem_;
  }

  bool require(bool holds, const std::string& what) {
    if (!holds) fail(what);
    return holds;
  }

  /// Children exist, come later, use no more memory, and are bound to what there is.
  bool check_edges(const ImplNode& node) {
    for (size_t c = 0; c < node.children.size(); c++) {
      const Edge& edge = node.children[c];
      std::string name = "child " + std::to_string(c);
      if (!require(edge.node > id_ && edge.node < tree_.nodes.size(), name + " is no later node"))
        return false;
      const ImplNode& child = tree_.nodes[edge.node];
      require(child.peaks.within(node.peaks), name + " uses more memory than its parent");
      require(child.cost <= node.cost, name + " costs more than its parent");
      require(child.spec.serial || !node.spec.serial,
              name + " may be parallel, its parent may not");
      if (!check_binding(node, child.spec, edge.binding, name)) return false;
    }
    return problem_.empty();
  }

  bool check_binding(const ImplNode& node, const Spec& child, const Binding& binding,
                     const std::string& name) {
    DimMask dims = 0;
    const int rank = node.spec.rank + std::holds_alternative<Rescale>(node.kind);
    for (int d = 0; d < child.rank; d++) {
      u8 to = binding.dim[d];
      if (!require(to < rank && !has_dim(dims, to), name + " is bound to wrong dimensions"))
        return false;
      dims = static_cast<DimMask>(dims | 1u << to);
    }
    std::array<bool, Unbound::kSlots> slots{};
    for (int o = 0; o < child.operand_count; o++) {
      u8 to = binding.operand[o];
      bool exists =
          is_new_buffer(to) ? to - new_buffer(0) < buffers_of(node) : to < node.spec.operand_count;
      if (!require(exists, name + " is bound to wrong operands")) return false;
      int slot = slot_of(to);
      bool may_write = is_new_buffer(to) || node.spec.operand[to].access != Access::kIn;
      require(may_write || child.operand[o].access == Access::kIn, name + " writes an input");
      if (!require(!slots[slot], name + " is bound to one operand twice")) return false;
      slots[slot] = true;
    }
    return true;
  }

  static int buffers_of(const ImplNode& node) {
    if (const auto* move = std::get_if<Move>(&node.kind)) return move->view ? 0 : 1;
    if (std::holds_alternative<Pad>(node.kind) || std::holds_alternative<Mask>(node.kind)) return 1;
    if (std::holds_alternative<Rescale>(node.kind)) return kMaxBuffers;  // at most
    const auto* block = std::get_if<Block>(&node.kind);
    return block ? block->buffer_count : 0;
  }

  void check_decision(const ImplNode& node) {
    std::visit([&](const auto& kind) { check_kind(node, kind); }, node.kind);
  }

  /// Child `c` is `expected`, which `binding` names in terms of the node's Spec.
  void check_child(const ImplNode& node, int c, const Spec& expected, const Binding& binding) {
    const Edge& edge = node.children[static_cast<size_t>(c)];
    const Spec& child = tree_.nodes[edge.node].spec;
    if (unbind(child, edge.binding) == unbind(expected, binding)) return;
    fail("child " + std::to_string(c) + " should compute " + describe(expected) + ", not " +
         describe(child));
  }

  void check_kind(const ImplNode& node, const Loop& loop) {
    const Spec& spec = node.spec;
    if (!require(loop.dim < spec.rank && loop.tile > 0 && loop.tile < spec.size[loop.dim],
                 "the loop's tile does not fit its dimension"))
      return;
    u32 rest = spec.size[loop.dim] % loop.tile;
    require(loop.trips == spec.size[loop.dim] / loop.tile, "the loop does not cover its dimension");
    require(may_tile(spec, loop.dim, loop.tile), "the loop's tile starts inside a panel");
    for (int o = 0; o < spec.operand_count; o++)
      require(spec.operand[o].level != Level::kRegister || !has_dim(spec.operand[o].dims, loop.dim),
              "the loop tiles operand " + std::to_string(o) + ", which is in registers");
    const bool parallel = has_dim(parallel_dims(spec), loop.dim);
    require(parallel || has_dim(fold_dims(spec), loop.dim),
            "the loop splits a reduction that does not accumulate");
    require(!loop.parallel || (!spec.serial && parallel), "the loop must not be parallel");
    if (!require(node.children.size() == (rest ? 2u : 1u),
                 "the loop has a wrong number of children"))
      return;
    for (int c = 0; c < static_cast<int>(node.children.size()); c++) {
      Binding binding;
      Spec expected = tile(spec, loop.dim, c == 0 ? loop.tile : rest, &binding);
      check_child(node, c, expected, binding);
      bool serial = tree_.nodes[node.children[static_cast<size_t>(c)].node].spec.serial;
      require(!loop.parallel || serial, "a child of a parallel loop may be parallel");
    }
  }

  void check_kind(const ImplNode& node, const Move& move) {
    const Spec& spec = node.spec;
    if (!require(move.operand < spec.operand_count, "moves an operand that does not exist")) return;
    const Operand &from = spec.operand[move.operand], &to = move.placed;
    require(to.access == from.access && to.dims == from.dims &&
                (to.windows == from.windows || (!move.view && (to.windows & ~from.windows) == 0)) &&
                !to.free_layout && !from.free_layout,
            "the moved operand has another access or other dimensions");
    MoveChildren at = move_children(node);
    size_t count = static_cast<size_t>(1 + (at.in >= 0) + (at.out >= 0));
    if (!require(node.children.size() == count, "the move has a wrong number of children")) return;
    if (move.view) {
      Operand same = from;
      same.level = to.level;
      require(to == same && to.level < from.level, "a view changes more than the level");
    } else {
      check_buffer(spec, move, from);
    }
    check_body(node, at.body, move.operand, to, !move.view);
    Binding binding;
    for (int c : {at.in, at.out}) {
      if (c < 0) continue;
      Spec expected = move_spec(spec, move.operand, to, c == at.in, &binding);
      check_child(node, c, expected, binding);
    }
  }

  void check_buffer(const Spec& spec, const Move& move, const Operand& from) {
    const Operand& to = move.placed;
    require(to.level <= from.level, "the move goes to a farther level");
    if (to.level == Level::kRegister) {
      require(move.operand == spec.out_index(), "an input is moved to registers");
      require(from.level != Level::kRegister, "a register tile is moved to registers");
      require(to.layout == from.layout && !to.layout.packed(),
              "the register tile has another layout");
      return;
    }
    require(
        to == dense_operand(spec, to.dtype, to.level, to.access, to.dims, to.layout, to.windows),
        "the buffer of the move is not dense, or not canonical");
  }

  /// The node's Spec with one operand replaced.
  void check_body(const ImplNode& node, int c, u8 operand, const Operand& placed, bool is_buffer) {
    Spec expected = node.spec;
    expected.operand[operand] = placed;
    forget_pitch(expected.operand[operand]);
    if (placed.windows != node.spec.operand[operand].windows) drop_windows(expected);
    Binding binding = identity_binding();
    if (is_buffer && placed.access == Access::kIn) merge_terms(expected, binding);
    if (is_buffer) binding.operand[operand] = new_buffer(0);
    check_child(node, c, expected, binding);
  }

  /// As `spec` numbers them: a part may have only the second one.
  void name_windows(const Spec& spec, Unbound& part) {
    std::array<u8, kMaxWindows> bit{};
    for (int w = 0; w < kMaxWindows; w++) {
      for (int whole = 0; whole < kMaxWindows; whole++)
        if (part.window[w] == spec.window[whole]) bit[w] = static_cast<u8>(1u << whole);
      require(bit[w] != 0 || !part.window[w].used(), "a child has a window of its own");
    }
    for (Operand& x : part.operand) {
      u8 windows = 0;
      for (int w = 0; w < kMaxWindows; w++)
        if (x.has_window(w)) windows = static_cast<u8>(windows | bit[w]);
      x.windows = windows;
    }
    part.window = spec.window;
  }

  void check_kind(const ImplNode& node, const Block& block) {
    require(node.children.size() >= 2, "a block has fewer than two children");
    const Spec& spec = node.spec;
    std::array<bool, Unbound::kSlots> defined{};
    DimMask covered = 0;
    for (int o = 0; o < spec.operand_count; o++)
      defined[o] = spec.operand[o].access != Access::kOut;
    for (const Edge& edge : node.children) {
      Unbound child = unbind(tree_.nodes[edge.node].spec, edge.binding);
      name_windows(spec, child);
      require(!child.diagonal.used() || child.diagonal == spec.diagonal,
              "a child has a diagonal of its own");
      for (int d = 0; d < spec.rank; d++) {
        require(child.size[d] == 1 || child.size[d] == spec.size[d], "a child has other sizes");
        if (child.size[d] == spec.size[d]) covered = static_cast<DimMask>(covered | 1u << d);
      }
      for (int slot = 0; slot < Unbound::kSlots; slot++) {
        if (!child.used[slot]) continue;
        Operand operand = child.operand[slot];
        require(operand.access == Access::kOut || defined[slot],
                "a child reads operand " + std::to_string(slot) + " before it is written");
        if (operand.access != Access::kIn) defined[slot] = true;
        Operand whole = slot >= Unbound::kBufferSlot ? block.buffer[slot - Unbound::kBufferSlot]
                                                     : spec.operand[slot];
        operand.access = whole.access;
        if (slot >= Unbound::kBufferSlot) forget_pitch(whole);
        require(operand == whole, "a child sees operand " + std::to_string(slot) + " differently");
      }
    }
    require(covered == spec.all_dims(), "no child has all of some dimension");
    for (int o = 0; o < spec.operand_count; o++) require(defined[o], "no child writes the output");
    for (int i = 0; i < block.buffer_count; i++)
      require(defined[Unbound::kBufferSlot + i], "no child uses the buffer");
    check_stages(node);
  }

  /// What the children leave in each output is what the stages of the block make of what operands
  /// held before.
  void check_stages(const ImplNode& node) {
    const Unbound whole = unbind(node.spec, identity_binding());
    Terms terms;
    Terms::Memory wanted = terms.memory_before(node.spec), found = wanted;
    terms.run(node.spec, whole, wanted);
    for (const Edge& edge : node.children) {
      const Spec& part = tree_.nodes[edge.node].spec;
      terms.run(part, unbind(part, edge.binding), found);
    }
    for (int o = 0; o < node.spec.operand_count; o++)
      require(found[o] == wanted[o], "the children compute something else");
  }

  void check_kind(const ImplNode& node, const Pad& pad) {
    const Spec& spec = node.spec;
    if (!require(pad.operand < spec.operand_count && is_bordered(spec, spec.operand[pad.operand]) &&
                     node.children.size() == 3,
                 "pads what has no borders"))
      return;
    if (!require(is_padded(spec, pad.operand, pad.padded),
                 "the buffer is not what its operand is with borders"))
      return;
    const PaddedPart parts[] = {border_fill(spec, pad.operand, pad.padded),
                                border_copy(spec, pad.operand, pad.padded),
                                border_rest(spec, pad.operand, pad.padded)};
    for (int c = 0; c < 3; c++) check_child(node, c, parts[c].spec, parts[c].binding);
  }

  void check_kind(const ImplNode& node, const Divide& divide) {
    const Spec& spec = node.spec;
    const bool rows = spec.diagonal.used();
    const bool divides = rows
                             ? divide.dim == spec.diagonal.row && may_divide_rows(spec, divide.size)
                             : may_divide_border(spec, divide.dim, divide.size);
    if (!require(divides && node.children.size() == 2,
                 "divides what is neither a diagonal's rows nor has borders"))
      return;
    for (bool first : {true, false}) {
      if (rows) {
        const DiagonalPart part = part_of_rows(spec, divide.size, first);
        check_child(node, first ? 0 : 1, part.spec, part.binding);
      } else {
        const PaddedPart part = part_of_border(spec, divide.dim, divide.size, first);
        check_child(node, first ? 0 : 1, part.spec, part.binding);
      }
    }
  }

  void check_kind(const ImplNode& node, const Mask& mask) {
    const Spec& spec = node.spec;
    if (!require(spec.diagonal.used() && node.children.size() == 3, "masks what has no diagonal"))
      return;
    const Level level = mask.mask.level;
    require(mask.mask == mask_operand(spec, level), "the buffer is no mask of the diagonal");
    const DiagonalPart parts[] = {mask_fill(spec, level, true), mask_fill(spec, level, false),
                                  masked_rest(spec, mask.mask)};
    for (int c = 0; c < 3; c++) check_child(node, c, parts[c].spec, parts[c].binding);
  }

  void check_kind(const ImplNode& node, const Index& index) {
    const Spec& spec = node.spec;
    if (!require(node.children.size() == 1 && index.stage < spec.stage_count &&
                     index.stage == gather_at_one_place(spec),
                 "takes the index of what does not gather at one place"))
      return;
    const Gathered part = gathered(spec, index.stage);
    check_child(node, 0, part.spec, part.binding);
  }

  void check_kind(const ImplNode& node, const Rescale& x) {
    const Spec& spec = node.spec;
    const bool has_rows = x.most < spec.stage_count && rescaled_exponentials(spec, x.most) >= 0;
    const u32 row = has_rows ? spec.size[rescaled_dim(spec, x.most)] : 0;
    const bool held = x.held_in == kNoRef || x.held_in < spec.operand_count;
    if (!require(held && x.size > 0 && x.size < row && row % x.size == 0, "rescales no blocks"))
      return;
    const auto r = rescaled(spec, x.most, x.size, x.held_in);
    if (!require(r.has_value(), "the blocks have too many stages")) return;
    const RescaleBuffers b = rescale_buffers(*r, x.level);
    const ImplNode whole{r->whole, Block{static_cast<u8>(b.count), b.buffer}, node.children, 0, {}};
    check_kind(whole, std::get<Block>(whole.kind));
  }

  void check_kind(const ImplNode& node, const Choose& choose) {
    if (!require(choose.operand < node.spec.operand_count && node.children.size() == 1,
                 "chooses the layout of no operand"))
      return;
    for (NodeId id = 0; id < id_; id++)
      require(std::holds_alternative<Choose>(tree_.nodes[id].kind),
              "chooses a layout below the top");
    const Operand &from = node.spec.operand[choose.operand], &to = choose.placed;
    require(from.free_layout && !to.free_layout, "chooses a layout that is not free");
    Operand dense = dense_operand(node.spec, to.dtype, from.level, from.access, from.dims,
                                  to.layout, to.windows);
    require((to.windows & ~from.windows) == 0, "the chosen layout has other windows");
    require(to == dense, "the chosen layout is not dense, or not canonical");
    check_body(node, 0, choose.operand, to, false);
  }

  void check_kind(const ImplNode& node, const Select& select) {
    require(!name_of(static_cast<MicrokernelId>(select.microkernel)).empty(),
            "selects a microkernel that does not exist");
    require(node.children.empty(), "a leaf has children");
  }

  const ImplTree& tree_;
  NodeId id_ = 0;
  std::string problem_;
};

}  // namespace

std::string validate(const ImplTree& tree) { return Validator(tree).run(); }

}  // namespace morello
