// SPDX-License-Identifier: MIT
#include "limits.hh"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "data.hh"
#include "fmt/format.h"
#include "rates.hh"

namespace morello::bench {
namespace {

constexpr uint64_t kStepsPerCall = 4096;
constexpr size_t kLine = 64, kPortion = size_t{4} << 20;  // read at a time from memory
constexpr size_t kLeastCold = size_t{256} << 20;

/// Calls work(thread) on each of `threads`, this one among them.
template <typename Work>
void on_threads(uint32_t threads, Work work) {
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0u);
  for (std::thread& other : others) other.join();
}

/// Reads every line of `streams` equal parts in turn; prefetches from so far ahead, if not 0.
struct Form {
  const char* name;
  int streams;
  size_t ahead;
};
constexpr Form kForms[] = {
    {"", 1, 0}, {", prefetched", 1, 2048}, {", 4 streams, prefetched", 4, 1024}};

template <bool wide>
__attribute__((always_inline)) inline void read_line(const char* at) {
  if constexpr (wide) {
    asm volatile("vmovups (%0), %%zmm0" : : "r"(at) : "xmm0");
  } else {
    asm volatile("vmovups (%0), %%ymm0; vmovups 32(%0), %%ymm1" : : "r"(at) : "xmm0", "xmm1");
  }
}

template <bool wide>
void read(const char* data, size_t bytes, const Form& form) {
  const size_t part = bytes / static_cast<size_t>(form.streams) / (4 * kLine) * (4 * kLine);
  for (size_t at = 0; at < part; at += 4 * kLine) {
    for (int s = 0; s < form.streams; ++s) {
      const char* lines = data + static_cast<size_t>(s) * part + at;
      for (size_t i = 0; i < 4; ++i) {
        if (form.ahead != 0) __builtin_prefetch(lines + form.ahead + i * kLine);
        read_line<wide>(lines + i * kLine);
      }
    }
  }
}

/// Of one level: each thread has its own memory, and goes on where it stopped.
struct Reader {
  std::vector<Bytes> memory;
  std::vector<size_t> next;
  size_t portion = 0;
  bool wide = false;

  Reader(uint32_t threads, size_t bytes, bool is_wide) : next(threads * 8), wide(is_wide) {
    portion = std::min(bytes, kPortion);
    for (uint32_t i = 0; i < threads; ++i) {
      memory.emplace_back(bytes / portion * portion);
      std::memset(memory.back().get(), 1, memory.back().size());
    }
  }

  void run(uint64_t calls, const Form& form) {
    on_threads(static_cast<uint32_t>(memory.size()), [&](uint32_t thread) {
      const char* data = static_cast<const char*>(memory[thread].get());
      size_t& at = next[thread * 8];  // a line of its own
      for (uint64_t i = 0; i < calls; ++i) {
        if (wide) {
          read<true>(data + at, portion, form);
        } else {
          read<false>(data + at, portion, form);
        }
        at = at + 2 * portion > memory[thread].size() ? 0 : at + portion;
      }
    });
  }
};

double nanoseconds(const Probe& probe, uint64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  probe.run(calls);
  const auto time = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(time).count();
}

}  // namespace

Limits::Limits(const Cap& cap, uint32_t threads, double seconds) {
  add_rates(cap, threads);
  add_levels(cap, threads);
  const double share = seconds * 1e9 / static_cast<double>(probes_.size());
  for (Probe& probe : probes_) {
    // Short pieces, as a neighbour disturbs long ones; but long beside the start of threads.
    const double piece = threads == 1 ? 5e5 : 5e6;
    uint64_t calls = 1;
    while (nanoseconds(probe, calls) < piece) calls *= 2;
    for (double spent = 0; spent < share;) {
      const double time = nanoseconds(probe, calls), each = time / static_cast<double>(calls);
      spent += time;
      if (probe.best_ns == 0 || each < probe.best_ns) probe.best_ns = each;
    }
  }
}

void Limits::add_rates(const Cap& cap, uint32_t threads) {
  for (const Rate& rate : rates()) {
    if ((rate.features & ~cap.features) != 0) continue;
    Probe probe{rate.name};
    probe.work = rate.operations * static_cast<double>(kStepsPerCall) * threads;
    probe.run = [&rate, threads](uint64_t calls) {
      on_threads(threads, [&](uint32_t) { rate.run(calls * kStepsPerCall); });
    };
    probes_.push_back(probe);
    kinds_.push_back(static_cast<int>(rate.products));
  }
}

void Limits::add_levels(const Cap& cap, uint32_t threads) {
  morello_cpu_info info;
  if (morello_cpu_info_get(&info, sizeof info) != MORELLO_OK) info = {};
  const uint64_t l1 = info.l1_bytes != 0 ? info.l1_bytes : 32u << 10;
  const uint64_t l2 = info.l2_bytes != 0 ? info.l2_bytes : 1u << 20;
  const uint64_t l3 = info.l3_bytes != 0 ? info.l3_bytes : 32u << 20;
  cold_bytes_ = std::max<size_t>(kLeastCold, 8 * l3);
  const bool wide = (cap.features & kAvx512) != 0;
  const struct {
    const char* name;
    size_t bytes;  // of each thread
    double holds;
    size_t forms;
  } levels[] = {{"L1", l1 / 2, static_cast<double>(l1), 1},
                {"L2", l2 / 2, static_cast<double>(l2), 2},
                {"L3", std::max<size_t>(l3 / 4 / threads, 2 * l2), static_cast<double>(l3) / 2, 3},
                {"memory", cold_bytes_ / threads, 1e300, 3}};
  for (const auto& level : levels) {
    const auto reader = std::make_shared<Reader>(threads, level.bytes, wide);
    levels_.push_back({level.holds, probes_.size(), level.forms});
    for (size_t i = 0; i < level.forms; ++i) {
      Probe probe{fmt::format("read {}, {} KiB{}", level.name, level.bytes >> 10, kForms[i].name)};
      probe.is_memory = true;
      probe.work = static_cast<double>(reader->portion) * threads;
      probe.run = [reader, i](uint64_t calls) { reader->run(calls, kForms[i]); };
      probes_.push_back(probe);
      kinds_.push_back(kShown);
    }
  }
}

std::vector<Probe*> Limits::compute(const Problem& problem) {
  std::vector<Probe*> found;
  if (!problem.matmul) return found;
  const Matmul& p = *problem.matmul;
  const bool pair = p.a_type == MORELLO_BF16 && p.b_type == MORELLO_BF16;
  const int kind = p.c_type == MORELLO_I32 ? kInt8 : pair ? kBf16Pair : kFloat;
  for (size_t i = 0; i < probes_.size(); ++i) {
    if ((kinds_[i] & kind) != 0) found.push_back(&probes_[i]);
  }
  return found;
}

std::vector<Probe*> Limits::memory(double bytes, bool cold) {
  const Level* level = &levels_.back();
  for (const Level& any : levels_) {
    if (!cold && any.holds >= bytes) {
      level = &any;
      break;
    }
  }
  std::vector<Probe*> found;
  for (size_t i = 0; i < level->count; ++i) found.push_back(&probes_[level->first + i]);
  return found;
}

const Probe* fastest(const std::vector<Probe*>& probes) {
  const auto slower = [](const Probe* a, const Probe* b) { return a->rate() < b->rate(); };
  const auto found = std::max_element(probes.begin(), probes.end(), slower);
  return found == probes.end() ? nullptr : *found;
}

}  // namespace morello::bench
