// SPDX-License-Identifier: MIT
// bench-peers: our kernels beside other libraries and the limits of the machine. Libraries read
// their instruction set and threads from the environment when they start, so this program runs
// itself once per cap, number of threads and repetition, and puts together what these tell.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>

#include "CLI/CLI.hpp"
#include "caps.hh"
#include "contest.hh"
#include "fmt/format.h"
#include "load.hh"
#include "nlohmann/json.hpp"
#include "report.hh"

namespace morello::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> files, caps, filters;
  std::vector<uint32_t> threads = {1};
  uint64_t repetitions = 3;
  double minutes = 10;
  double round_ms = 2;
  double search_seconds = 10;
  std::string csv, svg;
  std::vector<std::string> without;
  // Of a child.
  std::string child_cap;
  uint32_t child_threads = 1;
  double child_seconds = 60;
  size_t from = 0;
};

std::vector<Line> lines_of(const Settings& settings) {
  std::vector<Line> lines;
  for (const std::string& text : read_problems(settings.files)) {
    const bool wanted =
        std::all_of(settings.filters.begin(), settings.filters.end(),
                    [&](const std::string& filter) { return text.find(filter) != text.npos; });
    if (wanted) lines.push_back(parse_line(text));
  }
  return lines;
}

double seconds_until(Clock::time_point end) {
  return std::chrono::duration<double>(end - Clock::now()).count();
}

// ------------------------------------------------------------------------------------------------
// The child: measures, and writes one line of JSON for each thing that it knows.

void say(const Json& json) {
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

void say_limits(Limits* limits) {
  Json all = Json::array();
  for (const Probe& probe : limits->all()) {
    all.push_back({{"name", probe.name}, {"is_memory", probe.is_memory}, {"rate", probe.rate()}});
  }
  say({{"limits", all}});
}

int run_child(const Settings& settings) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(settings.child_seconds));
  const Cap& cap = *find_cap(settings.child_cap);
  const Setting setting = {settings.child_cap, settings.child_threads, settings.search_seconds};
  std::vector<std::string> missing, about;
  const std::vector<Peer> peers = load_peers(
      setting, settings.without,
      [](const std::string& name) {
        say({{"loads", name}});
      },
      &missing);
  for (const Peer& peer : peers) about.push_back(peer.name + ": " + peer.about);
  say({{"about", about}, {"missing", missing}});
  Limits limits(cap, setting.threads, std::min(3.0, settings.child_seconds / 10));

  const std::vector<Line> lines = lines_of(settings);
  size_t left = 0;  // measurements
  for (size_t i = settings.from; i < lines.size(); ++i) left += lines[i].warm + lines[i].cold;
  for (size_t i = settings.from; i < lines.size(); ++i) {
    if (seconds_until(end) < 0) {
      say({{"left_out", lines.size() - i}});
      break;
    }
    say({{"begins", i}});
    Effort effort;
    effort.round_seconds = settings.round_ms / 1e3;
    // Preparing takes a part of it that is not known before.
    effort.seconds = std::max(0.0, 0.7 * seconds_until(end) / static_cast<double>(left));
    for (const Outcome& outcome : hold_contest(lines[i], setting, peers, &limits, effort)) {
      say({{"outcome", to_json(outcome)}});
    }
    left -= lines[i].warm + lines[i].cold;
  }
  say_limits(&limits);
  say({{"done", true}});
  // Without the libraries' own ends, which some of them do not survive.
  std::_Exit(0);
}

// ------------------------------------------------------------------------------------------------
// The parent.

struct Child {
  pid_t pid = -1;
  FILE* output = nullptr;
};

Child start(const std::vector<std::string>& arguments, const Cap& cap, uint32_t threads) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    for (const auto& [name, value] : environment(cap, threads)) {
      if (value.empty()) {
        unsetenv(name.c_str());
      } else {
        setenv(name.c_str(), value.c_str(), 1);
      }
    }
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  close(ends[1]);
  return {pid, fdopen(ends[0], "r")};
}

/// Reads a line; false at the end.
bool read_line(FILE* file, std::string* line) {
  line->clear();
  for (int c; (c = std::getc(file)) != EOF;) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  return false;
}

/// What a child told, until it ended.
struct Told {
  bool done = false;
  std::string loads;                // the peer that it loaded last
  std::optional<size_t> problem{};  // that it began last
};

Told listen(FILE* output, const std::vector<Line>& lines, Group* group) {
  Told told;
  for (std::string line; read_line(output, &line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) continue;  // a library that prints
    if (json.contains("about")) {
      group->about = json.at("about").get<std::vector<std::string>>();
      for (const Json& missing : json.at("missing")) group->add_missing(missing);
    } else if (json.contains("loads")) {
      told.loads = json.at("loads");
    } else if (json.contains("begins")) {
      told.problem = json.at("begins").get<size_t>();
      fmt::print(stderr, "{}, {} threads: {}\n", group->cap, group->threads,
                 lines[*told.problem].spec);
    } else if (json.contains("outcome")) {
      group->add(outcome_from(json.at("outcome")));
    } else if (json.contains("left_out")) {
      group->add_missing(
          fmt::format("the last {} lines: --minutes was over", json.at("left_out").get<size_t>()));
    } else if (json.contains("limits")) {
      for (const Json& any : json.at("limits")) {
        group->add(MeasuredLimit{any.at("name"), any.at("is_memory"), any.at("rate")});
      }
    } else if (json.contains("done")) {
      told.done = true;
    }
  }
  return told;
}

