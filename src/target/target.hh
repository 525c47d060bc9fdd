// SPDX-License-Identifier: MIT
// A target is data: the features that it requires, memory levels, prices and rates. Nothing here
// runs code for it.
#ifndef MORELLO_TARGET_TARGET_HH
#define MORELLO_TARGET_TARGET_HH

#include <array>
#include <span>
#include <string_view>

#include "support/types.hh"
#include "target/features.hh"

namespace morello {

/// The fixed targets by the numbers of morello_isa. They have no order: what a target needs is its
/// `requires`.
enum class Isa : u8 { kNone = 0, kAvx2 = 1, kAvx512 = 2 };

/// Ordered from near to far. On disk: never renumber.
enum class Level : u8 { kRegister = 0, kL1 = 1, kL2 = 2, kMemory = 3 };
inline constexpr int kLevels = 4;

constexpr std::string_view name_of(Level level) {
  constexpr std::string_view kNames[kLevels] = {"reg", "L1", "L2", "mem"};
  return kNames[static_cast<int>(level)];
}

/// Costs are counted in units of 1/16 cycle, so that prices below a cycle stay integers.
inline constexpr i64 kUnitsPerCycle = 16;
inline constexpr u32 kLineBytes = 64;

struct LevelModel {
  u64 bytes;       // capacity; ignored for registers (see vector_registers) and memory (unbounded)
  i64 line_units;  // price of bringing one line from this level to the next nearer one
  i64 run_units;   // added per contiguous run where runs are far apart (TLB, prefetcher restart)
  friend bool operator==(const LevelModel&, const LevelModel&) = default;
};

/// Throughputs are per cycle of one core. Immutable; shared freely between threads.
struct Target {
  std::string_view name;  // "avx2", "avx512"
  i32 number;             // by which users ask for it: that of morello_isa
  std::string_view
      machine;        // the machine model: "generic-x86-64", or "host" if read from this machine
  Features required;  // of the CPU that runs its kernels
  u32 vector_bytes;
  u32 vector_registers;
  bool has_masks;  // masked loads and stores need no vector register
  u32 fma_per_cycle;
  u32 fma_latency;  // cycles
  u32 loads_per_cycle;
  u32 stores_per_cycle;
  std::array<LevelModel, kLevels> level;  // indexed by Level
  u32 processors;
  i64 parallel_units;  // starting and joining one parallel loop

  u32 lanes(u32 element_bytes) const { return vector_bytes / element_bytes; }
  const LevelModel& at(Level l) const { return level[static_cast<int>(l)]; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// Calls f("name", field) for every field. A field that is missing here does not compile.
template <class F>
constexpr void each_field(const Target& t, F&& f) {
  const auto& [name, number, machine, required, vector_bytes, vector_registers, has_masks,
               fma_per_cycle, fma_latency, loads_per_cycle, stores_per_cycle, level, processors,
               parallel_units] = t;
  f("name", name);
  f("number", number);
  f("machine", machine);
  f("required", required);
  f("vector_bytes", vector_bytes);
  f("vector_registers", vector_registers);
  f("has_masks", has_masks);
  f("fma_per_cycle", fma_per_cycle);
  f("fma_latency", fma_latency);
  f("loads_per_cycle", loads_per_cycle);
  f("stores_per_cycle", stores_per_cycle);
  f("level", level);
  f("processors", processors);
  f("parallel_units", parallel_units);
}

/// The fixed machine models, from the least to the most wanted.
std::span<const Target> fixed_targets();
/// The one of a number or name (in any case), or nullptr.
const Target* fixed_target(Isa isa);
const Target* find_target(i32 number);
const Target* find_target(std::string_view name);

/// Can its kernels run on a CPU with the features of `cpu`, and use none but those of `cap`?
bool usable(const Target& target, Features cpu, Features cap);
/// What AUTO means: the last usable one, or nullptr.
const Target* best_target(Features cpu, Features cap);

/// `base` with the cache sizes and processor count given (0: keep the model's).
Target with_machine(const Target& base, u64 l1_bytes, u64 l2_bytes, u32 processors);

}  // namespace morello

#endif
