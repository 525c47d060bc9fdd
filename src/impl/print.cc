// SPDX-License-Identifier: MIT
// The text of an Impl tree: a table whose last column is the indented program. A node with several
// parents is printed where it is met first, and referred to by its number elsewhere.
#include <algorithm>
#include <string_view>

#include "impl/impl.hh"
#include "impl/microkernel_id.hh"
#include "spec/names.hh"
#include "spec/rescale.hh"

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

/// `operands` are what the Spec's are called, or empty. `all`: mark all outputs, not the last
/// alone.
std::string text_of(const Spec& spec, const Names& names, std::span<const std::string> operands,
                    bool all) {
  const auto named = [&](int o) {
    const auto at = static_cast<size_t>(o);
    return at < operands.size() ? operands[at] : std::string();
  };
  std::string s;
  for (int i = 0; i < spec.stage_count; i++) {
    if (i) s += '+';
    s += name_of(spec.stage[i].op);
  }
  for (int d = 0; d < spec.rank; d++) {
    bool numbered = names[d].size() > 1;
    s += ' ' + names[d] + (numbered ? ":" : "") + std::to_string(spec.size[d]);
  }
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    const bool marked = o == spec.out_index() || (all && x.access != Access::kIn);
    s += !marked ? " " : x.access == Access::kInOut ? " += " : " -> ";
    s += named(o) + text_of(x, names);
  }
  return s;
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

/// Walks a tree, depth first, and makes a line of each node.
class Lines {
 public:
  Lines(const ImplTree& tree, std::span<const std::string> names)
      : tree_(tree), given_(names), parents_(tree.nodes.size()), met_(tree.nodes.size()) {
    for (const ImplNode& node : tree.nodes)
      for (const Edge& edge : node.children) parents_[edge.node]++;
    if (tree.nodes.empty()) return;
    int outputs = 0;
    for (const Operand& x : tree.nodes[0].spec.operand) outputs += x.access != Access::kIn;
    several_ = outputs > 1;
  }

  std::vector<TreeLine> run() {
    if (tree_.nodes.empty()) return {};
    TreeLine root;
    for (size_t o = 0; o < kMaxOperands; o++) root.operand[o] = static_cast<u8>(o);
    add(std::move(root), "", dim_names(tree_.nodes[0].spec));
    return std::move(lines_);
  }

 private:
  /// What a line's operands are called, if the root's have names.
  std::vector<std::string> called(const TreeLine& line) const {
    std::vector<std::string> all;
    if (!given_.empty())
      for (u8 o : line.operand) all.push_back(o < given_.size() ? given_[o] : "buffer");
    return all;
  }

  void add(TreeLine line, std::string_view role, const Names& names) {
    const ImplNode& node = tree_.nodes[line.node];
    line.again = met_[line.node];
    if (line.again) {
      line.text = std::string(role) + "as #" + std::to_string(line.node);
      lines_.push_back(std::move(line));
      return;
    }
    met_[line.node] = true;
    called_ = called(line);
    line.own = own_units(node);
    line.text = role;
    if (parents_[line.node] > 1) line.text += '#' + std::to_string(line.node) + ' ';
    line.text += decision(node, names) + ": " + text_of(node.spec, names, called_, several_);
    const u32 at = static_cast<u32>(lines_.size()), depth = line.depth;
    lines_.push_back(std::move(line));
    for (size_t c = 0; c < node.children.size(); c++) {
      const Edge& edge = node.children[c];
      const Spec& child = tree_.nodes[edge.node].spec;
      Names child_names, all = names;
      if (const auto* rescale = std::get_if<Rescale>(&node.kind))
        all[node.spec.rank] = name_of_blocks(node, *rescale, names);
      for (int d = 0; d < child.rank; d++) child_names[d] = all[edge.binding.dim[d]];
      TreeLine next;
      next.node = edge.node;
      next.parent = at;
      next.depth = depth + 1;
      next.times = times(node, c);
      for (size_t o = 0; o < kMaxOperands; o++) {
        const u8 from = edge.binding.operand[o];
        next.operand[o] = from < kMaxOperands ? lines_[at].operand[from] : from;
      }
      add(std::move(next), role_of(node, static_cast<int>(c)), child_names);
    }
  }

  u64 times(const ImplNode& node, size_t child) const {
    const auto* loop = std::get_if<Loop>(&node.kind);
    if (loop == nullptr || child != 0) return 1;
    const bool shared = loop->parallel && tree_.target != nullptr;
    return shared ? ceil_div(loop->trips, tree_.target->processors) : loop->trips;
  }

  /// Cost of the node without its children: what their multiples leave of the whole.
  i64 own_units(const ImplNode& node) const {
    i64 own = node.cost;
    for (size_t c = 0; c < node.children.size(); c++)
      own -= static_cast<i64>(times(node, c)) * tree_.nodes[node.children[c].node].cost;
    return own;
  }

  static std::string_view role_of(const ImplNode& node, int child) {
    if (std::holds_alternative<Loop>(node.kind)) return child == 1 ? "rest " : "";
    if (!std::holds_alternative<Move>(node.kind)) return "";
    MoveChildren c = move_children(node);
    return child == c.in ? "in " : child == c.out ? "out " : "";
  }