/// One pass over all problems. A child that dies is replaced by one without the peer that it
/// loaded, or that goes on behind the problem at which it died.
bool pass(const Settings& settings, const Cap& cap, double seconds, Group* group) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  bool good = true;
  const std::vector<Line> lines = lines_of(settings);
  std::vector<std::string> without = settings.without;
  for (size_t from = 0; from < lines.size();) {
    std::vector<std::string> arguments = {"bench-peers"};
    arguments.insert(arguments.end(), settings.files.begin(), settings.files.end());
    for (const std::string& filter : settings.filters) arguments.push_back("--filter=" + filter);
    for (const std::string& name : without) arguments.push_back("--without=" + name);
    arguments.push_back(fmt::format("--round-ms={}", settings.round_ms));
    arguments.push_back(fmt::format("--search-seconds={}", settings.search_seconds));
    arguments.push_back(fmt::format("--child-cap={}", cap.name));
    arguments.push_back(fmt::format("--child-threads={}", group->threads));
    arguments.push_back(fmt::format("--child-seconds={}", std::max(1.0, seconds_until(end))));
    arguments.push_back(fmt::format("--from={}", from));
    const Child child = start(arguments, cap, group->threads);
    if (child.output == nullptr) return false;
    const Told told = listen(child.output, lines, group);
    std::fclose(child.output);
    int status = 0;
    waitpid(child.pid, &status, 0);
    if (told.done) return good;
    good = false;
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                : fmt::format("status {}", WEXITSTATUS(status));
    const std::string where = told.problem ? lines[*told.problem].spec : "loading " + told.loads;
    group->add_missing(fmt::format("a process ended ({}) at {}", how, where));
    fmt::print(stderr, "{}\n", group->missing.back());
    if (told.problem) {
      from = *told.problem + 1;
    } else if (told.loads.empty() || std::count(without.begin(), without.end(), told.loads) != 0) {
      return false;
    } else {
      without.push_back(told.loads);
    }
  }
  return good;
}

void print_title(int argc, char** argv) {
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) != MORELLO_OK) info = {};
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  fmt::print("# Peers: morello {} on {}, {} processors, {}\n\nCommand:", morello_version_string(),
             info.name, info.processors, date);
  for (int i = 0; i < argc; ++i) fmt::print(" {}", argv[i]);
  fmt::print("\n\nEach figure is best / median round.\n\n");
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "{}: cannot be written\n", path);
  return false;
}

int run_parent(const Settings& settings, int argc, char** argv) {
  std::vector<const Cap*> caps;
  for (const std::string& name : settings.caps) {
    const Cap* cap = find_cap(name);
    if (!usable(*cap)) {
      fmt::print(stderr, "this CPU lacks what {} needs\n", name);
      return 3;
    }
    caps.push_back(cap);
  }
  if (caps.empty()) {  // the least and the most
    for (const Cap& cap : bench::caps()) {
      if (!usable(cap)) continue;
      if (caps.size() == 2) caps.pop_back();
      caps.push_back(&cap);
    }
  }
  if (caps.empty()) {
    fmt::print(stderr, "this CPU has no AVX2\n");
    return 3;
  }

  std::vector<Group> groups;
  for (const Cap* cap : caps) {
    for (uint32_t threads : settings.threads)
      groups.push_back({cap->name, threads, {}, {}, {}, {}});
  }
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double, std::ratio<60>>(settings.minutes));
  size_t passes = settings.repetitions * groups.size();
  bool good = true;
  for (uint64_t repetition = 0; repetition < settings.repetitions; ++repetition) {
    for (Group& group : groups) {
      const double seconds = seconds_until(end) / static_cast<double>(passes--);
      good = pass(settings, *find_cap(group.cap), seconds, &group) && good;
    }
  }
  print_title(argc, argv);
  for (const Group& group : groups) fmt::print("{}", table_of(group));
  if (!settings.csv.empty()) good = write(settings.csv, csv_of(groups)) && good;
  if (!settings.svg.empty()) good = write(settings.svg, plot_of(groups)) && good;
  for (const Group& group : groups) {
    for (const Outcome& outcome : group.outcomes) {
      good = good && outcome.ours().verdict != Verdict::kWrong;
    }
  }
  return good ? 0 : 1;
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Measures kernels beside other libraries; see bench/README.md");
  std::vector<std::string> names;
  for (const Cap& cap : caps()) names.push_back(cap.name);
  app.add_option("FILES", settings.files, "problem files, one Spec a line")->required();
  app.add_option("--isa", settings.caps,
                 "cap for all libraries; default: the least and the most that this CPU has")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--threads", settings.threads, "numbers of threads, such as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  app.add_option("--filter", settings.filters, "only lines that contain this text; several: all");
  app.add_option("--minutes", settings.minutes, "for everything, about")
      ->check(CLI::Range(0.01, 1e4));
  app.add_option("--repetitions", settings.repetitions, "passes over all problems")
      ->check(CLI::Range(1, 1000));
  app.add_option("--without", settings.without, "not this peer, as it is named when it is loaded");
  app.add_option("--round-ms", settings.round_ms)->check(CLI::Range(0.01, 1e4));
  app.add_option("--search-seconds", settings.search_seconds,
                 "most that each search of ours may take; 0: no limit")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--csv", settings.csv, "write every figure to this file");
  app.add_option("--svg", settings.svg, "draw the best rounds into this file");
  app.add_option("--child-cap", settings.child_cap)->group("");
  app.add_option("--child-threads", settings.child_threads)->group("");
  app.add_option("--child-seconds", settings.child_seconds)->group("");
  app.add_option("--from", settings.from)->group("");
  CLI11_PARSE(app, argc, argv);
  return settings.child_cap.empty() ? run_parent(settings, argc, argv) : run_child(settings);
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) { return morello::bench::run(argc, argv); }
