// SPDX-License-Identifier: MIT
// The sizes of tile registers are set where they differ, and not again: plans are run on paper.
#include "codegen/tile_sizes.hh"

#include <doctest/doctest.h>

#include <optional>

#include "cost/tiles.hh"
#include "harness.hh"

namespace morello {
namespace {

using testing::plan_of;

const Target& amx() { return *find_target("avx512_amx"); }

class DryRun {
 public:
  explicit DryRun(const Plan& plan) : plan_(plan) { run(plan.functions[0].body); }

  u64 products = 0;  // calls of the microkernel
  u64 wrong = 0;     // that found other sizes than theirs
  u64 set = 0;

 private:
  void run(const std::vector<PlanId>& list) {
    for (PlanId id : list) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        for (u64 i = 0; i < loop->trips; i++) run(loop->body);
        run(loop->rest);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        run(plan_.functions[invoke->function].body);
      } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
        for (u64 task = 0; task < parallel->tasks; task++) {
          sizes_.reset();
          for (u64 i = 0; i < ceil_div(parallel->trips, parallel->tasks); i++)
            run(plan_.functions[parallel->function].body);
          sizes_.reset();
        }
        run(parallel->rest);
      } else if (const auto* tiles = std::get_if<PlanTiles>(&node)) {
        set++;
        sizes_ = tiles->sizes;
      } else {
        call(std::get<PlanCall>(node));
      }
    }
  }

  void call(const PlanCall& c) {
    if (c.id != MicrokernelId::kTileProduct) return;
    products++;
    const TileSizes own = tile_use_of(c.spec, amx()).sizes();
    wrong += sizes_ != own;
  }

  const Plan& plan_;
  std::optional<TileSizes> sizes_;
};

TEST_SUITE("codegen") {
  TEST_CASE("tile registers: sizes are those of every call, and set once where all have the same") {
    for (const char* text :
         {"matmul bf16[64,768] bf16[768,512]{*}", "matmul bf16[256,128] bf16[128,256]",
          "matmul u8[96,256] i8[256,192]{0,1} -> i32[96,192]",
          "matmul bf16[64,256] bf16[256,96]{*} + f32[96] -> relu -> bf16[64,96]"}) {
      const DryRun run(plan_of(text, amx()));
      INFO(std::string(text));
      CHECK(run.products > 1);
      CHECK(run.wrong == 0);
      CHECK(run.set == 1);
    }
    u64 set = 0, products = 0;
    for (const char* text :
         {"matmul bf16[63,767] bf16[767,300]{*}", "matmul bf16[100,70] bf16[70,130]",
          "matmul i8[70,100] u8[100,50] -> i32[70,50]", "matmul bf16[5,40,64] bf16[5,64,72]"}) {
      const DryRun run(plan_of(text, amx()));
      INFO(std::string(text));
      CHECK(run.wrong == 0);
      set += run.set, products += run.products;
    }
    CHECK(set > 4);
    CHECK(set < products);
  }

  TEST_CASE("tile registers: threads and what runs after them set sizes of their own") {
    const Target two = with_machine(amx(), 0, 0, 2);
    Plan plan = plan_of("matmul bf16[512,512] bf16[512,2048]{*}", two);
    CHECK(DryRun(plan).wrong == 0);
    CHECK(plan.functions.size() > 1);
  }

  TEST_CASE("where there are no tile registers nothing sets their sizes") {
    CHECK(!uses_tiles(plan_of("matmul bf16[64,64] bf16[64,64]", *find_target("avx512_bf16"))));
    CHECK(!uses_tiles(plan_of("matmul f32[64,64] f32[64,64]", amx())));
  }
}

}  // namespace
}  // namespace morello
