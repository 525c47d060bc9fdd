// SPDX-License-Identifier: MIT
// What operands take of caches where they stay with their strides.
#include "actions/placement.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "actions/clamp.hh"
#include "cost/turn.hh"
#include "support/lowered.hh"

namespace morello {
namespace {

constexpr int kRows = 128;

/// A factor of 16 columns, so many numbers apart.
Spec product(int pitch) {
  return testing::spec_of("matmul f32[8,128] f32[128,16]{strides=" + std::to_string(pitch) +
                          ",1} -> f32[8,16]");
}

ActionList actions_of(const Spec& spec, const Target* target) {
  ActionList actions;
  list_actions(spec, limits_of(*target), {target}, actions);
  return actions;
}

/// May results have a buffer with vectors along another dimension?
bool turned(const std::string& text, Isa isa) {
  const Spec spec = testing::spec_of(text);
  const ActionList actions = actions_of(spec, fixed_target(isa));
  const auto turns = [](const Action& a) { return a.option == LayoutOption::kTurned; };
  const bool listed = std::any_of(actions.begin(), actions.end(), turns);
  if (listed) {
    const Layout layout = layout_of(spec, 2, LayoutOption::kTurned, 0).layout;
    CHECK(layout.fastest() == turned_dim(spec));
    CHECK(layout.count() == spec.out().layout.count());
  }
  CHECK(listed == may_turn(spec, *fixed_target(isa)));
  return listed;
}

bool fits_l1(const Spec& spec) {
  const Target& target = *fixed_target(Isa::kAvx2);
  Derivation d;
  return preview(spec, limits_of(target), {ActionKind::kView, 1, {}, {}, 0}, {&target}, d);
}

}  // namespace

TEST_SUITE("actions") {
  TEST_CASE("runs on pages of their own take room for eight lines each") {
    const Spec apart = product(776), near = product(760);  // 3104 and 3040 bytes
    for (Level cache : {Level::kL1, Level::kL2}) {
      CHECK(resident_lines(apart, apart.operand[1], cache) == 8 * kRows);
      CHECK(resident_lines(near, near.operand[1], cache) < 3 * kRows);
    }
    const Spec sets = product(1024);  // 4 KiB, which is one set: 64 lines of L1 each
    CHECK(resident_lines(sets, sets.operand[1], Level::kL1) == 64 * kRows);
  }

  TEST_CASE("rows that begin anywhere take half of what they touch in L1 beside what they have") {
    for (int pitch : {129, 131, 411, 517}) {
      const Spec spec = product(pitch);
      size_t lines = 0;
      constexpr int kPlaces = 16;  // where the first row may begin inside of a line
      for (int begin = 0; begin < kPlaces; begin++)
        for (int row = 0; row < kRows; row++) {
          const int first = begin + row * pitch, last = first + 15;
          lines += static_cast<size_t>(last / kPlaces - first / kPlaces + 1);
        }
      INFO("pitch " << pitch);
      const u64 touched = lines / kPlaces, least = footprint(spec, spec.operand[1]).lines;
      CHECK(touched > 3 * least / 2);
      CHECK(resident_lines(spec, spec.operand[1], Level::kL1) == (touched + least) / 2);
      CHECK(resident_lines(spec, spec.operand[1], Level::kL2) == least);
    }
    // Whole lines apart, or next to each other: what they have.
    CHECK(resident_lines(product(144), product(144).operand[1], Level::kL1) == kRows);
    CHECK(resident_lines(product(60), product(60).operand[1], Level::kL1) == kRows);
  }

  TEST_CASE("rows that fall into an eighth of the sets take room for all that these keep") {
    // 64 sets: rows of one line each, with a stride of 24 lines, are in sets 0, 8, .., 56.
    std::array<int, 64> met{};
    for (int row = 0; row < kRows; row++) met[static_cast<size_t>(row * 24 % 64)]++;
    const int most = *std::max_element(met.begin(), met.end());
    const Spec sets = product(384);
    CHECK(resident_lines(sets, sets.operand[1], Level::kL1) == static_cast<u64>(most) * 64);
  }

  TEST_CASE("more pages than a core remembers beside L1 are no part of it") {
    Spec apart = product(900), near = product(700);
    for (Spec* spec : {&apart, &near}) spec->operand[1].level = Level::kL2;
    CHECK_FALSE(fits_l1(apart));
    CHECK(fits_l1(near));
  }

  TEST_CASE("results that L2 loses between the parts of a sum come again for each but the first") {
    const Target& target = *fixed_target(Isa::kAvx512);
    auto own = [&](int columns, u32 part) {
      const std::string n = std::to_string(columns);
      Spec spec = testing::spec_of("matmul f32[16,512] f32[512," + n + "] += f32[16," + n + "]");
      spec.operand[spec.out_index()].level = Level::kL2;
      const u8 k = unit_dim(spec.operand[0]);
      Derivation d;
      REQUIRE(preview(spec, limits_of(target), {ActionKind::kTile, k, {}, {}, part}, {&target}, d));
      return d.own - static_cast<i64>(512 / part) * target.prices.loop;
    };
    CHECK(own(512, 256) == 0);  // a part reads 512 KiB, half of L2
    const i64 lines = 16 * 4096 / 16, memory = target.at(Level::kMemory).line_units;
    CHECK(own(4096, 256) == 2 * lines * memory);  // in and out
    CHECK(own(4096, 128) == 3 * 2 * lines * memory);
  }

  TEST_CASE("limits that are lowered leave room for a few pages") {
    // 4 rows of 96 bytes are 12 lines, and take 32.
    Spec tile = testing::spec_of("matmul f32[4,128] f32[128,24] += f32[4,24]{strides=900,1}");
    for (u8 o = 0; o < 3; o++) tile.operand[o].level = o == 2 ? Level::kL2 : Level::kL1;
    const Target& target = *fixed_target(Isa::kAvx2);
    Limits limits = limits_of(target);
    clamp_limits(tile, limits);
    CHECK(limits.at(Level::kL1) < limits_of(target).at(Level::kL1));
    Derivation d;
    CHECK(preview(tile, limits, {ActionKind::kView, 2, {}, {}, 0}, {&target}, d));
  }

  TEST_CASE("free groups are rows only where vectors of them begin at lines, or are prepared") {
    const auto rows = [](const std::string& text, const std::string& target) {
      const ActionList actions = actions_of(testing::spec_of(text), find_target(target));
      const auto is = [&](LayoutOption option) {
        return std::any_of(actions.begin(), actions.end(),
                           [&](const Action& a) { return a.option == option; });
      };
      CHECK(is(LayoutOption::kGroupedPanels));
      return is(LayoutOption::kGrouped);
    };
    const std::string odd = "matmul u8[48,80] i8[80,1425]{*}",
                      even = "matmul u8[48,80] i8[80,1424]{*}";
    CHECK(rows(even, "avx512_vnni"));
    CHECK_FALSE(rows(odd, "avx512_vnni"));
    CHECK(rows("matmul u8[48,80] i8[80,40]{*}", "avx512_vnni"));  // panels would be too wide
    CHECK_FALSE(rows("matmul u8[48,80] i8[80,50]{*}", "avx512_vnni"));
    CHECK(rows(odd, "avx512"));     // each vector is prepared twice
    CHECK(rows(odd, "avx2_vnni"));  // vectors are half of a line
    CHECK_FALSE(rows("matmul bf16[48,80] bf16[80,301]{*}", "avx512_bf16"));
  }

  TEST_CASE("free layouts are rows only where these begin at lines, or panels are too wide") {
    const auto rows = [](const std::string& text, Isa isa) {
      const Spec spec = testing::spec_of(text);
      bool found = false, panels = false;
      for (const Action& a : actions_of(spec, fixed_target(isa))) {
        if (a.kind != ActionKind::kChoose) continue;
        const Layout layout = layout_of(spec, 1, a.option, a.size).layout;
        found |= !layout.packed() && layout.fastest() == unit_dim(spec.out());
        panels |= a.option == LayoutOption::kPanels;
      }
      CHECK(panels);
      return found;
    };
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      CHECK(rows("matmul f32[1,300] f32[300,304]{*}", isa));
      CHECK_FALSE(rows("matmul f32[1,300] f32[300,301]{*}", isa));
      CHECK(rows("matmul f32[1,300] f32[300,65]{*}", isa));  // panels would be half as wide again
      CHECK_FALSE(rows("matmul f32[40,300] bf16[300,301]{*}", isa));
      // What is not summed has no panels.
      const ActionList actions = actions_of(
          testing::spec_of("einsum \"ab,a->ab\" f32[13,57]{*} f32[13]"), fixed_target(isa));
      CHECK(std::any_of(actions.begin(), actions.end(),
                        [](const Action& a) { return a.kind == ActionKind::kChoose; }));
    }
  }

