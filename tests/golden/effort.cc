// SPDX-License-Identifier: MIT
#include "effort.hh"

#include "search/incumbent.hh"

namespace morello::golden {
namespace {

constexpr int kExpansions = 192;

std::string cycles(i64 units) { return std::to_string(units / kUnitsPerCycle); }

std::string stopped(Spec spec, const Target& target, u32 threads) {
  const Target adjusted = with_machine(target, 0, 0, threads);
  spec.serial = threads == 1;
  const SpecProblem problem({&adjusted});
  SpecSearch search(problem);
  SpecSearch::Worker worker(search);
  int left = kExpansions;
  worker.set_check([&] { return left-- > 0; }, 1);
  SpecSearch::Solution solution;
  search.solve(spec, limits_of(adjusted), worker, solution);
  const i64 bound = search.low(spec, limits_of(adjusted), worker);
  const std::optional<ImplTree> tree =
      incumbent(search, problem, worker, spec, limits_of(adjusted), target);
  return " stopped " + (tree ? cycles(tree->nodes[0].cost) : "without") + " bound " + cycles(bound);
}

}  // namespace

std::string effort_of(const Spec& spec, const Target& target, u32 threads,
                      const SearchStats& stats) {
  std::string text;
  const u64 counts[] = {stats.specs,     stats.states,   stats.expanded,
                        stats.previews,  stats.misfits,  stats.advances,
                        stats.memo_hits, stats.borrowed, stats.bytes >> 10};
  const char* names[] = {"specs ",     " states ", " expanded ", " previews ", " misfits ",
                         " advances ", " hits ",   " borrowed ", " KiB "};
  for (size_t i = 0; i < std::size(counts); i++) text += names[i] + std::to_string(counts[i]);
  return text + stopped(spec, target, threads);
}

}  // namespace morello::golden
