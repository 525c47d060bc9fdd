// SPDX-License-Identifier: MIT
// What becomes of every call of the C interface when there is no memory left, at each of its
// allocations. Without arguments a sample of them, in about half a minute of CPU.
//
//   morello-oom --all                                       every one
//   morello-oom --scenario NAME                             of one scenario
//   morello-oom --scenario NAME --mode once --n 12 --trace  one trial, here, for a debugger
//   morello-oom --functions capi/abi.txt                    only: is every function in a scenario?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <set>

#include "../support/sanitized.hh"
#include "sweep.hh"

namespace morello::testing {

void need(bool good, const std::string& what) {
  if (good) return;
  std::printf("the test is broken: %s\n", what.c_str());
  std::exit(2);
}

namespace {

constexpr double kSampleSeconds = 22;
constexpr size_t kGuessedWarm = 50;  // warm scenarios
constexpr int kSkip = 77;

struct Arguments {
  std::string scenario, functions;
  bool all = false, trace = false;
  std::optional<uint64_t> n;
  faults::Mode mode = faults::Mode::kOnce;
  uint32_t seed =
      static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
};

Arguments read_arguments(int count, char** values) {
  Arguments a;
  for (int i = 1; i < count; i++) {
    const std::string name = values[i];
    if (name == "--all") {
      a.all = true;
      continue;
    }
    if (name == "--trace") {
      a.trace = true;
      continue;
    }
    need(++i < count, name + " needs a value, or is unknown");
    const std::string value = values[i];
    if (name == "--scenario")
      a.scenario = value;
    else if (name == "--functions")
      a.functions = value;
    else if (name == "--mode")
      a.mode = value == "once" ? faults::Mode::kOnce : faults::Mode::kOnward;
    else if (name == "--seed")
      a.seed = static_cast<uint32_t>(std::stoul(value));
    else if (name == "--n")
      a.n = std::stoull(value);
    else
      need(false, "unknown argument " + name);
  }
  return a;
}

using Group = std::vector<Scenario> (*)();

/// All but the cold ones, which come before anything is made that these need.
std::vector<Scenario> warm_scenarios() {
  std::vector<Scenario> all;
  for (Group group : {plain_scenarios, spec_scenarios, kernel_scenarios, sized_scenarios,
                      stored_scenarios, table_scenarios})
    for (Scenario& s : group()) all.push_back(std::move(s));
  return all;
}

/// Every exported function belongs to a scenario.
int check_functions(const std::string& list) {
  std::set<std::string> missing;
  std::ifstream in(list);
  for (std::string name; std::getline(in, name);) missing.insert(name);
  need(!missing.empty(), list + " lists nothing");
  for (Group group : {cold_scenarios, warm_scenarios})
    for (const Scenario& s : group())
      for (const std::string& name : s.functions) missing.erase(name);
  for (const std::string& name : missing)
    std::printf("FAILED: %s is in no scenario of tests/oom: add one\n", name.c_str());
  return missing.empty() ? 0 : 1;
}

int run_one(const Arguments& a, const Scenario& s) {
  const Trial trial = try_once(s, *a.n, a.mode, a.trace);
  std::printf("%llu allocations, %llu failed; %s\n",
              static_cast<unsigned long long>(trial.counts.calls),
              static_cast<unsigned long long>(trial.counts.failed),
              trial.wrong[0] != '\0' ? trial.wrong
              : trial.absorbed       ? "the failure was absorbed"
                                     : "right");
  return trial.wrong[0] != '\0';
}

void print(const Scenario& s, const Tally& t) {
  std::printf("%-44s %6llu allocations, %6llu trials, %6llu absorbed, %llu wrong\n", s.name.c_str(),
              static_cast<unsigned long long>(t.calls), static_cast<unsigned long long>(t.trials),
              static_cast<unsigned long long>(t.absorbed),
              static_cast<unsigned long long>(t.wrong));
}

int run(const Arguments& a) {
  std::mt19937 random(a.seed);
  const char* scale = std::getenv("MORELLO_TEST_ROUNDS");
  double seconds = kSampleSeconds * (scale != nullptr ? std::strtod(scale, nullptr) : 1);
  if (a.all) seconds = std::numeric_limits<double>::infinity();
  if (!a.all)
    std::printf("a sample, in about %.0f s of CPU (--all: everything; --seed %u: this one)\n",
                seconds, a.seed);
  Tally sum;
  for (Group group : {cold_scenarios, warm_scenarios}) {
    std::vector<Scenario> scenarios = group();
    std::erase_if(scenarios,
                  [&](const Scenario& s) { return !a.scenario.empty() && s.name != a.scenario; });
    // What small scenarios leave is for the large ones.
    size_t left = scenarios.size() + (group == cold_scenarios ? kGuessedWarm : 0);
    for (const Scenario& s : scenarios) {
      if (a.n) return run_one(a, s);
      const double before = cpu_seconds_of_children();
      const Tally t =
          sweep(s, a.scenario.empty() ? seconds / static_cast<double>(left) : seconds, random);
      seconds -= cpu_seconds_of_children() - before;
      left--;
      print(s, t);
      sum.trials += t.trials;
      sum.wrong += t.wrong;
    }
  }
  need(sum.trials > 0, "no scenario is named '" + a.scenario + "'");
  std::printf("%llu trials, %llu wrong\n", static_cast<unsigned long long>(sum.trials),
              static_cast<unsigned long long>(sum.wrong));
  return sum.wrong != 0;
}

}  // namespace
}  // namespace morello::testing

int main(int count, char** values) {
  using namespace morello::testing;
  const Arguments arguments = read_arguments(count, values);
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::puts("skipped: this CPU cannot run kernels");
    return kSkip;
  }
#if defined(__clang__)
  if (kSanitized) {
    std::puts("skipped: clang's sanitizers allocate for themselves and end where they cannot");
    return kSkip;
  }
#endif
  return arguments.functions.empty() ? run(arguments) : check_functions(arguments.functions);
}
