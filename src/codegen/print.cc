// SPDX-License-Identifier: MIT
// The text of a Plan.
#include <cstddef>

#include "codegen/plan.hh"
#include "support/number.hh"

namespace morello {
namespace {

class Printer {
 public:
  explicit Printer(const Plan& plan) : plan_(plan) {}

  std::string run() {
    text_ += "plan " + std::string(plan_.target) + ": " + std::to_string(plan_.operand_count) +
             " operands, " + std::to_string(plan_.scratch_bytes()) + " bytes of scratch\n";
    for (size_t f = 0; f < plan_.functions.size(); f++) print_function(f);
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& s) { text_ += std::string(2 * depth, ' ') + s + '\n'; }

  void print_function(size_t f) {
    const PlanFunction& function = plan_.functions[f];
    if (f != 0 && function.body.empty()) return;
    std::string s =
        f == 0 ? "kernel" : (function.routine ? "routine " : "task ") + std::to_string(f);
    if (f != 0 && function.scratch_bytes != 0)
      s += ", " + std::to_string(function.scratch_bytes) + " bytes of scratch";
    s += ':';
    for (size_t c = 0; c < function.cursors.size(); c++) {
      const Cursor& cursor = function.cursors[c];
      s += (c ? ", c" : " c") + std::to_string(c) + " = ";
      switch (cursor.base) {
        case Cursor::Base::kOperand:
          s += "operand " + std::to_string(cursor.value);
          if (cursor.begin != 0) s += " + " + std::to_string(cursor.begin);
          break;
        case Cursor::Base::kScratch:
          s += "scratch + " + std::to_string(cursor.value);
          break;
        case Cursor::Base::kOuter:
          s += "outer c" + std::to_string(cursor.value);
          break;
        case Cursor::Base::kArgument:
          s += "argument " + std::to_string(cursor.value);
          break;
      }
      if (cursor.asks != 0) s += " to ask " + std::to_string(cursor.asks);
    }
    line(0, s);
    bool task = f != 0 && !function.routine;
    if (task) line(1, "each trip:" + steps(function.steps));
    print_nodes(function.body, task ? 2 : 1);
  }

  void print_nodes(const std::vector<PlanId>& ids, int depth) {
    for (PlanId id : ids) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        line(depth, "loop " + std::to_string(loop->trips) + ":" + steps(loop->steps) +
                        (loop->before_last.empty() ? "" : ", before the last") +
                        steps(loop->before_last));
        print_nodes(loop->body, depth + 1);
        if (!loop->rest.empty()) line(depth, "rest:");
        print_nodes(loop->rest, depth + 1);
      } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
        line(depth, "parallel " + std::to_string(parallel->trips) + " in " +
                        std::to_string(parallel->tasks) + " of task " +
                        std::to_string(parallel->function) + ":" + steps(parallel->steps));
        if (!parallel->rest.empty()) line(depth, "rest:");
        print_nodes(parallel->rest, depth + 1);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        std::string s = "routine " + std::to_string(invoke->function) + ':';
        for (CursorId c : invoke->cursors) s += " c" + std::to_string(c);
        line(depth, s);
      } else if (const auto* index = std::get_if<PlanIndex>(&node)) {
        line(depth, "index:" + steps({{index->cursor, index->bytes}}) + " * c" +
                        std::to_string(index->index) + " of " + std::to_string(index->places));
      } else if (const auto* tiles = std::get_if<PlanTiles>(&node)) {
        line(depth, sizes(tiles->sizes));
      } else {
        line(depth, call(std::get<PlanCall>(node)));
      }
    }
  }

  static std::string steps(const std::vector<CursorStep>& steps) {
    std::string s;
    for (const CursorStep& step : steps)
      s += (s.empty() ? " c" : ", c") + std::to_string(step.cursor) +
           (step.bytes < 0 ? " -= " : " += ") +
           std::to_string(step.bytes < 0 ? -step.bytes : step.bytes);
    return s;
  }

  static std::string sizes(const TileSizes& sizes) {
    std::string s = "tiles:";
    for (u32 t = 0; t < kMostTiles; t++)
      s += ' ' + std::to_string(sizes.rows[t]) + 'x' + std::to_string(sizes.row_bytes[t]);
    return s;
  }

  static std::string call(const PlanCall& call) {
    const Spec& spec = call.spec;
    std::string s(name_of(call.id));
    for (int i = 0; i < spec.stage_count; i++) s += stage(spec.stage[i]);
    s += " [";
    for (int d = 0; d < spec.rank; d++)
      s += (d ? "," : "") + std::string(has_dim(spec.reduced(), d) ? "/" : "") +
           std::to_string(spec.size[d]);
    s += "]";
    for (int o = 0; o < spec.operand_count; o++) {
      if (o == spec.out_index()) s += spec.out().access == Access::kInOut ? " +=" : " =>";
      s += ' ' + operand(spec, o, call.operand[o]);
    }
    return s + ask("asks", call.ask) + ask("will write", call.results) + " | r" +
           std::to_string(call.first_free) + (call.rare ? " rare" : "") +
           (call.starts ? " starts" : "");
  }

  static std::string ask(const char* what, const PlanAsk& ask) {
    if (ask.rows == 0) return "";
    std::string s = " | " + std::string(what) + ' ' + std::to_string(ask.rows) + " x " +
                    std::to_string(ask.lines);
    if (ask.rows > 1) s += " by " + std::to_string(ask.pitch);
    return s + " at c" + std::to_string(ask.cursor) + " + " + std::to_string(ask.bytes);
  }

  static std::string stage(const Stage& stage) {
    std::string s = ' ' + std::string(name_of(stage.op));
    if (stage.op == Op::kFill) return s + '(' + constant(stage) + ')';
    for (int i = 0; i < kMaxInputs && stage.in[i] != kNoRef; i++)
      s += (i ? "," : "(") + (stage.in[i] == kConstant ? constant(stage) : input(stage.in[i]));
    return s + ')';
  }

  static std::string constant(const Stage& stage) {
    return std::to_string(number_of_bits(stage.dtype, stage.constant));
  }
  static std::string input(Ref in) { return is_value(in) ? "_" : std::to_string(in); }

  static std::string operand(const Spec& spec, int o, const PlanOperand& at) {
    std::string s =
        at.in_registers ? "r" + std::to_string(at.first_register) : "c" + std::to_string(at.cursor);
    s += '(';
    for (int d = 0; d < spec.rank; d++) {
      if (d) s += ',';
      if (!has_dim(spec.operand[o].dims, d))
        s += '-';
      else
        s += at.in_registers ? "*" : std::to_string(at.stride[d]);
    }
    s += ')';
    if (at.ahead != 0) s += " ahead " + std::to_string(at.ahead);
    return at.next == 0 ? s : s + " next " + std::to_string(at.next);
  }

  const Plan& plan_;
  std::string text_;
};

}  // namespace

std::string print(const Plan& plan) { return Printer(plan).run(); }

}  // namespace morello
