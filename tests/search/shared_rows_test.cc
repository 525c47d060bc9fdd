// SPDX-License-Identifier: MIT
// Windows that overlap: where a microkernel combines their common rows once, and the price of that.
#include <doctest/doctest.h>

#include <bit>

#include "cost/microkernel.hh"
#include "cost/reduce.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

ImplTree found(std::string_view text, Isa isa) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text);
  Result<ImplTree> tree = synthesize(lower(*s)->spec, *fixed_target(isa), {}, nullptr);
  REQUIRE_MESSAGE(tree.ok(), text);
  REQUIRE(validate(*tree) == "");
  return std::move(*tree);
}

/// The leaf that combines along both dimensions of windows, if the program has one: the first.
const ImplNode* leaf_of_windows(const ImplTree& tree) {
  for (const ImplNode& node : tree.nodes)
    if (std::holds_alternative<Select>(node.kind) && std::popcount(node.spec.reduced()) == 2)
      return &node;
  return nullptr;
}

bool shares_rows(const ImplTree& tree) {
  const ImplNode* leaf = leaf_of_windows(tree);
  return leaf && shared_rows(leaf->spec);
}

TEST_SUITE_BEGIN("search");

TEST_CASE("rows that windows share are combined once, where that is less") {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const char* text :
         {"max_pool f32[1,4,28,28] window=3 padding=1",
          "max_pool f32[1,4,14,14] window=5 padding=2", "avg_pool f32[1,4,28,28] window=3",
          "max_pool bf16[1,14,14,64] window=3 nhwc"}) {
      INFO(std::string(text));
      const ImplTree tree = found(text, isa);
      const ImplNode* leaf = leaf_of_windows(tree);
      REQUIRE(leaf);
      const auto shared = shared_rows(leaf->spec);
      REQUIRE(shared);
      CHECK(shared->read == leaf->spec.size[shared->along] + leaf->spec.size[shared->rows] - 1);
    }
    // Windows apart; neighbours two rows apart; sums of two rows.
    for (const char* text :
         {"max_pool f32[1,4,12,16] window=2 stride=2",
          "max_pool f32[1,14,14,32] window=3 stride=2 nhwc", "avg_pool f32[1,4,28,28] window=2"})
      CHECK_MESSAGE(!shares_rows(found(text, isa)), std::string(text));
  }
}

TEST_CASE("small windows by channels are combined as a whole") {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const char* text : {"max_pool f32[1,14,14,32] window=2 stride=2 nhwc",
                             "max_pool f32[1,28,30,20] window=2 stride=2 nhwc",
                             "max_pool bf16[1,16,16,64] window=2 stride=2 nhwc",
                             "avg_pool f32[1,14,14,32] window=2 stride=2 nhwc",
                             "avg_pool f32[1,15,15,56] window=2 stride=1 nhwc",
                             "max_pool i8[1,14,14,32] window=2 stride=2 nhwc"}) {
      INFO(std::string(text));
      const ImplTree tree = found(text, isa);
      const ImplNode* leaf = leaf_of_windows(tree);
      REQUIRE(leaf);
      CHECK(combines_windows(leaf->spec));
    }
    CHECK(!leaf_of_windows(found("max_pool f32[1,18,18,32] window=3 stride=3 nhwc", isa)));
  }
}

TEST_CASE("of windows that overlap, bounds count what no microkernel can share") {
  const Spec spec = lower(*parse("max_pool f32[1,4,28,28] window=3"))->spec;
  const u64 points = volume(spec);
  CHECK(least_combined(spec, spec.reduced(), points) == points / 9 * 5);
  const Spec rows = lower(*parse("reduce_max f32[9,8,20] axis=0,2"))->spec;
  CHECK(least_combined(rows, rows.reduced(), 1440) == 1080);
  const Spec sums = lower(*parse("reduce_sum f32[9,8,20] axis=0,2"))->spec;
  CHECK(least_combined(sums, sums.reduced(), 1440) == 1440);
  const Spec lines = lower(*parse("reduce_max f32[72,20] axis=0"))->spec;
  CHECK(least_combined(lines, lines.reduced(), 1440) == 1440);
}

TEST_CASE("maxima of three vectors and more along one dimension cost three quarters") {
  const auto together = [](const char* text) {
    const Spec spec = lower(*parse(text))->spec;
    return combines_together(spec, spec.stage[0], spec.reduced());
  };
  CHECK(together("reduce_max f32[3,20] axis=0"));
  CHECK(together("reduce_min bf16[72,20] axis=0"));
  CHECK(!together("reduce_max f32[2,20] axis=0"));
  CHECK(!together("reduce_max i32[72,20] axis=0"));
  CHECK(!together("reduce_sum f32[72,20] axis=0"));
  CHECK(!together("reduce_max f32[9,8,20] axis=0,2"));  // counted by least_combined()
  for (const Target& target : fixed_targets()) {
    const auto units = [&](const char* text) {
      Spec spec = lower(*parse(text))->spec;
      Operand &in = spec.operand[0], &out = spec.out();
      in.level = Level::kL1;
      out.level = Level::kRegister;
      out.access = Access::kInOut;
      for (Operand* x : {&in, &out}) forget_pitch(*x);
      const Microkernel& rows = microkernel(MicrokernelId::kReduceRows);
      REQUIRE(rows.applies(spec, target));
      return rows.cost(spec, target) - target.prices.call;
    };
    CHECK(2 * units("reduce_max f32[12,128] axis=0") == 9 * units("reduce_max f32[2,128] axis=0"));
    CHECK(units("reduce_sum f32[12,128] axis=0") == 6 * units("reduce_sum f32[2,128] axis=0"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
