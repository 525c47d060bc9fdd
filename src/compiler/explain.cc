// SPDX-License-Identifier: MIT
// The model adds what things cost: each unit of a program's cost is its own cost of one node, times
// the runs of that node, and each node's own cost is for one resource, but for microkernels, which
// pay for lines, for operations and for everything between.
#include "compiler/explain.hh"

#include <cstdio>

#include "cost/overlap.hh"
#include "cost/shared.hh"
#include "cost/tiles.hh"
#include "impl/microkernel_id.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

enum Resource { kArithmetic, kNear, kCopies, kFromL2, kFromMemory, kLoops, kResources };
constexpr const char* kResourceNames[kResources] = {"arithmetic", "near",   "copies",
                                                    "L2",         "memory", "loops"};
using Units = std::array<double, kResources>;

/// The same of each operand of the root; the last one: of buffers.
using OperandUnits = std::array<double, kMaxOperands + 1>;

double points_of_stage(const Spec& spec, int stage) {
  DimMask dims = dims_of(spec, spec.stage[stage]);
  if (is_chain(spec))
    dims = static_cast<DimMask>(stage == 0 ? spec.all_dims() : spec.all_dims() & ~spec.reduced());
  return static_cast<double>(points_of(spec, dims));
}

/// Nothing but loads and stores. A microkernel that computes has one price for all that it does.
bool only_copies(const Spec& leaf) {
  if (!is_single(leaf)) return false;
  const Op op = head_of(leaf).op;
  return op == Op::kCopy || op == Op::kFill;
}

/// Units of all operations, if nothing but them took time, and all lanes were used.
double arithmetic_units(const Spec& spec, const Target& t) {
  const double lanes = t.lanes(kElementBytes);
  double units = 0;
  for (int s = 0; s < spec.stage_count; s++) {
    if (spec.stage[s].op == Op::kGather) continue;  // of all places one, which copies bring
    const double vectors = points_of_stage(spec, s) / lanes;
    if (spec.stage[s].op == Op::kMulAdd) {
      const bool first = s == 0 && contraction_of(spec);
      const double products = first ? most_products(spec, t) : 1;
      if (first && takes_tiles(spec, t))
        units += vectors / products * static_cast<double>(t.tiles.product_row) /
                 (t.tiles.row_bytes / kElementBytes);
      else
        units += vectors / products * kUnitsPerCycle / t.fma_per_cycle;
    } else {
      units += vectors * static_cast<double>(stage_units(spec, s, t) - stage_units(spec, s + 1, t));
    }
  }
  return units;
}

/// Bringing an operand one step nearer, from `level`.
double lines_from(const Spec& spec, Operand operand, Level level, const Target& t) {
  operand.level = level;
  return static_cast<double>(step_units(spec, operand, t));
}

class Explanation {
 public:
  explicit Explanation(const Program& program) : program_(program), tree_(program.tree) {
    const Spec& root = tree_.nodes[0].spec;
    const int count = root.operand_count;
    names_.resize(static_cast<size_t>(count));
    for (int o = 0; o < count; o++)
      names_[static_cast<size_t>(o)] =
          std::string(1, static_cast<char>('A' + program.argument[static_cast<size_t>(o)]));
    lines_ = tree_lines(tree_, names_);
  }

  std::string run() {
    count_runs();
    text_ = "{";
    number("cycles", cycles(static_cast<double>(tree_.nodes[0].cost)));
    word("target", program_.target.name);
    word("machine", program_.target.machine);
    number("threads", program_.target.processors);
    peaks();
    std::string nodes;
    for (size_t l = 0; l < lines_.size(); l++) nodes += (l ? "," : "") + line_text(l);
    units("resources", total_);
    operands();
    bounds();
    text_ += ",\"nodes\":[" + nodes + "]}";
    return std::move(text_);
  }

 private:
  static double cycles(double units) { return units / kUnitsPerCycle; }

  /// Of a node, over all of its parents: children come after their parents.
  void count_runs() {
    runs_.assign(tree_.nodes.size(), 0);
    runs_[0] = 1;
    for (size_t n = 0; n < tree_.nodes.size(); n++)
      for (const TreeLine& line : lines_)
        if (&line != lines_.data() && lines_[line.parent].node == n)
          runs_[line.node] += runs_[n] * static_cast<double>(line.times);
  }

  OperandUnits::value_type& share(const TreeLine& line, int operand) {
    const u8 root = line.operand[static_cast<size_t>(operand)];
    return by_operand_[root < names_.size() ? root : kMaxOperands];
  }

