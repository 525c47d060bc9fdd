// SPDX-License-Identifier: MIT
// The targets: fixed machine models, so that a search gives the same program wherever it runs.
#include <algorithm>

#include "morello/morello.h"
#include "target/target.hh"

namespace morello {
namespace {

constexpr i64 cycles(i64 n) { return n * kUnitsPerCycle; }

constexpr Features kAvx2Features = features(Feature::kAvx, Feature::kFma, Feature::kF16c,
                                            Feature::kBmi1, Feature::kBmi2, Feature::kAvx2);
constexpr Features kAvx512Features =
    kAvx2Features |
    features(Feature::kAvx512f, Feature::kAvx512dq, Feature::kAvx512bw, Feature::kAvx512vl);

/// What both targets have in common: a core of a recent x86-64 server.
constexpr Target generic_core() {
  Target t{};
  t.machine = "generic-x86-64";
  t.permutes_words = true;
  t.fma_per_cycle = 2;
  t.fma_latency = 4;
  t.vector_per_cycle = 3;
  t.loads_per_cycle = 2;
  t.stores_per_cycle = 1;
  t.level[static_cast<int>(Level::kL1)] = {u64{32} << 10, 0, 0, 0};
  // A line comes from L2 in one or two cycles, but steps of register tiles that read rows there
  // take longer: with a price of 2, large products had a factor in L2 that fits L1 part by part,
  // and took up to 1.2 times as long (Zen 4).
  t.level[static_cast<int>(Level::kL2)] = {u64{1} << 20, cycles(4), cycles(2), 0, cycles(4)};
  // Reading rows of 32 KiB in turns, 128 bytes of each, on Zen 3: as fast as reading one after
  // another with 4 or 8 rows, 0.8 times with 16, half with 32.
  t.level[static_cast<int>(Level::kMemory)] = {0, cycles(8), cycles(8), 12};
  t.processors = 1;
  t.parallel_units = cycles(20000);
  t.prices = {.loop = cycles(3),
              .call = cycles(10),
              .tile_call = cycles(3),
              .map_row = cycles(3),
              .odd_store = cycles(3),
              .clear = cycles(1) / 4,
              .dot_result = cycles(8),
              .reduced_row = cycles(12),
              .scalar_step = cycles(4),
              .scalar_element = cycles(2),
              .transpose_block = cycles(24),
              .widen = cycles(1),
              .widen_bf16 = cycles(1) / 2,
              .narrow = cycles(2),
              .narrow_bf16 = cycles(5) / 2,
              .op = {},
              .scalar_op = {cycles(1) / 2, cycles(3), cycles(4)}};
  return t;
}

// Reciprocal throughputs of vdivps and vsqrtps, 256 bits: 5 and 6 cycles on Sapphire Rapids, 5 and
// 8 on Zen 4, 2.5 and 4.5 on Zen 5. 512 bits take twice as long on the first two, and as long on
// the last. The models are between them.
constexpr Target avx2_target() {
  Target t = generic_core();
  t.name = "avx2";
  t.number = MORELLO_ISA_AVX2;
  t.required = kAvx2Features;
  t.vector_bytes = 32;
  t.vector_registers = 16;
  t.prices.op = {cycles(1) / 2, cycles(4), cycles(6)};
  t.level[static_cast<int>(Level::kL2)].stream_units = cycles(1) / 2;
  t.has_masks = false;
  return t;
}

constexpr Target avx512_target() {
  Target t = generic_core();
  t.name = "avx512";
  t.number = MORELLO_ISA_AVX512;
  t.required = kAvx512Features;
  t.vector_bytes = 64;
  t.vector_registers = 32;
  t.prices.op = {cycles(1) / 2, cycles(7), cycles(10)};
  t.level[static_cast<int>(Level::kL2)].stream_units = cycles(1) / 2;
  t.has_masks = true;
  // Of whole lines Intel's processors have two, and Zen 4 as good as two.
  t.vector_per_cycle = 2;
  return t;
}

constexpr Target avx2_vnni_target() {
  Target t = avx2_target();
  t.name = "avx2_vnni";
  t.number = MORELLO_ISA_AVX2_VNNI;
  t.required = kAvx2Features | features(Feature::kAvxVnni);
  return t;
}

constexpr Target avx512_vnni_target() {
  Target t = avx512_target();
  t.name = "avx512_vnni";
  t.number = MORELLO_ISA_AVX512_VNNI;
  t.required = kAvx512Features | features(Feature::kAvx512Vnni);
  return t;
}

constexpr Target avx512_bf16_target() {
  Target t = avx512_vnni_target();
  t.name = "avx512_bf16";
  t.number = MORELLO_ISA_AVX512_BF16;
  t.required = t.required | features(Feature::kAvx512Bf16);
  t.prices.narrow_bf16 = cycles(3) / 2;
  return t;
}

// Measured on a core of Granite Rapids, in its cycles under such load: a product takes 16 whatever
// it waits for, of 4 rows 9; a tile of 16 rows comes from L1 in 8, and in 47 where its rows begin
// inside of lines, of which products beside it hide some; setting sizes takes 180 of the usual
// cycles. Parts of rows of panels cost so little that they only decide ties (Sapphire Rapids).
constexpr Target avx512_amx_target() {
  Target t = avx512_bf16_target();
  t.name = "avx512_amx";
  t.number = MORELLO_ISA_AVX512_AMX;
  t.required = t.required | features(Feature::kAmxTile, Feature::kAmxBf16, Feature::kAmxInt8);
  t.tiles = {.count = 8,
             .rows = 16,
             .row_bytes = 64,
             .configure = cycles(160),
             .product_row = cycles(1),
             .least_product = cycles(9),
             .load_row = cycles(1) / 2,
             .split_row = cycles(2),
             .apart_row = cycles(1) / 16,
             .store_row = cycles(1)};
  // All of these take two shuffles for vpermw, which is not less than one and a shift.
  t.permutes_words = false;
  t.prices.widen_bf16 = t.prices.widen;
  // All cores that have such registers have these caches. Products wait for little of what comes
  // from L2: 4 of them, with 64 lines, take 1.4 times as long as with lines from L1.
  t.level[static_cast<int>(Level::kL1)].bytes = u64{48} << 10;
  t.level[static_cast<int>(Level::kL2)].bytes = u64{2} << 20;
  t.level[static_cast<int>(Level::kL2)].line_units = cycles(1);
  t.level[static_cast<int>(Level::kL2)].stream_units = cycles(1);
  return t;
}

/// From the least to the most wanted: AUTO takes the last usable one, so one that is best for some
/// machines only stands before one that is good for all.
constexpr Target kTargets[] = {avx2_target(),        avx2_vnni_target(),   avx512_target(),
                               avx512_vnni_target(), avx512_bf16_target(), avx512_amx_target()};

/// morello_cpu_info::usable_isas has a bit for each number; AUTO is none.
constexpr bool numbers_are_bits() {
  u32 seen = 1u << MORELLO_ISA_AUTO;
  for (const Target& t : kTargets) {
    if (t.number < 0 || t.number >= 32 || (seen >> t.number & 1)) return false;
    seen |= 1u << t.number;
  }
  return true;
}
static_assert(numbers_are_bits());

/// What prices divide by, and what nothing works without.
constexpr bool targets_are_complete() {
  for (const Target& t : kTargets)
    if (t.name.empty() || t.machine.empty() || t.required == kNoFeatures || t.vector_bytes == 0 ||
        t.vector_registers == 0 || t.fma_per_cycle == 0 || t.fma_latency == 0 ||
        t.vector_per_cycle == 0 || t.loads_per_cycle == 0 || t.stores_per_cycle == 0 ||
        t.processors == 0 || t.tiles.count > kMostTiles || t.tiles.row_bytes > 255 ||
        t.tiles.rows > 255)
      return false;
  return true;
}
static_assert(targets_are_complete());
static_assert(static_cast<int>(Isa::kAvx2) == MORELLO_ISA_AVX2 &&
              static_cast<int>(Isa::kAvx512) == MORELLO_ISA_AVX512);

}  // namespace

std::span<const Target> fixed_targets() { return kTargets; }

const Target* find_target(i32 number) {
  for (const Target& t : kTargets)
    if (t.number == number) return &t;
  return nullptr;
}

const Target* fixed_target(Isa isa) { return find_target(static_cast<i32>(isa)); }

const Target* find_target(std::string_view name) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  auto same = [&](char a, char b) { return lower(a) == lower(b); };
  for (const Target& t : kTargets)
    if (std::equal(name.begin(), name.end(), t.name.begin(), t.name.end(), same)) return &t;
  return nullptr;
}

bool usable(const Target& target, Features cpu, Features cap) {
  return includes(cpu & cap, target.required);
}

const Target* best_target(Features cpu, Features cap) {
  const Target* best = nullptr;
  for (const Target& t : kTargets)
    if (usable(t, cpu, cap)) best = &t;
  return best;
}

Target with_machine(const Target& base, u64 l1_bytes, u64 l2_bytes, u32 processors) {
  Target t = base;
  if (l1_bytes != 0) t.level[static_cast<int>(Level::kL1)].bytes = l1_bytes;
  if (l2_bytes != 0) t.level[static_cast<int>(Level::kL2)].bytes = l2_bytes;
  if (l1_bytes != 0 || l2_bytes != 0) t.machine = "host";
  if (processors != 0) t.processors = processors;
  return t;
}

}  // namespace morello
