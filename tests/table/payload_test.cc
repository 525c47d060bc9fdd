// SPDX-License-Identifier: MIT
// Hostile contents of tables: their checksums are right, so all that is left are our own checks.
#include "table/payload.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <ostream>

#include "random_content.hh"
#include "table/check.hh"
#include "table/encode.hh"

namespace morello {
namespace {

/// For messages: a part that is somewhere in the whole.
struct Contains {
  std::string part;
  friend bool operator==(const std::string& whole, const Contains& c) {
    return whole.find(c.part) != std::string::npos;
  }
};
std::ostream& operator<<(std::ostream& out, const Contains& c) {
  return out << "*" << c.part << "*";
}

TableContent content() {
  std::mt19937_64 rng(11);
  TableContent content;
  auto has_boxes = [](const TableGroup& g) { return g.actions.size() > 1; };
  while (content.promises.size() < 2 ||
         std::none_of(content.groups.begin(), content.groups.end(), has_boxes))
    content = testing::random_content(rng, 9, 4);
  content.identity = {};
  return content;
}

Bytes& at(Sections& sections, Section section) { return sections[static_cast<size_t>(section)]; }

/// Columns of the sections, as docs/table-format.md has them; families are no cells.
constexpr size_t kColumns[kSections] = {0, 346, 45, 25, 2, 5};

void set_cell(Sections& sections, Section section, size_t row, size_t column, u32 value) {
  Bytes& bytes = at(sections, section);
  const size_t columns = kColumns[static_cast<size_t>(section)];
  auto source = [&](Section) -> Result<Bytes> { return bytes; };
  Result<Cells> cells = Cells::read(source, section, columns);
  REQUIRE(cells.ok());
  std::vector<u32> all;
  for (size_t c = 0; c < columns; c++)
    for (size_t r = 0; r < cells->rows(); r++)
      all.push_back(r == row && c == column ? value : cells->at(r, c));
  bytes = write_cells(all, cells->rows(), columns);
}

Result<TableContent> read(const Sections& sections, u64 max_bytes = 1 << 26) {
  auto source = [&](Section section) -> Result<Bytes> {
    return sections[static_cast<size_t>(section)];
  };
  Allowance allowance(max_bytes);
  return read_payload(source, allowance);
}

/// What a whole file with these sections and right checksums is refused with; "" if it is not.
std::string refusal(const Sections& sections) {
  TableIdentity identity;
  identity.target = "avx2";
  Result<TableContent> decoded = decode(write_frame(identity, sections));
  if (decoded) return "";
  CHECK(decoded.error().status == MORELLO_CORRUPT_TABLE);
  return decoded.error().message;
}

std::string refusal_with(Section section, size_t row, size_t column, u32 value) {
  Sections sections = write_payload(content());
  set_cell(sections, section, row, column, value);
  return refusal(sections);
}

std::string refusal_of(const TableContent& content) { return check(content); }

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("counts are compared with what there is") {
    for (size_t s = 0; s < kSections; s++) {
      Section section = static_cast<Section>(s);
      INFO(name_of(section));
      for (u64 count : {~u64{0}, ~u64{0} / 2, u64{1} << 62, u64{1} << 32, u64{1} << 20}) {
        for (u64 delta = 0; delta < 3; delta++) {
          Sections sections = write_payload(content());
          u64 hostile = count - delta;
          std::memcpy(at(sections, section).data() + 1, &hostile, sizeof hostile);
          CHECK(refusal(sections) == Contains{"are said to be in"});
        }
      }
      Sections longer = write_payload(content());
      at(longer, section).push_back(0);
      CHECK(refusal(longer) != "");
    }
    Sections sections = write_payload(content());
    u64 length = ~u64{0} - 3;
    TableContent named = content();
    named.families = {"a family"};
    sections = write_payload(named);
    std::memcpy(at(sections, Section::kFamilies).data() + 9, &length, sizeof length);
    CHECK(refusal(sections) == Contains{"a text is longer than the section"});
  }

  TEST_CASE("sections that are cut, empty or of another byte order") {
    const Sections whole = write_payload(content());
    for (size_t s = 0; s < kSections; s++) {
      INFO(name_of(static_cast<Section>(s)));
      for (size_t size = 0; size < whole[s].size(); size += size < 40 ? 1 : 37) {
        Sections sections = whole;
        sections[s].resize(size);
        CHECK(!read(sections));
      }
      Sections sections = whole;
      sections[s][0] = 0;
      CHECK(refusal(sections) == Contains{"byte order"});
    }
  }

