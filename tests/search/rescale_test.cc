// SPDX-License-Identifier: MIT
// Rows by blocks: what the search makes of them, and what is not listed.
#include <doctest/doctest.h>

#include "actions/action.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

Spec spec_of(std::string_view text) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text);
  return lower(*s)->spec;
}

ImplTree found(std::string_view text, Isa isa, const SearchOptions& options) {
  Result<ImplTree> tree = synthesize(spec_of(text), *fixed_target(isa), options, nullptr);
  REQUIRE_MESSAGE(tree.ok(), text);
  REQUIRE(validate(*tree) == "");
  return std::move(*tree);
}

bool has_blocks(const ImplTree& tree) {
  for (const ImplNode& node : tree.nodes)
    if (std::holds_alternative<Rescale>(node.kind)) return true;
  return false;
}

SearchOptions without_restriction() {
  SearchOptions options;
  options.disabled_restrictions = 1u << static_cast<int>(Restriction::kFewBlocks);
  return options;
}

SearchOptions without_blocks() {
  SearchOptions options;
  options.disabled_actions = 1u << static_cast<int>(ActionKind::kRescale);
  return options;
}

TEST_SUITE_BEGIN("search");

TEST_CASE("long rows are cut into blocks, short ones are not") {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const char* text : {"softmax f32[2,1048576] axis=1", "logsumexp f32[1,524288] axis=1",
                             "log_softmax bf16[1,1048576] axis=1",
                             "attention f32[2,4,64] f32[2,4096,64] f32[2,4096,64]"}) {
      const ImplTree tree = found(text, isa, {}), without = found(text, isa, without_blocks());
      INFO(std::string(text));
      CHECK(has_blocks(tree));
      CHECK(!has_blocks(without));
      CHECK(tree.nodes[0].cost < without.nodes[0].cost);
    }
    for (const char* text :
         {"softmax f32[64,1024] axis=1", "softmax f32[1,32000] axis=1",
          "logsumexp f32[128,4096] axis=1", "attention f32[4,16] f32[512,16] f32[512,16]"})
      CHECK(!has_blocks(found(text, isa, {})));
  }
}

TEST_CASE("what blocks leave stays in a cache") {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const ImplTree tree = found("attention f32[1,2048,64] f32[1,2048,64] f32[1,2048,64]", isa, {});
    CHECK(has_blocks(tree));
    for (const ImplNode& node : tree.nodes)
      if (const auto* rescale = std::get_if<Rescale>(&node.kind))
        CHECK(rescale->level < Level::kMemory);
  }
}

/// No lower bound is above what is found with them: every search checks that.
TEST_CASE("rows by blocks: bounds, and what leaving out short ones costs on the model") {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512})
    for (const char* text :
         {"softmax f32[3,256] axis=1", "softmax f32[512,8] axis=0", "log_softmax f32[2,640] axis=1",
          "logsumexp f32[40,4096] axis=1", "softmax f32[1,32000] axis=1",
          "attention f32[4,8] f32[256,8] f32[256,8]", "softmax f32[4,50257] axis=1"}) {
      const i64 all = found(text, isa, without_restriction()).nodes[0].cost;
      const i64 few = found(text, isa, {}).nodes[0].cost;
      INFO(std::string(text) << ": " << all << " with blocks, " << few << " without");
      CHECK(all <= few);
      CHECK(static_cast<double>(few) <= 1.2 * static_cast<double>(all));
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
