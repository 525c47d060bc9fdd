// SPDX-License-Identifier: MIT
// Prices: monotone where the search relies on it, and the same numbers for the same Spec.
#include "cost/microkernel.hh"

#include <doctest/doctest.h>

#include "cost/model.hh"
#include "spec/statement.hh"

namespace morello {

TEST_SUITE("cost") {
  TEST_CASE("costs saturate and never wrap") {
    CHECK(saturating_mul(~u64{0}, 1) == kInfinite);
    CHECK(saturating_mul(u64{1} << 40, i64{1} << 40) == kInfinite);
    CHECK(saturating_mul(3, 5) == 15);
    CHECK(saturating_add(kInfinite, kInfinite) == kInfinite);
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
    CHECK(least_units(rate, sum, t) == 7 + 30 * 80 / 8 * 3 + 30 * 80);
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
        CHECK_MESSAGE(applicable > 0, text);
      }
  }
}

}  // namespace morello
