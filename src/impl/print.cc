// SPDX-License-Identifier: MIT
// The text of an Impl tree: a table whose last column is the indented program. A node with several
// parents is printed where it is met first, and referred to by its number elsewhere.
#include <algorithm>
#include <string_view>

#include "impl/impl.hh"
#include "impl/microkernel_id.hh"
#include "spec/names.hh"

namespace morello {
namespace {

/// Of a node: inherited from the root through the bindings.
using Names = DimNames;

/// [n,k; 16 n]L2: the layout from slow to fast; panels of 16 along n; ~ where runs are apart; * if
/// free.
std::string text_of(const Operand& operand, const Names& names) {
  std::string s = layout_text(operand, names);
  if (operand.dtype != Dtype::kF32) s.insert(0, name_of(operand.dtype));
  // Near, and in panels, only the fastest dimension counts.
  if (operand.level > Level::kL1 && !operand.layout.packed() && !is_dense(operand)) s += '~';
  s += name_of(operand.level);
  return s;
}

std::string text_of(const Spec& spec, const Names& names) {
  std::string s;
  for (int i = 0; i < spec.stage_count; i++) {
    if (i) s += '+';
    s += name_of(spec.stage[i].op);
  }
  for (int d = 0; d < spec.rank; d++) {
    bool numbered = names[d].size() > 1;
    s += ' ' + names[d] + (numbered ? ":" : "") + std::to_string(spec.size[d]);
  }
  for (int o = 0; o < spec.out_index(); o++) s += ' ' + text_of(spec.operand[o], names);
  s += spec.out().access == Access::kInOut ? " += " : " -> ";
  return s + text_of(spec.out(), names);
}

/// Three digits are enough to compare by eye; the locale must not matter.
std::string short_number(u64 n) {
  if (n < 1000000) return std::to_string(n);
  u64 scale = 1;
  int exponent = 0;
  while (n / scale >= 10) {
    scale *= 10;
    exponent++;
  }
  u64 digits = n / (scale / 100);
  std::string fraction = std::to_string(digits % 100);
  if (fraction.size() < 2) fraction = '0' + fraction;
  return std::to_string(digits / 100) + '.' + fraction + 'e' + std::to_string(exponent);
}

std::string cycles(i64 units) {
  return short_number(static_cast<u64>(std::max<i64>(units, 0) / kUnitsPerCycle));
}

std::string kibibytes(u8 code) {
  u64 tenths = lines_of_code(code) * kLineBytes * 10 / 1024;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
}

class Printer {
 public:
  explicit Printer(const ImplTree& tree)
      : tree_(tree), parents_(tree.nodes.size()), printed_(tree.nodes.size()) {
    for (const ImplNode& node : tree.nodes)
      for (const Edge& edge : node.children) parents_[edge.node]++;
  }

  std::string run() {
    if (tree_.nodes.empty()) return "";
    if (tree_.target) {
      text_ += "target " + std::string(tree_.target->name) + ", machine ";
      text_ += std::string(tree_.target->machine) + '\n';
    }
    columns("cycles", "own", "reg", "L1 KiB", "L2 KiB");
    text_ += "program\n";
    print_node(0, "", 0, dim_names(tree_.nodes[0].spec));
    return text_;
  }

 private:
  void column(std::string_view value, size_t width) {
    text_.append(width > value.size() ? width - value.size() : 0, ' ');
    text_ += value;
    text_ += ' ';
  }

  void columns(std::string_view total, std::string_view own, std::string_view registers,
               std::string_view l1, std::string_view l2) {
    column(total, 8);
    column(own, 8);
    column(registers, 3);
    column(l1, 7);
    column(l2, 7);
    text_ += ' ';
  }

