// SPDX-License-Identifier: MIT
// Tables as text: nothing is left out, and JSON is JSON.
#include "table/dump.hh"

#include <doctest/doctest.h>

#include "solved_family.hh"
#include "table/groups.hh"
#include "table/words.hh"

namespace morello {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) n++;
  return n;
}

TableContent small_content() {
  const u32 sizes[] = {2, 3, 5, 8, 12};
  return testing::table_of(testing::solve(testing::matmuls(sizes))).content();
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("a dump has every box, with its ranges and its decision in words") {
    const TableContent content = small_content();
    const std::string text = dump_text(content), json = dump_json(content);
    size_t boxes = 0;
    for (const TableGroup& group : content.groups) {
      CHECK(text.find(key_text(group.key)) != text.npos);
      for (const GridBox& box : boxes_in(group)) {
        boxes++;
        const std::string ranges = ranges_text(group.key, group.axes, box);
        const std::string decision = action_text(group.key, box.action);
        CHECK(text.find("  " + ranges + (ranges.empty() ? "" : ": ") + decision + '\n') !=
              text.npos);
        CHECK(json.find("\"decision\":\"" + decision + '"') != json.npos);
      }
    }
    CHECK(count(text, "\n  ") == boxes);
    CHECK(count(json, "\"decision\"") == boxes);
    CHECK(count(text, "\ngroup ") == content.groups.size());
    CHECK(count(text, "\npromise ") == content.promises.size());
    CHECK(text.find("target avx2, machine generic-x86-64, 1 threads\n") == 0);
  }

  TEST_CASE("keys, axes and decisions in words") {
    const TableContent content = small_content();
    const Spec& key = content.promises.front().key;
    CHECK(key_text(key) == "muladd(0,1) f32[m,k] f32[k,n] -> f32[m,n]");
    for (size_t a = 0; a < kAxes; a++)
      for (size_t b = 0; b < a; b++) CHECK(axis_name(key, a) != axis_name(key, b));
    CHECK(axis_name(key, kAxisSize) == "m");
    CHECK(coordinate_text(kAxisSize, 6) == "8");
    CHECK(coordinate_text(kAxisLimit, 14) == "14");
    CHECK(coordinate_text(kAxisLimit + 1, 8) == "512");
    CHECK(action_text(key, {ActionKind::kTile, 0, {}, {}, 8}) == "tile m by 8");
    CHECK(action_text(key, {ActionKind::kPack, 1, Level::kL1, LayoutOption::kPanels, 16}) ==
          "pack operand 1 at L1 in panels of 16");
    // Files may hold decisions that are none.
    CHECK(action_text(key, {ActionKind::kTile, 200, {}, {}, 8}) == "tile dimension 200 by 8");
    CHECK(action_text(key, {ActionKind::kSelect, 200, {}, {}, 0}) == "select microkernel 200");
  }

  TEST_CASE("an empty table") {
    CHECK(dump_json({}) ==
          "{\"target\":\"\",\"machine\":\"\",\"threads\":1,\"effort\":\"exact\",\"families\":[],"
          "\"promises\":[],\"groups\":[]}\n");
    TableContent named;
    named.families = {"a \"quoted\\ name"};
    CHECK(dump_json(named).find("[\"a \\\"quoted\\\\ name\"]") != std::string::npos);
  }
}

}  // namespace morello
