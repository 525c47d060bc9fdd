// SPDX-License-Identifier: MIT
// Pictures of tables: XML with a rectangle per box, and errors for what is not there.
#include "table/plot.hh"

#include <doctest/doctest.h>

#include <vector>

#include "solved_family.hh"
#include "table/check.hh"

namespace morello {
namespace {

/// Counts elements by name; false if tags are not closed in order, or text has a stray '&'.
bool is_well_formed(const std::string& xml, const std::string& name, size_t& count) {
  std::vector<std::string> open;
  count = 0;
  for (size_t at = 0; (at = xml.find('<', at)) != xml.npos;) {
    const size_t end = xml.find('>', at);
    if (end == xml.npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.empty() || tag.find('<') != tag.npos) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      const std::string opened = tag.substr(0, tag.find_first_of(" /"));
      count += opened == name;
      if (tag.back() != '/') open.push_back(opened);
    }
    at = end + 1;
    for (size_t text = at; text < xml.size() && xml[text] != '<'; text++)
      if (xml[text] == '>') return false;
  }
  for (size_t at = 0; (at = xml.find('&', at)) != xml.npos; at++)
    if (xml.compare(at, 4, "&gt;") && xml.compare(at, 4, "&lt;") && xml.compare(at, 5, "&amp;"))
      return false;
  return open.empty() && xml.starts_with("<svg ");
}

TableContent small_content() {
  const u32 sizes[] = {2, 3, 5, 8, 12};
  return testing::table_of(testing::solve(testing::matmuls(sizes))).content();
}

std::string message(const TableContent& content, const PlotOptions& options) {
  const Result<std::string> svg = plot(content, options);
  REQUIRE(!svg.ok());
  CHECK(svg.error().status == MORELLO_INVALID_ARGUMENT);
  return svg.error().message;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("plots are XML with a rectangle for each box of the slice") {
    const TableContent content = small_content();
    size_t rectangles = 0;
    for (size_t g = 0; g < content.groups.size(); g++) {
      const size_t boxes = content.groups[g].actions.size();
      const Result<std::string> svg = plot(content, {.group = g, .x = "", .y = ""});
      REQUIRE(svg.ok());
      CHECK(is_well_formed(*svg, "rect", rectangles));
      const std::string said =
          std::to_string(rectangles) + " of " + std::to_string(boxes) + " boxes;";
      CHECK(svg->find(said) != svg->npos);
      CHECK(rectangles >= 1);
    }
    const Result<std::string> largest = plot(content, {});
    REQUIRE(largest.ok());
    CHECK(is_well_formed(*largest, "rect", rectangles));
    CHECK(rectangles > 1);
  }

  TEST_CASE("axes by name") {
    const TableContent content = small_content();
    const Result<std::string> svg = plot(content, {.group = {}, .x = "L1", .y = "registers"});
    REQUIRE(svg.ok());
    CHECK(svg->find(">L1</text>") != svg->npos);
    CHECK(svg->find(">registers</text>") != svg->npos);
    // The other axis is another one.
    for (const std::string x : {"", "L1"}) {
      const Result<std::string> named =
          plot(content, {.group = {}, .x = x, .y = x.empty() ? "L1" : ""});
      REQUIRE(named.ok());
      size_t labels = 0;
      for (size_t at = 0; (at = named->find(">L1</text>", at)) != named->npos; at++) labels++;
      CHECK(labels == 1);
    }
  }

  TEST_CASE("of very many boxes the largest are drawn, and the picture says so") {
    TableContent content = small_content();
    TableGroup& group = content.groups[0];
    group.axes = 1u << kAxisSize | 1u << (kAxisSize + 1);
    group.base[kAxisSize] = group.base[kAxisSize + 1] = 0;
    group.bounds.clear();
    group.actions.clear();
    for (u32 i = 0; i < 2 * kMostPlotted; i++) {
      const u32 m = i / 64 * 4, n = i % 64 * 4;  // every second one is of one point
      for (u32 bound : {m, n, m + i % 2, n + i % 2}) group.bounds.push_back(bound);
      group.actions.push_back({ActionKind::kTile, 0, {}, {}, i % 2 ? 4u : 8u});
    }
    REQUIRE(check(content) == "");
    const Result<std::string> svg = plot(content, {.group = 0, .x = "", .y = ""});
    REQUIRE(svg.ok());
    size_t rectangles = 0;
    CHECK(is_well_formed(*svg, "rect", rectangles));
    CHECK(rectangles == kMostPlotted);
    CHECK(svg->find("4096 of 8192 boxes") != svg->npos);
    CHECK(svg->find("; the largest: 4096 more are left out") != svg->npos);
    CHECK(svg->find(" by 4: ") != svg->npos);
    CHECK(svg->find(" by 8: ") == svg->npos);
    CHECK(svg->size() < 2'000'000);
  }

  TEST_CASE("what cannot be plotted") {
    const TableContent content = small_content();
    CHECK(message(content, {.group = 9999, .x = "", .y = ""}).find("no group 9999") !=
          std::string::npos);
    CHECK(message(content, {.group = {}, .x = "q", .y = ""}).find("\"q\"") != std::string::npos);
    CHECK(message(content, {.group = {}, .x = "", .y = "q"}).find("vary in this group are") !=
          std::string::npos);
    CHECK(message({}, {}).find("no decisions") != std::string::npos);
  }
}

}  // namespace morello
