// SPDX-License-Identifier: MIT
// The search against brute force, against itself with other settings, and at the edges of its
// budgets.
#include "search/synthesize.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "../support/lowered.hh"
#include "../support/random_graph.hh"
#include "../support/random_statement.hh"
#include "brute_force.hh"
#include "cost/bounds.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

using testing::spec_of;

/// Caches so small that every limit binds for the Specs of these tests.
Target tiny(Isa isa) { return with_machine(*fixed_target(isa), 512, 1024, 0); }

std::string tree_of(const Spec& spec, const Target& target, const SearchOptions& options) {
  Result<ImplTree> tree = synthesize(spec, target, options, nullptr);
  return tree.ok() ? print(*tree) : tree.error().message;
}

void same_as_brute_force(const Spec& user_spec, const Target& target, u32 threads) {
  Target adjusted = with_machine(target, 0, 0, threads);
  ActionContext context{&adjusted};
  testing::BruteForce brute(context);
  Spec spec = user_spec;
  spec.serial = threads == 1;
  const auto& best = brute.solve(spec, limits_of(adjusted));
  SearchOptions options;
  options.threads = threads;
  Result<ImplTree> tree = synthesize(user_spec, target, options, nullptr);
  INFO(describe(spec) << " on " << target.name << ", " << brute.size() << " pairs");
  REQUIRE((best.cost < kInfinite) == tree.ok());
  if (!tree.ok()) return;
  CHECK(tree->nodes[0].cost == best.cost);
  CHECK(tree->nodes[0].peaks == best.peaks);
  // No lower bound is above any optimum.
  Bounds bounds(adjusted);
  size_t too_high = 0;
  std::string example;
  brute.each([&](const Spec& s, const Limits& l, const testing::BruteForce::Answer& a) {
    CHECK(bounds.quick(s, l) <= bounds.of(s, l));
    if (bounds.of(s, l) <= a.cost) return;
    too_high++;
    example = describe(s) + ": bound " + std::to_string(bounds.of(s, l)) + ", cost " +
              std::to_string(a.cost);
  });
  INFO(example);
  CHECK(too_high == 0);
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("matmuls: the brute-force optimum") {
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512})
      for (const char* text :
           {"matmul f32[1,1] f32[1,1] -> f32[1,1]", "matmul f32[2,3] f32[3,4] -> f32[2,4]",
            "matmul f32[4,4] f32[4,4] -> f32[4,4]", "matmul f32[3,2] f32[2,17] += f32[3,17]",
            "matmul f32[1,9] f32[9,12] -> f32[1,12]", "matmul f32[4,3]{0,1} f32[3,5] -> f32[4,5]",
            "matmul f32[3,4] f32[4,5]{0,1} -> f32[3,5]",
            "matmul f32[3,4] f32[4,5] -> f32[3,5]{0,1}",
            "matmul f32[2,2,3] f32[2,3,2] -> f32[2,2,2]", "matmul f32[2,3] f32[3,8]{*} -> f32[2,8]",
            "matmul f32[2,4] f32[4,5] + bias f32[5] -> relu -> f32[2,5]",
            "matmul f32[4,2] f32[2,3] -> relu -> f32[4,3]"})
        same_as_brute_force(spec_of(text), tiny(isa), 1);
  }

  TEST_CASE("graphs: the brute-force optimum") {
    for (const char* text :
         {"softmax f32[2,3] axis=1", "rmsnorm f32[2,9] f32[9] axis=1",
          "square f32[3,20] -> mean axis=1", "matmul f32[2,3] f32[3,2] -> relu -> matmul f32[2,3]",
          "scaled_matmul f32[2,4] f32[4,3] f32[2,3]", "exp f32[3,9] -> reduce_sum axis=0 += f32[9]",
          "c = mean x f32[2,9] axis=1 keep; sub x c -> square -> reduce_sum axis=1",
          "max_pool f32[1,2,3,4] window=2 padding=1",
          "avg_pool f32[1,4,3,2] window=3 padding=1 nhwc",
          "max_pool f32[1,1,5,4] window=3 stride=2 padding=1",
          "conv2d f32[1,2,3,9] f32[3,2,1,9] padding=1 groups=9 nhwc",
          "conv2d f32[1,1,2,4] f32[2,1,3,2] padding=1",
          "conv2d f32[1,2,3,10] f32[2,1,2,2] groups=2",
          "conv2d f32[1,1,4,9] f32[1,1,2,3] stride=2"})
      same_as_brute_force(spec_of(text), tiny(Isa::kAvx2), 1);
    same_as_brute_force(spec_of("softmax f32[3,17] axis=1"), *fixed_target(Isa::kAvx512), 1);
    for (const char* text : {"causal_mask f32[3,4]", "causal_mask f32[2,3] -> softmax axis=1",
                             "causal_mask f32[18,18] -> reduce_max axis=1",
                             "matmul f32[3,2] f32[2,4] -> causal_mask offset=1"})
      same_as_brute_force(spec_of(text), tiny(Isa::kAvx2), 1);
    same_as_brute_force(spec_of("matmul f32[2,3] f32[3,4] -> matmul f32[4,2]"),
                        *fixed_target(Isa::kAvx2), 1);
  }

  TEST_CASE("several outputs: the brute-force optimum") {
    for (const char* text :
         {"y = matmul f32[2,3] f32[3,4]; z = relu y; y, z",
          "y = matmul f32[2,3] f32[3,4]; z = relu y; y -> bf16[2,4], z -> f32[2,4]{0,1}",
          "m = reduce_max x f32[2,9] axis=1; s = reduce_sum x axis=1; m, s",
          "s = square x f32[2,9] -> mean axis=1 keep -> rsqrt; y = mul x s; y, s",
          "y = exp f32[3,5]; s = reduce_sum y axis=1; y += f32[3,5], s -> f32[3]",
          "a = matmul x f32[2,3] f32[3,2]; b = matmul x f32[3,2]; a, b",
          "a = relu f32[9]; b = exp f32[5]; a, b",
          "y = exp f32[9]; z = move y; y -> f16[9], z -> f32[9]"})
      same_as_brute_force(spec_of(text), tiny(Isa::kAvx2), 1);
    int found = 0;
    for (u32 seed = 1; found < 12; seed++) {
      testing::Random random(seed);
      const Statement s = testing::random_graph(random, 2);
      const Spec spec = lower(s)->spec;
      if (s.outputs.empty() || volume(spec) > 30 || spec.stage_count > 3 || spec.rank > 3) continue;
      INFO("seed " << seed << ": " << print(s));
      same_as_brute_force(spec, tiny(found++ % 2 ? Isa::kAvx2 : Isa::kAvx512), 1);
    }
  }

  TEST_CASE("two threads: the brute-force optimum") {
    Target target = tiny(Isa::kAvx2);
    target.parallel_units = 16;  // so that parallel loops pay at this size
    same_as_brute_force(spec_of("matmul f32[4,2] f32[2,5] -> f32[4,5]"), target, 2);
    same_as_brute_force(spec_of("add f32[12,5] f32[5] -> f32[12,5]"), target, 3);
  }

  TEST_CASE("random Specs: the brute-force optimum") {
    u64 seed = 20261121;
    std::mt19937_64 rng(seed);
    testing::RandomStatementOptions options;
    options.max_elements = 60;
    options.max_flops = 60;
    options.free_layouts = true;
    for (int i = 0; i < 100; i++) {
      Statement statement = testing::random_statement(rng, options);
      INFO("seed " << seed << ", round " << i << ": " << print(statement));
      same_as_brute_force(lower(statement)->spec, tiny(i % 2 ? Isa::kAvx2 : Isa::kAvx512), 1);
    }
  }

  TEST_CASE("with real caches: the brute-force optimum") {
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512})
      for (const char* text :
           {"matmul f32[3,4] f32[4,6]", "matmul f32[4,3]{0,1} f32[3,5] -> f32[4,5]{0,1}",
            "matmul f32[1,6] f32[6,17] -> relu -> f32[1,17]{strides=40,2}",
            "matmul f32[3,4]{0,1} f32[4,3] + f32[]", "matmul f32[2,3] f32[3,4] -> relu += f32[2,4]",
            "matmul f32[2,4] f32[4,9] + f32[9]{strides=2} -> relu"})
        same_as_brute_force(spec_of(text), *fixed_target(isa), 1);
    const u64 seed = 20261123;
    std::mt19937_64 rng(seed);
    testing::RandomStatementOptions options;
    options.max_elements = 40;
    options.max_flops = 40;
    for (int i = 0; i < 40; i++) {
      Statement statement = testing::random_statement(rng, options);
      INFO("seed " << seed << ", round " << i << ": " << print(statement));
      same_as_brute_force(lower(statement)->spec, *fixed_target(i % 2 ? Isa::kAvx2 : Isa::kAvx512),
                          1);
    }
  }

  TEST_CASE("the result depends neither on the slack nor on the bounds") {
    for (const char* text : {"matmul f32[20,24] f32[24,34] -> f32[20,34]",
                             "matmul f32[32,32] f32[32,32] -> f32[32,32]",
                             "matmul f32[12,40] f32[40,17] + f32[17] -> relu -> f32[12,17]",
                             "transpose f32[24,40] -> f32[40,24]"}) {
      Spec spec = spec_of(text);
      std::string expected = tree_of(spec, *fixed_target(Isa::kAvx2), {});
      for (int slack : {4, 10, 30}) {
        SearchOptions options;
        options.slack_shift = slack;
        CHECK_MESSAGE(tree_of(spec, *fixed_target(Isa::kAvx2), options) == expected,
                      std::string(text) << ", slack " << slack);
      }
    }
    Spec spec = spec_of("matmul f32[5,4] f32[4,9] -> f32[5,9]");
    SearchOptions unbounded;
    unbounded.bound_percent = 0;
    CHECK(tree_of(spec, tiny(Isa::kAvx2), unbounded) == tree_of(spec, tiny(Isa::kAvx2), {}));
  }

  TEST_CASE(
      "weights by columns: groups are transposed in one pass, not first elements, then rows") {
    for (const Target& target : fixed_targets()) {
      const char* text = "matmul u8[40,96] i8[96,50]{0,1} -> i32[40,50]";
      const Result<ImplTree> tree = synthesize(spec_of(text), target, {}, nullptr);
      REQUIRE(tree.ok());
      INFO(target.name << ": " << print(*tree));
      CHECK(std::any_of(tree->nodes.begin(), tree->nodes.end(), [](const ImplNode& node) {
        const auto* select = std::get_if<Select>(&node.kind);
        return select != nullptr &&
               select->microkernel == static_cast<u16>(MicrokernelId::kTranspose) &&
               lane_group(node.spec.out()) == 4;
      }));
    }
  }

  TEST_CASE("one row: a free layout comes in panels as wide as a register tile, one run each") {
    for (const Target& target : fixed_targets())
      for (const char* text : {"matmul bf16[1,512] bf16[512,4096]{*} -> f32[1,4096]",
                               "matmul f32[1,512] f32[512,4096]{*} -> f32[1,4096]"}) {
        const Result<ImplTree> tree = synthesize(lower(*parse(text))->spec, target, {}, nullptr);
        REQUIRE(tree.ok());
        const auto* choose = std::get_if<Choose>(&tree->nodes[0].kind);
        REQUIRE(choose != nullptr);
        INFO(target.name << ": " << print(*tree));
        const Layout& layout = choose->placed.layout;
        const bool by_columns = layout.fastest() == 1 && !layout.packed();
        CHECK((by_columns || layout.block_of(layout.dim[0]) >= 6 * target.lanes(4)));
      }
  }

  TEST_CASE("rows for one vector of sums each: a free layout comes in panels of a vector") {
    const Target& target = *find_target("avx512_bf16");
    const char* text = "matmul bf16[16,512] bf16[512,4096]{*} -> f32[16,4096]";
    const Result<ImplTree> tree = synthesize(spec_of(text), target, {}, nullptr);
    REQUIRE(tree.ok());
    const auto* choose = std::get_if<Choose>(&tree->nodes[0].kind);
    REQUIRE(choose != nullptr);
    INFO(print(*tree));
    CHECK(choose->placed.layout.block_of(choose->placed.layout.dim[0]) == target.lanes(4));
  }

  TEST_CASE("in graphs, free layouts are those that the product which reads them wants") {
    const Target& target = *find_target("avx512_bf16");
    const char* text =
        "matmul bf16[32,64] bf16[64,96]{*} -> cast bf16 -> matmul bf16[96,64]{*} -> f32[32,64]";
    const Result<ImplTree> tree = synthesize(spec_of(text), target, {}, nullptr);
    REQUIRE(tree.ok());
    INFO(print(*tree));
    int chosen = 0;
    for (const ImplNode& node : tree->nodes)
      if (const auto* choose = std::get_if<Choose>(&node.kind)) {
        chosen++;
        CHECK(lane_group(choose->placed) == 2);
      }
    CHECK(chosen == 2);
  }

  TEST_CASE("every action is worth something somewhere") {
    struct Case {
      ActionKind without;
      const char* text;
      u32 threads;
    };
    for (const Case& c :
         {Case{ActionKind::kTile, "matmul f32[8,4] f32[4,16] -> f32[8,16]", 1},
          Case{ActionKind::kView, "matmul f32[12,12] f32[12,16] -> f32[12,16]", 1},
          Case{ActionKind::kPack, "matmul f32[8,8] f32[8,16]{0,1} -> f32[8,16]", 1},
          Case{ActionKind::kRegisters, "matmul f32[2,4] f32[4,8] -> f32[2,8]", 1},
          Case{ActionKind::kAccumulate, "matmul f32[2,4] f32[4,8] -> f32[2,8]", 1},
          Case{ActionKind::kBufferize, "matmul f32[2,4] f32[4,8] -> relu -> f32[2,8]", 1},
          Case{ActionKind::kTile, "softmax f32[64,1024] axis=1", 1},
          Case{ActionKind::kView, "softmax f32[64,1024] axis=1", 1},
          Case{ActionKind::kAccumulate, "matmul f32[4,16] f32[16,900] -> matmul f32[900,16]", 1},
          Case{ActionKind::kBufferize, "softmax f32[64,1024] axis=1", 1},
          Case{ActionKind::kPad, "conv2d f32[1,2,5,6] f32[3,2,3,3] padding=1", 1},
          Case{ActionKind::kDivide, "max_pool f32[1,9,9,16] window=3 padding=1 nhwc", 1},
          Case{ActionKind::kDivide, "conv2d f32[1,9,9,16] f32[3,3,1,16] padding=1 groups=16 nhwc",
               1},
          Case{ActionKind::kDivide, "conv2d f32[1,224,112,3] f32[3,3,3,16] padding=1 stride=2 nhwc",
               1},
          Case{ActionKind::kDivide, "conv2d f32[1,7,7,64] f32[3,3,64,32] padding=1 nhwc", 1},
          Case{ActionKind::kDivide, "conv2d f32[1,5,5,96] f32[3,3,96,8] padding=1 nhwc -> relu", 1},
          Case{ActionKind::kDivide, "attention f32[64,16] f32[64,16] f32[64,16] causal", 1},
          Case{ActionKind::kMask, "attention f32[64,16] f32[64,16] f32[64,16] causal", 1},
          Case{ActionKind::kBufferizeFold, "softmax f32[64,1024] axis=1", 1},
          Case{ActionKind::kRescale, "softmax f32[1,1048576] axis=1", 1},
          Case{ActionKind::kRescale, "attention f32[4,64] f32[4096,64] f32[4096,64]", 1},
          Case{ActionKind::kSelect, "add f32[8] f32[8] -> f32[8]", 1},
          Case{ActionKind::kParallelTile, "matmul f32[8,12] f32[12,16] -> f32[8,16]", 2},
          Case{ActionKind::kChoose, "matmul f32[2,4] f32[4,8]{*} -> f32[2,8]", 1}}) {
      Target target = *fixed_target(Isa::kAvx2);
      target.parallel_units = 16;
      SearchOptions all, less;
      all.threads = less.threads = c.threads;
      less.disabled_actions = 1u << static_cast<int>(c.without);
      Result<ImplTree> with = synthesize(spec_of(c.text), target, all, nullptr);
      Result<ImplTree> without = synthesize(spec_of(c.text), target, less, nullptr);
      INFO(std::string(c.text) << " without action " << static_cast<int>(c.without));
      REQUIRE(with.ok());
      if (without.ok())
        CHECK(without->nodes[0].cost > with->nodes[0].cost);
      else
        CHECK(without.error().status == MORELLO_NO_IMPLEMENTATION);
    }
  }

  TEST_CASE("the epilogue is applied to the register tile where that is cheapest") {
    Result<ImplTree> tree =
        synthesize(spec_of("matmul f32[32,64] f32[64,96] + bias f32[96] -> relu -> f32[32,96]"),
                   *fixed_target(Isa::kAvx2), {}, nullptr);
    REQUIRE(tree.ok());
    bool fused = false;
    for (const ImplNode& node : tree->nodes)
      fused |= node.spec.stage_count == 2 && std::holds_alternative<Select>(node.kind) &&
               node.spec.out().level == Level::kRegister;
    CHECK(fused);
  }

  TEST_CASE("sums of groups are scaled on their way from registers to the output") {
    for (const char* text : {"scaled_matmul f32[12,512] i8[512,96] f32[8,96]",
                             "scaled_matmul bf16[12,256] i8[256,96] f32[4,96]"}) {
      INFO(std::string(text));
      Result<ImplTree> tree = synthesize(spec_of(text), *fixed_target(Isa::kAvx2), {}, nullptr);
      REQUIRE(tree.ok());
      bool scaled = false;
      for (const ImplNode& node : tree->nodes) {
        scaled |= node.spec.stage_count == 2 && register_input(node.spec) >= 0 &&
                  std::holds_alternative<Select>(node.kind) &&
                  node.spec.out().access == Access::kInOut;
        const auto* block = std::get_if<Block>(&node.kind);
        for (int i = 0; block && i < block->buffer_count; i++)
          CHECK(elements(node.spec, block->buffer[i]) <= 2 * elements(node.spec, node.spec.out()));
      }
      CHECK(scaled);
    }
  }

  TEST_CASE("budgets end the search with some program and a bound") {
    Spec spec = spec_of("matmul f32[200,200] f32[200,200] -> f32[200,200]");
    const Target& target = *fixed_target(Isa::kAvx2);
    SearchOptions options;
    options.memory_budget_bytes = 100000;
    SearchStats stats;
    Result<ImplTree> tree = synthesize(spec, target, options, &stats);
    REQUIRE(tree.ok());
    CHECK(validate(*tree) == "");
    CHECK(!stats.optimal);
    SearchStats all;
    Result<ImplTree> best = synthesize(spec, target, {}, &all);
    REQUIRE(best.ok());
    CHECK(all.optimal);
    CHECK(all.bound == best->nodes[0].cost);
    CHECK(tree->nodes[0].cost >= best->nodes[0].cost);
    CHECK(stats.bound <= best->nodes[0].cost);
    CHECK(stats.bound > best->nodes[0].cost / 2);
    options.memory_budget_bytes = 0;
    options.time_budget_us = 1;
    REQUIRE(synthesize(spec, target, options, &stats).ok());
    CHECK(!stats.optimal);
  }

  TEST_CASE("what a budget ends costs no more than what a quick search finds") {
    const Target& target = *fixed_target(Isa::kAvx2);
    for (const char* text :
         {"matmul f32[549,375] f32[375,97]", "matmul f32[777,333]{0,1} f32[333,555]",
          "softmax f32[37,1000] axis=1"}) {
      INFO(std::string(text));
      const Spec spec = spec_of(text);
      SearchOptions options;
      SearchStats stats;
      options.effort = kQuickEffort;
      const Result<ImplTree> quick = synthesize(spec, target, options, &stats);
      options.effort = kExactEffort;
      options.time_budget_us = 1;
      const Result<ImplTree> ended = synthesize(spec, target, options, &stats);
      REQUIRE(quick.ok());
      REQUIRE(ended.ok());
      CHECK(stats.budget_ended);
      CHECK(!stats.optimal);
      CHECK(ended->nodes[0].cost <= quick->nodes[0].cost);
      CHECK(stats.bound <= ended->nodes[0].cost);
    }
  }

  TEST_CASE("depthwise windows are computed in vectors: of channels, and along rows") {
    struct Case {
      const char* text;
      MicrokernelId kernel;
      u64 most;  // expansions
    };
    // 4 to 5 times the bound by channels, and no end of the search, and by rows twice as dear,
    // after 3 to 35 times the expansions, while no microkernel did so.
    constexpr MicrokernelId kOfChannels = MicrokernelId::kVectorProduct,
                            kAlongRows = MicrokernelId::kWindowProduct;
    for (const Target& target : {*fixed_target(Isa::kAvx2), *fixed_target(Isa::kAvx512)})
      for (const Case& c :
           {Case{"conv2d f32[1,28,28,64] f32[3,3,1,64] groups=64 nhwc", kOfChannels, 5000},
            Case{"conv2d f32[1,24,14,14] f32[24,1,3,3] padding=1 groups=24", kAlongRows, 1000},
            Case{"conv2d f32[1,24,28,28] f32[24,1,3,3] stride=2 padding=1 groups=24", kAlongRows,
                 1000},
            Case{"conv2d bf16[1,9,30,41] bf16[9,1,5,5] stride=2 groups=9", kAlongRows, 8000}}) {
        SearchStats stats;
        const auto tree = synthesize(spec_of(c.text), target, {}, &stats);
        REQUIRE(tree.ok());
        for (const ImplNode& n : tree->nodes)
          if (const auto* select = std::get_if<Select>(&n.kind); select && contraction_of(n.spec))
            CHECK_MESSAGE(select->microkernel == static_cast<u8>(c.kernel), c.text);
        CHECK_MESSAGE(stats.expanded < c.most, c.text << ": " << stats.expanded);
      }
  }

  TEST_CASE("images of narrow channels are copied once, with channels last") {
    // 2 to 5 times as dear, and as long to search, while each place had a copy of its window.
    // On targets that multiply pairs of bf16.
    for (const char* text : {"conv2d bf16[1,16,15,15] bf16[24,16,3,3] stride=2 -> relu",
                             "conv2d u8[1,16,15,15] i8[24,16,3,3] padding=1 stride=2"})
      for (const Target& target : fixed_targets()) {
        const bool bf16 = spec_of(text).operand[0].dtype == Dtype::kBf16;
        if (bf16 && most_products(spec_of(text), target) == 1) continue;
        const Result<ImplTree> tree = synthesize(spec_of(text), target, {}, nullptr);
        REQUIRE(tree.ok());
        INFO(text << ", " << target.name << ": " << print(*tree));
        CHECK(std::ranges::any_of(tree->nodes, [](const ImplNode& n) {
          const auto* move = std::get_if<Move>(&n.kind);
          const auto* pad = std::get_if<Pad>(&n.kind);
          const Operand* x = pad ? &pad->padded : move && !move->view ? &move->placed : nullptr;
          const DimMask channels = static_cast<DimMask>(n.spec.reduced() & ~window_dims(n.spec));
          return x && x->windows != 0 && !x->layout.packed() &&
                 has_dim(channels, x->layout.fastest());
        }));
      }
  }

  TEST_CASE("what a stopped search returns is near the bound, however late it was stopped") {
    const Target& target = *fixed_target(Isa::kAvx2);
    for (const char* text :
         {"matmul f32[512,512] f32[512,512]", "matmul f32[1000,1000] f32[1000,1000]"})
      for (u64 mebibytes : {1, 2, 4, 8, 16}) {
        SearchOptions options;
        options.memory_budget_bytes = mebibytes << 20;
        SearchStats stats;
        Result<ImplTree> tree = synthesize(spec_of(text), target, options, &stats);
        REQUIRE(tree.ok());
        INFO(std::string(text) << ", " << mebibytes << " MiB: " << tree->nodes[0].cost << " "
                               << stats.bound);
        CHECK(validate(*tree) == "");
        CHECK(tree->nodes[0].cost <= stats.bound * 5 / 4);
      }
  }

  TEST_CASE("progress is monotone and brackets the optimum; cancelling ends the search") {
    Spec spec = spec_of("matmul f32[200,200] f32[200,200] -> f32[200,200]");
    const Target& target = *fixed_target(Isa::kAvx2);
    std::vector<SearchProgress> seen;
    SearchOptions options;
    options.progress_us = 0;
    options.progress = [&](const SearchProgress& p) { seen.push_back(p); };
    Result<ImplTree> tree = synthesize(spec, target, options, nullptr);
    REQUIRE(tree.ok());
    CHECK(print(*tree) == tree_of(spec, target, {}));
    REQUIRE(seen.size() > 10);
    for (size_t i = 0; i < seen.size(); i++) {
      CHECK(seen[i].bound <= tree->nodes[0].cost);
      CHECK(seen[i].best >= tree->nodes[0].cost);
      CHECK(seen[i].best < kInfinite);
      if (i == 0) continue;
      CHECK(seen[i].bound >= seen[i - 1].bound);
      CHECK(seen[i].best <= seen[i - 1].best);
      CHECK(seen[i].states >= seen[i - 1].states);
    }
    volatile i32 cancel = 0;
    options.cancel = &cancel;
    size_t calls = 0;
    options.progress = [&](const SearchProgress&) { cancel = ++calls == 3; };
    tree = synthesize(spec, target, options, nullptr);
    REQUIRE(!tree.ok());
    CHECK(tree.error().status == MORELLO_CANCELLED);
    CHECK(calls == 3);
  }

  TEST_CASE("several threads, and pairs without borrowing, find the same program") {
    for (const char* text : {"matmul f32[96,100] f32[100,64] -> f32[96,64]",
                             "matmul f32[12,40] f32[40,17] + f32[17] -> relu -> f32[12,17]",
                             "matmul f32[33,65] f32[65,31]{0,1} += f32[33,31]",
                             "transpose f32[100,40] -> f32[40,100]"}) {
      Spec spec = spec_of(text);
      const Target& target = *fixed_target(Isa::kAvx2);
      std::string expected = tree_of(spec, target, {});
      SearchOptions options;
      options.borrow = false;
      CHECK_MESSAGE(tree_of(spec, target, options) == expected, std::string(text));
      options.borrow = true;
      for (u32 threads : {2u, 3u, 4u, 2u, 2u}) {
        options.search_threads = threads;
        CHECK_MESSAGE(tree_of(spec, target, options) == expected, std::string(text)
                                                                      << ", " << threads);
      }
    }
  }

  TEST_CASE("no program within the limits is a status of its own") {
    Target none = *fixed_target(Isa::kAvx2);
    none.vector_registers = 1;
    Result<ImplTree> tree =
        synthesize(spec_of("matmul f32[4,4] f32[4,4] -> f32[4,4]"), none, {}, nullptr);
    REQUIRE(!tree.ok());
    CHECK(tree.error().status == MORELLO_NO_IMPLEMENTATION);
  }
}

}  // namespace morello
