// SPDX-License-Identifier: MIT
// Windows with borders: places divided anywhere and padded buffers, in random trees and as actions
// have them, against evaluate(), which tests/spec compares with what operations mean.
#include <doctest/doctest.h>

#include "../support/action_tree.hh"
#include "../support/graph_tree.hh"
#include "../support/random_windows.hh"
#include "../support/scale.hh"
#include "actions/placement.hh"
#include "spec/border.hh"
#include "spec/roles.hh"
#include "support/concat.hh"

namespace morello {
namespace {

using namespace testing;

/// A pool, or a convolution of one channel to a group or of more, with what comes before its
/// windows.
std::string random_windows(Random& random) {
  if (chance(random, 50)) return random_pool(random);
  const std::string text = random_convolution(random, chance(random, 40) ? "bf16" : "f32");
  return chance(random, 30) ? text + " -> relu" : text;
}

/// The next one that there is, and that has borders, and no window that is none: cuts take those
/// for the plain dimensions that they are.
Lowered random_bordered(Random& random, std::string& text) {
  for (;;) {
    text = random_windows(random);
    const Result<Statement> s = parse(text);
    if (!s) continue;
    Result<Lowered> lowered = lower(*s);
    if (!lowered || bordered_operand(lowered->spec) < 0) continue;
    Spec plain = lowered->spec;
    drop_unit_dims(plain, nullptr);
    if (plain == lowered->spec) return *lowered;
  }
}

/// Random numbers between two others, as text.
struct Sizes {
  Random& random;
  std::string operator()(u32 least, u32 most) const {
    return std::to_string(least + random() % (most - least + 1));
  }
};

/// All targets in turns.
Target target_of_seed(u32 seed) {
  const auto targets = fixed_targets();
  return with_machine(targets[seed % targets.size()], 0, 0, 4);
}

TEST_SUITE_BEGIN("impl");

TEST_CASE("random trees of windows with padding are valid and compute them") {
  GraphTreeCounts counts;
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    std::string text;
    const Lowered whole = random_bordered(random, text);
    const ImplTree tree = random_graph_tree(whole.spec, random, static_cast<int>(seed % 7), counts);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, whole, random) == "");
  }
  CHECK(counts.border_cuts > 300);
  CHECK(counts.pads > 300);
  CHECK(counts.grouped_pads > 10);
}

TEST_CASE("what is listed for windows with padding is right") {
  const u32 count = static_cast<u32>(rounds(1500, 40));
  std::map<ActionKind, int> seen;
  for (u32 seed = 1; seed <= count; seed++) {
    const Target target = target_of_seed(seed);
    const ActionContext context{&target};
    ActionContext every = context;
    every.disabled_restrictions = 1u << static_cast<int>(Restriction::kFewTiles);
    Random random(seed);
    std::string text;
    const Lowered whole = random_bordered(random, text);
    const ImplTree tree =
        random_action_tree(whole.spec, seed % 2 ? context : every, random, 9, seen);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, whole, random) == "");
  }
  CHECK(seen[ActionKind::kDivide] > rounds(300, 0));
  CHECK(seen[ActionKind::kPad] > rounds(300, 0));
}

TEST_CASE("windows whose terms are divided compute the same") {
  const u32 count = static_cast<u32>(rounds(120, 40));
  std::map<ActionKind, int> seen;
  int terms = 0;
  for (u32 seed = 1; seed <= count; seed++) {
    const Target target = target_of_seed(seed);
    ActionContext context{&target};
    if (seed % 4 == 0)
      context.disabled_restrictions = 1u << static_cast<int>(Restriction::kFewTiles);
    Random random(seed);
    const Sizes pick{random};
    const char *types[] = {"f32", "f32", "bf16", "u8"}, *steps[] = {"", " -> relu", " + f32[6]"};
    const u32 type = random() % 4;
    const std::string channels = pick(150, 200), of = "," + channels;
    const std::string image = concat({"[1,", pick(5, 7), ",", pick(5, 7), of, "] "});
    const std::string text =
        concat({"conv2d ", types[type], image, type == 3 ? "i8" : types[type], "[3,3", of,
                ",6] padding=1 nhwc", type < 2 ? steps[random() % 3] : ""});
    const Lowered whole = *lower(*parse(text));
    const ImplTree tree = random_action_tree(whole.spec, context, random, 9, seen);
    for (const ImplNode& node : tree.nodes)
      if (const Divide* divide = std::get_if<Divide>(&node.kind))
        terms += has_dim(node.spec.reduced(), divide->dim);
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, whole, random) == "");
  }
  CHECK(terms > rounds(30, 0));
}

