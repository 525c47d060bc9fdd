// SPDX-License-Identifier: MIT
// What the machine can do at most: rates of instructions on registers, and bandwidth of reading at
// each level of memory. Measured beside the libraries, under the same cap, on as many threads.
#ifndef MORELLO_BENCH_PEERS_LIMITS_HH
#define MORELLO_BENCH_PEERS_LIMITS_HH

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caps.hh"
#include "problem.hh"

namespace morello::bench {

/// A loop whose rate is a limit.
struct Probe {
  std::string name;
  bool is_memory = false;
  double work = 0;  // operations or bytes of one call
  std::function<void(uint64_t calls)> run{};
  double best_ns = 0;  // of one call, as far as measured
  double rate() const { return best_ns > 0 ? work / best_ns : 0; }  // per ns: G/s
};

/// nullptr: there is none.
const Probe* fastest(const std::vector<Probe*>& probes);

class Limits {
 public:
  /// Measures all, in about `seconds`.
  Limits(const Cap& cap, uint32_t threads, double seconds);

  std::vector<Probe>& all() { return probes_; }
  /// All ways to multiply such types exactly; none for what is no product.
  std::vector<Probe*> compute(const Problem& problem);
  /// All ways to read the nearest level that holds so many bytes; `cold`: memory.
  std::vector<Probe*> memory(double bytes, bool cold);
  /// Bytes that weights are rotated through to be cold.
  size_t cold_bytes() const { return cold_bytes_; }

 private:
  struct Level {
    double holds = 0;
    size_t first = 0, count = 0;  // probes: forms of reading
  };
  void add_rates(const Cap& cap, uint32_t threads);
  void add_levels(const Cap& cap, uint32_t threads);

  std::vector<Probe> probes_;
  std::vector<Level> levels_;
  std::vector<int> kinds_;  // of the probes: see limits.cc
  size_t cold_bytes_ = 0;
};

}  // namespace morello::bench

#endif