  std::string decision(const ImplNode& node, const Names& names) const {
    return std::visit([&](const auto& kind) { return text_of_kind(node, kind, names); }, node.kind);
  }

  std::string text_of_kind(const ImplNode& node, const Block& block, const Names& names) const {
    std::string s = "block of " + std::to_string(node.children.size());
    for (int i = 0; i < block.buffer_count; i++)
      s += (i ? " and " : " with buffer ") + text_of(block.buffer[i], names);
    return s;
  }

  std::string text_of_kind(const ImplNode&, const Pad& pad, const Names& names) const {
    return "pad " + operand_name(pad.operand) + " as " + text_of(pad.padded, names);
  }

  std::string text_of_kind(const ImplNode& node, const Divide& divide, const Names& names) const {
    const u32 size = node.spec.size[divide.dim];
    return "divide " + names[divide.dim] + " into " + std::to_string(divide.size) + " and " +
           std::to_string(size - divide.size);
  }

  static std::string name_of_blocks(const ImplNode& node, const Rescale& x, const Names& names) {
    return names[rescaled_dim(node.spec, x.most)] + "'";
  }

  std::string text_of_kind(const ImplNode& node, const Rescale& x, const Names& names) const {
    const u8 dim = rescaled_dim(node.spec, x.most);
    return "rescale " + names[dim] + " by " + std::to_string(x.size) + ", " +
           std::to_string(node.spec.size[dim] / x.size) + " blocks in " +
           std::string(name_of(x.level));
  }

  std::string text_of_kind(const ImplNode&, const Mask& mask, const Names& names) const {
    return "mask by buffer " + text_of(mask.mask, names);
  }

  std::string text_of_kind(const ImplNode& node, const Index& index, const Names&) const {
    const Stage& stage = node.spec.stage[index.stage];
    return operand_name(stage.in[0]) + " at the place in " + operand_name(stage.in[1]);
  }

  std::string text_of_kind(const ImplNode&, const Choose& choose, const Names& names) const {
    return "choose " + operand_name(choose.operand) + " as " + text_of(choose.placed, names);
  }

  std::string text_of_kind(const ImplNode&, const Select& select, const Names&) const {
    std::string_view name = name_of(static_cast<MicrokernelId>(select.microkernel));
    return "select " + (name.empty() ? std::to_string(select.microkernel) : std::string(name));
  }

  std::string text_of_kind(const ImplNode& node, const Loop& loop, const Names& names) const {
    std::string s = loop.parallel ? "parallel tile " : "tile ";
    s += names[loop.dim] + " by " + std::to_string(loop.tile) + ", " + std::to_string(loop.trips);
    s += loop.trips == 1 ? " trip" : " trips";
    u64 rest = node.spec.size[loop.dim] - loop.trips * loop.tile;
    return rest ? s + " + rest " + std::to_string(rest) : s;
  }

  std::string text_of_kind(const ImplNode& node, const Move& move, const Names& names) const {
    const std::string operand = operand_name(move.operand);
    std::string level(name_of(move.placed.level));
    if (move.view) return "keep " + operand + " in " + level;
    bool same_order = move.placed.layout == node.spec.operand[move.operand].layout;
    if (move.placed.level == Level::kRegister) return "move " + operand + " to registers";
    if (same_order) return "move " + operand + " to " + level;
    return "pack " + operand + " as " + text_of(move.placed, names);
  }

  std::string operand_name(u8 operand) const {
    return operand < called_.size() ? called_[operand] : "operand " + std::to_string(operand);
  }

  const ImplTree& tree_;
  const std::span<const std::string> given_;
  std::vector<u32> parents_;
  std::vector<bool> met_;
  std::vector<std::string> called_;  // operands of the node at hand
  bool several_ = false;             // outputs of the root
  std::vector<TreeLine> lines_;
};

class Printer {
 public:
  explicit Printer(const ImplTree& tree) : tree_(tree) {}

  std::string run() {
    if (tree_.nodes.empty()) return "";
    if (tree_.target) {
      text_ += "target " + std::string(tree_.target->name) + ", machine ";
      text_ += std::string(tree_.target->machine) + '\n';
    }
    columns("cycles", "own", "reg", "L1 KiB", "L2 KiB");
    text_ += "program\n";
    for (const TreeLine& line : tree_lines(tree_, {})) {
      const ImplNode& node = tree_.nodes[line.node];
      if (line.again)
        columns("", "", "", "", "");
      else
        columns(cycles(node.cost), cycles(line.own),
                std::to_string(node.peaks.at(Level::kRegister)),
                kibibytes(node.peaks.at(Level::kL1)), kibibytes(node.peaks.at(Level::kL2)));
      text_.append(2 * size_t{line.depth}, ' ');
      text_ += line.text + '\n';
    }
    return std::move(text_);
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

  const ImplTree& tree_;
  std::string text_;
};

}  // namespace

std::vector<TreeLine> tree_lines(const ImplTree& tree, std::span<const std::string> names) {
  return Lines(tree, names).run();
}

std::string print(const ImplTree& tree) { return Printer(tree).run(); }

}  // namespace morello
