// SPDX-License-Identifier: MIT
// Chains and reductions of mixed element types: every microkernel that computes one, and whole
// trees, against evaluate(), bit by bit.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "cost/held.hh"
#include "cost/microkernel.hh"
#include "harness.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

void check(const ImplTree& tree, const TypedProblem& p) {
  CAPTURE(describe(tree.nodes[0].spec));
  CAPTURE(tree.target->name);
  const std::string wrong = check_tree(tree, p);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

/// A copy of elements of `dtype` to others of `to`, whose rows run along dimension `before` and
/// then along 1; `gap` elements are between rows.
TypedProblem copy_of(Dtype dtype, Dtype to, u32 m, u32 n, u32 gap, u8 before) {
  TypedProblem p;
  Spec& s = p.spec;
  s.rank = 2;
  s.size = {m, n};
  s.operand_count = 2;
  s.stage_count = 1;
  s.stage[0] = {Op::kCopy, copied_in(dtype, to), {0, kNoRef, kNoRef}, 0, 1};
  for (u8 o = 0; o < 2; o++) {
    Operand& x = s.operand[o];
    x.dtype = o == 0 ? dtype : to;
    x.dims = 3;
    x.access = o == 0 ? Access::kIn : Access::kOut;
    const u8 fastest = o == 0 ? before : 1;
    x.layout.append(static_cast<u8>(1 - fastest));
    x.layout.append(fastest);
    x.contig = gap == 0 ? 2 : 1;
    p.views[o].dim[fastest].stride[0] = 1;
    p.views[o].dim[1 - fastest].stride[0] = s.size[fastest] + gap;
  }
  Random random(m * n);
  p.fill(random);
  return p;
}

/// Rows of one number.
TypedProblem fill_of(Dtype dtype, u32 m, u32 n, u32 gap, double number) {
  TypedProblem p = copy_of(dtype, dtype, m, n, gap, 1);
  Spec& s = p.spec;
  s.operand_count = 1;
  s.operand[0] = s.operand[1];
  s.operand[1] = {};
  const Dtype computed = computed_in(dtype);
  s.stage[0] = {
      .op = Op::kFill, .dtype = computed, .out = 0, .constant = bits_of_number(computed, number)};
  p.views[0] = p.views[1];
  p.data[0] = p.data[1];
  return p;
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("element types: every microkernel") {
    std::set<std::pair<MicrokernelId, Dtype>> loaded, stored, rounded;
    for (u32 seed = 0; seed < 6000; seed++) {
      CAPTURE(seed);
      Random random(seed);
      const TypedProblem p = random_typed_problem(random, chance(random, 20) ? 70 : 19);
      for (const Target* target : targets())
        for (const Microkernel* m : microkernels()) {
          if (!m->applies(p.spec, *target)) continue;
          if (m->registers(p.spec, *target) > target->vector_registers) continue;
          ImplTree tree;
          tree.target = target;
          tree.nodes.push_back({p.spec, Select{static_cast<u16>(m->id)}, {}, 0, {}});
          check(tree, p);
          for (int o = 0; o < p.spec.operand_count; o++)
            (o == p.spec.out_index() ? stored : loaded).insert({m->id, p.spec.operand[o].dtype});
          for (int s = 0; s < p.spec.stage_count; s++)
            if (rounds_lanes(p.spec, p.spec.stage[s]))
              rounded.insert({m->id, p.spec.stage[s].dtype});
        }
    }
    for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap,
                             MicrokernelId::kReduceLanes, MicrokernelId::kScalarReduce})
      for (Dtype dtype : kAllDtypes) {
        CAPTURE(name_of(id));
        CAPTURE(name_of(dtype));
        CHECK(loaded.contains({id, dtype}));
        CHECK(stored.contains({id, dtype}));
      }
    for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap})
      for (Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
        CAPTURE(name_of(id));
        CAPTURE(name_of(dtype));
        CHECK(rounded.contains({id, dtype}));
      }
  }

  TEST_CASE("element types: copies of rows of every length") {
    for (Dtype dtype : kAllDtypes)
      for (u32 n = 2; n <= 150; n += n < 70 ? 1 : 13)
        for (u32 rows : {2u, 3u, 9u})
          for (u32 gap : {0u, 1u})
            for (const Target* target : targets()) {
              const TypedProblem p = copy_of(dtype, dtype, rows, n, gap, 1);
              const Microkernel& map = microkernel(MicrokernelId::kMap);
              REQUIRE(map.applies(p.spec, *target));
              CHECK(moves_rows(p.spec) == (size_of(dtype) < 4 && n * size_of(dtype) >= 4));
              ImplTree tree;
              tree.target = target;
              tree.nodes.push_back({p.spec, Select{static_cast<u16>(map.id)}, {}, 0, {}});
              check(tree, p);
            }
    for (u32 n : {300u, 1001u, 1030u}) {  // in loops
      const TypedProblem p = copy_of(Dtype::kBf16, Dtype::kBf16, 3, n, 1, 1);
      for (const Target* target : targets()) {
        ImplTree tree;
        tree.target = target;
        tree.nodes.push_back({p.spec, Select{static_cast<u16>(MicrokernelId::kMap)}, {}, 0, {}});
        check(tree, p);
      }
    }
  }

  TEST_CASE("element types: fills of rows of every length") {
    for (Dtype dtype : kAllDtypes)
      for (double number : {0.0, 1.0, 3.3, -101.0, -HUGE_VAL, std::nan("")})
        for (u32 n : {2u, 3u, 4u, 5u, 7u, 8u, 15u, 16u, 17u, 33u, 63u, 64u, 70u, 131u, 1001u})
          for (u32 gap : {0u, 1u})
            for (const Target* target : targets()) {
              if (is_integer(dtype) && !std::isfinite(number)) continue;
              CAPTURE(number);
              const TypedProblem p = fill_of(dtype, 3, n, gap, number);
              REQUIRE(microkernel(MicrokernelId::kMap).applies(p.spec, *target));
              CHECK(moves_rows(p.spec) == (size_of(dtype) < 4 && n * size_of(dtype) >= 4));
              ImplTree tree;
              tree.target = target;
              tree.nodes.push_back(
                  {p.spec, Select{static_cast<u16>(MicrokernelId::kMap)}, {}, 0, {}});
              check(tree, p);
            }
  }

  TEST_CASE("element types: transposes") {
    for (Dtype dtype : kAllDtypes)
      for (u32 m : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 23u, 31u, 32u, 33u})
        for (u32 n : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 11u, 16u, 17u, 24u, 29u})
          for (u32 gap : {0u, 3u})
            for (const Target* target : targets()) {
              const TypedProblem p = copy_of(dtype, dtype, m, n, gap, 0);
              REQUIRE(microkernel(MicrokernelId::kTranspose).applies(p.spec, *target));
              ImplTree tree;
              tree.target = target;
              tree.nodes.push_back(
                  {p.spec, Select{static_cast<u16>(MicrokernelId::kTranspose)}, {}, 0, {}});
              check(tree, p);
            }
  }

  TEST_CASE("element types: transposes that convert") {
    std::set<std::pair<Dtype, Dtype>> converted;
    for (Dtype from : kAllDtypes)
      for (Dtype to : kAllDtypes)
        for (u32 m : {2u, 3u, 5u, 8u, 11u, 16u, 23u})
          for (u32 n : {2u, 4u, 7u, 8u, 9u, 16u, 29u})
            for (const Target* target : targets()) {
              const TypedProblem p = copy_of(from, to, m, n, m % 3, 0);
              if (!microkernel(MicrokernelId::kTranspose).applies(p.spec, *target)) continue;
              converted.insert({from, to});
              ImplTree tree;
              tree.target = target;
              tree.nodes.push_back(
                  {p.spec, Select{static_cast<u16>(MicrokernelId::kTranspose)}, {}, 0, {}});
              check(tree, p);
            }
    // All but i32 to 16 bits, which would round twice.
    const size_t types = std::size(kAllDtypes);
    CHECK(converted.size() >= types * types - 2);
  }

  TEST_CASE("element types: what a search finds") {
    for (const char* text : {"add bf16[37,50] bf16[50] -> relu -> bf16[37,50]",
                             "move f32[300] -> i8[300]",
                             "move u8[7,33] -> f16[7,33]",
                             "transpose bf16[33,47]",
                             "transpose i8[20,70]",
                             "mul i32[133] i32[133]",
                             "sub i8[9,31] u8[9,31] -> i32[9,31]",
                             "fill 3.5 -> bf16[99]",
                             "reduce_sum i8[20,70] axis=1 -> i32[20]",
                             "reduce_max f16[40,17] axis=0 -> f16[17]",
                             "reduce_sum bf16[9,200] axis=1 -> bf16[9]",
                             "reduce_sum u8[30,64] axis=0 -> sqrt -> f16[64]",
                             "matmul bf16[5,9] bf16[9,17] -> bf16[5,17]",
                             "matmul f16[12,20] f32[20,33] -> f32[12,33]",
                             "matmul i8[7,30] i8[30,16] + i32[16] -> relu -> i8[7,16]",
                             "cast f32[37] f16 -> f32[37]",
                             "mul f32[5,70] 3 -> cast bf16 -> add f32[70] -> cast f16 -> f32[5,70]",
                             "matmul f32[5,9] f32[9,35] -> cast bf16 -> mul f32[35] -> f32[5,35]",
                             "exp f32[133] -> cast bf16 -> sub i8[133] -> u8[133]",
                             "transpose f32[33,47] -> cast f16 -> f32[47,33]"}) {
      INFO(std::string(text));
      const Result<Statement> statement = parse(text);
      REQUIRE_MESSAGE(statement.ok(), statement.error().message);
      const Result<Lowered> lowered = lower(*statement);
      REQUIRE_MESSAGE(lowered.ok(), lowered.error().message);
      TypedProblem p{lowered->spec, lowered->view, {}};
      Random random(1);
      p.fill(random);
      for (const Target* target : targets()) {
        const Result<ImplTree> tree = synthesize(p.spec, *target, SearchOptions{}, nullptr);
        REQUIRE_MESSAGE(tree.ok(), tree.error().message);
        check(*tree, p);
      }
    }
  }

  TEST_CASE("element types: random trees") {
    int ran = 0;
    for (u32 seed = 0; seed < 6000; seed++) {
      CAPTURE(seed);
      Random random(seed);
      const TypedProblem p = random_typed_problem(random);
      ImplTree tree = random_tree(p.spec, random, static_cast<int>(pick(random, 1, 6)));
      for (const Target* target : targets()) {
        tree.target = target;
        if (!select_leaves(tree, 0, 0, random)) continue;
        check(tree, p);
        ran++;
      }
    }
    CHECK(ran > 1000);
  }
}

}  // namespace morello::testing
