// SPDX-License-Identifier: MIT
// What tiles of windows have in common, against the lines that each of them reads one by one.
#include "cost/overlap.hh"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "spec/roles.hh"
#include "spec/statement.hh"
#include "support/concat.hh"

namespace morello {
namespace {

struct Image {
  u32 rows, columns, channels, window, step, dilation;
};

std::string pool_of(const Image& i) {
  return concat({"max_pool f32[1,", std::to_string(i.rows), ",", std::to_string(i.columns), ",",
                 std::to_string(i.channels), "] window=", std::to_string(i.window), " stride=",
                 std::to_string(i.step), " dilation=", std::to_string(i.dilation), " nhwc"});
}

/// Lines that places [begin, end) of rows read, of all columns; each pixel has whole lines.
std::set<u32> lines_of(const Image& i, u32 columns, u32 begin, u32 end) {
  std::set<u32> lines;
  for (u32 r = begin; r < end; r++)
    for (u32 c = 0; c < columns; c++)
      for (u32 y = 0; y < i.window; y++)
        for (u32 x = 0; x < i.window; x++)
          for (u32 l = 0; l < i.channels * kElementBytes / kLineBytes; l++)
            lines.insert(((r * i.step + y * i.dilation) * i.columns + c * i.step + x * i.dilation) *
                             (i.channels * kElementBytes / kLineBytes) +
                         l);
  return lines;
}

struct LoopOfTiles {
  std::vector<Spec> specs;
  std::vector<Binding> bindings;
  std::vector<u64> times;

  /// Of a loop over `dim`.
  LoopOfTiles(const Spec& whole, u8 dim, u32 size) {
    const u32 all = whole.size[dim];
    for (u32 part : {size, all % size}) {
      if (part == 0) continue;
      specs.emplace_back(), bindings.emplace_back();
      tile(whole, dim, part, specs.back(), &bindings.back());
      times.push_back(part == size ? all / size : 1);
    }
  }

  OverlapUnits overlap(const Spec& whole, u8 dim, const Target& target) const {
    std::vector<LoopTile> tiles;
    for (size_t i = 0; i < specs.size(); i++) tiles.push_back({specs[i], bindings[i], times[i]});
    return overlap_units(whole, dim, tiles, target);
  }
};

/// The dimension of places along rows: the slowest of the output.
u8 rows_of(const Spec& spec) { return spec.out().layout.dim[0]; }

Spec spec_of(const std::string& text) { return lower(*parse(text))->spec; }

const Target& target_of_test() {
  static const Target target = *fixed_target(Isa::kAvx512);
  return target;
}

}  // namespace

TEST_SUITE("cost") {
  TEST_CASE("what tiles of windows have in common is what they read twice") {
    const u64 seed = 2027;
    std::mt19937_64 rng(seed);
    const auto up_to = [&](u64 most) { return static_cast<u32>(1 + rng() % most); };
    const Target& target = target_of_test();
    int some = 0, none = 0;
    for (int round = 0; round < 300; round++) {
      Image i{0, 0, 16 * up_to(2), 1 + up_to(4), up_to(5), up_to(2)};
      const u32 reach = i.dilation * (i.window - 1) + 1, rows = 2 + up_to(11), columns = up_to(5);
      i.rows = (rows - 1) * i.step + reach, i.columns = (columns - 1) * i.step + reach;
      const std::string text = pool_of(i);
      const u32 size = up_to(rows - 1);
      INFO("seed " << seed << ", round " << round << ": " << text << " by " << size);
      const Spec whole = spec_of(text);
      const u8 dim = rows_of(whole);
      REQUIRE(whole.size[dim] == rows);
      u64 alone = 0;
      for (u32 begin = 0; begin < rows; begin += size)
        alone += lines_of(i, columns, begin, std::min(rows, begin + size)).size();
      const u64 twice = alone - lines_of(i, columns, 0, rows).size();
      const OverlapUnits found = LoopOfTiles(whole, dim, size).overlap(whole, dim, target);
      const u64 lines = static_cast<u64>(found.memory / target.at(Level::kMemory).line_units);
      // Where places are skipped, the lines that are read twice are not looked for.
      const bool gaps = i.step > 1 && (i.dilation > 1 || i.step > i.window);
      CHECK(lines <= twice);
      if (!gaps) CHECK(lines == twice);
      const u64 in_tile = lines_of(i, columns, 0, size).size() * kLineBytes;
      if (in_tile < room_for_overlap(Level::kL1, target) / 2)
        CHECK(found.l2 == static_cast<i64>(lines) * target.at(Level::kL2).line_units);
      (lines > 0 ? some : none)++;
    }
    CHECK(some > 100);
    CHECK(none > 50);
  }

  TEST_CASE("tiles of windows have nothing in common that stays where it is, or comes for others") {
    const Target& target = target_of_test();
    const auto units = [&](const std::string& text, u32 size, Level level = Level::kMemory) {
      Spec spec = spec_of(text);
      spec.operand[0].level = level;
      return LoopOfTiles(spec, rows_of(spec), size).overlap(spec, rows_of(spec), target);
    };
    const std::string pool = "max_pool f32[1,40,9,16] window=3 nhwc stride=1";
    CHECK(units(pool, 4).all() > 0);
    CHECK(units(pool, 4, Level::kL2).memory == 0);
    CHECK(units(pool, 4, Level::kL2).l2 == units(pool, 4).l2);
    CHECK(units(pool, 4, Level::kL1).all() == 0);
    CHECK(units("conv2d f32[1,40,9,16] f32[3,3,1,16] groups=16 nhwc", 4).all() > 0);
    // Products with filters of other channels hide what comes twice.
    CHECK(units("conv2d f32[1,40,9,16] f32[3,3,16,16] nhwc", 4).all() == 0);
    // Vectors along places.
    CHECK(units("max_pool f32[1,16,40,9] window=3 stride=1", 4).all() == 0);
    // Before its borders are there, nobody knows how much of an image is outside.
    CHECK(units("max_pool f32[1,40,9,16] window=3 stride=1 padding=1 nhwc", 4).all() == 0);
    // No room for a tile: in L1, then in L2.
    const OverlapUnits wide = units("max_pool f32[1,40,90,64] window=3 stride=1 nhwc", 8);
    CHECK(wide.l2 == 0);
    CHECK(wide.memory > 0);
    CHECK(units("max_pool f32[1,90,300,512] window=3 stride=1 nhwc", 8).all() == 0);
  }
}

}  // namespace morello
