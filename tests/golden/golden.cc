// SPDX-License-Identifier: MIT
// Golden programs: what the search chooses and the emitter makes of it, for the Specs of specs.txt
// on every target (golden.txt), what it chooses from (space.txt), and how it comes to it
// (effort.txt). Whoever changes a line of these does so on purpose and says why:
//   morello-golden tests/golden           compares; says what differs
//   morello-golden tests/golden --bless   rewrites the files, for `git diff` to show
#include <cstdio>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codegen/emit.hh"
#include "effort.hh"
#include "search/synthesize.hh"
#include "space.hh"
#include "spec/statement.hh"

namespace morello::golden {
namespace {

/// What is compared. `expanded` says how much work the search was: with one thread always the same.
struct Values {
  i64 cost = 0;
  u64 nodes = 0, tree = 0, code = 0, bytes = 0, expanded = 0;

  std::string text() const {
    char line[160];
    std::snprintf(line, sizeof line,
                  "cost %-12.4f nodes %-4llu tree %016llx code %016llx bytes %-7llu expanded %llu",
                  static_cast<double>(cost) / kUnitsPerCycle,
                  static_cast<unsigned long long>(nodes), static_cast<unsigned long long>(tree),
                  static_cast<unsigned long long>(code), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(expanded));
    return line;
  }
};

u64 hash_of(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

/// A line of golden.txt, and one of effort.txt.
struct Lines {
  std::string program, effort;
};

Result<Lines> lines_of(const Entry& entry, const Target& target) {
  Result<Statement> statement = parse(entry.text);
  if (!statement) return statement.error();
  Result<Lowered> lowered = lower(*statement);
  if (!lowered) return lowered.error();
  SearchOptions options;
  options.threads = entry.threads;
  SearchStats stats;
  Result<ImplTree> tree = synthesize(lowered->spec, target, options, &stats);
  if (!tree) return tree.error();
  Result<Plan> plan = make_plan(*tree, lowered->view);
  if (!plan) return plan.error();
  Result<Code> code = emit(*plan, target);
  if (!code) return code.error();
  const std::string text = print(*tree);
  Values v;
  v.cost = tree->nodes[0].cost;
  v.nodes = tree->nodes.size();
  v.tree = hash_of(text.data(), text.size());
  v.code = hash_of(code->bytes.data(), code->bytes.size());
  v.bytes = code->bytes.size();
  v.expanded = stats.expanded;
  return Lines{v.text(), effort_of(lowered->spec, target, entry.threads, stats)};
}

int run(const std::string& folder, bool bless) {
  const bool space = compare(folder, {"space.txt", space_of}, bless);
  std::vector<Result<std::string>> efforts;  // in the order of comparing
  auto program = [&](const Entry& entry, const Target& target) -> Result<std::string> {
    Result<Lines> lines = lines_of(entry, target);
    if (!lines) efforts.push_back(lines.error());
    if (!lines) return lines.error();
    efforts.push_back(lines->effort);
    return lines->program;
  };
  const bool programs = compare(folder, {"golden.txt", program}, bless);
  size_t next = 0;
  auto effort = [&](const Entry&, const Target&) { return efforts[next++]; };
  const bool same_effort = compare(folder, {"effort.txt", effort}, bless);
  return space && programs && same_effort ? 0 : 1;
}

}  // namespace
}  // namespace morello::golden

int main(int argc, char** argv) {
  bool bless = argc == 3 && std::strcmp(argv[2], "--bless") == 0;
  if (argc != 2 && !bless) {
    std::fprintf(stderr, "usage: morello-golden FOLDER [--bless]\n");
    return 2;
  }
  return morello::golden::run(argv[1], bless);
}
