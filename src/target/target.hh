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

/// Fixed targets by the numbers of morello_isa, for tests and benches. Numbers say nothing about an
/// order: what a target needs is its `required`.
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
  i64 run_units;   // added per contiguous run where runs are apart (TLB, prefetcher restart)
  i64 streams;     // such runs that prefetchers follow at once; 0: any number
  // Price of a line of one run that is read in order, where arithmetic hides how long it takes.
  i64 stream_units = 0;
  friend bool operator==(const LevelModel&, const LevelModel&) = default;
};

/// Elementwise operations that cost alike. The last is none of them: in f32 such an operation costs
/// what the instructions of its recipe cost (cost/recipe.hh), and in integers what a simple one
/// does.
enum class OpClass : u8 { kSimple = 0, kDivide = 1, kSquareRoot = 2, kRecipe = 3 };
inline constexpr int kOpClasses = 3;

/// Units of what microkernels and loops cost besides the rates below.
struct Prices {
  i64 loop;             // a serial loop: counter, branch and cursors, per iteration
  i64 call;             // starting a microkernel: loading its cursors, and filling the pipeline
  i64 tile_call;        // the same for a map of a register tile: straight code without a loop
  i64 map_row;          // starting and ending one row of a map in memory
  i64 odd_store;        // storing a vector in parts, where there are no masks
  i64 clear;            // filling one vector register
  i64 dot_result;       // horizontal sum and store of one result of a dot product
  i64 reduced_row;      // the same of a row that is reduced along its vectors
  i64 scalar_step;      // one step of a scalar reduction
  i64 scalar_element;   // one element of a scalar map
  i64 transpose_block;  // 8x8 elements, in registers
  i64 widen;            // loading a vector of elements narrower than those that are computed
  i64 widen_bf16;       // of bf16 outside of products, where an order of bytes waits in a register
  i64 narrow;           // rounding and storing one
  i64 narrow_bf16;
  std::array<i64, kOpClasses> op;         // of one elementwise operation on a vector, by OpClass
  std::array<i64, kOpClasses> scalar_op;  // the same on an element
  friend bool operator==(const Prices&, const Prices&) = default;
};

/// Calls f("name", price) for every price. One that is missing here does not compile.
template <class F>
constexpr void each_field(const Prices& p, F&& f) {
  const auto& [loop, call, tile_call, map_row, odd_store, clear, dot_result, reduced_row,
               scalar_step, scalar_element, transpose_block, widen, widen_bf16, narrow, narrow_bf16,
               op, scalar_op] = p;
  f("loop", loop);
  f("call", call);
  f("tile_call", tile_call);
  f("map_row", map_row);
  f("odd_store", odd_store);
  f("clear", clear);
  f("dot_result", dot_result);
  f("reduced_row", reduced_row);
  f("scalar_step", scalar_step);
  f("scalar_element", scalar_element);
  f("transpose_block", transpose_block);
  f("widen", widen);
  f("widen_bf16", widen_bf16);
  f("narrow", narrow);
  f("narrow_bf16", narrow_bf16);
  for (const i64& units : op) f("op", units);
  for (const i64& units : scalar_op) f("scalar_op", units);
}

/// Of any target; their sizes have a byte each.
inline constexpr u32 kMostTiles = 8;

/// Registers of two dimensions, which one instruction multiplies as matrices (target/tiles.hh). All
/// zeros: the target has none. Units where no other unit is named.
struct TileUnit {
  u32 count;          // registers
  u32 rows;           // of one, at most
  u32 row_bytes;      // of one row, at most
  i64 configure;      // setting their sizes, which clears them
  i64 product_row;    // of a product, each row of the result
  i64 least_product;  // a product of few rows
  i64 load_row;       // from L1
  i64 split_row;      // added for a row that begins inside a line
  i64 apart_row;      // added for a part of a row of panels, not from L1
  i64 store_row;
  friend bool operator==(const TileUnit&, const TileUnit&) = default;
};

/// Calls f("name", value) for every field. One that is missing here does not compile.
template <class F>
constexpr void each_field(const TileUnit& t, F&& f) {
  const auto& [count, rows, row_bytes, configure, product_row, least_product, load_row, split_row,
               apart_row, store_row] = t;
  f("count", count);
  f("rows", rows);
  f("row_bytes", row_bytes);
  f("configure", configure);
  f("product_row", product_row);
  f("least_product", least_product);
  f("load_row", load_row);
  f("split_row", split_row);
  f("apart_row", apart_row);
  f("store_row", store_row);
}

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
  // One instruction brings elements of 2 bytes to any place of a vector in the time of another
  // shuffle. Without mask registers, bytes of a half.
  bool permutes_words;
  u32 fma_per_cycle;
  u32 fma_latency;       // cycles
  u32 vector_per_cycle;  // arithmetic of any kind, FMAs among it
  u32 loads_per_cycle;
  u32 stores_per_cycle;
  std::array<LevelModel, kLevels> level;  // indexed by Level
  u32 processors;
  i64 parallel_units;  // starting and joining one parallel loop
  Prices prices;
  TileUnit tiles;

  u32 lanes(u32 element_bytes) const { return vector_bytes / element_bytes; }
  const LevelModel& at(Level l) const { return level[static_cast<int>(l)]; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// Calls f("name", field) for every field. A field that is missing here does not compile.
template <class F>
constexpr void each_field(const Target& t, F&& f) {
  const auto& [name, number, machine, required, vector_bytes, vector_registers, has_masks,
               permutes_words, fma_per_cycle, fma_latency, vector_per_cycle, loads_per_cycle,
               stores_per_cycle, level, processors, parallel_units, prices, tiles] = t;
  f("name", name);
  f("number", number);
  f("machine", machine);
  f("required", required);
  f("vector_bytes", vector_bytes);
  f("vector_registers", vector_registers);
  f("has_masks", has_masks);
  f("permutes_words", permutes_words);
  f("fma_per_cycle", fma_per_cycle);
  f("fma_latency", fma_latency);
  f("vector_per_cycle", vector_per_cycle);
  f("loads_per_cycle", loads_per_cycle);
  f("stores_per_cycle", stores_per_cycle);
  f("level", level);
  f("processors", processors);
  f("parallel_units", parallel_units);
  f("prices", prices);
  f("tiles", tiles);
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