  TEST_CASE("numbers of boxes that do not fit the other sections") {
    for (u32 boxes : {~0u, 1u << 31, 1000u, 0u})
      CHECK(refusal_with(Section::kGroups, 0, 2, boxes) == Contains{"but the groups have"});
  }

  TEST_CASE("groups and promises that are not canonical or out of range") {
    CHECK(refusal_with(Section::kGroups, 0, 0, 1000) == Contains{"a key that is not there"});
    CHECK(refusal_with(Section::kGroups, 1, 0, ~0u) == Contains{"a key that is not there"});
    CHECK(refusal_with(Section::kPromises, 0, 0, 1000) == Contains{"a key that is not there"});
    CHECK(refusal_with(Section::kPromises, 1, 1 + kAxisSize, ~0u) != "");
    CHECK(refusal_with(Section::kPromises, 0, 1 + kAxes + kAxisParallel, 2) ==
          Contains{"promise 0: axis 1 is out of range"});
    CHECK(refusal_with(Section::kBounds, 0, 0, ~0u) == Contains{"box 0 is out of range"});
    CHECK(refusal_with(Section::kBounds, 0, 1, ~0u) == Contains{"box 0 is out of range"});
    CHECK(refusal_with(Section::kActions, 2, 0, 0) == Contains{"has no known action"});
    CHECK(refusal_with(Section::kActions, 2, 0, 200) == Contains{"has no known action"});
    CHECK(refusal_with(Section::kActions, 2, 1, 256) == Contains{"out of range"});
    CHECK(refusal_with(Section::kActions, 2, 2, 4) == Contains{"has no known action"});
    CHECK(refusal_with(Section::kActions, 2, 3, 200) == Contains{"has no known action"});

    TableContent good = content(), bad = good;
    CHECK(refusal_of(good) == "");
    std::swap(bad.groups[0], bad.groups[1]);
    CHECK(refusal_of(bad) == "group 1: it is out of order");
    bad = good;
    bad.groups[1] = bad.groups[0];
    CHECK(refusal_of(bad) == "group 1: it is out of order");
    bad = good;
    std::swap(bad.promises[0], bad.promises[1]);
    CHECK(refusal_of(bad) == "promise 1: it is out of order");
    bad = good;
    bad.groups[0].axes |= 1u << kAxes;
    CHECK(refusal_of(bad) == "group 0: there are no such axes");
    bad = good;
    bad.promises[0].lo[kAxisLimit] = 9;
    bad.promises[0].hi[kAxisLimit] = 8;
    CHECK(refusal_of(bad) == Contains{"is out of range"});
    bad = good;
    bad.families = {"b", "a"};
    CHECK(refusal_of(bad) == "family 1 is out of order");
    bad.families = {"\x1b[2J"};
    CHECK(refusal_of(bad) == "family 0 is not printable");
  }

  TEST_CASE("sizes cannot overflow") {
    Promise p;
    p.key.operand_count = p.key.stage_count = 1;
    p.key.rank = 2;
    p.key.operand[0].level = Level::kRegister;
    p.key.operand[0].dims = 3;
    p.key.operand[0].layout = layout_in_order(std::array{0, 1});
    p.key.stage[0].op = Op::kFill;
    p.key.stage[0].out = 0;
    TableContent one;
    one.promises = {p};
    CHECK(refusal_of(one) == "");
    for (u32 size : {~0u, ~0u - 1, ~0u - 2, 0x7ffffffeu}) {
      one.promises[0].hi[kAxisSize] = size;
      CHECK(refusal_of(one) == "promise 0: axis 2 is out of range");
    }
    one.promises[0].hi[kAxisSize] = one.promises[0].hi[kAxisSize + 1] = 0x7ffffffd;
    CHECK(refusal_of(one) == "promise 0: a tensor has more than 2^31-1 elements");
  }

  TEST_CASE("malformed keys are refused, and those of searches are not") {
    std::mt19937_64 rng(8);
    for (const GridPoint& point : testing::random_points(rng, 3000)) {
      INFO(describe(point.key));
      CHECK(check_key(point.key) == "");
    }
    for (const GridPoint& point : testing::random_points(rng, 100)) {
      INFO(describe(point.key));
      auto refuses = [&](auto&& change) {
        Spec key = point.key;
        change(key);
        CHECK(check_key(key) != "");
      };
      refuses([](Spec& s) { s.rank = kMaxDims + 1; });
      refuses([](Spec& s) { s.operand_count = 0; });
      refuses([](Spec& s) { s.operand_count = kMaxOperands + 1; });
      refuses([](Spec& s) { s.stage_count = 0; });
      refuses([](Spec& s) { s.stage_count = kMaxStages + 1; });
      refuses([](Spec& s) { s.serial = true; });
      refuses([](Spec& s) { s.size[0] = 1; });
      refuses([](Spec& s) { s.operand[0].dtype = Dtype{}; });
      refuses([](Spec& s) { s.operand[0].level = Level::kL1; });
      refuses([](Spec& s) { s.operand[0].access = Access::kInOut; });
      refuses([](Spec& s) { s.operand[0].dims ^= 1; });
      refuses([](Spec& s) { s.operand[0].contig = kMaxDims + 1; });
      refuses([](Spec& s) { s.operand[0].alias = kAliasCount; });
      refuses([](Spec& s) { s.operand[0].layout.dim[0] ^= 0x10; });
      refuses([](Spec& s) { s.operand[0].layout.dim[7] = 0; });
      refuses([](Spec& s) { s.operand[0].layout.block[7] = 2; });
      refuses([](Spec& s) { s.operand[0].layout.block[0] = 1; });
      refuses([](Spec& s) { s.operand[0].windows = 1; });
      refuses([](Spec& s) { s.window[1] = {0, 1, 1, 1}; });
      refuses([](Spec& s) { s.stage[0].dtype = Dtype::kI8; });
      refuses([](Spec& s) { s.stage[0].out = kMaxOperands; });
      refuses([](Spec& s) { s.stage[s.stage_count - 1].out = kNoRef; });
      refuses([](Spec& s) { s.stage[0].op = Op{}; });
      refuses([](Spec& s) { s.stage[0].in[0] = kConstant + 1; });
      refuses([](Spec& s) { s.stage[0].in[0] = value_of(0); });
      refuses([](Spec& s) { s.stage[0].in[1] = 0x80; });
      refuses([](Spec& s) { s.stage[0].reduce ^= 0x80; });
      if (point.key.operand_count < kMaxOperands)
        refuses([](Spec& s) { s.operand[s.operand_count].dims = 1; });
    }
  }

  TEST_CASE("boxes are ascending, each once; promises are at one place of limits") {
    TableContent good = content();
    const auto group = std::find_if(good.groups.begin(), good.groups.end(),
                                    [](const auto& g) { return g.actions.size() > 1; });
    REQUIRE(group != good.groups.end());
    const size_t g = static_cast<size_t>(group - good.groups.begin());
    const std::string name = "group " + std::to_string(g) + ": box 1 is out of order";
    const size_t row = group->bounds.size() / group->actions.size();
    TableContent bad = good;
    std::copy_n(bad.groups[g].bounds.begin(), row, bad.groups[g].bounds.begin() + row);
    CHECK(refusal_of(bad) == name);
    bad = good;
    std::swap_ranges(bad.groups[g].bounds.begin(), bad.groups[g].bounds.begin() + row,
                     bad.groups[g].bounds.begin() + row);
    CHECK(refusal_of(bad) == name);

    bad = good;
    TableGroup again = bad.groups[0];  // elsewhere
    for (u32& base : again.base) base = 0;
    bad.groups.insert(bad.groups.begin() + 1, again);
    CHECK(refusal_of(bad) == "group 1: it is out of order");

    bad = good;
    bad.promises[1].lo[kAxisLimit]--;
    CHECK(refusal_of(bad) == "promise 1: axis 18 is out of range");
    bad.promises[1].hi[kAxisLimit]--;
    CHECK(refusal_of(bad) == "promise 1: its limits are others than those of promise 0");
  }

  TEST_CASE("any bit of the sections may be anything") {
    std::mt19937_64 rng(13);
    TableContent small;
    while (small.promises.empty()) small = testing::random_content(rng, 2, 2);
    const Sections whole = write_payload(small);
    for (size_t s = 0; s < kSections; s++)
      for (size_t bit = 0; bit < 8 * whole[s].size(); bit++) {
        Sections sections = whole;
        sections[s][bit / 8] ^= static_cast<u8>(1 << bit % 8);
        Result<TableContent> decoded = read(sections);
        if (!decoded) continue;
        INFO(name_of(static_cast<Section>(s)) << " bit " << bit);
        CHECK(check(*decoded) == "");
        Result<TableContent> again = read(write_payload(*decoded));
        CHECK(again.ok());
        if (again) CHECK(*again == *decoded);
      }
  }
}

}  // namespace morello
