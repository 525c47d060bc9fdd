// SPDX-License-Identifier: MIT
#include "sweep.hh"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

namespace morello::testing {
namespace {

constexpr size_t kLeastTrials = 10;   // of each scenario in each mode, however long they take
constexpr rlim_t kHangSeconds = 120;  // of CPU, in one trial
constexpr int kQuietEnds = 3;         // trials without a failure that end a sweep of threads

/// The call. No exception may come out of a C function.
morello_status call(const Scenario& s, morello_error** error, Trial& trial) {
  try {
    return s.call(error);
  } catch (...) {
    std::snprintf(trial.wrong, sizeof trial.wrong, "an exception came out of it");
    return s.expected;
  }
}

/// The lowest free file descriptor: one more than before if one was left open.
int free_descriptor() {
  const int fd = open("/dev/null", O_RDONLY);
  close(fd);
  return fd;
}

std::string judge(const Scenario& s, morello_status status, morello_error* error, bool failed) {
  const std::string name = morello_status_string(status);
  if (error != nullptr && status == MORELLO_OK) return "success, but there is an error object";
  if (error != nullptr && morello_error_status(error) != status)
    return name + ", but the error says " + morello_status_string(morello_error_status(error));
  if (status == s.expected) return s.check();
  const std::string message = error == nullptr ? "" : morello_error_message(error);
  if (status != MORELLO_OUT_OF_MEMORY) return name + ": " + message;
  if (!failed) return "out of memory, but nothing had failed: " + message;
  return s.check_failed();
}

void set_wrong(Trial& trial, const std::string& what) {
  if (trial.wrong[0] == '\0') std::snprintf(trial.wrong, sizeof trial.wrong, "%s", what.c_str());
}

/// Where the trial is, for whoever ends a test that hangs.
char note[300] = "";
void say_note(int) {
  if (write(2, note, std::strlen(note)) < 0) _exit(1);
  _exit(1);
}

void wrong_in(const Scenario& s, uint64_t n, faults::Mode mode, const std::string& what) {
  std::printf(
      "FAILED: %s, %s, n = %llu: %s\n  repeat: morello-oom --scenario '%s' --mode %s --n "
      "%llu\n",
      s.name.c_str(), text_of(mode), static_cast<unsigned long long>(n), what.c_str(),
      s.name.c_str(), text_of(mode), static_cast<unsigned long long>(n));
}

}  // namespace

double cpu_seconds_of_children() {
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

const char* text_of(faults::Mode mode) { return mode == faults::Mode::kOnce ? "once" : "onward"; }

Trial try_once(const Scenario& s, uint64_t n, faults::Mode mode, bool trace) {
  Trial trial;
  const int descriptor = free_descriptor();
  s.begin();
  morello_error* error = nullptr;
  faults::arm(n, mode, trace);
  morello_status status = call(s, &error, trial);
  trial.counts = faults::disarm();
  const bool failed = trial.counts.failed > 0;
  set_wrong(trial, judge(s, status, error, failed));
  if (!s.allocates && trial.counts.calls > 0) set_wrong(trial, "it allocated");
  trial.absorbed = failed && status == s.expected;
  morello_error_release(error);
  s.end();
  if (faults::live() != 0 && !s.warms_up)
    set_wrong(trial, std::to_string(faults::live()) + " blocks were not freed (" +
                         morello_status_string(status) + ")");
  if (free_descriptor() != descriptor) set_wrong(trial, "a file was left open");
  if (!failed) return trial;
  error = nullptr;
  status = call(s, &error, trial);
  if (const std::string wrong = judge(s, status, error, false); !wrong.empty())
    set_wrong(trial, "the same call afterwards: " + wrong);
  morello_error_release(error);
  s.end();
  return trial;
}

Trial try_in_child(const Scenario& s, uint64_t n, faults::Mode mode) {
  static auto* const shared =
      new (mmap(nullptr, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Trial;
  *shared = {};
  std::snprintf(note, sizeof note, "interrupted in: --scenario '%s' --mode %s --n %llu\n",
                s.name.c_str(), text_of(mode), static_cast<unsigned long long>(n));
  std::fflush(stdout);
  const pid_t child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    const rlimit cpu = {kHangSeconds, kHangSeconds}, no_core = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &no_core);
    *shared = try_once(s, n, mode);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  need(waitpid(child, &status, 0) == child, "waitpid");
  Trial trial = *shared;
  if (WIFSIGNALED(status)) {
    set_wrong(trial, std::string("terminated by ") + strsignal(WTERMSIG(status)));
    trial.counts.failed = 1;  // the sweep goes on
  } else if (WEXITSTATUS(status) != 0) {
    set_wrong(trial, "ended with " + std::to_string(WEXITSTATUS(status)));
    trial.counts.failed = 1;
  }
  return trial;
}

Tally sweep(const Scenario& s, double cpu_seconds, std::mt19937& random) {
  signal(SIGTERM, say_note);
  using faults::Mode;
  Tally tally;
  auto run = [&](uint64_t n, Mode mode) {
    const Trial trial = try_in_child(s, n, mode);
    tally.trials++;
    tally.absorbed += trial.absorbed;
    if (trial.wrong[0] != '\0') {
      tally.wrong++;
      wrong_in(s, n, mode, trial.wrong);
    }
    return trial;
  };
  tally.calls = run(0, Mode::kOnce).counts.calls;
  if (s.allocates && tally.calls == 0) {
    tally.wrong++;
    std::printf("FAILED: %s: nothing was allocated, so nothing was tested\n", s.name.c_str());
  }
  if (!s.allocates) return tally;
  std::vector<uint64_t> order(tally.calls);
  std::iota(order.begin(), order.end(), 1);
  std::shuffle(order.begin(), order.end(), random);
  for (Mode mode : {Mode::kOnce, Mode::kOnward}) {
    const double end = cpu_seconds_of_children() + cpu_seconds / 2;
    size_t done = 0;
    for (uint64_t n : order) {
      if (done >= kLeastTrials && cpu_seconds_of_children() >= end) break;
      run(n, mode);
      done++;
    }
    // Threads allocate more at times; and past the end all is as without failures.
    int quiet = 0;
    for (uint64_t n = tally.calls + 1; done == order.size() && quiet < kQuietEnds; n++)
      if (run(n, mode).counts.failed == 0) quiet++;
  }
  return tally;
}

}  // namespace morello::testing
