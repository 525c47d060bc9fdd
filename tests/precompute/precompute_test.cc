// SPDX-License-Identifier: MIT
// Precomputing families: the same file whoever solves what, in which order, and however often it is
// interrupted.
#include "precompute/precompute.hh"

#include <doctest/doctest.h>

#include <set>

#include "../support/folder.hh"
#include "precompute/regions.hh"
#include "precomputed.hh"
#include "search/synthesize.hh"
#include "table/file.hh"
#include "table/identity.hh"
#include "table/walk.hh"

namespace morello {
namespace {

using testing::avx2;
using testing::bytes_of;
using testing::families_of;
using testing::Folder;
using testing::load_table;
using testing::run;

/// Large enough for several regions of each, with a fixed size, a step and a Spec without bounds.
std::vector<Family> small_families() {
  return families_of({"matmul f32[<=9,<=5] f32[<=5,<=8]",
                      "matmul f32[<=6,48] f32[48,<=12] + bias f32[<=12] -> relu",
                      "transpose f32[<=24,7]", "relu f32[5,100]"});
}

Spec spec_of(std::string_view text) { return lower(*parse(text))->spec; }

}  // namespace

TEST_SUITE_BEGIN("precompute");

TEST_CASE("the copies that free layouts need are promised too") {
  const Folder folder;
  const std::string path = folder / "t.mtab";
  const PrecomputeProgress end = run(families_of({"matmul f32[<=6,24] f32[24,48]{*}"}), path);
  CHECK(end.saved == end.members);
  const Table table = load_table(path);
  const Target target = avx2();
  const auto tree = program(table, spec_of("matmul f32[6,24] f32[24,48]{*} -> f32[6,48]"), target);
  REQUIRE(tree);
  const std::vector<PackMove> packs = pack_moves(*tree);
  REQUIRE(packs.size() == 1);
  CHECK(program(table, packs[0].spec, target));
}

TEST_CASE("regions have every member once, the smallest first") {
  const std::vector<Family> families = small_families();
  const std::vector<Region> regions = regions_of(families);
  std::vector<std::set<std::vector<u32>>> seen(families.size());
  u64 members = 0;
  for (const Region& region : regions) {
    u64 count = 0;
    each_member(region, [&](std::span<const u32> at) {
      CHECK(seen[region.family].emplace(at.begin(), at.end()).second);
      count++;
      return true;
    });
    CHECK(count == members_of(region));
    CHECK(count <= 64);
    members += count;
  }
  u64 expected = 0;
  for (const Family& family : families) expected += family.members();
  CHECK(members == expected);
  for (u32 part = 0; part < 3; part++)
    members -= [&] {
      u64 count = 0;
      for (const Region& region : regions_of(families, part, 3)) count += members_of(region);
      return count;
    }();
  CHECK(members == 0);
  CHECK(regions_of(families, 999, 1000).empty());
}

TEST_CASE("a precomputed table has the program that a search finds") {
  for (u32 processors : {1u, 2u}) {
    CAPTURE(processors);
    Folder folder;
    const Target target = avx2(processors);
    const std::vector<Family> families = small_families();
    const PrecomputeProgress end = run(families, folder / "t.mtab", {}, target);
    CHECK(!end.cancelled);
    CHECK(end.done == end.members);
    CHECK(end.saved == end.members);
    CHECK(end.found == 0);
    const Table table = load_table(folder / "t.mtab");
    CHECK(table.families().size() == families.size());
    const Result<DecidedPairs> pairs = decided_pairs(table, target);
    REQUIRE(pairs.ok());
    CHECK(pairs->size() == end.pairs);
    CHECK(table.boxes() == end.boxes);
    SearchOptions options;
    options.threads = processors;
    for (const char* text : {"matmul f32[9,5] f32[5,8]", "matmul f32[1,1] f32[1,1]",
                             "matmul f32[5,48] f32[48,12] + f32[12] -> relu", "transpose f32[13,7]",
                             "relu f32[500]"}) {
      INFO(std::string(text));
      const std::optional<ImplTree> found = program(table, spec_of(text), target);
      REQUIRE(found);
      const Result<ImplTree> sought = synthesize(spec_of(text), target, options, nullptr);
      REQUIRE(sought.ok());
      CHECK(print(*found) == print(*sought));
    }
    CHECK(!covers(table, spec_of("matmul f32[9,6] f32[6,8]"), target));
  }
}

TEST_CASE("equal files for any number of workers, parts and searches, in any order") {
  Folder folder;
  const std::vector<Family> families = small_families();
  run(families, folder / "one.mtab");
  const std::string bytes = bytes_of(folder / "one.mtab");
  for (u32 workers : {2u, 3u}) {
    PrecomputeOptions options;
    options.workers = workers;
    options.save_us = 1000;  // many saves
    const std::string path = folder / std::to_string(workers) + ".mtab";
    run(families, path, options);
    CHECK_MESSAGE(bytes_of(path) == bytes, workers);
  }
  PrecomputeOptions forgetful;
  forgetful.memory_bytes = 1;  // a new search for every member
  forgetful.workers = 2;
  run(families, folder / "forgetful.mtab", forgetful);
  CHECK(bytes_of(folder / "forgetful.mtab") == bytes);
  PrecomputeOptions part;
  part.parts = 5;
  for (u32 i : {3u, 0u, 4u, 1u, 2u, 4u}) {
    part.part = i;
    run(families, folder / "parts.mtab", part);
  }
  CHECK(bytes_of(folder / "parts.mtab") == bytes);
  std::vector<Family> backwards(families.rbegin(), families.rend());
  run(backwards, folder / "backwards.mtab");
  CHECK(bytes_of(folder / "backwards.mtab") == bytes);
}

TEST_CASE("parts that were solved into files of their own merge into the same table") {
  Folder folder;
  const std::vector<Family> families = small_families();
  run(families, folder / "one.mtab");
  PrecomputeOptions part;
  part.parts = 3;
  std::optional<Table> all;
  for (u32 i : {2u, 0u, 1u}) {
    part.part = i;
    const std::string path = folder / std::to_string(i);
    run(families, path, part);
    Table table = load_table(path);
    if (!all) {
      all.emplace(std::move(table));
      continue;
    }
    Result<Table> merged = merge(*all, table, avx2());
    REQUIRE(merged.ok());
    all.emplace(std::move(*merged));
  }
  REQUIRE(!save(folder / "merged.mtab", all->content()));
  CHECK(bytes_of(folder / "merged.mtab") == bytes_of(folder / "one.mtab"));
}

TEST_CASE("an interrupted precompute keeps what it has and goes on later") {
  Folder folder;
  const std::vector<Family> families = small_families();
  run(families, folder / "one.mtab");
  const std::string path = folder / "t.mtab";
  u64 saved = 0;
  int interruptions = 0;
  for (bool done = false; !done && interruptions < 10000;) {
    i32 cancel = 0;
    PrecomputeOptions options;
    options.workers = 2;
    options.cancel = &cancel;
    options.progress_us = 500;
    options.progress = [&](const PrecomputeProgress& p) {
      CHECK(p.found <= p.done);
      // Not before all are found: one worker may be far ahead of what the other one finds.
      if (p.found == saved && p.done - p.found >= 100)
        __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    };
    const PrecomputeProgress end = run(families, path, options);
    CHECK(end.found == saved);
    saved += end.saved;
    CHECK(saved == end.done);
    done = !end.cancelled;
    interruptions += end.cancelled;
    if (!done) CHECK(decided_pairs(load_table(path), avx2()).ok());
  }
  CHECK(saved == run(families, path).found);
  CHECK(bytes_of(path) == bytes_of(folder / "one.mtab"));
}

TEST_CASE("a precompute that is cancelled at once solves nothing") {
  Folder folder;
  const i32 cancel = 1;
  PrecomputeOptions options;
  options.cancel = &cancel;
  const PrecomputeProgress end = run(small_families(), folder / "t.mtab", options);
  CHECK(end.cancelled);
  CHECK(end.done == 0);
}

TEST_CASE("families add to what a file has") {
  Folder folder;
  const std::vector<Family> families = small_families();
  run(families, folder / "one.mtab");
  for (const Family& family : families) run({family}, folder / "t.mtab");
  CHECK(bytes_of(folder / "t.mtab") == bytes_of(folder / "one.mtab"));
}

TEST_CASE("several targets in one file, in any order") {
  Folder folder;
  const std::vector<Family> families = families_of({"relu f32[<=16]"});
  run(families, folder / "a", {}, avx2(2));
  run(families, folder / "a", {}, avx2());
  run(families, folder / "a", {}, *fixed_target(Isa::kAvx512));
  run(families, folder / "b", {}, *fixed_target(Isa::kAvx512));
  run(families, folder / "b", {}, avx2());
  run(families, folder / "b", {}, avx2(2));
  CHECK(bytes_of(folder / "a") == bytes_of(folder / "b"));
  CHECK(run(families, folder / "a", {}, avx2()).found == 16);
}

TEST_CASE("a file that is no table of this library is left alone") {
  Folder folder;
  const std::vector<Family> families = families_of({"relu f32[<=16]"});
  const std::string path = folder / "t.mtab";
  TableContent old{identity_of(avx2()), {}, {}, {}};
  old.identity.action_fingerprint++;
  REQUIRE(!save(path, old));
  const std::string bytes = bytes_of(path);
  const Result<PrecomputeProgress> other = precompute(families, avx2(), path, {});
  REQUIRE(!other.ok());
  CHECK(other.error().status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(bytes_of(path) == bytes);
  const Result<PrecomputeProgress> nowhere =
      precompute(families, avx2(), folder / "no" + "/t.mtab", {});
  REQUIRE(!nowhere.ok());
  CHECK(nowhere.error().status == MORELLO_IO_ERROR);
}

TEST_CASE("a family of too many members is refused") {
  Folder folder;
  const Result<PrecomputeProgress> end =
      precompute(families_of({"fill 0 -> f32[<=16,<=16,<=16,<=16,<=16,<=16]", "relu f32[2]"}),
                 avx2(), folder / "t.mtab", {});
  CHECK(end.ok() == false);
  if (!end.ok()) CHECK(end.error().status == MORELLO_UNSUPPORTED);
}

TEST_SUITE_END();

}  // namespace morello
