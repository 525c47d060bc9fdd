// SPDX-License-Identifier: MIT
// What the C interface says about tables.
#include <cstring>

#include "tables.hh"

namespace morello::testing {

TEST_SUITE_BEGIN("capi");

TEST_CASE("tables say what they are") {
  const Shop shop;
  morello_table_info info;
  std::memset(&info, 0xff, sizeof(info));
  REQUIRE(morello_table_info_get(shop.table.get(), &info, sizeof(info)) == MORELLO_OK);
  CHECK(info.struct_size == sizeof(info));
  CHECK(info.target == MORELLO_ISA_AVX2);
  CHECK(info.threads == 1);
  CHECK(std::string(info.machine) == "generic-x86-64");
  CHECK(info.families == 3);
  CHECK(info.points == 3);
  CHECK(info.groups > 0);
  CHECK(info.boxes >= info.groups);
  CHECK(info.bytes > 0);
  CHECK(info.parts == 1);
  CHECK(std::string(morello_table_family(shop.table.get(), 0)) == kMatmul);
  CHECK(morello_table_family(shop.table.get(), 3) == nullptr);
  CHECK(morello_table_family(shop.table.get(), UINT64_MAX) == nullptr);
  const size_t first = offsetof(morello_table_info, parts);
  CHECK(morello_table_info_get(shop.table.get(), &info, first) == MORELLO_OK);
  CHECK(morello_table_info_get(shop.table.get(), &info, first - 1) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_info_get(shop.table.get(), nullptr, sizeof(info)) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_info_get(nullptr, &info, sizeof(info)) == MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("tables say why they do not cover a Spec") {
  const Shop shop(content_for({"matmul f32[16,24] f32[24,32]", "matmul f32[16,32] f32[32,32]",
                               "matmul f32[16,48] f32[48,32]", "relu f32[100]"}));
  const auto miss = [&](const char* text) {
    const SpecPtr spec = shop.spec(text);
    std::string said(morello_table_miss(shop.table.get(), spec.get(), nullptr, 0), '\0');
    CHECK(morello_table_miss(shop.table.get(), spec.get(), said.data(), said.size() + 1) ==
          said.size());
    CHECK(said.empty() == (morello_table_covers(shop.table.get(), spec.get()) == 1));
    return said;
  };
  CHECK(miss("relu f32[100]") == "");
  CHECK(miss("matmul f32[16,40] f32[40,32]") ==
        "avx2, 1 thread: k = 40 is not on the ladder of sizes; 32 and 48 are covered");
  CHECK(miss("matmul f32[16,96] f32[96,32]") ==
        "avx2, 1 thread: k = 96 is beyond what is covered, 24 to 48");
  CHECK(miss("matmul f32[16,4] f32[4,32]") ==
        "avx2, 1 thread: k = 4 is below what is covered, 24 to 48");
  CHECK(miss("matmul f32[17,24] f32[24,32]") == "avx2, 1 thread: m = 17; 16 is covered");
  CHECK(contains(miss("matmul f32[16,24] f32[24,32] += f32[16,32]"), "the output is updated"));
  CHECK(contains(miss("matmul bf16[16,24] bf16[24,32] -> f32[16,32]"), "operand 0 is bf16"));
  CHECK(contains(miss("matmul f32[16,24] f32[24,32]{0,1}"), "operand 1 is f32["));
  CHECK(contains(miss("matmul f32[1,24] f32[24,32]"), "2 dimensions"));
  CHECK(contains(miss("neg f32[100]"), "no family computes neg"));
  CHECK(contains(miss("relu f32[?<=100]"), "the piece of 1: "));
  CHECK(morello_table_miss(nullptr, shop.spec("relu f32[2]").get(), nullptr, 0) == 0);
  CHECK(morello_table_miss(shop.table.get(), nullptr, nullptr, 0) == 0);
}

TEST_CASE("a Spec with a run-time size is covered if all its pieces are") {
  const char* const text = "matmul f32[?<=6,8] f32[8,24] -> f32[?,24]";
  std::vector<std::string> pieces;
  for (int m = 1; m <= 6; m++)
    pieces.push_back("matmul f32[" + std::to_string(m) + ",8] f32[8,24]");
  const Shop all(content_for(pieces));
  CHECK(morello_table_covers(all.table.get(), all.spec(text).get()) == 1);
  CHECK(stats_of(all.looked_up(text).get()).table_use == MORELLO_TABLE_ANSWERED);
  CHECK(impl_of(all.looked_up(text)) == impl_of(all.searched(text)));
  pieces.erase(pieces.begin() + 2);
  const Shop some(content_for(pieces));
  CHECK(morello_table_covers(some.table.get(), some.spec(text).get()) == 0);
  std::string missing(200, '\0');
  missing.resize(
      morello_table_miss(some.table.get(), some.spec(text).get(), missing.data(), missing.size()));
  CHECK(contains(missing, "avx2, 1 thread: the piece of 3: "));
  CHECK(stats_of(some.looked_up(text).get()).table_use == MORELLO_TABLE_NOT_COVERED);
}

TEST_CASE("tables are verified, dumped and plotted") {
  const Shop shop;
  const morello_table* table = shop.table.get();
  morello_table_verification found;
  REQUIRE(morello_table_verify(table, 2, 1, &found, sizeof(found), nullptr) == MORELLO_OK);
  CHECK(found.struct_size == sizeof(found));
  CHECK(found.promised == 3);
  CHECK(found.searched == 2);
  CHECK(found.pairs > 3);
  CHECK(found.failures == 0);
  CHECK(std::string(found.failure) == "");
  TableContent wrong = content();
  for (TableGroup& group : wrong.groups) group.actions[0] = {ActionKind::kSelect, 77, {}, {}, 0};
  const Shop bad(wrong);
  REQUIRE(morello_table_verify(bad.table.get(), 0, 1, &found, sizeof(found), nullptr) ==
          MORELLO_OK);
  CHECK(found.failures == 1);
  CHECK(contains(found.failure, "wrong decision"));

  for (int json : {0, 1}) {
    std::string text(morello_table_dump(table, json, nullptr, 0), '\0');
    CHECK(morello_table_dump(table, json, text.data(), text.size() + 1) == text.size());
    CHECK(contains(text, kMatmul));
    CHECK(text.back() == '\n');
  }
  CHECK(morello_table_dump(nullptr, 0, nullptr, 0) == 0);

  size_t length = 0;
  REQUIRE(morello_table_plot(table, -1, nullptr, nullptr, nullptr, 0, &length, nullptr) ==
          MORELLO_OK);
  std::string svg(length, '\0');
  REQUIRE(morello_table_plot(table, -1, nullptr, nullptr, svg.data(), length + 1, &length,
                             nullptr) == MORELLO_OK);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("what cannot be verified or plotted") {
  const Shop shop;
  const morello_table* table = shop.table.get();
  morello_table_verification found;
  CHECK(morello_table_verify(nullptr, 1, 1, &found, sizeof(found), nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_verify(table, 1, 1, nullptr, sizeof(found), nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_verify(table, 1, 1, &found, 8, nullptr) == MORELLO_INVALID_ARGUMENT);
  const auto plot = [](const morello_table* t, int64_t group, const char* x) {
    size_t length = 77;
    const morello_status status =
        morello_table_plot(t, group, x, nullptr, nullptr, 0, &length, nullptr);
    CHECK((status == MORELLO_OK) == (length != 77));
    return status;
  };
  CHECK(plot(table, 0, "L1") == MORELLO_OK);
  CHECK(plot(table, 0, "no axis") == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(table, 1 << 20, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(table, -2, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(nullptr, -1, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_plot(table, -1, nullptr, nullptr, nullptr, 0, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
}

TEST_SUITE_END();

}  // namespace morello::testing
