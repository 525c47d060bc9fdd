// SPDX-License-Identifier: MIT
// bench-table: how small tables of whole families are, and how fast they answer. Unlike the other
// benchmarks, on the inside of the library.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "spec/ladder.hh"
#include "spec/statement.hh"
#include "table/encode.hh"
#include "table/identity.hh"
#include "table/table_builder.hh"
#include "table/walk.hh"

namespace morello::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What the map that a table replaces takes from the system.
template <class T>
struct CountingAllocator {
  using value_type = T;
  explicit CountingAllocator(size_t* bytes) : bytes_(bytes) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : bytes_(other.bytes_) {}
  T* allocate(size_t n) {
    void* block = std::malloc(n * sizeof(T));
    if (!block) throw std::bad_alloc();
    *bytes_ += malloc_usable_size(block) + sizeof(size_t);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) {
    *bytes_ -= malloc_usable_size(block) + sizeof(size_t);
    std::free(block);
  }
  friend bool operator==(const CountingAllocator&, const CountingAllocator&) = default;
  size_t* bytes_;
};

struct HashPair {
  size_t operator()(const Pair& pair) const { return hash_of(pair, 0); }
};

size_t bytes_of_map(const DecidedPairs& pairs) {
  using Entry = std::pair<const Pair, Action>;
  size_t bytes = 0;
  std::unordered_map<Pair, Action, HashPair, std::equal_to<Pair>, CountingAllocator<Entry>> map(
      0, HashPair(), std::equal_to<Pair>(), CountingAllocator<Entry>(&bytes));
  for (const auto& [pair, action] : pairs) map.emplace(pair, action);
  return bytes;
}

/// The members of a family: all sizes on the ladder up to `most`.
std::vector<std::string> members_of(const std::string& family, u32 most) {
  std::vector<u32> sizes;
  for (u32 size : kLadder)
    if (size <= most) sizes.push_back(size);
  std::vector<std::string> texts;
  for (u32 m : sizes)
    for (u32 n : sizes) {
      if (family == "move") {
        texts.push_back(fmt::format("move f32[{0},{1}] -> f32[{0},{1}]", m, n));
        texts.push_back(fmt::format("transpose f32[{0},{1}] perm=1,0 -> f32[{1},{0}]", m, n));
        continue;
      }
      const std::string epilogue =
          family == "fused" ? fmt::format(" + bias f32[{}] -> relu", n) : "";
      for (u32 k : sizes)
        texts.push_back(
            fmt::format("matmul f32[{0},{2}] f32[{2},{1}]{3} -> f32[{0},{1}]", m, n, k, epilogue));
    }
  return texts;
}

/// All members solved by one search.
struct Family {
  std::vector<Spec> members;
  DecidedPairs pairs;  // of their programs
  size_t solved = 0;   // all pairs that the search solved
  double seconds = 0;
};

Family solve(const std::string& name, u32 most, const Target& target) {
  Family family;
  const SpecProblem problem({&target});
  SpecSearch search(problem);
  SpecSearch::Worker worker(search);
  const auto start = Clock::now();
  const Decisions decisions = [&](const Spec& spec, const Limits& limits) -> std::optional<Action> {
    SpecSearch::Solution s;
    if (!search.solve(spec, limits, worker, s) || !s.feasible) return std::nullopt;
    const Pair pair{spec, limits};
    if (!family.pairs.find(pair)) family.pairs.add(pair, s.action);
    return s.action;
  };
  for (const std::string& text : members_of(name, most)) {
    Spec spec = lower(*parse(text))->spec;
    spec.serial = true;
    if (!decide(spec, limits_of(target), problem.context(), target, decisions, {.trusted = true})) {
      fmt::print(stderr, "{}: no program\n", text);
      std::exit(1);
    }
    family.members.push_back(spec);
  }
  family.seconds = seconds_since(start);
  search.each_solved(
      [&](const Spec&, const Limits&, const SpecSearch::Solution&) { family.solved++; });
  return family;
}

Table build(const Family& family, const Target& target, const BoxForm& form) {
  TableBuilder builder(identity_of(target));
  for (const Spec& spec : family.members) builder.promise(spec, limits_of(target));
  for (const auto& [pair, action] : family.pairs) builder.add(pair.spec, pair.limits, action);
  return std::move(builder.build(form).value());
}

/// Points in the boxes; those in several count several times.
double volume_of(const TableContent& content) {
  double volume = 0;
  for (const TableGroup& group : content.groups) {
    const size_t axes = group.bounds.size() / group.actions.size() / 2;
    for (size_t box = 0; box < group.actions.size(); box++) {
      const u32* lo = group.bounds.data() + box * 2 * axes;
      double points = 1;
      for (size_t a = 0; a < axes; a++) points *= lo[axes + a] - lo[a] + 1.0;
      volume += points;
    }
  }
  return volume;
}