  Units own_of(const TreeLine& line) {
    const ImplNode& node = tree_.nodes[line.node];
    const Spec& spec = node.spec;
    const double runs = runs_[line.node], own = static_cast<double>(line.own);
    Units of{};
    const auto lines = [&](int o, Level level, double units) {
      of[level == Level::kL2 ? kFromL2 : kFromMemory] += units;
      share(line, o) += runs * units;
    };
    if (const auto* move = std::get_if<Move>(&node.kind)) {
      const Level from = spec.operand[move->operand].level;
      if (from > Level::kL1)  // of a copy, what pieces of rows cost besides
        lines(move->operand, from, own);
      else
        of[kNear] += own;
    } else if (std::holds_alternative<Select>(node.kind)) {
      of[kArithmetic] = std::min(own, arithmetic_units(spec, program_.target));
      double rest = own - of[kArithmetic];  // of lines, what arithmetic does not hide
      for (int o = 0; o < spec.operand_count; o++)
        for (Level l : {Level::kL2, Level::kMemory}) {
          if (l > spec.operand[o].level) continue;
          const double units =
              std::min(rest, lines_from(spec, spec.operand[o], l, program_.target));
          lines(o, l, units);
          rest -= units;
        }
      of[only_copies(spec) ? kCopies : kNear] = rest;
    } else {
      const OverlapUnits twice = overlap_units(tree_, node, program_.target);
      if (twice.l2 > 0) lines(twice.operand, Level::kL2, -static_cast<double>(twice.l2));
      if (twice.memory > 0)
        lines(twice.operand, Level::kMemory, -static_cast<double>(twice.memory));
      of[kLoops] += own + static_cast<double>(twice.all());
    }
    return of;
  }

  std::string line_text(size_t at) {
    const TreeLine& line = lines_[at];
    const ImplNode& node = tree_.nodes[line.node];
    std::string outer = "{";
    outer.swap(text_);
    number("id", line.node);
    number("line", static_cast<double>(at));
    number("parent", line.parent);
    number("depth", line.depth);
    word("text", line.text);
    if (line.again) {
      number("again", 1);
    } else {
      const Units own = own_of(line);
      for (size_t r = 0; r < kResources; r++) total_[r] += runs_[line.node] * own[r];
      number("runs", runs_[line.node]);
      number("cycles", cycles(static_cast<double>(node.cost)));
      number("own", cycles(static_cast<double>(line.own)));
      number("registers", node.peaks.at(Level::kRegister));
      units("own_by_resource", own);
    }
    outer.swap(text_);
    return outer + "}";
  }

  void operands() {
    text_ += ",\"operands\":[";
    const Spec& root = tree_.nodes[0].spec;
    for (size_t user = 0; user < names_.size(); user++)
      for (size_t o = 0; o < names_.size(); o++) {
        if (program_.argument[o] != user) continue;
        text_ += user ? ",{" : "{";
        word("name", names_[o]);
        word("role", root.operand[o].access == Access::kIn ? "input" : "output");
        number("elements", static_cast<double>(elements(placed(), placed().operand[o])));
        number("line_cycles", cycles(by_operand_[o]));
        text_ += '}';
      }
    text_ += "]";
    number("buffer_line_cycles", cycles(by_operand_[kMaxOperands]));
  }

  /// The root with its layouts chosen.
  const Spec& placed() const {
    const ImplNode* node = &tree_.nodes[0];
    while (std::holds_alternative<Choose>(node->kind)) node = &tree_.nodes[node->children[0].node];
    return node->spec;
  }

  /// What no program takes less than for one resource: each operand's lines come once.
  void bounds() {
    const Spec& spec = placed();
    const Target& t = program_.target;
    Units least{};
    least[kArithmetic] = arithmetic_units(spec, t) / t.processors;
    for (int o = 0; o < spec.operand_count; o++) {
      least[kFromL2] += lines_from(spec, spec.operand[o], Level::kL2, t);
      least[kFromMemory] += lines_from(spec, spec.operand[o], Level::kMemory, t);
    }
    units("least", least);
    const bool memory = least[kFromL2] + least[kFromMemory] > least[kArithmetic];
    word("bound", memory ? "memory" : "compute");
  }

  void peaks() {
    const Target& t = program_.target;
    const double lanes = t.lanes(kElementBytes);
    number("peak_flops_per_cycle", 2 * lanes * t.fma_per_cycle * t.processors);
    const auto bytes = [&](Level l) {
      return double{kLineBytes} * kUnitsPerCycle / static_cast<double>(t.at(l).line_units);
    };
    number("l2_bytes_per_cycle", bytes(Level::kL2));
    number("memory_bytes_per_cycle", bytes(Level::kMemory));
  }

  void separate() {
    if (text_.back() != '{') text_ += ',';
  }
  void word(const char* key, std::string_view value) {
    separate();
    text_ += '"' + std::string(key) + "\":\"" + std::string(value) + '"';
  }
  void number(const char* key, double value) {
    separate();
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.0f", value * 10000);  // in every locale
    const bool negative = digits[0] == '-';
    std::string whole = digits + negative;
    if (whole.size() < 5) whole.insert(0, 5 - whole.size(), '0');
    whole.insert(whole.size() - 4, 1, '.');
    whole.resize(whole.find_last_not_of('0') + 1);
    if (whole.back() == '.') whole.pop_back();
    text_ += '"' + std::string(key) + "\":" + (negative ? "-" : "") + whole;
  }
  void units(const char* key, const Units& of) {
    separate();
    text_ += '"' + std::string(key) + "\":{";
    for (size_t r = 0; r < kResources; r++) number(kResourceNames[r], cycles(of[r]));
    text_ += '}';
  }

  const Program& program_;
  const ImplTree& tree_;
  std::vector<std::string> names_;  // of the root's operands
  std::vector<TreeLine> lines_;
  std::vector<double> runs_;  // of a node, in one run of the program
  Units total_{};
  OperandUnits by_operand_{};
  std::string text_;
};

}  // namespace

std::string explain(const Program& program) { return Explanation(program).run(); }

}  // namespace morello
