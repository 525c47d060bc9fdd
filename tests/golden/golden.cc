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
#include "table/identity.hh"

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

Result<Lines> lines_of(const Entry& entry) {
  Result<Statement> statement = parse(entry.text);
  if (!statement) return statement.error();
  Result<Lowered> lowered = lower(*statement);
  if (!lowered) return lowered.error();
  SearchOptions options;
  options.threads = entry.threads;
  SearchStats stats;
  Result<ImplTree> tree = synthesize(lowered->spec, entry.target, options, &stats);
  if (!tree) return tree.error();
  Result<Plan> plan = make_plan(*tree, lowered->view);
  if (!plan) return plan.error();
  Result<Code> code = emit(*plan, entry.target);
  if (!code) return code.error();
  const std::string text = print(*tree);
  Values v;
  v.cost = tree->nodes[0].cost;
  v.nodes = tree->nodes.size();
  v.tree = hash_of(text.data(), text.size());
  v.code = hash_of(code->bytes.data(), code->bytes.size());
  v.bytes = code->bytes.size();
  v.expanded = stats.expanded;
  return Lines{v.text(), effort_of(lowered->spec, entry.target, entry.threads, stats)};
}

/// What tables are known by: another number, and those that were made before are refused.
std::string identity_line(const Target& target) {
  const TableIdentity t = identity_of(target);
  char line[96];
  std::snprintf(line, sizeof line, "target %016llx cost model %016llx actions %016llx",
                static_cast<unsigned long long>(t.target_fingerprint),
                static_cast<unsigned long long>(t.cost_model_fingerprint),
                static_cast<unsigned long long>(t.action_fingerprint));
  return line;
}

int run(const std::string& folder, bool bless) {
  std::vector<Line> space, programs, efforts;
  for (const Target& target : fixed_targets())
    space.push_back({std::string(target.name), identity_line(target)});
  for (const Entry& entry : read_entries(folder)) {
    space.push_back({entry.key(), space_of(entry)});
    Result<Lines> lines = lines_of(entry);
    if (!lines) {
      programs.push_back({entry.key(), lines.error()});
      continue;
    }
    programs.push_back({entry.key(), lines->program});
    efforts.push_back({entry.key(), lines->effort});
  }
  const bool same_space = compare(folder + "/space.txt", space, bless);
  const bool same_programs = compare(folder + "/golden.txt", programs, bless);
  const bool same_effort = compare(folder + "/effort.txt", efforts, bless);
  return same_space && same_programs && same_effort ? 0 : 1;
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
