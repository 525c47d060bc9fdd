// SPDX-License-Identifier: MIT
// bench-kernels: our kernels beside OpenBLAS, libxsmm and the core's peak, in interleaved rounds.
// Libraries read their instruction set from the environment when they start, so this program runs
// itself once per instruction set.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "CLI/CLI.hpp"
#include "check.hh"
#include "fmt/format.h"
#include "handles.hh"
#include "nlohmann/json.hpp"
#include "operands.hh"
#include "peak.hh"
#include "peers.hh"
#include "problem.hh"
#include "rounds.hh"

namespace morello::bench {
namespace {

using Json = nlohmann::ordered_json;
using tools::Contender;
using tools::Timing;

struct Settings {
  std::vector<std::string> files;
  std::vector<std::string> isas;
  std::string filter;
  uint64_t rounds = 15;
  uint64_t repetitions = 3;
  double round_ms = 2;
  bool json = false;
  bool child = false;  // the environment is set
};

/// One Spec with everything that is measured on it.
struct Subject {
  std::string text;
  tools::SpecPtr spec;
  tools::KernelPtr kernel;
  std::unique_ptr<tools::Operands> operands;
  std::vector<Peer> peers;
  std::vector<tools::Buffer> peer_results;
  std::vector<Timing> timings;  // ours, peak, then peers
  std::string problem;          // why it was not measured
};

int32_t isa_of(const std::string& name) {
  return name == "avx512" ? MORELLO_ISA_AVX512 : MORELLO_ISA_AVX2;
}

/// Makes the kernel, runs everything once, and compares with the reference.
Subject prepare(const std::string& text, int32_t isa) {
  Subject subject;
  subject.text = text;
  morello_error* error = nullptr;
  const auto failed = [&] {
    subject.problem = tools::ErrorPtr(error) ? morello_error_message(error) : "the library refused";
    return std::move(subject);
  };
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, &error) != MORELLO_OK) return failed();
  const tools::ContextPtr owner(context);
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) return failed();
  subject.spec.reset(spec);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = isa;
  morello_kernel* kernel = nullptr;
  if (morello_synthesize(context, spec, &options, &kernel, &error) != MORELLO_OK) return failed();
  subject.kernel.reset(kernel);

  subject.operands = std::make_unique<tools::Operands>(spec, kernel);
  tools::Operands& operands = *subject.operands;
  operands.fill_random(1);
  if (operands.pack(kernel) != MORELLO_OK) return failed();
  tools::Reference reference(spec, &operands);
  if (reference.compute(tools::Extent::kFull, 1, nullptr, &error) != MORELLO_OK) return failed();
  if (morello_kernel_run(kernel, operands.pointers(), operands.scratch(), nullptr) != MORELLO_OK) {
    return failed();
  }
  if (const tools::Check check = reference.check(operands.result(), nullptr); !check.ok) {
    subject.problem = "WRONG: " + check.describe();
    return subject;
  }
  for (Peer& peer : peers_for(spec, &operands)) {
    const tools::Buffer& initial = operands.initial_output();
    tools::Buffer result(initial.bytes(), initial.dtype());
    std::memcpy(result.memory(), initial.memory(), initial.bytes());
    peer.run(result.data());
    if (const tools::Check check = reference.check(result, nullptr); !check.ok) {
      subject.problem = peer.name + " is WRONG: " + check.describe();
      return subject;
    }
    subject.peers.push_back(std::move(peer));
    subject.peer_results.push_back(std::move(result));
  }
  return subject;
}

std::vector<Contender> contenders_of(Subject* subject, int32_t isa) {
  const morello_kernel_fn function = morello_kernel_function(subject->kernel.get());
  void* const* pointers = subject->operands->pointers();
  void* scratch = subject->operands->scratch();
  std::vector<Contender> contenders = {{[=](uint64_t calls) {
                                         for (; calls != 0; --calls) {
                                           function(pointers, scratch, nullptr);
                                           tools::compiler_barrier();
                                         }
                                       }},
                                       {[=](uint64_t calls) { tools::fma_peak(isa, calls); }}};
  for (size_t i = 0; i < subject->peers.size(); ++i) {
    const auto& run = subject->peers[i].run;
    float* result = subject->peer_results[i].data();
    contenders.push_back({[&run, result](uint64_t calls) {
      for (; calls != 0; --calls) {
        run(result);
        tools::compiler_barrier();
      }
    }});
  }
  return contenders;
}

