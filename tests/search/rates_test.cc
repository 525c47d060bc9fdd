// SPDX-License-Identifier: MIT
// The rates that microkernels declare are true, and bounds need no more: with a microkernel that is
// twice as fast as any other, and nothing else changed, no bound is above a cost and searches find
// what brute force finds. MORELLO_TEST_ROUNDS=x takes x times as many Specs.
#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/random_statement.hh"
#include "../support/scale.hh"
#include "../support/targets.hh"
#include "../support/typed_problem.hh"
#include "brute_force.hh"
#include "cost/shared.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"
#include "table/identity.hh"
#include "twice_as_fast.hh"

namespace morello {
namespace {

using testing::against_bounds;
using testing::kNew;
using testing::rounds;
using testing::traffic;
using testing::TwiceAsFast;

/// One of how many Specs is taken: 1, or where fewer rounds are asked for, 5.
int rounds_left_out() { return rounds(2) > 1 ? 1 : 5; }

/// What an outer product hides of it at most: all but the price of a stream of lines.
i64 hidden(const Spec& spec, const Target& t) {
  i64 c = 0;
  const LevelModel& l2 = t.at(Level::kL2);
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    if (x.level < Level::kL2 || x.access != Access::kIn || !fills_l1(spec, x, t)) continue;
    const DimMask steps = static_cast<DimMask>(x.dims & spec.reduced());
    if (points_of(spec, steps) < least_streamed_depth(t)) continue;
    c += static_cast<i64>(footprint(spec, x).lines) * (l2.line_units - l2.stream_units);
  }
  return c;
}

/// Says nothing about what it costs at least.
constexpr Microkernel kSilent = {kNew, TwiceAsFast<MicrokernelId::kOuterProduct>::applies,
                                 TwiceAsFast<MicrokernelId::kOuterProduct>::registers,
                                 TwiceAsFast<MicrokernelId::kOuterProduct>::cost, whole};

/// A contraction in memory with the steps behind it, if any, in one leaf. No other microkernel has
/// a chain, or needs no visits to results in registers and is worth it.
template <i64 kUnits>
struct Fused {
  static bool applies(const Spec& s, const Target&) {
    if (s.stage[0].op != Op::kMulAdd) return false;
    for (int o = 0; o < s.operand_count; o++)
      if (s.operand[o].level == Level::kRegister) return false;
    return true;
  }
  static u32 registers(const Spec&, const Target&) { return 2; }
  static i64 cost(const Spec& s, const Target& t) { return 16 + traffic(s, t) + work(s); }
  static i64 work(const Spec& s) { return saturating_mul(volume(s), kUnits); }
  static Rate rate(Duty duty, const Target&) {
    return duty == Duty::kContract ? Rate{.call = 16, .group_units = kUnits} : kNever;
  }
  static constexpr Microkernel kernel = {kNew, applies, registers, cost, whole, rate};
};

/// A tile that need not be cleared before.
struct Clearing {
  static Spec adding(Spec s) {
    s.out().access = Access::kInOut;
    return s;
  }
  static bool applies(const Spec& s, const Target& t) {
    return s.out().access == Access::kOut && microkernel(kOuter).applies(adding(s), t);
  }
  static u32 registers(const Spec& s, const Target& t) {
    return microkernel(kOuter).registers(adding(s), t);
  }
  static i64 cost(const Spec& s, const Target& t) { return microkernel(kOuter).cost(adding(s), t); }
  static Rate rate(Duty duty, const Target& t) {
    Rate r = microkernel(kOuter).rate(duty, t);
    r.adds = false;
    return r;
  }
  static constexpr MicrokernelId kOuter = MicrokernelId::kOuterProduct;
  static constexpr Microkernel kernel = {kNew, applies, registers, cost, whole, rate};
};

/// Costs half of what it declares.
template <MicrokernelId Id>
Rate boast(Duty duty, const Target& t) {
  return microkernel(Id).rate(duty, t);
}
template <MicrokernelId Id>
constexpr Microkernel kBoastful = {
    kNew,     TwiceAsFast<Id>::applies, TwiceAsFast<Id>::registers, TwiceAsFast<Id>::cost, whole,
    boast<Id>};

struct Named {
  std::string_view name;
  const Microkernel* kernel;
};
#define MORELLO_MICROKERNEL(number, Name, text) \
  {text, &TwiceAsFast<MicrokernelId::k##Name>::kernel},
constexpr Named kAdded[] = {
#include "impl/microkernels.def"
    {"one without a rate", &kSilent},
    {"one with steps", &Fused<2>::kernel},
    {"one with steps, as fast as tiles", &Fused<1>::kernel},
    {"one that clears", &Clearing::kernel},
};
#undef MORELLO_MICROKERNEL

std::vector<const Microkernel*> with(const Microkernel* added) {
  std::vector<const Microkernel*> all(microkernels().begin(), microkernels().end());
  if (added) all.push_back(added);
  return all;
}

/// What of `leaf` costs less than declared, or "".
std::string dishonest(const Spec& leaf, const Target& t, Microkernels kernels, size_t& checked) {
  for (const Microkernel* k : kernels) {
    if (k->rate == nullptr || !k->applies(leaf, t)) continue;
    const Rate rate = k->rate(duty_of(leaf), t);
    i64 lines = traffic(leaf, t);
    if (k->id == MicrokernelId::kOuterProduct || k->id == kNew) lines -= hidden(leaf, t);
    const i64 least = least_units(rate, leaf, t), cost = k->cost(leaf, t) - lines;
    checked++;
    std::string what;
    if (least > cost)
      what = "declares " + std::to_string(least) + ", costs " + std::to_string(cost);
    if (leaf.rank > rate.rank) what = "has a rank of more than " + std::to_string(rate.rank);
    if (is_chain(leaf) && leaf.stage_count > rate.stages) what = "has more stages than it declares";
    const u8 v = unit_dim(leaf.out());
    if (rate.adds && leaf.out().access != Access::kInOut) what = "adds to nothing";
    if (rate.fastest && v == kNoDim && leaf.rank > 0) what = "has no fastest dimension";
    for (int o = 0; o < leaf.operand_count; o++) {
      const Operand& x = leaf.operand[o];
      const bool neighbours =  // two or three of them are reduced
          duty_of(leaf) == Duty::kReduce && leaf.size[std::countr_zero(leaf.reduced())] <= 3;
      bool windows = false;  // both are dimensions of one
      for (int w = 0; w < kMaxWindows && duty_of(leaf) == Duty::kTile; w++)
        windows |=
            x.has_window(w) && leaf.window[w].outer == lane_dim(x) && leaf.window[w].inner == v;
      if (rate.along && v != kNoDim && has_dim(x.dims, v) && lane_dim(x) != v && !neighbours &&
          !windows)
        what = "runs along another dimension";
      if (rate.along_reduced && x.access == Access::kIn && (x.dims & leaf.reduced()) != 0 &&
          !has_dim(leaf.reduced(), unit_dim(x)))
        what = "runs along no reduced dimension";
    }
    if (rate.extra && duty_of(leaf) == Duty::kTile) {
      const u64 columns = v == kNoDim ? 1 : leaf.size[v], lanes = t.lanes(4);
      u64 rows = 1;
      for (int d = 0; d < leaf.rank; d++)
        if (d != v && !has_dim(leaf.reduced(), d)) rows *= leaf.size[d];
      if (rate.extra(rows, ceil_div(columns, lanes), t) > k->registers(leaf, t))
        what = "needs fewer registers than declared";
    }
    if (!what.empty())
      return "microkernel " + std::to_string(static_cast<int>(k->id)) + " on " +
             std::string(t.name) + ", " + describe(leaf) + ": " + what;
  }
  return "";
}

Spec on_register_tile(Spec spec) {
  spec.out().level = Level::kRegister;
  spec.out().access = Access::kInOut;
  return spec;
}

Statement small_statement(std::mt19937_64& rng) {
  testing::RandomStatementOptions options;
  options.max_elements = 40;
  options.max_flops = 40;
  options.free_layouts = true;
  return testing::random_statement(rng, options);
}

/// Brute force, its bounds, and the search; what is wrong, or "".
/// @param seen  called for every Spec that brute force met.
std::string against_brute_force(const Spec& user_spec, const Target& t, Microkernels kernels,
                                const std::function<void(const Spec&)>& seen = {}) {
  const ActionContext context{.target = &t, .microkernels = kernels};
  Spec spec = user_spec;
  spec.serial = true;
  testing::BruteForce brute(context);
  const i64 best = brute.solve(spec, limits_of(t)).cost;
  SpecProblem problem(context);
  BestFirst<SpecProblem> search(problem);
  BestFirst<SpecProblem>::Worker worker(search);
  BestFirst<SpecProblem>::Solution solution;
  const bool found = search.solve(spec, limits_of(t), worker, solution);
  if (found != (best < kInfinite)) return "the search ends with another answer";
  if (found && solution.cost != best)
    return "the search finds " + std::to_string(solution.cost) + ", the best costs " +
           std::to_string(best);
  if (search.violation()) return "the search met a bound above a cost";
  Bounds bounds(t, kernels);
  std::string wrong;
  brute.each([&](const Spec& s, const Limits& l, const testing::BruteForce::Answer& a) {
    if (seen) seen(s);
    if (bounds.of(s, l) > a.cost || bounds.quick(s, l) > bounds.of(s, l))
      wrong = describe(s) + ": bounds " + std::to_string(bounds.quick(s, l)) + ", " +
              std::to_string(bounds.of(s, l)) + ", cost " + std::to_string(a.cost);
  });
  return wrong;
}

/// Specs of narrow element types, small enough for brute force.
constexpr std::string_view kNarrow[] = {
    "matmul bf16[2,3] bf16[3,9] -> f32[2,9]",
    "matmul bf16[1,6] bf16[6,3]{0,1} -> f32[1,3]",
    "matmul bf16[2,4] bf16[4,18]{*} -> f32[2,18]",
    "matmul f32[2,3] bf16[3,9] -> bf16[2,9]",
    "matmul u8[2,6] i8[6,3] -> i32[2,3]",
    "matmul i8[1,5] u8[5,9]{*} -> i32[1,9]",
    "matmul i8[2,5] i8[5,3]{0,1} -> i32[2,3]",
    "matmul bf16[3,5] bf16[5,9]{0,1} -> f32[3,9]",
    "matmul u8[3,6] i8[6,9]{0,1} -> i32[3,9]",
    "matmul f32[2,3] i8[3,9] -> f32[2,9]",
    "matmul u8[2,5] i8[5,3] * f32[3] -> u8[2,3]",
    "conv2d bf16[1,1,3,9] bf16[1,2,1,9] groups=9 nhwc",
    "einsum \"mkv,kv->mv\" bf16[2,3,9] f32[3,9] -> f32[2,9]",
    "transpose bf16[9,5]",
    "transpose u8[5,12]",
    "reduce_sum bf16[4,9] axis=1 -> f32[4]",
};

std::vector<const Target*> targets_of(const Statement& statement) {
  std::vector<Dtype> types;
  for (const Tensor& t : statement.tensors) types.push_back(t.dtype);
  std::vector<const Target*> all;
  for (const Target& t : fixed_targets())
    if (best_target(t.required, kAllFeatures, types) == &t) all.push_back(&t);
  if (all.size() > 2) all = {all.front(), all.back()};  // those between have fewer instructions
  return all;
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("narrow element types: the brute-force optimum, and honest rates") {
    std::vector<size_t> duties(kDuties);
    size_t checked = 0;
    int turn = 0;  // sanitizers take a part
    for (const std::string_view text : kNarrow) {
      const Result<Statement> statement = parse(text);
      REQUIRE_MESSAGE(statement.ok(), text << ": " << statement.error().message);
      for (const Target* target : targets_of(*statement)) {
        if (turn++ % rounds_left_out() != 0) continue;
        const Target tiny = with_machine(*target, 512, 1024, 1);
        const Spec spec = lower(*statement)->spec;
        const auto check = [&](const Spec& leaf) {
          duties[static_cast<size_t>(duty_of(leaf))]++;
          const std::string liar = dishonest(leaf, tiny, microkernels(), checked);
          CHECK_MESSAGE(liar == "", liar);
        };
        const std::string wrong = against_brute_force(spec, tiny, microkernels(), check);
        CHECK_MESSAGE(wrong == "", text << " on " << target->name << ": " << wrong);
      }
    }
    CHECK(checked > 100);
    for (Duty duty : {Duty::kNarrowRelayout, Duty::kPairs, Duty::kQuads})
      CHECK(duties[static_cast<size_t>(duty)] > 0);
  }

  TEST_CASE("no microkernel costs less than it declares") {
    const u64 seed = 20261127;
    size_t checked = 0;
    std::vector<size_t> duties(kDuties);
    for (const Target* target : testing::targets_of({Dtype::kF32})) {
      const Target& t = *target;
      auto check = [&](const Spec& spec) {
        duties[static_cast<size_t>(duty_of(spec))]++;
        for (const Named& added : kAdded) {
          const std::string wrong = dishonest(spec, t, with(added.kernel), checked);
          CHECK_MESSAGE(wrong == "", wrong);
        }
      };
      testing::Random types(seed);
      auto check_types = [&](Spec spec) {  // the same with other element types
        testing::draw_dtypes(spec, types);
        check(spec);
      };
      each_probe(t, [&](const Spec& spec) {
        for (const Spec& s : {spec, on_register_tile(spec)}) {
          check(s);
          for (int i = 0; i < 8; i++) check_types(s);
        }
      });
      std::mt19937_64 rng(seed);
      int turn = 0;
      for (int i = 0, n = rounds(15); i < n; i++) {
        const Statement statement = small_statement(rng);
        INFO("seed " << seed << ", round " << i << ": " << print(statement));
        const Target tiny = with_machine(t, 512, 1024, 0);
        ActionContext context{&tiny};
        testing::BruteForce brute(context);
        brute.solve(lower(statement)->spec, limits_of(tiny));
        brute.each([&](const Spec& s, const Limits&, const auto&) {
          check(s);
          if (++turn % 4 == 0) check_types(s);
        });
      }
    }
    CHECK(checked > 10000);
    for (size_t d = 0; d < duties.size(); d++)
      if (d < static_cast<size_t>(Duty::kNarrowRelayout) || d == static_cast<size_t>(Duty::kMap))
        CHECK(duties[d] > 10);
  }

  TEST_CASE("products of graphs have a price, whatever their types") {
    for (const Target& target : fixed_targets()) {
      CAPTURE(target.name);
      const Rates rates(target, microkernels());
      const u32 lanes = target.lanes(kElementBytes);
      for (Dtype sum : {Dtype::kF32, Dtype::kI32})
        for (Dtype a : kAllDtypes)
          for (Dtype b : kAllDtypes) {
            INFO(static_cast<int>(a) << " by " << static_cast<int>(b));
            CHECK(rates.least_product(a, b, sum, lanes) > 0);
          }
      // Where nothing multiplies bf16, it is widened.
      if (most_products(target, Dtype::kBf16, Dtype::kBf16, Dtype::kF32) == 1)
        CHECK(rates.least_product(Dtype::kBf16, Dtype::kBf16, Dtype::kF32, lanes) ==
              rates.least_product(Dtype::kF32, Dtype::kF32, Dtype::kF32, lanes));
    }
  }

  TEST_CASE("one that costs less than it declares is found") {
    const Microkernel* all[] = {
#define MORELLO_MICROKERNEL(number, Name, text) &kBoastful<MicrokernelId::k##Name>,
#include "impl/microkernels.def"
#undef MORELLO_MICROKERNEL
    };
    for (const Microkernel*& one : all) {
      const bool tiles = &one - all + 1 == static_cast<long>(MicrokernelId::kTileProduct);
      const Target& t = *find_target(tiles ? "avx512_amx" : "avx2");
      size_t checked = 0, wrong = 0;
      auto check = [&](const Spec& spec) {
        for (const Spec& s : {spec, on_register_tile(spec)})
          wrong += !dishonest(s, t, {&one, 1}, checked).empty();
      };
      each_probe(t, check);
      ActionContext context{&t};
      testing::BruteForce copies(context);
      copies.solve(lower(*parse("matmul u8[2,9] i8[9,4] -> i32[2,4]"))->spec, limits_of(t));
      copies.each([&](const Spec& s, const Limits&, const auto&) { check(s); });
      // Wide enough to be no matter of latency.
      for (const char* wide :
           {"reduce_sum f32[30,80] axis=0 -> f32[80]", "reduce_sum f32[30,300] axis=1 -> f32[30]"})
        check(lower(*parse(wide))->spec);
      const Spec free = lower(*parse("matmul bf16[32,512] bf16[512,32]{*} -> f32[32,32]"))->spec;
      ActionList layouts;
      list_actions(free, limits_of(t), context, layouts);
      for (const Action& action : layouts)
        if (Derivation d; preview(free, limits_of(t), action, context, d)) check(d.child[0].spec);
      INFO("microkernel " << &one - all + 1);
      CHECK(checked > 0);
      CHECK(wrong > 0);
    }
  }

  TEST_CASE("a microkernel twice as fast: the brute-force optimum") {
    const u64 seed = 20261128;
    int turn = 0;  // sanitizers take a part of the fixed Specs as well
    for (const Named& added : kAdded) {
      const std::vector<const Microkernel*> kernels = with(added.kernel);
      for (const Target* model : testing::targets_of({Dtype::kF32})) {
        const Target& target = *model;
        const Target tiny = with_machine(target, 512, 1024, 1);
        for (const std::string_view text :
             {"matmul f32[2,3] f32[3,5]", "matmul f32[1,9] f32[9,12] -> f32[1,12]",
              "matmul f32[3,2]{0,1} f32[2,4] -> f32[3,4]{0,1}",
              "matmul f32[1,4] f32[4,9] + f32[9]{strides=2} -> relu",
              "matmul f32[2,2] f32[2,3] -> sqrt -> f32[2,3]", "transpose f32[9,5]",
              "reduce_sum f32[4,9] axis=1", "reduce_max f32[9,4] axis=0 -> recip",
              "log f32[2]{strides=3}"}) {
          if (turn++ % rounds_left_out() != 0) continue;
          const std::string wrong = against_brute_force(lower(*parse(text))->spec, tiny, kernels);
          CHECK_MESSAGE(wrong == "",
                        added.name << ", " << text << " on " << target.name << ": " << wrong);
        }
        std::mt19937_64 rng(seed);
        for (int i = 0, n = rounds(4); i < n; i++) {
          const Statement statement = small_statement(rng);
          const std::string wrong = against_brute_force(lower(statement)->spec, tiny, kernels);
          CHECK_MESSAGE(wrong == "", added.name << ", seed " << seed << ", round " << i << ": "
                                                << print(statement) << " on " << target.name << ": "
                                                << wrong);
        }
      }
    }
  }

  TEST_CASE("a microkernel twice as fast: random Specs of real sizes cost no less than bounds") {
    const u64 seed = 20261129;
    const std::vector<const Target*> targets = testing::targets_of({Dtype::kF32});
    for (const Named& added : kAdded) {
      const std::vector<const Microkernel*> kernels = with(added.kernel);
      // Where visits of results are most of the work.
      const Spec thin = lower(*parse("matmul f32[2000,2] f32[2,8]"))->spec;
      CHECK_MESSAGE(against_bounds(thin, fixed_targets()[0], kernels) == "", added.name);
      for (int i = 0, n = rounds(20); i < n; i++) {
        std::mt19937_64 rng(seed + static_cast<u64>(i));
        testing::RandomStatementOptions options;
        options.max_elements = 1 << 20;
        options.max_flops = i64{1} << (12 + rng() % 17);
        options.max_size = rng() % 2 ? 4096 : 0;
        const Statement statement = testing::random_statement(rng, options);
        const Target target = with_machine(*targets[i % 2], 0, 0, 1);
        const std::string wrong = against_bounds(lower(statement)->spec, target, kernels);
        CHECK_MESSAGE(wrong == "", added.name << ", seed " << seed + static_cast<u64>(i) << ": "
                                              << print(statement) << " on " << target.name << ": "
                                              << wrong);
      }
    }
  }

  TEST_CASE("the added microkernels make a difference") {
    const Target& t = *fixed_target(Isa::kAvx2);
    auto cost = [&](std::string_view text, const Microkernel* added) {
      const std::vector<const Microkernel*> kernels = with(added);
      const ActionContext context{.target = &t, .microkernels = kernels};
      SpecProblem problem(context);
      BestFirst<SpecProblem> search(problem);
      BestFirst<SpecProblem>::Worker worker(search);
      BestFirst<SpecProblem>::Solution solution;
      Spec spec = lower(*parse(text))->spec;
      spec.serial = true;
      REQUIRE(search.solve(spec, limits_of(t), worker, solution));
      return solution.cost;
    };
    std::string_view texts[] = {"matmul f32[24,96] f32[96,64]", "matmul f32[1,96] f32[96,2]{0,1}",
                                "add f32[4000] f32[4000]",      "add f32[9,9]{0,1} f32[9,9]",
                                "reduce_sum f32[50,70] axis=0", "reduce_sum f32[7,700] axis=1",
                                "matmul f32[2,2] f32[2,1]",     "transpose f32[40,48]"};
    for (size_t i = 0; i < std::size(texts); i++) {
      INFO(texts[i] << ", " << kAdded[i].name);
      CHECK(cost(texts[i], kAdded[i].kernel) < cost(texts[i], nullptr));
    }
  }
}

}  // namespace morello