/// Of random pairs, a few at a time so that it is the table that is measured, not where they come
/// from. The median, because other programs run too.
double nanoseconds_per_find(const Table& table, const DecidedPairs& pairs) {
  constexpr size_t kRounds = 1 << 12, kFinds = 1 << 8;
  std::mt19937_64 rng(1);
  std::vector<DecidedPairs::Entry> some(kFinds);
  std::vector<double> times;
  for (size_t round = 0; round < kRounds; round++) {
    for (auto& one : some) one = pairs[rng() % pairs.size()];
    size_t wrong = 0;
    const auto start = Clock::now();
    for (const auto& [pair, action] : some) wrong += table.find(pair.spec, pair.limits) != action;
    times.push_back(seconds_since(start) * 1e9 / kFinds);
    if (wrong == 0) continue;
    fmt::print(stderr, "{} wrong decisions\n", wrong);
    std::exit(1);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

/// Decoding and indexing, the fastest of a few.
double milliseconds_to_load(const Bytes& file) {
  double least = 1e9;
  for (int i = 0; i < 9; i++) {
    const auto start = Clock::now();
    const Result<TableContent> content = decode(file);
    if (!content || !Table::make(*content)) std::exit(1);
    least = std::min(least, seconds_since(start) * 1e3);
  }
  return least;
}

struct ProgramTimes {
  double mean = 0, largest = 0;  // microseconds; of all, of that with most nodes
  size_t most_nodes = 0;
};

ProgramTimes time_programs(const Table& table, const Family& family, const Target& target) {
  ProgramTimes times;
  const Spec* largest = nullptr;
  auto start = Clock::now();
  for (const Spec& spec : family.members) {
    const std::optional<ImplTree> tree = program(table, spec, target);
    if (!tree) {
      fmt::print(stderr, "no program in the table for {}\n", describe(spec));
      std::exit(1);
    }
    if (tree->nodes.size() <= times.most_nodes) continue;
    times.most_nodes = tree->nodes.size();
    largest = &spec;
  }
  times.mean = seconds_since(start) * 1e6 / static_cast<double>(family.members.size());
  start = Clock::now();
  for (int i = 0; i < 100; i++) program(table, *largest, target);
  times.largest = seconds_since(start) * 1e6 / 100;
  return times;
}

void report(const std::string& name, u32 most, const Target& target) {
  const Family family = solve(name, most, target);
  const auto start = Clock::now();
  const Table boxes = build(family, target, {});
  const double seconds = seconds_since(start);
  const Table runs = build(family, target, {BoxForm::kBestAxis});
  const TableContent content = boxes.content();
  const size_t map = bytes_of_map(family.pairs), file = encode(content).size();
  const double load = milliseconds_to_load(encode(content));
  const double pairs = static_cast<double>(family.pairs.size());
  const ProgramTimes programs = time_programs(boxes, family, target);
  fmt::print("{} up to {}, {}:\n", name, most, target.name);
  fmt::print("  members {}, promises {}, solved in {:.1f} s\n", family.members.size(),
             content.promises.size(), family.seconds);
  fmt::print("  pairs solved {}, of the members' programs {}\n", family.solved,
             family.pairs.size());
  fmt::print("  keys {}, boxes {}, grid points answered {:.3g}; as runs {}\n", boxes.keys(),
             boxes.boxes(), volume_of(content), runs.boxes());
  fmt::print("  built in {:.2f} s, loaded in {:.2f} ms\n", seconds, load);
  fmt::print("  bytes: table {} (as runs {}), hash map {}, {:.1f} times as many; file {}\n",
             boxes.bytes(), runs.bytes(), map,
             static_cast<double>(map) / static_cast<double>(boxes.bytes()), file);
  fmt::print("  bytes per pair: table {:.2f}, hash map {:.1f}, file {:.2f}\n",
             static_cast<double>(boxes.bytes()) / pairs, static_cast<double>(map) / pairs,
             static_cast<double>(file) / pairs);
  fmt::print("  find {:.0f} ns (runs {:.0f}), program {:.1f} us, with {} nodes {:.1f} us\n\n",
             nanoseconds_per_find(boxes, family.pairs), nanoseconds_per_find(runs, family.pairs),
             programs.mean, programs.most_nodes, programs.largest);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  u32 most = 64;
  std::vector<std::string> families = {"matmul", "move", "fused"};
  std::string isa = "avx2";
  CLI::App app("Measures tables of families of Specs; see bench/README.md");
  app.add_option("SIZE", most, "largest size of a dimension")->check(CLI::Range(2, 4096));
  app.add_option("--family", families, "matmul, move, fused; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"matmul", "move", "fused"}));
  app.add_option("--isa", isa)->check(CLI::IsMember({"avx2", "avx512"}));
  CLI11_PARSE(app, argc, argv);
  const Isa set = isa == "avx512" ? Isa::kAvx512 : Isa::kAvx2;
  const Target target = with_machine(*fixed_target(set), 0, 0, 1);
  for (const std::string& family : families) report(family, most, target);
  return 0;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }
