// SPDX-License-Identifier: MIT
// Prices: monotone where the search relies on it, and the same numbers for the same Spec.
#include "cost/microkernel.hh"

#include <doctest/doctest.h>

#include "cost/model.hh"
#include "cost/shared.hh"
#include "spec/statement.hh"
#include "target/dots.hh"

namespace morello {

TEST_SUITE("cost") {
  TEST_CASE("costs saturate and never wrap") {
    CHECK(saturating_mul(~u64{0}, 1) == kInfinite);
    CHECK(saturating_mul(u64{1} << 40, i64{1} << 40) == kInfinite);
    CHECK(saturating_mul(3, 5) == 15);
    CHECK(saturating_add(kInfinite, kInfinite) == kInfinite);
    CHECK(saturating_add(kInfinite, -kInfinite / 2 + 1) == kInfinite);
    CHECK(saturating_add(-7, 5) == -2);
    CHECK(saturating_mul(0, kInfinite) == 0);
  }

  TEST_CASE("microkernels are listed by their numbers") {
    for (const Microkernel* kernel : microkernels()) CHECK(&microkernel(kernel->id) == kernel);
  }

  TEST_CASE("traffic: nearer is cheaper, outputs pay both ways, far runs cost more") {
    const Target& target = *fixed_target(Isa::kAvx2);
    Spec spec = lower(*parse("move f32[64,64] -> f32[64,64]"))->spec;
    Operand x = spec.operand[0];
    i64 last = -1;
    for (Level level : {Level::kL1, Level::kL2, Level::kMemory}) {
      x.level = level;
      i64 units = traffic_units(spec, x, target);
      CHECK(units > last);
      last = units;
    }
    Operand out = x;
    out.access = Access::kOut;
    CHECK(traffic_units(spec, out, target) == 2 * last);
    Spec wide = lower(*parse("move f32[64,16]{strides=1024,1} -> f32[64,16]"))->spec;
    Spec near = lower(*parse("move f32[64,16]{strides=32,1} -> f32[64,16]"))->spec;
    CHECK(traffic_units(wide, wide.operand[0], target) >
          traffic_units(near, near.operand[0], target));
  }

  TEST_CASE("traffic: of reductions runs cost as they begin, however near they are") {
    for (const Target& target : fixed_targets())
      for (Level level : {Level::kL2, Level::kMemory}) {
        const auto units = [&](const std::string& text) {
          Spec spec = lower(*parse(text))->spec;
          spec.operand[0].level = level;
          return step_units(spec, spec.operand[0], target);
        };
        const i64 whole = units("reduce_max f32[8,64] axis=0");
        CHECK(units("reduce_max f32[8,64]{strides=100,1} axis=0") ==
              whole + 8 * target.at(level).run_units);
        CHECK(units("reduce_max f32[8,64]{strides=160,2} axis=0") ==
              8 * 64 * target.at(level).line_units);
        CHECK(units("move f32[8,64]{strides=100,1} -> f32[8,64]") == whole);
        CHECK(units("matmul f32[8,64]{strides=100,1} f32[64,9]") == whole);
      }
  }

  TEST_CASE("traffic: lines of more far rows than prefetchers follow are late") {
    for (const Target& target : fixed_targets()) {
      const u64 followed = static_cast<u64>(target.at(Level::kMemory).streams);
      REQUIRE(followed > 1);
      auto units = [&](u64 rows, u64 columns, Level level) {
        const std::string sizes = std::to_string(rows) + "," + std::to_string(columns) + "]";
        Spec spec = lower(*parse("move f32[" + sizes + "{strides=65536,1} -> f32[" + sizes))->spec;
        spec.operand[0].level = level;
        return step_units(spec, spec.operand[0], target);
      };
      const i64 row = units(followed, 4096, Level::kMemory) / static_cast<i64>(followed);
      CHECK(units(2, 4096, Level::kMemory) == 2 * row);
      for (u64 more : {1u, 7u, 50u}) {
        const i64 late = (4096 * 4 - 1024) / kLineBytes * target.at(Level::kMemory).line_units;
        CHECK(units(followed + more, 4096, Level::kMemory) ==
              static_cast<i64>(followed + more) * row + static_cast<i64>(more) * late);
      }
      const i64 brief = units(2, 256, Level::kMemory) / 2;  // 1 KiB
      CHECK(units(100, 256, Level::kMemory) == 100 * brief);
      CHECK(units(100, 4096, Level::kL2) == 50 * units(2, 4096, Level::kL2));
    }
  }

  TEST_CASE(
      "traffic: what a contraction reads once costs more in pieces of rows, and in many rows") {
    for (const Target& target : fixed_targets()) {
      const u64 followed = static_cast<u64>(target.at(Level::kMemory).streams);
      auto lines = [&](u64 m, u64 rows, u64 columns, u64 pitch, Level level = Level::kMemory) {
        const std::string n = std::to_string(columns), k = std::to_string(rows);
        Spec spec = lower(*parse("matmul f32[" + std::to_string(m) + "," + k + "] f32[" + k + "," +
                                 n + "]{strides=" + std::to_string(pitch) + ",1} -> f32[" +
                                 std::to_string(m) + "," + n + "]"))
                        ->spec;
        spec.operand[1].level = level;
        i64 units = step_units(spec, spec.operand[1], target);
        if (spec.operand[1].far) units -= static_cast<i64>(rows) * target.at(level).run_units;
        CHECK(units % target.at(level).line_units == 0);
        return static_cast<u64>(units / target.at(level).line_units);
      };
      // Pieces cost as many lines more as they have, but for long ones; whole rows none.
      CHECK(lines(1, 4, 64, 65536) == 4 * (4 + 4));
      CHECK(lines(1, 4, 256, 65536) == 4 * (16 + 8 + 4));
      CHECK(lines(1, 4, 2048, 65536) == 4 * (128 + 8 + 32));
      CHECK(lines(1, 4, 2048, 2048) == 4 * 128);
      CHECK(lines(1, 4, 64, 100) == 4 * (4 + 1 + 1));  // of which pages have several
      CHECK(lines(1, 4, 128, 65536, Level::kL2) == 4 * 8);
      // With more rows in turns than prefetchers follow, lines are late, wherever rows begin.
      CHECK(lines(1, followed + 3, 2048, 2048) == (followed + 3) * 128 + 3 * (128 - 16));
      CHECK(lines(1, 2 * followed, 256, 256) == 2 * followed * 16);
      // What is used more often is computed with meanwhile.
      CHECK(lines(3, 4, 2048, 65536) == 4 * (128 + 8 + 32));
      CHECK(lines(4, 4, 2048, 65536) == 4 * 128);
      CHECK(lines(4, followed + 3, 2048, 2048) == (followed + 3) * 128);
    }
  }

  TEST_CASE("traffic: a copy of pieces that are read once costs what they do by themselves") {
    for (const Target& target : fixed_targets()) {
      const i64 line = target.at(Level::kMemory).line_units;
      const auto more = [&](const std::string& m, const std::string& pitch, Level level, Level to) {
        Spec spec =
            lower(*parse("matmul f32[" + m + ",8] f32[8,256]{strides=" + pitch + ",1}"))->spec;
        spec.operand[1].level = level;
        return piece_units(spec, spec.operand[1], to, target);
      };
      CHECK(more("1", "65536", Level::kMemory, Level::kL1) == 8 * (8 + 4) * line);
      CHECK(more("1", "65536", Level::kMemory, Level::kL2) == 8 * (8 + 4) * line);
      CHECK(more("1", "65536", Level::kL2, Level::kL1) == 0);
      CHECK(more("1", "256", Level::kMemory, Level::kL1) == 0);  // whole rows
      CHECK(more("4", "65536", Level::kMemory, Level::kL1) == 0);
    }
  }

  TEST_CASE(
      "traffic: lines of long turns of rows cost twice, and turns of what is widened are short") {
    for (const Target& target : fixed_targets()) {
      auto lines = [&](const std::string& type, u64 columns, const std::string& pitch) {
        const std::string n = std::to_string(columns);
        Spec spec = lower(*parse("matmul f32[1,8] " + type + "[8," + n + "]{strides=" + pitch +
                                 ",1} -> f32[1," + n + "]"))
                        ->spec;
        spec.operand[1].level = Level::kL2;
        i64 units = step_units(spec, spec.operand[1], target);
        if (spec.operand[1].far) units -= 8 * target.at(Level::kL2).run_units;
        return static_cast<u64>(units / target.at(Level::kL2).line_units);
      };
      CHECK(lines("bf16", 128, "65536") == 8 * 4);
      CHECK(lines("bf16", 384, "65536") == 8 * (12 + 8));
      CHECK(lines("i8", 384, "65536") == 8 * (6 + 2));
      CHECK(lines("bf16", 384, "384") == 8 * 12);  // one run
      CHECK(lines("f32", 128, "65536") == 8 * 8);
      CHECK(lines("f32", 384, "65536") == 8 * (24 + 16));
    }
  }

  TEST_CASE("traffic: columns that are read once, and in turns, cost a quarter more from memory") {
    const auto quarters = [](const char* name, const std::string& text,
                             Level level = Level::kMemory) {
      const Target& target = *find_target(name);
      Spec spec = lower(*parse(text))->spec;
      spec.operand[1].level = level;
      const i64 lines = static_cast<i64>(footprint(spec, spec.operand[1]).lines);
      const i64 units = step_units(spec, spec.operand[1], target);
      const i64 line = target.at(level).line_units;
      return (units - lines * line) * 4 / (line * lines);
    };
    CHECK(quarters("avx512", "matmul f32[1,512] f32[512,8]{0,1}") == 1);
    CHECK(quarters("avx512", "matmul f32[1,2048] f32[2048,8]{0,1}") == 1);
    CHECK(quarters("avx512", "matmul f32[1,2048] f32[2048,8]{0,1}", Level::kL2) == 0);
    CHECK(quarters("avx512", "matmul f32[1,2048] f32[2048,1]") == 0);        // one after another
    CHECK(quarters("avx512", "matmul f32[2,2048] f32[2048,8]{0,1}") == 0);   // used twice
    CHECK(quarters("avx512", "matmul f32[1,496] f32[496,8]{0,1}") == 0);     // short ones
    CHECK(quarters("avx512", "matmul f32[1,2064] f32[2064,8]{0,1}") == 0);   // L1 loses the vector
    CHECK(quarters("avx512", "matmul f32[1,2048] bf16[2048,8]{0,1}") == 0);  // widened
    CHECK(quarters("avx2", "matmul f32[1,2048] f32[2048,8]{0,1}") == 0);     // halves of lines
    CHECK(quarters("avx512", "einsum \"ij,ij->i\" f32[8,2048] f32[8,2048]") == 0);  // no vector
    CHECK(quarters("avx512", "matmul f32[1,2044] f32[2044,8]{0,1}") == 0);  // no whole lines
    CHECK(quarters("avx512_bf16", "matmul bf16[1,2048] bf16[2048,8]{0,1} -> f32[1,8]") == 0);
    CHECK(quarters("avx512_vnni", "matmul u8[1,2048] i8[2048,8]{0,1} -> i32[1,8]") == 0);
  }

  TEST_CASE("traffic: panels wider than two tile registers come more slowly from memory") {
    Spec spec = lower(*parse("matmul bf16[32,512] bf16[512,256] -> f32[32,256]"))->spec;
    const u8 v = unit_dim(spec.out()), k = unit_dim(spec.operand[0]);
    auto units = [&](u8 wide, Level level, const char* target) {
      Layout panels;
      for (const auto& [dim, block] : {std::pair{v, u8{0}}, {k, u8{0}}, {v, wide}, {k, u8{2}}})
        panels.append(dim, block);
      Operand& b = spec.operand[1];
      b = dense_operand(spec, b.dtype, level, b.access, b.dims, panels);
      return step_units(spec, b, *find_target(target));
    };
    const i64 two = units(32, Level::kMemory, "avx512_amx");
    CHECK(units(64, Level::kMemory, "avx512_amx") == two + two / 8);
    CHECK(units(16, Level::kMemory, "avx512_amx") == two);
    CHECK(units(64, Level::kL2, "avx512_amx") == units(32, Level::kL2, "avx512_amx"));
    CHECK(units(64, Level::kMemory, "avx512") == units(32, Level::kMemory, "avx512"));
  }

  TEST_CASE("dot products: lines of columns that share too few sets of L1 come for each vector") {
    const Target& target = *fixed_target(Isa::kAvx2);
    auto cost = [&](const std::string& factor, u64 depth, u64 columns, u64 pitch) {
      const std::string k = std::to_string(depth), n = std::to_string(columns);
      Spec spec = lower(*parse("matmul " + factor + "[1," + k + "] " + factor + "[" + k + "," + n +
                               "]{strides=1," + std::to_string(pitch) + "} -> f32[1," + n + "]"))
                      ->spec;
      for (int o = 0; o < spec.operand_count; o++) spec.operand[o].level = Level::kL1;
      spec.operand[1].level = Level::kL2;
      const Microkernel& dot = microkernel(MicrokernelId::kDotProduct);
      REQUIRE(dot.applies(spec, target));
      return dot.cost(spec, target);
    };
    const i64 line = target.at(Level::kL2).line_units;
    for (u64 columns = 2; columns <= 9; columns++) {
      INFO(columns << " columns");
      // Of the vector's line as well: one set, of 8 lines, has no room for 8 columns.
      const i64 again = columns < 8 ? 0 : static_cast<i64>(columns) * 2048 / kLineBytes * line;
      // 4 KiB apart; an odd number of lines; right behind one another; two sets.
      CHECK(cost("bf16", 1024, columns, 2048) == cost("bf16", 1024, columns, 2048 + 32) + again);
      CHECK(cost("f32", 512, columns, 3 * 1024) ==
            cost("f32", 512, columns, 3 * 1024 + 16) + again);
      const i64 far = static_cast<i64>(columns) * target.at(Level::kL2).run_units;
      CHECK(cost("f32", 512, columns, 512) == cost("f32", 512, columns, 512 + 16) - far);
      CHECK(cost("bf16", 2048, columns, 2048) ==
            cost("bf16", 2048, columns, 2048 + 32) - far + 2 * again);
    }
  }

  TEST_CASE(
      "outer products: rows of a factor that share too few sets of L1 come for each element") {
    const Target& target = *fixed_target(Isa::kAvx512);
    const u64 room = target.at(Level::kL1).bytes / kLineBytes >> kMaxAliasL1;
    auto cost = [&](u64 rows, u64 pitch, Level level) {
      const std::string m = std::to_string(rows);
      Spec spec = lower(*parse("matmul f32[" + m + ",96]{strides=" + std::to_string(pitch) +
                               ",1} f32[96,16] += f32[" + m + ",16]"))
                      ->spec;
      spec.operand[0].level = level;
      forget_pitch(spec.operand[0]);
      spec.operand[1].level = Level::kL1;
      forget_pitch(spec.operand[1]);
      Operand& out = spec.out();
      out.level = Level::kRegister;
      out.far = false;
      out.alias = 0;
      const Microkernel& kernel = microkernel(MicrokernelId::kOuterProduct);
      REQUIRE(kernel.applies(spec, target));
      return kernel.cost(spec, target);
    };
    for (Level level : {Level::kL2, Level::kMemory}) {
      CHECK(cost(room, 1024, level) == cost(room, 1040, level));
      const i64 again = static_cast<i64>(room + 1) * 6 * 15 * target.at(Level::kL2).line_units;
      CHECK(cost(room + 1, 1024, level) == cost(room + 1, 1040, level) + again);
    }
    CHECK(cost(room + 1, 1024, Level::kL1) == cost(room + 1, 1040, Level::kL1));
  }

  TEST_CASE("outer products hide vectors that stream from L2, as far as they take longer") {
    const Target& target = *fixed_target(Isa::kAvx512);
    const LevelModel& l2 = target.at(Level::kL2);
    auto cost = [&](u32 rows, u32 columns, u32 depth, Level level, bool in_rows, const Target& t) {
      const std::string m = std::to_string(rows), n = std::to_string(columns),
                        k = std::to_string(depth);
      Spec spec = lower(*parse("matmul f32[" + m + "," + k + "] f32[" + k + "," + n + "]" +
                               (in_rows ? "{strides=160,1}" : "") + " += f32[" + m + "," + n + "]"))
                      ->spec;
      spec.operand[0].level = Level::kL1;
      spec.operand[1].level = level;
      for (int o : {0, 1}) forget_pitch(spec.operand[o]);
      spec.out().level = Level::kRegister;
      const Microkernel& kernel = microkernel(MicrokernelId::kOuterProduct);
      REQUIRE(kernel.applies(spec, t));
      return kernel.cost(spec, t);
    };
    // What it costs more than with vectors in L1, of each line.
    auto more = [&](u32 rows, u32 columns, u32 depth, bool in_rows = false) {
      const i64 lines = i64{depth} * columns / 16;
      return (cost(rows, columns, depth, Level::kL2, in_rows, target) -
              cost(rows, columns, depth, Level::kL1, in_rows, target)) /
             lines;
    };
    REQUIRE(l2.stream_units < l2.line_units);
    CHECK(more(12, 32, 256) == l2.stream_units);
    CHECK(more(8, 48, 192) == l2.stream_units);
    const u32 half = static_cast<u32>(target.at(Level::kL1).bytes / kLineBytes / 2);
    CHECK(more(12, 32, half) == l2.stream_units);
    CHECK(more(12, 32, half - 1) == l2.line_units);                  // L1 has room
    CHECK(more(12, 32, 256, true) == l2.line_units);                 // rows
    CHECK(more(24, 16, 512) > l2.stream_units);                      // no time beside its loads
    CHECK(more(4, 96, 256) == l2.stream_units + l2.line_units / 2);  // six lines in 12 cycles
    const Target& others = *fixed_target(Isa::kAvx2);
    // Of lines of two vectors panels of 256 steps stream: half of L1 in each line.
    const auto of_line = [&](u32 rows, u32 columns, u32 depth) {
      return (cost(rows, columns, depth, Level::kL2, false, others) -
              cost(rows, columns, depth, Level::kL1, false, others)) /
             (i64{depth} * columns / 16);
    };
    CHECK(of_line(6, 16, 256) == others.at(Level::kL2).stream_units);
    CHECK(of_line(6, 16, 255) == others.at(Level::kL2).line_units);
    CHECK(of_line(3, 32, 255) == others.at(Level::kL2).line_units);
  }

  TEST_CASE("an operation costs what its class costs, in vectors and one by one") {
    for (const Target& target : fixed_targets()) {
      auto cost = [&](MicrokernelId id, const std::string& text) {
        Spec spec = lower(*parse(text))->spec;
        for (int o = 0; o < spec.operand_count; o++) spec.operand[o].level = Level::kL1;
        REQUIRE(microkernel(id).applies(spec, target));
        return microkernel(id).cost(spec, target);
      };
      const i64 vecs = 1024 / target.lanes(4);
      for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap}) {
        const bool scalar = id == MicrokernelId::kScalarMap;
        const auto& prices = scalar ? target.prices.scalar_op : target.prices.op;
        const i64 add = cost(id, "add f32[1024] f32[] -> f32[1024]");
        const i64 div = cost(id, "div f32[1024] f32[] -> f32[1024]");
        const i64 recip = cost(id, "recip f32[1024] -> f32[1024]");
        const i64 sqrt = cost(id, "sqrt f32[1024] -> f32[1024]");
        const i64 both = cost(id, "sqrt f32[1024] -> recip -> f32[1024]");
        CHECK(div > add);
        CHECK(recip == div);
        CHECK(sqrt - div == (scalar ? 1024 : vecs) * (prices[2] - prices[1]));
        CHECK(both - sqrt == (scalar ? 1024 : vecs) * prices[1]);
      }
    }
  }

  TEST_CASE("low tiles of narrow factors wait for what widens their vectors, high ones do not") {
    // Measured (bench/widening.py): 2x6 took 1.19 times as long of pairs of bf16 as of f32, 1.20
    // times of rows, and 1.43 times of bytes; 6x2 1.00 to 1.03 times; 8x1 of rows 1.28 times.
    const Target& target = *fixed_target(Isa::kAvx2);
    const auto step = [&](u64 rows, u64 vecs, const Dot& dot, Dtype vectors) {
      const Widening widening =
          dot.group > 1 ? Widening::kNone : widening_of(vectors, Dtype::kF32, target);
      return static_cast<double>(
                 dot_step(dot, rows, vecs, Widening::kNone, widening, false, target)) /
             dot.group;
    };
    const Dot& fma = *dot_of_one(Dtype::kF32);
    const Dot& pairs =
        *dot_of(target, Dtype::kF32, Dtype::kBf16, Dtype::kF32, lane_elements(Dtype::kBf16));
    REQUIRE(pairs.form == DotForm::kHalves);
    const auto over_f32 = [&](u64 rows, u64 vecs, const Dot& dot, Dtype vectors) {
      return step(rows, vecs, dot, vectors) / step(rows, vecs, fma, Dtype::kF32);
    };
    CHECK(over_f32(2, 6, pairs, Dtype::kBf16) == doctest::Approx(1.2).epsilon(0.01));
    CHECK(over_f32(2, 6, fma, Dtype::kBf16) > 1.1);
    CHECK(over_f32(2, 6, fma, Dtype::kBf16) < 1.3);
    CHECK(over_f32(2, 6, fma, Dtype::kI8) > 1.4);
    CHECK(over_f32(6, 2, fma, Dtype::kBf16) == 1);
    CHECK(over_f32(6, 2, fma, Dtype::kI8) < 1.1);
    CHECK(over_f32(6, 2, pairs, Dtype::kBf16) == 1);
    CHECK(over_f32(8, 1, fma, Dtype::kBf16) > 1.1);  // each order is a load
  }

  TEST_CASE("vectors of bf16 cost what their target says") {
    for (const Target& target : fixed_targets()) {
      auto cost = [&](const std::string& text) {
        Spec spec = lower(*parse(text))->spec;
        for (int o = 0; o < spec.operand_count; o++) spec.operand[o].level = Level::kL1;
        return microkernel(MicrokernelId::kMap).cost(spec, target);
      };
      const i64 vecs = 1024 / target.lanes(4);
      const i64 from_f32 = cost("relu f32[1024] -> bf16[1024]");
      CHECK(cost("relu bf16[1024] -> bf16[1024]") - from_f32 == vecs * target.prices.widen_bf16);
      CHECK(cost("relu f16[1024] -> bf16[1024]") - from_f32 == vecs * target.prices.widen);
      CHECK(from_f32 - cost("relu f32[1024] -> f16[1024]") ==
            vecs * (target.prices.narrow_bf16 - target.prices.narrow));
      const bool native = includes(target.required, features(Feature::kAvx512Bf16));
      CHECK((target.prices.narrow_bf16 < fixed_target(Isa::kAvx512)->prices.narrow_bf16) == native);
      CHECK(target.prices.widen_bf16 <= target.prices.widen);
    }
  }

  TEST_CASE(
      "a rate comes to what it says of calls, rows, vectors, elements, and groups of products") {
    const Target& t = *fixed_target(Isa::kAvx2);
    auto leaf = [](const char* text) {
      Spec spec = lower(*parse(text))->spec;
      for (int o = 0; o < spec.operand_count; o++) spec.operand[o].level = Level::kL1;
      return spec;
    };
    const Spec product = leaf("matmul f32[3,10] f32[10,20]"), map = leaf("add f32[60] f32[60]");
    const Spec sum = leaf("reduce_sum f32[30,80] axis=1");
    Spec tile = product;
    tile.out().level = Level::kRegister;
    tile.out().access = Access::kInOut;
    const Rate rate = {
        .call = 7, .row = 5, .vector = 3, .odd = 2, .element = 1, .group = 4, .group_units = 11};
    CHECK(least_units(rate, product, t) == 7 + 3 * (5 + 2) + 3 * 3 * 3 + 60 + 60 * 3 * 11);
    CHECK(least_units(rate, map, t) == 7 + (5 + 2) + 8 * 3 + 60);
    CHECK(least_units(rate, leaf("add f32[64] f32[64]"), t) == 7 + 5 + 8 * 3 + 64);
    CHECK(least_units(rate, sum, t) == 7 + 30 * 5 + 30 * 80 / 8 * 3 + 30 * 80);  // 30 results
    CHECK(least_units(rate, tile, t) == 7);
    const Rate steps = {.call = 7, .step = [](u64 rows, u64 vecs, const Target&) {
                          return static_cast<i64>(100 * rows + vecs);
                        }};
    CHECK(least_units(steps, tile, t) == 7 + 10 * 303);
    const Rate ops = {.vector = 1, .element = 1, .vector_ops = 32, .element_ops = 24};
    CHECK(least_units(ops, map, t) ==
          8 * 2 * t.prices.op[0] + 60 * (24 * t.prices.scalar_op[0] / 16));
    for (const Spec& spec : {product, map, sum, tile}) {
      CHECK(least_units({}, spec, t) == 0);  // of what nothing is said
      CHECK(least_units(kNever, spec, t) == kInfinite);
    }
  }

  TEST_CASE("a select that applies has a finite price and declares its registers") {
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512})
      for (const char* text :
           {"add f32[100] f32[100] -> f32[100]", "fill 1 -> f32[7]",
            "transpose f32[30,20] -> f32[20,30]", "reduce_sum f32[40,50] axis=1 -> f32[40]",
            "matmul f32[3,16]{1,0} f32[16,2]{0,1} -> f32[3,2]"}) {
        Spec spec = lower(*parse(text))->spec;
        int applicable = 0;
        for (const Microkernel* kernel : microkernels()) {
          if (!kernel->applies(spec, *fixed_target(isa))) continue;
          applicable++;
          CHECK(kernel->cost(spec, *fixed_target(isa)) > 0);
          CHECK(kernel->cost(spec, *fixed_target(isa)) < kInfinite);
          CHECK(kernel->registers(spec, *fixed_target(isa)) < 256);
        }
        CHECK_MESSAGE(applicable > 0, std::string(text));
      }
  }
}

}  // namespace morello