  void print_node(NodeId id, std::string_view role, int depth, const Names& names) {
    const ImplNode& node = tree_.nodes[id];
    if (printed_[id]) {
      columns("", "", "", "", "");
      text_.append(2 * static_cast<size_t>(depth), ' ');
      text_ += std::string(role) + "as #" + std::to_string(id) + '\n';
      return;
    }
    printed_[id] = true;
    columns(cycles(node.cost), cycles(own_units(node)),
            std::to_string(node.peaks.at(Level::kRegister)), kibibytes(node.peaks.at(Level::kL1)),
            kibibytes(node.peaks.at(Level::kL2)));
    text_.append(2 * static_cast<size_t>(depth), ' ');
    text_ += role;
    if (parents_[id] > 1) text_ += '#' + std::to_string(id) + ' ';
    text_ += decision(node, names) + ": " + text_of(node.spec, names) + '\n';
    for (size_t c = 0; c < node.children.size(); c++) {
      const Edge& edge = node.children[c];
      const Spec& child = tree_.nodes[edge.node].spec;
      Names child_names;
      for (int d = 0; d < child.rank; d++) child_names[d] = names[edge.binding.dim[d]];
      print_node(edge.node, role_of(node, static_cast<int>(c)), depth + 1, child_names);
    }
  }

  /// Cost of the node without its children: what their multiples leave of the whole.
  i64 own_units(const ImplNode& node) const {
    i64 own = node.cost;
    const auto* loop = std::get_if<Loop>(&node.kind);
    for (size_t c = 0; c < node.children.size(); c++) {
      u64 times = loop && c == 0 ? loop->trips : 1;
      if (loop && loop->parallel && c == 0 && tree_.target)
        times = ceil_div(times, tree_.target->processors);
      own -= static_cast<i64>(times) * tree_.nodes[node.children[c].node].cost;
    }
    return own;
  }

  static std::string_view role_of(const ImplNode& node, int child) {
    if (std::holds_alternative<Loop>(node.kind)) return child == 1 ? "rest " : "";
    if (!std::holds_alternative<Move>(node.kind)) return "";
    MoveChildren c = move_children(node);
    return child == c.in ? "in " : child == c.out ? "out " : "";
  }

  static std::string decision(const ImplNode& node, const Names& names) {
    return std::visit([&](const auto& kind) { return text_of_kind(node, kind, names); }, node.kind);
  }

  static std::string text_of_kind(const ImplNode& node, const Block& block, const Names& names) {
    std::string s = "block of " + std::to_string(node.children.size());
    for (int i = 0; i < block.buffer_count; i++)
      s += (i ? " and " : " with buffer ") + text_of(block.buffer[i], names);
    return s;
  }

  static std::string text_of_kind(const ImplNode&, const Choose& choose, const Names& names) {
    return "choose operand " + std::to_string(choose.operand) + " as " +
           text_of(choose.placed, names);
  }

  static std::string text_of_kind(const ImplNode&, const Select& select, const Names&) {
    std::string_view name = name_of(static_cast<MicrokernelId>(select.microkernel));
    return "select " + (name.empty() ? std::to_string(select.microkernel) : std::string(name));
  }

  static std::string text_of_kind(const ImplNode& node, const Loop& loop, const Names& names) {
    std::string s = loop.parallel ? "parallel tile " : "tile ";
    s += names[loop.dim] + " by " + std::to_string(loop.tile) + ", " + std::to_string(loop.trips);
    s += loop.trips == 1 ? " trip" : " trips";
    u64 rest = node.spec.size[loop.dim] - loop.trips * loop.tile;
    return rest ? s + " + rest " + std::to_string(rest) : s;
  }

  static std::string text_of_kind(const ImplNode& node, const Move& move, const Names& names) {
    std::string operand = "operand " + std::to_string(move.operand);
    std::string level(name_of(move.placed.level));
    if (move.view) return "keep " + operand + " in " + level;
    bool same_order = move.placed.layout == node.spec.operand[move.operand].layout;
    if (move.placed.level == Level::kRegister) return "move " + operand + " to registers";
    if (same_order) return "move " + operand + " to " + level;
    return "pack " + operand + " as " + text_of(move.placed, names);
  }

  const ImplTree& tree_;
  std::vector<u32> parents_;
  std::vector<bool> printed_;
  std::string text_;
};

}  // namespace

std::string print(const ImplTree& tree) { return Printer(tree).run(); }

}  // namespace morello