  TEST_CASE("results of convolutions along short rows are turned, those of long rows are not") {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      CHECK(turned("conv2d f32[1,16,9,12] f32[24,16,3,3]", isa));
      CHECK(turned("conv2d f32[1,16,9,12] f32[24,16,3,3] -> bf16[1,24,7,10]", isa));
      CHECK(turned("conv2d f32[1,16,9,65] f32[24,16,3,3] stride=2", isa));
      CHECK(turned("conv2d f32[1,16,9,65] f32[24,16,1,1] stride=2", isa));
      CHECK_FALSE(turned("conv2d f32[1,16,9,66] f32[24,16,3,3]", isa));
      CHECK_FALSE(turned("conv2d f32[1,16,9,12] f32[3,16,3,3]", isa));
      CHECK_FALSE(turned("conv2d f32[1,9,12,16] f32[3,3,16,24] nhwc", isa));
      CHECK_FALSE(turned("conv2d f32[1,16,9,12] f32[24,16,3,3] += f32[1,24,7,10]", isa));
      CHECK_FALSE(turned("matmul f32[24,16] f32[16,10]", isa));
    }
    // 7 vectors of 8 lanes, and 3 and a half of 16.
    CHECK_FALSE(turned("conv2d f32[1,16,9,58] f32[24,16,3,3]", Isa::kAvx2));
    CHECK(turned("conv2d f32[1,16,9,58] f32[24,16,3,3]", Isa::kAvx512));
  }

  TEST_CASE(
      "results of a batch whose members are neighbours are turned, unless factors have them so") {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      CHECK(turned("einsum \"gmk,gkn->mng\" f32[3,40,12] f32[3,12,30]", isa));
      CHECK(turned("einsum \"gmk,gkn->mng\" u8[3,40,12] i8[3,12,30] -> i32[40,30,3]", isa));
      CHECK(turned("einsum \"mkg,gkn->nmg\" bf16[40,12,3] bf16[3,12,30] -> relu", isa));
      CHECK(
          turned("einsum \"mkg,kng->mng\" f32[40,12,3] f32[12,30,3]", isa));  // less than a vector
      CHECK_FALSE(turned("einsum \"mkg,kng->mng\" f32[40,12,16] f32[12,30,16]", isa));
      CHECK_FALSE(turned("einsum \"gmk,gkn->mgn\" f32[3,40,12] f32[3,12,30]", isa));
      CHECK_FALSE(turned("einsum \"gmk,gkn->mng\" f32[3,2,12] f32[3,12,3]", isa));
      CHECK_FALSE(turned("einsum \"gmk,gkn->mng\" f32[3,40,12] f32[3,12,30] + f32[3]", isa));
      CHECK_FALSE(turned("einsum \"gmk,gkn->mng\" f32[3,40,12] f32[3,12,30] += f32[40,30,3]", isa));
    }
  }

  TEST_CASE("bands of places: what caches have room for, where a copy would go to memory") {
    const auto bands = [](const std::string& text) {
      return bands_of(testing::spec_of(text), {fixed_target(Isa::kAvx2)});
    };
    // Rows of 226 columns of three channels: 5 of them in half of L1, 33 in a sixth of L2.
    const Bands rows = bands("conv2d f32[1,224,224,3] f32[3,3,3,32] padding=1 stride=2 nhwc");
    REQUIRE(rows.count == 2);
    CHECK(rows.bordered);
    CHECK(!rows.last);
    CHECK(rows.size[0] == 2);
    CHECK(rows.size[1] == 16);
    const Bands last = bands("conv2d f32[1,224,224,3] f32[3,3,3,32] padding=0,0,1,1 nhwc stride=2");
    CHECK(last.last);
    CHECK(last.cut(2, 112) == 110);
    // Columns alone have borders: a loop. A loop over images comes first. No copy is needed, or all
    // of it has room; and small ones are divided place by place.
    const Bands inside =
        bands("conv2d f32[1,225,224,3] f32[3,3,3,32] padding=0,1,0,1 stride=2 nhwc");
    CHECK(inside.count == 2);
    CHECK(!inside.bordered);
    CHECK(bands("conv2d f32[2,224,224,3] f32[3,3,3,32] padding=1 nhwc").count == 0);
    CHECK(bands("conv2d f32[1,224,224,3] f32[3,3,3,32] nhwc").count == 0);
    CHECK(bands("conv2d f32[1,9,9,8] f32[3,3,8,64] padding=1 nhwc").count == 0);
    CHECK(bands("max_pool f32[1,64,112,112] window=3 padding=1").count == 0);
    // L2 keeps a copy that many products use.
    CHECK(bands("conv2d f32[1,128,28,28] f32[128,128,3,3] padding=1").count == 0);
    CHECK(bands("conv2d f32[1,64,28,28] f32[4,64,3,3] padding=1").count > 0);
    // Where all that is read twice is more than what is read once, none.
    CHECK(bands("conv2d f32[1,512,56,56] f32[64,512,7,7] padding=3").count == 0);
  }

  TEST_CASE("bands are loops, and parts, whatever else is restricted") {
    const auto check = [](const std::string& text, const ActionContext& context) {
      INFO(text << " on " << context.target->name);
      const Spec spec = testing::spec_of(text);
      const Bands bands = bands_of(spec, context);
      CHECK(bands.count > 0);
      ActionList actions;
      list_actions(spec, limits_of(*context.target), context, actions);
      for (int i = 0; i < bands.count; i++) {
        const u32 size = bands.size[i];
        const Action cut{
            ActionKind::kDivide, bands.dim, {}, {}, bands.cut(size, spec.size[bands.dim])};
        const Action loop{ActionKind::kTile, bands.dim, {}, {}, size};
        CHECK(std::count(actions.begin(), actions.end(), bands.bordered ? cut : loop) == 1);
      }
    };
    for (const char* padding : {" padding=0,1,0,1", " padding=1", " padding=0,1,1,1"})
      for (const Breadth breadth :
           {Breadth::kWhole, Breadth::kMiddle, Breadth::kFew, Breadth::kFewest})
        for (int rows = 54; rows < 70; rows++) {
          ActionContext context{fixed_target(Isa::kAvx2)};
          context.breadth = breadth;
          const std::string image = "[1,24," + std::to_string(rows) + ",122]";
          check("conv2d f32" + image + " f32[20,24,3,3]" + padding, context);
          context.target = find_target("avx512_amx");
          check("conv2d bf16" + image + " bf16[4,24,3,3]" + padding, context);
        }
  }

  TEST_CASE("copies of which neighbours share lanes have the axes of windows that step by one") {
    // Channels, rows and columns; two channels of a bf16, four of a byte.
    const auto copy = [](const char* text, Dtype type) {
      const Spec spec = testing::spec_of(text);
      REQUIRE(spec.operand[0].windows == 3);
      REQUIRE(keeps_windows(spec, 0, LayoutOption::kSame));
      const LayoutChoice choice = layout_of(spec, 0, LayoutOption::kGrouped, 0);
      REQUIRE(choice.valid);
      const bool keeps = keeps_windows(spec, 0, LayoutOption::kGrouped);
      const Operand& x = spec.operand[0];
      const Operand to = dense_operand(spec, type, Level::kL1, Access::kIn, x.dims, choice.layout,
                                       keeps ? x.windows : u8{0});
      CHECK(move_spec(spec, 0, to, true, nullptr).operand[0].windows == (keeps ? 0 : 3));
      return elements(spec, to);
    };
    CHECK(copy("conv2d bf16[1,6,9,11] bf16[4,6,3,3]", Dtype::kBf16) == 6 * 9 * 11);
    CHECK(copy("conv2d u8[1,8,9,11] i8[4,8,3,2]", Dtype::kU8) == 8 * 9 * 11);
    CHECK(copy("conv2d bf16[1,6,9,11] bf16[4,6,3,3] stride=2,1", Dtype::kBf16) == 6 * 9 * 11);
    CHECK(copy("conv2d bf16[1,6,9,11] bf16[4,6,3,3] dilation=2", Dtype::kBf16) == 6 * 9 * 11);
    // Places are two elements apart, and vectors read neighbours: each window has its own.
    CHECK(copy("conv2d bf16[1,6,9,11] bf16[4,6,3,3] stride=2", Dtype::kBf16) == 6 * 9 * 4 * 5);
    // Nothing but windows is reduced: two elements of one have copies of their own.
    const Spec depthwise = testing::spec_of("conv2d bf16[1,9,11,16] bf16[3,3,1,16] groups=16 nhwc");
    CHECK_FALSE(keeps_windows(depthwise, 0, LayoutOption::kGrouped));
    // Weights that are broadcast have the same neighbours.
    const Spec spec = testing::spec_of("conv2d bf16[1,6,9,11] bf16[4,6,3,3]");
    const Layout fast = layout_of(spec, 1, LayoutOption::kReducedFast, 0).layout;
    CHECK(fast.dim[fast.count() - 1] ==
          layout_of(spec, 0, LayoutOption::kGrouped, 0).layout.dim[3]);
  }
}

}  // namespace morello
