// SPDX-License-Identifier: MIT
// Tables of Specs of the general form, which no search solves yet: coordinates, keys, files.
#include <doctest/doctest.h>

#include <algorithm>

#include "../support/random_spec.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "table/check.hh"
#include "table/coordinates.hh"
#include "table/encode.hh"
#include "table/identity.hh"
#include "table/payload.hh"

namespace morello {
namespace {

using namespace testing;

Spec general(Random& random) { return random_general(random, {3000, true, true}).spec; }

Limits random_limits(Random& random) {
  Limits limits;
  for (u8& use : limits.use) use = static_cast<u8>(pick(random, 0, 255));
  return limits;
}

TableContent content_of(const std::vector<GridPoint>& points, Random& random) {
  TableContent content;
  content.identity = identity_of(*fixed_target(Isa::kAvx2));
  for (const GridPoint& p : points) {
    TableGroup g;
    g.key = p.key;
    g.base = p.at;
    g.actions.push_back({ActionKind::kTile, 0, {}, {}, pick(random, 1, 9)});
    content.groups.push_back(g);
    Promise promise{p.key, p.at, p.at};
    for (int axis = kAxisLimit; axis < kAxes; axis++) promise.lo[axis] = promise.hi[axis] = 200;
    content.promises.push_back(promise);
  }
  auto order = [](auto& all) {
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return compare(a, b) < 0; });
    all.erase(std::unique(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return compare(a, b) == 0; }),
              all.end());
  };
  order(content.groups);
  order(content.promises);
  return content;
}

TEST_SUITE_BEGIN("table");

TEST_CASE("Specs of the general form go to the grid and back, with all four limits") {
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    const Spec spec = general(random);
    INFO("seed " << seed << ": " << describe(spec));
    REQUIRE(not_canonical(spec) == "");
    const Limits limits = random_limits(random);
    Spec back;
    Limits back_limits;
    const GridPoint point = to_grid(spec, limits);
    from_grid(point, back, back_limits);
    REQUIRE(std::memcmp(&back, &spec, sizeof spec) == 0);
    REQUIRE(back_limits == limits);
    REQUIRE(check_key(point.key) == "");
  }
}

TEST_CASE("tables of Specs of the general form survive their file") {
  for (u32 seed = 1; seed <= 60; seed++) {
    Random random(seed);
    std::vector<GridPoint> points;
    for (u32 n = pick(random, 1, 40); n > 0; n--)
      points.push_back(to_grid(general(random), random_limits(random)));
    const TableContent content = content_of(points, random);
    INFO("seed " << seed);
    REQUIRE(check(content) == "");
    const Sections sections = write_payload(content);
    auto source = [&](Section s) -> Result<Bytes> { return sections[static_cast<size_t>(s)]; };
    Allowance allowance(1 << 26);
    Result<TableContent> read = read_payload(source, allowance);
    REQUIRE_MESSAGE(read.ok(), read.error().message);
    read->identity = content.identity;
    REQUIRE(*read == content);
    const Bytes file = encode(content);
    Result<TableContent> decoded = decode(file);
    REQUIRE_MESSAGE(decoded.ok(), decoded.error().message);
    REQUIRE(*decoded == content);
    REQUIRE(encode(*decoded) == file);
  }
}

TEST_CASE("keys with one field changed are refused, or are keys of canonical Specs") {
  int refused = 0, taken = 0;
  for (u32 seed = 1; seed <= 20000; seed++) {
    Random random(seed);
    Spec key = to_grid(general(random), {}).key;
    int fields = 0, n = 0;
    each_field(key, [&](auto&) { fields++; });
    const int changed = static_cast<int>(pick(random, 0, static_cast<u32>(fields) - 1));
    const u32 value = chance(random, 50) ? pick(random, 0, 9) : static_cast<u32>(random());
    each_field(key, [&](auto& field) {
      using T = std::remove_reference_t<decltype(field)>;
      if (n++ != changed) return;
      if constexpr (std::is_same_v<T, bool>)
        field = !field;
      else
        field = static_cast<T>(value);
    });
    INFO("seed " << seed << ", field " << changed << " is " << value);
    if (!check_key(key).empty()) {
      refused++;
      continue;
    }
    taken++;
    // Whatever the coordinates: as any of its Specs would be.
    Spec spec = key;
    spec.out().access =
        is_read(spec, static_cast<Ref>(spec.out_index())) ? Access::kInOut : Access::kOut;
    REQUIRE(not_canonical_form(spec) == "");
    REQUIRE(!describe(spec).empty());
    REQUIRE(std::find(std::begin(kAllDtypes), std::end(kAllDtypes), spec.out().dtype) !=
            std::end(kAllDtypes));
  }
  CHECK(refused > 5000);
  CHECK(taken > 500);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