TEST_CASE("borders around neighbours that share lanes compute the same") {
  const u32 count = static_cast<u32>(rounds(1200, 40));
  std::map<ActionKind, int> seen;
  int grouped = 0, last = 0;
  for (u32 seed = 1; seed <= count; seed++) {
    const Target target = target_of_seed(seed);
    ActionContext context{&target};
    if (seed % 4 != 0)  // else channels are last, wherever they may be
      context.disabled_restrictions = 1u << static_cast<int>(Restriction::kNarrowCopies);
    Random random(seed);
    const Sizes pick{random};
    const bool bytes = random() % 2 != 0;
    const std::string channels = pick(3, 11);
    const std::string text = concat({"conv2d ", bytes ? "u8" : "bf16", "[1,", channels, ",",
                                     pick(4, 12), ",", pick(4, 12), "] ", bytes ? "i8" : "bf16",
                                     "[5,", channels, ",3,3] padding=", pick(1, 2)});
    const Lowered whole = *lower(*parse(text));
    const ImplTree tree = random_action_tree(whole.spec, context, random, 9, seen);
    for (const ImplNode& node : tree.nodes)
      if (const Pad* pad = std::get_if<Pad>(&node.kind)) {
        const Layout& layout = pad->padded.layout;
        grouped += layout.packed();
        last += !layout.packed() && has_dim(node.spec.reduced(), layout.fastest()) &&
                !has_dim(window_dims(node.spec), layout.fastest());
      }
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, whole, random) == "");
  }
  CHECK(grouped > rounds(50, 0));
  CHECK(last > rounds(50, 0));
}

TEST_CASE("borders are in no blocks") {
  const Spec spec = lower(*parse("conv2d bf16[2,8,9,10] bf16[16,8,3,3] padding=1"))->spec;
  const int o = bordered_operand(spec);
  const Layout same = spec.operand[o].layout;
  int blocked = 0;
  for (int i = 0; i < same.count(); i++) {
    Layout layout = same;
    layout.append(same.dim[i], 2);
    blocked += is_padded(spec, o, padded_operand(spec, o, Level::kL2, layout));
  }
  CHECK(same.count() == 4);
  CHECK(blocked == 2);  // images, channels
  CHECK(is_padded(spec, o, padded_operand(spec, o, Level::kL2)));
}

TEST_CASE("bands of places are divided from those next to a border, and compute the same") {
  const u32 count = static_cast<u32>(rounds(600, 40));
  // Caches that few rows fit.
  const Target target = with_machine(*fixed_target(Isa::kAvx2), 512, 2048, 4);
  const ActionContext context{&target};
  std::map<ActionKind, int> seen;
  int bands = 0, loops = 0;
  for (u32 seed = 1; seed <= count; seed++) {
    Random random(seed);
    const Sizes pick{random};
    const char* paddings[] = {"1", "0,1,0,1", "0,1,1,0", "2,1,0,0"};
    const std::string rows = pick(8, 30), columns = pick(5, 9), channels = pick(3, 6),
                      rest = std::string(" padding=") + paddings[random() % 4] +
                             " stride=" + pick(1, 2);
    const std::string text = random() % 2
                                 ? "conv2d f32[1," + rows + "," + columns + "," + channels +
                                       "] f32[3,3," + channels + ",12]" + rest + " nhwc"
                                 : "conv2d f32[1," + channels + "," + rows + "," + columns +
                                       "] f32[12," + channels + ",3,3]" + rest;
    const Lowered whole = *lower(*parse(text));
    const ImplTree tree = random_action_tree(whole.spec, context, random, 9, seen);
    for (const ImplNode& node : tree.nodes) {
      const Bands listed = bands_of(node.spec, context);
      if (const Divide* divide = std::get_if<Divide>(&node.kind))
        bands += listed.dim == divide->dim &&
                 listed.has(listed.cut(divide->size, node.spec.size[divide->dim]));
      if (const Loop* loop = std::get_if<Loop>(&node.kind))
        loops += listed.dim == loop->dim && listed.has(loop->tile);
    }
    INFO("seed " << seed << ": " << text << ":\n" << print(tree));
    REQUIRE(wrong_tree(tree, whole, random) == "");
  }
  CHECK(bands > rounds(50, 0));
  CHECK(loops > rounds(20, 0));
}

