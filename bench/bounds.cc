// SPDX-License-Identifier: MIT
// bench-bounds: how far lower bounds are below costs, by kind of Spec: of everything that the
// searches of problem files solve. On the inside of the library.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "problem.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "spec/statement.hh"

namespace morello::bench {
namespace {

std::string kind_of(const Spec& spec) {
  const bool steps = spec.stage_count > 1;
  switch (duty_of(spec)) {
    case Duty::kTile:
      return steps ? "fused contraction in registers" : "contraction in registers";
    case Duty::kContract:
      return steps ? "fused contraction" : "contraction";
    case Duty::kReduce:
      return steps ? "fused reduction" : "reduction";
    case Duty::kFill:
    case Duty::kLoad:
    case Duty::kStore:
      return "move of a register tile";
    case Duty::kRelayout:
    case Duty::kNarrowRelayout:
    case Duty::kPairs:
    case Duty::kQuads:
      return "transpose";
    case Duty::kMap:
      return "map, copy or fill";
  }
  return "";
}

using Ratios = std::map<std::string, std::vector<double>>;

void print(const char* title, Ratios& ratios) {
  fmt::print("\n## {}\n\n| kind | number | smallest | median |\n|---|---|---|---|\n", title);
  for (auto& [kind, all] : ratios) {
    std::sort(all.begin(), all.end());
    fmt::print("| {} | {} | {:.3f} | {:.3f} |\n", kind, all.size(), all[0], all[all.size() / 2]);
  }
}

int run(int argc, char** argv) {
  std::vector<std::string> files;
  std::string isa = "avx2";
  uint32_t percent = 100;
  CLI::App app("Compares costs with lower bounds; see bench/README.md");
  app.add_option("FILES", files, "problem files, one Spec a line")->required();
  std::vector<std::string> targets;
  for (const Target& target : fixed_targets()) targets.emplace_back(target.name);
  app.add_option("--isa", isa)->check(CLI::IsMember(targets));
  app.add_option("--percent", percent, "of the bounds, to solve more")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  const Target target = with_machine(*find_target(isa), 0, 0, 1);
  const ActionContext context{&target};
  Ratios roots, solved;
  double smallest = 2;
  for (const std::string& text : read_problems(files)) {
    Result<Statement> statement = parse(text);
    if (!statement) {
      fmt::print(stderr, "{}: {}\n", text, statement.error().message);
      return 1;
    }
    SpecProblem problem(context, percent);
    BestFirst<SpecProblem> search(problem);
    BestFirst<SpecProblem>::Worker worker(search);
    BestFirst<SpecProblem>::Solution solution;
    Spec spec = lower(*statement)->spec;
    spec.serial = true;
    const Bounds bounds(target);
    if (search.solve(spec, limits_of(target), worker, solution)) {
      const i64 bound = bounds.of(spec, limits_of(target));
      roots[kind_of(spec)].push_back(static_cast<double>(solution.cost) /
                                     static_cast<double>(std::max<i64>(1, bound)));
    }
    search.each_solved([&](const Spec& s, const Limits& l, const auto& found) {
      const i64 bound = bounds.of(s, l);
      if (found.cost >= kInfinite || bound == 0) return;  // no program, or no bound
      const double ratio = static_cast<double>(found.cost) / static_cast<double>(bound);
      solved[kind_of(s)].push_back(ratio);
      smallest = std::min(smallest, ratio);
    });
  }
  fmt::print("# Cost / lower bound, {}\n", isa);
  print("Of the Specs of the files", roots);
  print("Of all pairs of a Spec and limits that were solved for them", solved);
  return smallest < 1 ? 1 : 0;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }
