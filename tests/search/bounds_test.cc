// SPDX-License-Identifier: MIT
// No bound is above a cost, at the sizes and with the caches that users have. MORELLO_TEST_ROUNDS=x
// takes x times as many Specs.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include "../support/random_statement.hh"
#include "../support/scale.hh"
#include "cost/io_bound.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "search/synthesize.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

using testing::rounds;

Spec spec_of(std::string_view text) {
  Result<Statement> statement = parse(text);
  REQUIRE_MESSAGE(statement.ok(), text);
  return lower(*statement)->spec;
}

/// Searches with `percent` of each bound, so that pairs are solved that a bound might hide, and
/// compares what is solved with the whole bounds. What is wrong, or "".
std::string wrong_bounds(const Spec& user_spec, const Target& target, u32 percent, u32 expansions,
                         i64* cost) {
  Target adjusted = with_machine(target, 0, 0, 1);
  ActionContext context{&adjusted};
  SpecProblem problem(context, percent);
  SpecSearch search(problem);
  SpecSearch::Worker worker(search);
  worker.set_check([&] { return search.counts().expanded < expansions; });
  Spec spec = user_spec;
  spec.serial = true;
  SpecSearch::Solution solution;
  bool done = search.solve(spec, limits_of(adjusted), worker, solution);
  if (cost) *cost = done ? solution.cost : -1;
  Bounds bounds(adjusted);
  std::string wrong;
  i64 least = kInfinite;  // the smallest wrong Spec says most
  search.each_solved([&](const Spec& s, const Limits& l, const auto& solved) {
    i64 bound = bounds.of(s, l), quick = bounds.quick(s, l);
    if (std::max(bound, quick) <= solved.cost && quick <= bound) return;
    if (solved.cost >= least) return;
    least = solved.cost;
    wrong = describe(s) + " L1 " + std::to_string(l.use[1]) + " L2 " + std::to_string(l.use[2]) +
            ": quick bound " + std::to_string(quick) + ", bound " + std::to_string(bound) +
            ", cost " + std::to_string(solved.cost);
  });
  return wrong;
}

/// As drawn, or with sizes as applications have them.
Statement real_statement(std::mt19937_64& rng) {
  testing::RandomStatementOptions options;
  options.max_elements = 1 << 22;
  options.max_flops = i64{1} << (12 + rng() % 19);
  options.max_size = rng() % 2 ? 4096 : 0;
  options.free_layouts = rng() % 4 == 0;
  return testing::random_statement(rng, options);
}

/// Products that others read: by steps, reductions, further products.
std::string random_products(std::mt19937_64& rng) {
  const auto any = [&](auto... of) {
    const std::array all{of...};
    return all[rng() % all.size()];
  };
  const std::string a = any("f32", "f32", "bf16", "f16"), b = any("f32", "bf16", "f16", "i8");
  const auto size = [&] { return any(1, 2, 3, 6, 8, 12, 16, 17, 32, 33, 48, 64, 70, 128); };
  const int m = size(), k = size(), n = size(), p = size(), h = any(1, 2, 3), g = any(1, 2, 3, 8);
  const auto of = [&](const std::string& type, auto... sizes) {
    std::string text;
    for (int each : {sizes...}) text += (text.empty() ? "" : ",") + std::to_string(each);
    const bool turned = sizeof...(sizes) == 2 && rng() % 5 == 0;
    return ' ' + type + '[' + text + ']' + (turned ? "{0,1}" : "");
  };
  const std::string end = rng() % 4 ? "" : " -> relu";
  const std::string into = rng() % 4 ? " -> " : " += ";
  const std::string out = into + (into == " += " ? "f32" : any("f32", "f32", "bf16"));
  const std::string bias = rng() % 3 ? "" : " + " + of(any("f32", "bf16"), n).substr(1);
  switch (rng() % 7) {
    case 0:
      return "scaled_matmul" + of(a, m, g * k) + of(b, g * k, n) + of("f32", g, n) + end + out +
             of("", m, n).substr(1);
    case 1:
      return "t = matmul" + of(a, m, k) + of(b, k, n) + bias + end + "; matmul t" + of(b, n, p) +
             out + of("", m, p).substr(1);
    case 2:
      return "u = matmul x" + of(a, m, k) + of(b, k, n) + " -> " + any("silu", "relu", "gelu") +
             "; v = matmul x" + of(b, k, n) + "; mul u v -> matmul" + of(b, n, p) + out +
             of("", m, p).substr(1);
    case 3:
      return "attention" + of(a, h, m, k) + of(a, h, n, k) + of(a, h, n, p);
    case 4:
      return "attention" + of(a, h, m, k) + of(a, h, m, k) + of(a, h, m, k) + " causal";
    case 5:
      return "y = matmul" + of(a, m, k) + of(b, k, n) + bias + "; softmax y axis=1";
    default:
      return "y = matmul" + of(a, m, k) + of(b, k, n) + bias + "; rmsnorm y gamma" + of("f32", n) +
             " axis=1";
  }
}

/// Windows of products, in both orders.
std::string random_convolution(std::mt19937_64& rng) {
  const auto any = [&](auto... of) {
    const std::array all{of...};
    return all[rng() % all.size()];
  };
  const bool nhwc = rng() % 2;
  const int c = any(1, 2, 3, 8, 12, 16, 33, 64), o = any(1, 4, 8, 16, 24, 33, 64),
            kh = any(1, 2, 3, 5);
  const int kw = any(1, 2, 3, 5), step = any(1, 1, 1, 2, 3), apart = any(1, 1, 1, 2);
  const int h = (kh - 1) * apart + any(1, 2, 5, 8, 14),
            w = (kw - 1) * apart + any(1, 3, 8, 17, 28, 40);
  const std::string a = any("f32", "f32", "bf16", "u8"), b = a == "u8" ? "i8" : a;
  const auto of = [](const std::string& type, std::initializer_list<int> sizes) {
    std::string text;
    for (int each : sizes) text += (text.empty() ? "" : ",") + std::to_string(each);
    return ' ' + type + '[' + text + ']';
  };
  std::string text = "conv2d" + (nhwc ? of(a, {1, h, w, c}) : of(a, {1, c, h, w})) +
                     (nhwc ? of(b, {kh, kw, c, o}) : of(b, {o, c, kh, kw}));
  if (rng() % 4 == 0) text += "{*}";
  if (step != 1) text += " stride=" + std::to_string(step);
  if (apart != 1) text += " dilation=" + std::to_string(apart);
  if (rng() % 4 == 0 && step * apart != 6 && kh > 1 && kw > 1 && h > 1 && w > 1)
    text += " padding=1";
  if (nhwc) text += " nhwc";
  return text;
}

/// Few results of long sums, of which factors are parts of other arrays or have any order.
std::string random_long_sums(std::mt19937_64& rng) {
  const auto any = [&](auto... of) {
    const std::array all{of...};
    return all[rng() % all.size()];
  };
  // Reduced, of the one factor and of the other, and of both.
  const std::string letters = "kKnmab";
  std::array<u64, 6> size{};
  size[1] = rng() % 2 ? 1 : any(2, 3, 9, 111, 134);
  size[0] = 1 + (rng() % 2 ? rng() % 20000 : any(4096, 8192, 14874, 16384)) / size[1];
  for (size_t d = 2; d < 6; d++) size[d] = 1 + (rng() % 2 ? rng() % 3 : rng() % 17);
  size[rng() % 4 + 2] = 1;
  const auto drawn = [&](std::string of, bool all) {
    std::string kept;
    for (char c : of)
      if (c == 'k' || size[letters.find(c)] > 1 || (all && rng() % 4 == 0)) kept += c;
    if (rng() % 3 != 0) std::shuffle(kept.begin(), kept.end(), rng);
    return kept;
  };
  const std::string results = drawn("nmab", false);
  const std::string a = drawn("kKma", false), b = drawn(rng() % 4 ? "kKnab" : "kKna", false);
  std::string out;
  for (char c : results)
    if ((a + b).find(c) != std::string::npos) out += c;
  const auto operand = [&](const std::string& type, const std::string& dims) {
    std::string text;
    for (char c : dims) text += (text.empty() ? "" : ",") + std::to_string(size[letters.find(c)]);
    return ' ' + type + '[' + text + ']' + (rng() % 12 == 0 ? "{*}" : "");
  };
  const std::string one = any("f32", "f32", "bf16", "f16", "i8"), other = rng() % 3 ? one : "f32";
  return "einsum \"" + a + ',' + b + "->" + out + '"' + operand(one, a) + operand(other, b) +
         any("", "", "", " -> relu", " * 2 -> tanh");
}

/// A product of one or two batch dimensions, in any order of all, which mostly has the members of
/// one next to each other in the results, and in each factor or not.
std::string random_batch(std::mt19937_64& rng) {
  const auto any = [&rng](auto... of) { return std::array{of...}[rng() % sizeof...(of)]; };
  const std::string letters = "mnkgh", batch = rng() % 3 ? "g" : "gh";
  std::array<u64, 5> size{};
  for (size_t d = 0; d < 3; d++) size[d] = any(1, 2, 3, 4, 5, 8, 9, 17, 32);
  size[3] = any(2, 3, 4, 5, 8, 17), size[4] = any(2, 3, 5);
  const auto drawn = [&](std::string dims, bool last) {
    std::shuffle(dims.begin(), dims.end(), rng);
    if (last) std::swap(dims[dims.find('g')], dims.back());
    return dims;
  };
  const std::string a = drawn(batch + "mk", rng() % 2), b = drawn(batch + "kn", rng() % 2),
                    out = drawn(batch + "mn", rng() % 5 != 0);
  const auto operand = [&](const std::string& type, const std::string& dims) {
    std::string text;
    for (char c : dims) text += (text.empty() ? "" : ",") + std::to_string(size[letters.find(c)]);
    return ' ' + type + '[' + text + ']';
  };
  const std::string one = any("f32", "f32", "bf16", "f16", "u8", "i32"),
                    sum = one == "u8" || one == "i32" ? "i32" : any("f32", "f32", "bf16");
  return "einsum \"" + a + ',' + b + "->" + out + '"' + operand(one, a) + (rng() % 4 ? "" : "{*}") +
         operand(one == "u8" ? "i8" : one, b) + (rng() % 4 ? "" : "{*}") +
         (sum == "i32" || rng() % 4 ? "" : " -> relu") + " ->" + operand(sum, out);
}

/// So many of these, in rounds, on each target in turn, with a part of the bounds or all.
void check_random(u64 seed, int count, u64 expansions, std::string (*draw)(std::mt19937_64&)) {
  for (int i = 0, n = rounds(count); i < n; i++) {
    std::mt19937_64 rng(seed + static_cast<u64>(i));
    const std::string text = draw(rng);
    const auto all = fixed_targets();
    const Target& target = all[static_cast<size_t>(i) % all.size()];
    const u32 percent = rng() % 2 ? 100 : 70;
    const std::string why = wrong_bounds(spec_of(text), target, percent, expansions, nullptr);
    CHECK_MESSAGE(why == "", why << "; seed " << seed + static_cast<u64>(i) << ": " << text
                                 << " on " << target.name << ", " << percent << "%");
  }
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("bounds that were above a cost") {
    for (const char* text :
         {"matmul f32[1,49] f32[49,64] -> relu -> f32[1,64]{strides=3136,49}",
          "recip f32[2,5,6]{0,1,2} -> square + f32[4,2,5,6] -> f32[4,2,5,6]",
          "max f32[47] f32[47]{strides=2} += f32[3,47]",
          "v = tanh f32[1,4,2] -> matmul f32[1,2,8] -> transpose -> square -> reshape shape=32; "
          "w = max v 0.75 -> mul f32[32]; r = relu w; d = mul w 2; m = add r d -> max "
          "f32[32]{strides=2}; tanh v - m -> f32[32]",
          "matmul f32[41,64]{0,1} f32[64,41] + f32[] -> f32[41,41]",
          "matmul f32[12,20] f32[20,24] + f32[24]{strides=2} -> relu -> f32[12,24]",
          "matmul f32[12,20] f32[20,24] * f32[24] += f32[12,24]",
          "scaled_matmul f32[3,24] i8[24,20] f32[4,20]",
          "scaled_matmul f32[6,128] u8[128,64] f32[2,64] += f32[6,64]",
          "matmul f16[2,16] f16[16,16] -> f16[2,16]{strides=46,2}",
          "matmul i8[15,2] i8[2,15] * f32[] -> round + u8[] -> u8[15,15]",
          "max_pool i8[1,13,9,8] window=5,1 nhwc",
          "v0 = abs i8[31,2]; v1 = abs i8[2,15]; matmul v0 v1 * f32[] -> round + u8[] -> u8[31,15]",
          "fill inf -> max f32[1] / f32[6,5,1,1,4]{strides=0,4,4,1,1} += f32[6,5,1,1,4]",
          "einsum \"kan,k->na\" f32[8192,2,9] f32[8192]",
          "einsum \"kn,k->n\" f32[8192,9] f32[8192] -> f32[9]{strides=2}",
          "einsum \"mkK,Kk->m\" i8[3,256,9] i8[9,256]",
          "einsum \"m,K->m\" f16[195] bf16[134]",
          "einsum \"ak,k->a\" f16[2,6144] f32[6144]",
          "einsum \"yka,kcy->yac\" f32[3,28,40] f32[28,2,3]",
          "einsum \"ka,cke->eac\" f32[26,39] f32[2,26,6]",
          "einsum \"kab,cky->yabc\" f32[10,31,3] f32[4,10,6]",
          "square f32[188,5] -> reduce_sum axis=0",
          "rmsnorm f32[8,768]{0,1} axis=1",
          "square f32[8,28,28,56] -> mean axis=1,2",
          "conv2d f16[1,17,1,26] f32[4,17,1,5] -> gelu -> fast_min bf16[22] -> erf -> "
          "i32[1,4,1,22]",
          "matmul bf16[5,3] bf16[3,82]{strides=164,2} -> silu -> matmul bf16[82,200] -> "
          "f32[5,200]"})
      for (Isa isa : {Isa::kAvx2, Isa::kAvx512})
        for (u32 percent : {100u, 60u})
          CHECK_MESSAGE(
              wrong_bounds(spec_of(text), *fixed_target(isa), percent, 100000, nullptr) == "",
              std::string(text));
  }

  TEST_CASE("a block that is not the fastest place of its layout makes no row shorter") {
    Spec spec;
    spec.rank = 3;
    spec.size = {2, 3, 8};
    spec.operand_count = spec.stage_count = 1;
    spec.stage[0].op = Op::kFill;
    spec.stage[0].dtype = Dtype::kI32;
    spec.stage[0].out = 0;
    spec.stage[0].constant = 2;
    Layout layout = layout_in_order(std::array<u8, 2>{0, 1});
    layout.append(1, 2);
    layout.append(2);
    spec.operand[0] = dense_operand(spec, Dtype::kI8, Level::kL2, Access::kOut, 7, layout);
    spec.operand[0].contig = 1;
    REQUIRE(not_canonical(spec) == "");
    for (const Target& target : fixed_targets()) {
      const Result<ImplTree> tree = synthesize(spec, target, {}, nullptr);
      CHECK_MESSAGE(tree.ok(), tree.error().message);
    }
  }

  TEST_CASE("random Specs of mixed element types: no pair costs less than its bound") {
    const u64 seed = 20261201;
    for (int i = 0, n = rounds(100); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      testing::RandomStatementOptions options;
      options.max_elements = 1 << 16;
      options.max_flops = i64{1} << (10 + rng() % 10);
      options.max_size = rng() % 2 ? 512 : 0;
      options.free_layouts = rng() % 4 == 0;
      options.other_dtypes = true;
      const Statement statement = testing::random_statement(rng, options);
      const auto all = fixed_targets();
      const Target& target = all[static_cast<size_t>(i) % all.size()];
      const u32 percent = i / 5 % 2 ? 100 : 70;
      const std::string why = wrong_bounds(lower(statement)->spec, target, percent, 2000, nullptr);
      CHECK_MESSAGE(why == "", why << "; seed " << seed + static_cast<u64>(i) << ": "
                                   << print(statement) << " on " << target.name << ", " << percent
                                   << "%");
    }
  }

  TEST_CASE("random graphs of products and windows of them: no pair costs less than its bound") {
    const u64 seed = 20261125;
    for (int i = 0, n = rounds(200); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      const std::string text = i % 4 == 3 ? random_convolution(rng) : random_products(rng);
      const auto all = fixed_targets();
      const Target& target = all[static_cast<size_t>(i) % all.size()];
      const u32 percent = rng() % 2 ? 100 : 70;
      const std::string why = wrong_bounds(spec_of(text), target, percent, 2000, nullptr);
      CHECK_MESSAGE(why == "", why << "; seed " << seed + static_cast<u64>(i) << ": " << text
                                   << " on " << target.name << ", " << percent << "%");
    }
  }

  TEST_CASE("products of batches: no pair costs less than its bound") {
    // Turned once a factor was copied, or in rows of two dimensions; a copy of vectors that are not
    // full.
    constexpr std::pair<const char*, const char*> kKnown[] = {
        {"einsum \"mkg,kng->mng\" f32[16,64,3]{*} f32[64,16,3]{*}", "avx2"},
        {"einsum \"ghmk,hgkn->nmgh\" f32[3,2,3,4] f32[2,3,4,64]", "avx2"},
        {"einsum \"kg,nkg->ng\" f16[33,2] f16[32,33,2] -> f32[32,2]", "avx512_amx"}};
    for (const auto& known : kKnown) {
      const Target& target = *find_target(known.second);
      CHECK_MESSAGE(wrong_bounds(spec_of(known.first), target, 60, 100000, nullptr) == "",
                    std::string(known.first));
    }
    check_random(20261202, 40, 2000, random_batch);
  }

  TEST_CASE("few results of long sums: no pair costs less than its bound") {
    check_random(20261125, 100, 1000, random_long_sums);
  }

  TEST_CASE("no nest of moves costs less per product than the bound of nests") {
    const u64 seed = 20261123;
    std::mt19937_64 rng(seed);
    int fitting = 0;
    for (int i = 0; i < 20000; i++) {
      INFO("seed " << seed << ", round " << i);
      auto draw = [&](u64 most) { return 1 + rng() % most; };
      u64 n = draw(64), m = draw(64), k = draw(64);  // of the place in the nest
      Contraction p;
      p.points = static_cast<double>(n * m * k);
      p.a = static_cast<double>(m * k), p.b = static_cast<double>(k * n);
      p.c = static_cast<double>(m * n);
      p.far_a = rng() % 4 != 0, p.far_b = rng() % 4 != 0, p.far_c = rng() % 4 != 0;
      p.fast = static_cast<double>(draw(2000));
      // What streams has no price.
      const std::array<double, 3> element = {static_cast<double>(rng() % 9),
                                             static_cast<double>(rng() % 9),
                                             static_cast<double>(draw(9))};
      p.element_a = element[0], p.element_b = element[1], p.element_c = element[2];
      p.visit = static_cast<double>(rng() % 20);
      p.registers = static_cast<double>(draw(32));
      p.fast_of_two = p.fast + p.registers;
      std::array<bool, 3> to_come = {p.far_a, p.far_b, p.far_c};
      // What beginning runs costs, along one of the dimensions of each.
      std::array<double, 3> run{};
      std::array<bool, 3> by_first{};
      for (size_t x = 0; x < 3; x++) {
        if (to_come[x]) run[x] = static_cast<double>(rng() % 3 * draw(60));
        by_first[x] = rng() % 2;
      }
      (by_first[0] ? p.run_am : p.run_ak) = run[0];
      (by_first[1] ? p.run_bk : p.run_bn) = run[1];
      (by_first[2] ? p.run_cm : p.run_cn) = run[2];
      const auto price_at = [&](size_t x) {
        const std::array<u64, 3> lacks = {n, m, k};
        const std::array<u64, 3> first = {m, k, m}, second = {k, n, n};
        const double come = x == 2 ? 2 * element[x] : element[x];
        return (come + run[x] / static_cast<double>(by_first[x] ? first[x] : second[x])) /
               static_cast<double>(lacks[x]);
      };
      double cost = 0, room = p.fast;
      std::array<int, 3> order = {0, 1, 2};
      std::shuffle(order.begin(), order.end(), rng);
      for (int x : order) {
        if (rng() % 3 != 0) n = draw(n), m = draw(m), k = draw(k);
        const std::array<u64, 3> lacks = {n, m, k};
        const double tile = static_cast<double>(n * m * k / lacks[static_cast<size_t>(x)]);
        if (!to_come[static_cast<size_t>(x)] || tile > room) continue;
        room -= tile;
        cost += price_at(static_cast<size_t>(x));
        to_come[static_cast<size_t>(x)] = false;
      }
      while (static_cast<double>(n * m) > p.registers) (n > m ? n : m)--;
      for (size_t x = 0; x < 3; x++)
        if (to_come[x]) cost += price_at(x);
      cost += p.visit / static_cast<double>(k);
      fitting += !to_come[0] && !to_come[1] && !to_come[2];
      REQUIRE(nest_bound(p) <= cost * (1 + 1e-9));
    }
    CHECK(fitting > 1000);
  }

  TEST_CASE("a bound above a cost is an error that names the Spec, never an answer") {
    for (u32 threads : {1u, 3u})
      for (const char* text : {"matmul f32[20,24] f32[24,34]", "transpose f32[24,40]"}) {
        SearchOptions options;
        options.bound_percent = 300;
        options.search_threads = threads;
        const Spec spec = spec_of(text);
        Result<ImplTree> tree = synthesize(spec, *fixed_target(Isa::kAvx2), options, nullptr);
        INFO(std::string(text));
        REQUIRE(!tree.ok());
        CHECK(tree.error().status == MORELLO_INTERNAL);
        INFO(tree.error().message);
        CHECK(tree.error().message.find("less than its lower bound of") != std::string::npos);
        CHECK(tree.error().message.find(name_of(spec.stage[0].op)) == 0);
        CHECK(tree.error().message.find("avx2 (generic-x86-64)") != std::string::npos);
      }
  }

  TEST_CASE("random Specs of real sizes: no pair costs less than its bound") {
    const u64 seed = 20261122;
    for (int i = 0, n = rounds(100); i < n; i++) {
      std::mt19937_64 rng(seed + static_cast<u64>(i));
      Statement statement = real_statement(rng);
      const Target& target = *fixed_target(i % 2 ? Isa::kAvx2 : Isa::kAvx512);
      Spec spec = lower(statement)->spec;
      i64 whole = -1, part = -1;
      for (u32 percent : {100u, 70u}) {
        std::string why =
            wrong_bounds(spec, target, percent, 4000, percent == 100 ? &whole : &part);
        CHECK_MESSAGE(why == "", why << "; seed " << seed + static_cast<u64>(i) << ": "
                                     << print(statement) << " on " << target.name << ", " << percent
                                     << "%");
      }
      if (whole >= 0 && part >= 0)
        CHECK_MESSAGE(whole == part, "seed " << seed + static_cast<u64>(i) << ": "
                                             << print(statement) << " on " << target.name);
    }
  }
}

}  // namespace morello