void measure_subject(Subject* subject, int32_t isa, const Settings& settings) {
  const std::vector<Timing> timings =
      tools::measure(contenders_of(subject, isa), {settings.rounds, settings.round_ms / 1e3});
  subject->timings.resize(timings.size());
  for (size_t i = 0; i < timings.size(); ++i) subject->timings[i].add(timings[i]);
}

const Timing* timing_of(const Subject& subject, const std::string& peer) {
  for (size_t i = 0; i < subject.peers.size(); ++i) {
    if (subject.peers[i].name == peer) return &subject.timings[2 + i];
  }
  return nullptr;
}

/// How many times faster than the fastest peer; 0 without one. `rank`: best or median.
double ratio(const Subject& subject, double (Timing::*rank)() const) {
  double fastest = 0;
  for (size_t i = 2; i < subject.timings.size(); ++i) {
    const double ns = (subject.timings[i].*rank)();
    if (fastest == 0 || ns < fastest) fastest = ns;
  }
  return fastest / (subject.timings[0].*rank)();
}

Json json_of(const Subject& subject, int32_t isa) {
  Json json = {{"spec", subject.text}, {"isa", isa == MORELLO_ISA_AVX512 ? "avx512" : "avx2"}};
  if (!subject.problem.empty()) {
    json["problem"] = subject.problem;
    return json;
  }
  const double flops = morello_spec_flops(subject.spec.get());
  const auto figures = [](const Timing& timing, double work) {
    return Json{{"best_ns", timing.best()},
                {"median_ns", timing.median()},
                {"spread", timing.spread()},
                {"rounds", timing.samples.size()},
                {"calls_per_round", timing.calls},
                {"gflops", work / timing.best()},
                {"median_gflops", work / timing.median()}};
  };
  json["kernel"] = morello_kernel_name(subject.kernel.get());
  json["compulsory_bytes"] = subject.operands->compulsory_bytes();
  json["morello"] = figures(subject.timings[0], flops);
  json["peak"] = figures(subject.timings[1], tools::fma_peak_flops(isa));
  for (size_t i = 0; i < subject.peers.size(); ++i) {
    json[subject.peers[i].name] = figures(subject.timings[2 + i], flops);
  }
  return json;
}

void print_row(const Subject& subject, int32_t isa) {
  if (!subject.problem.empty()) {
    fmt::print("| {} | {} |\n", subject.text, subject.problem);
    return;
  }
  const Timing &ours = subject.timings[0], &peak = subject.timings[1];
  const double flops = morello_spec_flops(subject.spec.get());
  const double peak_flops = tools::fma_peak_flops(isa);
  const double bytes = subject.operands->compulsory_bytes();
  const auto rates = [&](const Timing* timing) {
    if (timing == nullptr) return std::string("- |");
    const double work = flops != 0 ? flops : bytes;  // a copy computes nothing
    return fmt::format("{:.1f} / {:.1f}{} |", work / timing->best(), work / timing->median(),
                       flops != 0 ? "" : " GB/s");
  };
  const double best_ratio = ratio(subject, &Timing::best);
  const std::string against =
      best_ratio == 0 ? std::string("-")
                      : fmt::format("{:.2f} / {:.2f}", best_ratio, ratio(subject, &Timing::median));
  fmt::print("| {} | {:.{}f} | {} {:.0f} / {:.0f} | {:.1f} | {} {} {} |\n", subject.text,
             ours.best() / 1e3, ours.best() < 1e5 ? 3 : 0, rates(&ours),
             100 * flops / ours.best() / (peak_flops / peak.best()),
             100 * flops / ours.median() / (peak_flops / peak.best()), bytes / ours.best(),
             rates(timing_of(subject, "OpenBLAS")), rates(timing_of(subject, "libxsmm")), against);
  std::fflush(stdout);
}

