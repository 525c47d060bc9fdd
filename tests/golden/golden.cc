// SPDX-License-Identifier: MIT
// Golden programs: what the search chooses and the emitter makes of it, for the Specs of specs.txt
// on every target. Whoever changes a line of golden.txt does so on purpose and says why:
//   morello-golden tests/golden           compares; says what differs
//   morello-golden tests/golden --bless   rewrites golden.txt, for `git diff` to show
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codegen/emit.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"
#include "target/dots.hh"

namespace morello {
namespace {

/// One line of specs.txt.
struct Entry {
  u32 threads;
  std::string text;
};

std::vector<Entry> read_entries(const std::string& path) {
  std::vector<Entry> entries;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t space = line.find(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    entries.push_back({static_cast<u32>(std::stoul(line)), line.substr(space + 1)});
  }
  return entries;
}

/// What is compared. `expanded` says how much work the search was: more than a tenth of change is a
/// difference.
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

Result<Values> values_of(const Entry& entry, const Target& target) {
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
  return v;
}

/// The effort at the end of a line.
std::pair<std::string, u64> split(const std::string& values) {
  size_t at = values.rfind(" expanded ");
  if (at == std::string::npos) return {values, 0};
  return {values.substr(0, at), std::stoull(values.substr(at + 10))};
}

bool same(const std::string& was, const std::string& is) {
  auto [a, work] = split(was);
  auto [b, now] = split(is);
  return a == b && 10 * now <= 11 * work && 10 * work <= 11 * now + 100;
}

using Golden = std::map<std::string, std::string>;  // "avx2 1 matmul ..." -> values

Golden read_golden(const std::string& path) {
  Golden golden;
  std::ifstream file(path);
  for (std::string key, values; std::getline(file, key) && std::getline(file, values);)
    golden[key] = values;
  return golden;
}

/// From the targets before it, for this Spec.
bool differs(const Entry& entry, const Target& target) {
  std::vector<Dtype> types;
  if (Result<Statement> statement = parse(entry.text))
    for (const Tensor& t : statement->tensors) types.push_back(t.dtype);
  return best_target(target.required, kAllFeatures, types) == &target;
}

int run(const std::string& folder, bool bless) {
  const std::vector<Entry> entries = read_entries(folder + "/specs.txt");
  const std::string path = folder + "/golden.txt";
  Golden golden = read_golden(path);
  std::string all;
  size_t compared = 0, different = 0;
  for (const Entry& entry : entries)
    for (const Target& target : fixed_targets()) {
      if (!differs(entry, target)) continue;
      std::string key =
          std::string(target.name) + ' ' + std::to_string(entry.threads) + ' ' + entry.text;
      Result<Values> values = values_of(entry, target);
      std::string text = "  " + (values ? values->text() : values.error().message);
      all += key + '\n' + text + '\n';
      compared++;
      auto known = golden.find(key);
      std::string was = known == golden.end() ? "  nothing" : known->second;
      if (known != golden.end()) golden.erase(known);
      if (values && same(was, text)) continue;
      different++;
      std::printf("%s\n was %s\n is  %s\n", key.c_str(), was.c_str() + 1, text.c_str() + 1);
    }
  for (const auto& [key, values] : golden) {
    different++;
    std::printf("%s\n is in golden.txt and not in specs.txt\n", key.c_str());
  }
  std::printf("%zu programs, %zu different\n", compared, different);
  if (bless) {
    std::ofstream file(path, std::ios::trunc);
    file << all;
    file.close();
    if (!file) return std::perror(path.c_str()), 1;
    return 0;
  }
  return different == 0 && compared > 0 ? 0 : 1;
}

}  // namespace
}  // namespace morello

int main(int argc, char** argv) {
  bool bless = argc == 3 && std::strcmp(argv[2], "--bless") == 0;
  if (argc != 2 && !bless) {
    std::fprintf(stderr, "usage: morello-golden FOLDER [--bless]\n");
    return 2;
  }
  return morello::run(argv[1], bless);
}
