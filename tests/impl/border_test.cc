// SPDX-License-Identifier: MIT
// Windows with borders: places divided anywhere and padded buffers, in random trees and as actions
// have them, against evaluate(), which tests/spec compares with what operations mean.
#include <doctest/doctest.h>

#include "../support/action_tree.hh"
#include "../support/graph_tree.hh"
#include "../support/random_windows.hh"
#include "spec/border.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using namespace testing;

/// The next one that there is, and that has borders, and no window that is none: cuts take those
/// for the plain dimensions that they are.
Lowered random_bordered(Random& random, std::string& text) {
  for (;;) {
    text = random_pool(random);
    const Result<Statement> s = parse(text);
    if (!s) continue;
    Result<Lowered> lowered = lower(*s);
    if (!lowered || bordered_operand(lowered->spec) < 0) continue;
    Spec plain = lowered->spec;
    drop_unit_dims(plain, nullptr);
    if (plain == lowered->spec) return *lowered;
  }
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("random trees of pools with padding are valid and compute them") {
  GraphTreeCounts counts;
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    std::string text;
    const Lowered pool = random_bordered(random, text);
    const ImplTree tree = random_graph_tree(pool.spec, random, static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, pool, random) == "");
  }
  CHECK(counts.border_cuts > 300);
  CHECK(counts.pads > 300);
}

TEST_CASE("what is listed for pools with padding is right") {
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 0, 0, 4);
  const ActionContext context{&target};
  std::map<ActionKind, int> seen;
  for (u32 seed = 1; seed <= 1500; seed++) {
    Random random(seed);
    std::string text;
    const Lowered pool = random_bordered(random, text);
    const ImplTree tree = random_action_tree(pool.spec, context, random, 9, seen);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, pool, random) == "");
  }
  CHECK(seen[ActionKind::kDivide] > 300);
  CHECK(seen[ActionKind::kPad] > 300);
}

TEST_CASE("what windows have inside is counted") {
  int fewer = 0;
  for (u32 seed = 1; seed <= 500; seed++) {
    Random random(seed);
    std::string text;
    const Spec spec = random_bordered(random, text).spec;
    const Operand& x = spec.operand[bordered_operand(spec)];
    u64 inside = 1;
    DimMask other = spec.all_dims();
    for (const Window& w : spec.window) {
      if (!is_bordered(w)) continue;
      other = static_cast<DimMask>(other & ~(1u << w.outer | 1u << w.inner));
      u64 pairs = 0;
      for (u32 i = 0; i < spec.size[w.outer]; i++)
        for (u32 j = 0; j < spec.size[w.inner]; j++) {
          const i64 at = i64{w.step} * i + i64{w.dilation} * j - w.before;
          pairs += at >= 0 && at < axis_size(spec, x, w.outer);
        }
      inside *= pairs;
    }
    INFO("seed " << seed << ": " << text);
    CHECK(inside_points(spec, spec.all_dims()) == inside * points_of(spec, other));
    fewer += inside_points(spec, spec.all_dims()) < volume(spec);
  }
  CHECK(fewer > 400);
}

TEST_CASE("places that have nothing inside, and weights, are not divided") {
  auto cut = [](const char* text) { return border_cut(lower(*parse(text))->spec); };
  const std::optional<BorderCut> first = cut("max_pool f32[1,3,9,9] window=3 padding=1");
  REQUIRE(first);
  CHECK(first->size == 1);
  const std::optional<BorderCut> last = cut("max_pool f32[1,3,9,9] window=3 padding=0,0,1,0");
  REQUIRE(last);
  CHECK(last->size == 7);
  CHECK(!cut("max_pool f32[1,3,9,9] window=3"));
  CHECK(!cut("max_pool f32[1,3,9,9] window=3 padding=3,0,0,0"));
  CHECK(!cut("conv2d f32[1,3,9,9] f32[4,3,3,3] padding=1"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