void print_header(const std::string& isa, const Settings& settings) {
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) != MORELLO_OK) return;
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  fmt::print("\n## {} on {}, {}\n\n", isa, info.name, date);
  fmt::print(
      "morello {}, one thread; {} repetitions of {} rounds of {} ms, all contenders in turn; "
      "best / median\n\n",
      morello_version_string(), settings.repetitions, settings.rounds, settings.round_ms);
  for (const std::string& line : describe_peers()) fmt::print("- {}\n", line);
  fmt::print(
      "\n| Spec | us | GFLOP/s | % of FMA peak | GB/s | OpenBLAS GFLOP/s | libxsmm GFLOP/s "
      "| times the best peer |\n|---|---|---|---|---|---|---|---|\n");
}

void print_means(const std::vector<Subject>& subjects, int32_t isa) {
  double log_ratio = 0, best_peak = 0;
  int compared = 0;
  for (const Subject& subject : subjects) {
    if (!subject.problem.empty()) continue;
    best_peak = std::max(best_peak, tools::fma_peak_flops(isa) / subject.timings[1].best());
    if (const double r = ratio(subject, &Timing::best); r != 0) {
      log_ratio += std::log(r);
      ++compared;
    }
  }
  fmt::print("\nHighest FMA peak seen: {:.1f} GFLOP/s.", best_peak);
  if (compared != 0) {
    fmt::print(" Geometric mean of the ratio to the best peer, over {} Specs: {:.2f}.", compared,
               std::exp(log_ratio / compared));
  }
  fmt::print("\n");
}

int run_isa(const std::string& name, const Settings& settings) {
  const int32_t isa = isa_of(name);
  std::vector<Subject> subjects;
  for (const std::string& text : read_problems(settings.files)) {
    if (text.find(settings.filter) != text.npos) subjects.push_back(prepare(text, isa));
  }
  for (uint64_t repetition = 0; repetition < settings.repetitions; ++repetition) {
    for (Subject& subject : subjects) {
      if (subject.problem.empty()) measure_subject(&subject, isa, settings);
    }
  }
  if (!settings.json) print_header(name, settings);
  int exit_code = 0;
  for (const Subject& subject : subjects) {
    if (settings.json) {
      fmt::print("{}\n", json_of(subject, isa).dump());
    } else {
      print_row(subject, isa);
    }
    if (!subject.problem.empty()) exit_code = 1;
  }
  if (!settings.json) print_means(subjects, isa);
  return exit_code;
}

/// Runs this program again for one instruction set, with the peers' variables set.
int run_child(int argc, char** argv, const std::string& isa) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : peer_environment(isa_of(isa))) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    std::vector<char*> arguments(argv, argv + argc);
    std::string flag = "--child-isa=" + isa;
    arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Measures kernels beside other libraries; see bench/README.md");
  std::string child_isa;
  app.add_option("FILES", settings.files, "problem files, one Spec a line")->required();
  app.add_option("--isa", settings.isas, "avx2, avx512; default: all that this CPU has")
      ->delimiter(',')
      ->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--filter", settings.filter, "only Specs that contain this text");
  app.add_option("--rounds", settings.rounds)->check(CLI::Range(1, 100000));
  app.add_option("--repetitions", settings.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--round-ms", settings.round_ms)->check(CLI::Range(0.01, 1e4));
  app.add_flag("--json", settings.json, "one line of JSON per Spec and instruction set");
  app.add_option("--child-isa", child_isa)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!child_isa.empty()) return run_isa(child_isa, settings);

  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) != MORELLO_OK || info.usable_isas == 0) {
    fmt::print(stderr, "this CPU has neither AVX2 nor AVX-512\n");
    return 3;
  }
  if (settings.isas.empty()) {
    if (info.usable_isas >> MORELLO_ISA_AVX2 & 1) settings.isas.push_back("avx2");
    if (info.usable_isas >> MORELLO_ISA_AVX512 & 1) settings.isas.push_back("avx512");
  }
  if (!settings.json) {
    fmt::print("# Kernels\n\nCommand:");
    for (int i = 0; i < argc; ++i) fmt::print(" {}", argv[i]);
    fmt::print("\n");
  }
  int exit_code = 0;
  for (const std::string& isa : settings.isas) {
    exit_code = std::max(exit_code, run_child(argc, argv, isa));
  }
  return exit_code;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }
