// SPDX-License-Identifier: MIT
// Decompositions of run-time sizes, compared with all that there are; which pieces are chosen.
#include "search/pieces.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "compiler/build_sized.hh"

namespace morello {
namespace {

/// The least that any list of pieces costs, by trying all.
i64 brute_force(const std::vector<Piece>& pieces, u32 size, i64 call, size_t most) {
  if (size == 0) return 0;
  i64 best = -1;
  for (size_t p = 0; p <= most; p++) {
    if (pieces[p].size > size) continue;
    const i64 rest = brute_force(pieces, size - pieces[p].size, call, p);
    if (rest >= 0 && (best < 0 || pieces[p].cost + call + rest < best))
      best = pieces[p].cost + call + rest;
  }
  return best;
}

/// What adding up the pieces that follow one another costs.
i64 walk(const std::vector<Piece>& pieces, const Decomposition& d, u32 size, i64 call) {
  i64 sum = 0;
  while (size > 0) {
    const Piece& piece = pieces[d.next[size]];
    REQUIRE(piece.size <= size);
    size -= piece.size;
    sum += piece.cost + call;
  }
  return sum;
}

/// Costs of a product with weights that are brought in each time, in tiles of 6 rows.
i64 product_cost(u32 rows) { return 13000 + 1000 * ((rows + 5) / 6 * 6) + 800 * (rows % 6 != 0); }

}  // namespace

TEST_SUITE_BEGIN("compiler");

TEST_CASE("decompositions are the cheapest") {
  for (u32 seed = 1; seed <= 200; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::set<u32> sizes = {1};
    for (u32 i = 0; i < 1 + random() % 4; i++) sizes.insert(1 + random() % 16);
    std::vector<Piece> pieces;
    for (u32 size : sizes) pieces.push_back({size, static_cast<i64>(random() % 100)});
    const i64 call = random() % 10;
    const Decomposition d = decompose(pieces, 18, call);
    CHECK(d.cost[0] == 0);
    for (u32 size = 1; size <= 18; size++) {
      CHECK(d.cost[size] == brute_force(pieces, size, call, pieces.size() - 1));
      CHECK(d.cost[size] == walk(pieces, d, size, call));
    }
  }
}

TEST_CASE("of equal decompositions the one with the largest piece first") {
  const Decomposition d = decompose(std::vector<Piece>{{1, 10}, {2, 20}, {4, 40}}, 7, 0);
  CHECK(d.next[7] == 2);
  CHECK(d.next[3] == 1);
}

TEST_CASE("chosen pieces cost little more than a program for each size") {
  for (u32 largest : {2u, 3u, 16u, 17u, 100u, 512u, 2000u}) {
    CAPTURE(largest);
    std::set<u32> asked;
    const Result<ChosenPieces> chosen = choose_pieces(
        largest, 480,
        [&](u32 size) -> Result<i64> {
          CHECK(asked.insert(size).second);
          return product_cost(size);
        },
        [] { return false; });
    REQUIRE(chosen.ok());
    CHECK(chosen->complete);
    CHECK(chosen->pieces.front().size == 1);
    CHECK(asked.size() <= kMostPieces);
    CHECK(std::is_sorted(chosen->pieces.begin(), chosen->pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.size < b.size; }));
    const Decomposition d = decompose(chosen->pieces, largest, 480);
    double sum = 0, worst = 0;
    for (u32 size = 1; size <= largest; size++) {
      const double ratio =
          static_cast<double>(d.cost[size]) / static_cast<double>(product_cost(size));
      sum += ratio;
      worst = std::max(worst, ratio);
    }
    CHECK(sum / largest < 1.05);
    CHECK(worst < 1.15);
  }
}

TEST_CASE("a choice that has to end has a decomposition for each size") {
  const Result<ChosenPieces> chosen = choose_pieces(
      512, 480, [](u32 size) -> Result<i64> { return product_cost(size); }, [] { return true; });
  REQUIRE(chosen.ok());
  CHECK(!chosen->complete);
  CHECK(chosen->pieces.size() == 2);
  const Decomposition d = decompose(chosen->pieces, 512, 480);
  for (u32 size = 1; size <= 512; size++) CHECK(d.cost[size] > 0);
}

TEST_CASE("an error ends the choice") {
  const Result<ChosenPieces> chosen = choose_pieces(
      512, 480,
      [](u32 size) -> Result<i64> {
        if (size == 5) return Error{MORELLO_CANCELLED, "cancelled"};
        return product_cost(size);
      },
      [] { return false; });
  REQUIRE(!chosen.ok());
  CHECK(chosen.error().status == MORELLO_CANCELLED);
}

TEST_CASE("predicted costs are near those of a kernel for exactly the size") {
  const Target& target = *fixed_target(Isa::kAvx2);
  SearchOptions options;
  options.effort = 2000;
  for (const char* text : {"matmul f32[?<=96,64] f32[64,256]", "softmax f32[?<=64,100] axis=1",
                           "relu f32[?<=300,16]"}) {
    INFO(std::string(text));
    const Result<Sized> sized = Sized::parse(text);
    REQUIRE(sized.ok());
    const Result<BuiltKernel> built =
        build_sized_kernel(*sized, target, options, nullptr, BuildOutput::kProgram);
    REQUIRE(built.ok());
    CHECK(!built->kernel.executable);
    REQUIRE(built->kernel.sized);
    CHECK(built->kernel.sized->largest() == sized->largest());
    double sum = 0;
    for (i64 size = 1; size <= sized->largest(); size++) {
      const Result<Statement> statement = sized->at(size);
      REQUIRE(statement.ok());
      const Result<Lowered> lowered = lower(*statement);
      REQUIRE(lowered.ok());
      const Result<BuiltKernel> fixed =
          build_kernel(*statement, *lowered, target, options, nullptr, BuildOutput::kProgram);
      REQUIRE(fixed.ok());
      // A call, and whatever is smaller than it, counts for nothing here.
      const double ratio =
          static_cast<double>(built->kernel.sized->cost[static_cast<size_t>(size)]) /
          static_cast<double>(fixed->kernel.estimate.cost + 100 * kUnitsPerCycle);
      CHECK(ratio < 1.15);
      sum += ratio;
    }
    CHECK(sum / static_cast<double>(sized->largest()) < 1.05);
  }
}

TEST_CASE("what pieces do alike is in the code once") {
  struct Layer {
    Isa isa;
    size_t most;
  };
  const Result<Sized> sized = Sized::parse("matmul f32[?<=64,768] f32[768,3072]{*}");
  REQUIRE(sized.ok());
  SearchOptions options;
  options.effort = 2000;
  for (const Layer& layer : {Layer{Isa::kAvx2, 50000}, Layer{Isa::kAvx512, 140000}}) {
    const Result<BuiltKernel> built =
        build_sized_kernel(*sized, *fixed_target(layer.isa), options, nullptr, BuildOutput::kCode);
    REQUIRE(built.ok());
    CHECK(built->kernel.executable->code.size() < layer.most);  // it was 148,072 and 188,152
  }
}

TEST_SUITE_END();

}  // namespace morello