TEST_CASE("copies of rows with borders are runs of columns and channels") {
  const auto copy = [](const char* text) {
    const Spec spec = lower(*parse(text))->spec;
    const int o = bordered_operand(spec);
    return border_copy(spec, o, padded_operand(spec, o, Level::kL2)).spec;
  };
  const Spec rows = copy("conv2d f32[1,8,9,3] f32[3,3,3,16] padding=1 nhwc");
  REQUIRE(rows.rank == 2);
  CHECK(rows.size[0] == 8);
  CHECK(rows.size[1] == 9 * 3);
  CHECK(copy("conv2d f32[1,8,9,3] f32[3,3,3,16] padding=1,0,1,0 nhwc").rank == 1);
  CHECK(copy("conv2d f32[1,3,8,9] f32[16,3,3,3] padding=1").rank == 3);
  CHECK(copy("conv2d f32[1,3,8,9] f32[16,3,3,3] padding=1,0,1,0").rank == 2);
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

TEST_CASE("places that have nothing inside are not divided") {
  auto cut = [](const char* text) { return border_cut(lower(*parse(text))->spec); };
  const std::optional<BorderCut> first = cut("max_pool f32[1,3,9,9] window=3 padding=1");
  REQUIRE(first);
  CHECK(first->size == 1);
  const std::optional<BorderCut> last = cut("max_pool f32[1,3,9,9] window=3 padding=0,0,1,0");
  REQUIRE(last);
  CHECK(last->size == 7);
  CHECK(!cut("max_pool f32[1,3,9,9] window=3"));
  CHECK(!cut("max_pool f32[1,3,9,9] window=3 padding=3,0,0,0"));
  CHECK(!cut("conv2d f32[1,3,9,9] f32[4,3,3,3] padding=3,0,0,0"));
  CHECK(cut("conv2d f32[1,3,9,9] f32[4,3,3,3] padding=1"));
}

TEST_CASE("terms of a window are parts of one sum, of the places that have them inside") {
  int parts = 0, whole = 0;
  for (u32 seed = 1; seed <= 1500; seed++) {
    Random random(seed);
    const Sizes pick{random};
    const char* types[] = {"f32", "f32", "u8"};
    const std::string type = types[random() % 3], channels = pick(1, 5), rows = pick(2, 9);
    const bool nhwc = random() % 4 != 0;
    const std::string image = concat({rows, ",", pick(2, 9)}),
                      window = concat({pick(2, 5), ",", pick(2, 5)});
    const std::string padding =
        concat({" padding=", pick(0, 2), ",", pick(0, 2), ",", pick(0, 2), ",", pick(0, 2)});
    const std::string text =
        concat({"conv2d ", type, "[2,", nhwc ? image + "," + channels : channels + "," + image,
                "] ", type == "u8" ? "i8" : type, "[",
                nhwc ? window + "," + channels + ",6" : "6," + channels + "," + window, "]",
                padding, " stride=", pick(1, 2), " dilation=", pick(1, 2), nhwc ? " nhwc" : ""});
    const Result<Statement> statement = parse(text);
    if (!statement) continue;
    Result<Lowered> lowered = lower(*statement);
    if (!lowered || bordered_operand(lowered->spec) < 0) continue;
    const Spec& spec = lowered->spec;
    const std::optional<BorderCut> cut = term_cut(spec);
    if (!cut) continue;
    INFO("seed " << seed << ": " << text);
    CHECK(cut->places != unit_dim(spec.out()));
    const Spec first = part_of_border(spec, cut->dim, cut->size, true).spec;
    const Spec second = part_of_border(spec, cut->dim, cut->size, false).spec;
    CHECK(inside_points(first, first.all_dims()) + inside_points(second, second.all_dims()) ==
          inside_points(spec, spec.all_dims()));
    CHECK(elements(first, first.out()) == elements(spec, spec.out()));
    CHECK(first.out().access == spec.out().access);
    CHECK(second.out().access == Access::kInOut);
    parts++;
    whole += bordered_operand(second) < 0;
  }
  CHECK(parts > 300);
  CHECK(whole > 100);
}

TEST_CASE("terms are not divided of sums that would be rounded in parts") {
  auto cut = [](const char* text) { return term_cut(lower(*parse(text))->spec); };
  CHECK(cut("conv2d f32[1,7,7,8] f32[3,3,8,4] padding=1 nhwc"));
  CHECK(cut("conv2d bf16[1,7,7,8] bf16[3,3,8,4] padding=1 nhwc -> f32[1,7,7,4]"));
  CHECK(!cut("conv2d bf16[1,7,7,8] bf16[3,3,8,4] padding=1 nhwc"));
  CHECK(!cut("conv2d f32[1,7,7,8] f32[3,3,8,4] padding=1 nhwc -> relu"));
  CHECK(!cut("max_pool f32[1,7,7,8] window=3 padding=1 nhwc"));
  // Vectors run along the places of the second window, and all places have the first one's centre.
  const std::optional<BorderCut> rows = cut("conv2d f32[1,8,7,9] f32[4,8,3,3] padding=1");
  REQUIRE(rows);
  CHECK(rows->size == 1);
  CHECK(!cut("conv2d f32[1,8,7,9] f32[4,8,3,3] padding=0,1,0,1"));
  CHECK(!cut("conv2d f32[1,2,9,8] f32[3,3,8,4] padding=2,0,2,0 nhwc"));
}

TEST_CASE("parts of products begin with the weights that they meet") {
  const Lowered conv = *lower(*parse("conv2d f32[1,9,9,8] f32[3,3,1,8] padding=2 groups=8 nhwc"));
  const BorderCut cut = *border_cut(conv.spec);
  const auto [first, second] = factors_of(conv.spec);
  const int x = bordered_operand(conv.spec), weights = first == x ? second : first;
  const auto begin = [&](int operand, bool of_first) {
    return elements_to_part(conv.spec, operand, conv.view[operand], cut.dim, cut.size, of_first);
  };
  CHECK(cut.size == 1);
  CHECK(begin(weights, true) == 2 * 3 * 8);  // two rows of them are outside
  CHECK(begin(weights, false) == 0);
  CHECK(begin(x, true) == 0);
  CHECK(begin(x, false) == 0);  // the second place begins outside as well
  CHECK(part_of_border(conv.spec, cut.dim, cut.size, true).spec.rank + 2 == conv.spec.rank);
}

TEST_CASE("terms of windows without borders are one dimension with their channels") {
  struct Case {
    const char *padded, *same;  // what is left is this, of what has the borders already
  };
  for (const Case& c : {
           Case{"conv2d f32[1,8,9,4] f32[3,3,4,16] padding=1 nhwc",
                "conv2d f32[1,10,11,4] f32[3,3,4,16] nhwc"},
           Case{"conv2d f32[2,9,13,3] f32[5,5,3,16] padding=2 stride=2 nhwc",
                "conv2d f32[2,13,17,3] f32[5,5,3,16] stride=2 nhwc"},
           Case{"conv2d bf16[1,7,7,5] bf16[3,3,5,8]{*} padding=1 nhwc",
                "conv2d bf16[1,9,9,5] bf16[3,3,5,8]{*} nhwc"},
       }) {
    INFO(c.padded);
    Spec spec = lower(*parse(c.padded))->spec;
    const Spec same = lower(*parse(c.same))->spec;
    const int o = bordered_operand(spec);
    if (spec.operand[1].free_layout)  // as it is when it has been chosen
      spec.operand[1].free_layout = false;
    const PaddedPart rest = border_rest(spec, o, padded_operand(spec, o, Level::kMemory));
    Spec expected = same;
    expected.operand[1].free_layout = false;
    expected.operand[o].alias = rest.spec.operand[o].alias;
    CHECK_MESSAGE(rest.spec == expected, describe(rest.spec) << "\n" << describe(expected));
  }
  // Not where the weights have another order, nor where terms are apart, nor by channels.
  for (const char* text : {"conv2d f32[1,4,8,9] f32[16,4,3,3] padding=1",
                           "conv2d f32[1,12,13,4] f32[3,3,4,16] padding=2 dilation=2 nhwc",
                           "conv2d f32[1,8,9,4] f32[3,3,1,4] padding=1 groups=4 nhwc",
                           "max_pool f32[1,8,9,4] window=3 padding=1 nhwc"}) {
    INFO(std::string(text));
    const Spec spec = lower(*parse(text))->spec;
    const int o = bordered_operand(spec);
    CHECK(border_rest(spec, o, padded_operand(spec, o, Level::kL2)).spec.rank == spec.rank);
  }
}

TEST_CASE("weights that no place meets are known") {
  const auto has = [](const char* text) { return has_whole_places(lower(*parse(text))->spec); };
  CHECK(has("conv2d f32[1,3,9,9] f32[4,3,3,3] padding=1"));
  CHECK(has("conv2d f32[1,3,9,9] f32[4,3,3,3] padding=1,1,2,2 stride=2"));
  CHECK(has("conv2d f32[1,1,5,9] f32[1,1,3,3] padding=1 stride=3"));
  CHECK(!has("conv2d f32[1,1,2,9] f32[1,1,3,3] padding=1"));
  CHECK(!has("conv2d f32[1,1,4,9] f32[1,1,3,3] padding=1 stride=3"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
