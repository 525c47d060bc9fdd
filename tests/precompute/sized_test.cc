// SPDX-License-Identifier: MIT
// Tables for run-time sizes: kernels are made of what they have, without a search.
#include <doctest/doctest.h>

#include "../support/folder.hh"
#include "compiler/build_sized.hh"
#include "precompute/precompute.hh"
#include "precomputed.hh"
#include "search/sized_pieces.hh"
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

constexpr const char* kLayer = "matmul f32[?<=40,16] f32[16,24]{*} -> f32[?,24]";
constexpr const char* kSoftmax = "softmax f32[?<=50,40] axis=1";

PieceCount count(const Table& table, const char* text) {
  return count_pieces(*Sized::parse(text),
                      [&](const Spec& spec) { return program(table, spec, avx2()); });
}

std::string code_of(const BuiltKernel& built) {
  const Executable& executable = *built.kernel.executable;
  return {reinterpret_cast<const char*>(executable.code.data()), executable.code.size()};
}

}  // namespace

TEST_SUITE_BEGIN("precompute");

TEST_CASE("a kernel with a run-time size needs no search with a table of its Spec") {
  for (const u64 effort : {kExactEffort, u64{MORELLO_EFFORT_QUICK}})
    for (const u32 processors : {1u, 2u})
      for (const char* text : {kLayer, kSoftmax, "relu f32[?<=300,16]", "exp f32[?<=2]",
                               "h = matmul bf16[?<=20,16] bf16[16,48]{*} -> gelu; "
                               "reshape h shape=?,12,4"}) {
        CAPTURE(effort);
        CAPTURE(processors);
        INFO(std::string(text));
        const Folder folder;
        const Target target = avx2(processors);
        PrecomputeOptions options;
        options.effort = effort;
        const PrecomputeProgress end = run(families_of({text}), folder / "t.mtab", options, target);
        CHECK(!end.cancelled);
        CHECK(end.members == end.saved);
        const Table table = load_table(folder / "t.mtab");
        const Sized sized = *Sized::parse(text);
        CHECK(table.families() == std::vector<std::string>{sized.text()});
        const i32 no_search = 1;
        SearchOptions search;
        search.threads = processors;
        search.effort = effort;
        search.cancel = &no_search;
        const Result<BuiltKernel> kernel =
            build_sized_kernel(sized, target, search, &table, BuildOutput::kCode);
        REQUIRE_MESSAGE(kernel.ok(), kernel.error().message);
        const SolveStats& stats = kernel->report.solving;
        CHECK(stats.table_use == TableUse::kAnswered);
        CHECK(stats.search.states == 0);
        CHECK(stats.search.previews == 0);
        CHECK(stats.search_nanoseconds == 0);
        if (effort != kExactEffort) continue;
        search.cancel = nullptr;
        const Result<BuiltKernel> sought =
            build_sized_kernel(sized, target, search, nullptr, BuildOutput::kCode);
        REQUIRE(sought.ok());
        CHECK(code_of(*kernel) == code_of(*sought));
        CHECK(kernel->kernel.sized->cost == sought->kernel.sized->cost);
        CHECK(kernel->kernel.estimate.optimal);
      }
}

TEST_CASE("of what is missing, only what is asked for in any case is counted") {
  const Folder folder;
  const std::string path = folder / "t.mtab";
  const u64 first = first_pieces(50).size();
  run(families_of({"softmax f32[<=16,40] axis=1", "softmax f32[50,40] axis=1"}), path);
  const PieceCount some = count(load_table(path), kSoftmax);
  CHECK(some.asked == first);
  CHECK(some.found == 17);
  CHECK(some.missing == 24);
  const PrecomputeProgress end = run(families_of({kSoftmax}), path);
  CHECK(end.found == 17);
  const PieceCount all = count(load_table(path), kSoftmax);
  CHECK(all.asked == end.members);
  CHECK(all.found == end.members);
  CHECK(all.missing == 0);
  CHECK(run(families_of({kSoftmax}), path).found == end.members);
  // Without the largest one nobody knows the layout of the others.
  const PieceCount none = count(load_table(path), kLayer);
  CHECK(none.asked == first_pieces(40).size());
  CHECK(none.found == 0);
  CHECK(none.missing == 40);
}

TEST_CASE("run-time sizes and families in one file, the same for any workers, parts and pauses") {
  const Folder folder;
  const std::vector<Family> families =
      families_of({kLayer, "matmul f32[<=9,<=5] f32[<=5,<=8]", "reduce_sum f32[?<=50,40] axis=1",
                   "relu f32[5,100]"});
  const PrecomputeProgress end = run(families, folder / "one.mtab");
  CHECK(end.done == end.members);
  const std::string bytes = bytes_of(folder / "one.mtab");
  for (u32 workers : {2u, 3u}) {
    PrecomputeOptions options;
    options.workers = workers;
    options.save_us = 1000;
    options.memory_bytes = workers == 2 ? 1 : options.memory_bytes;  // a new search for each
    const std::string path = folder / std::to_string(workers);
    run(families, path, options);
    CHECK(bytes_of(path) == bytes);
  }
  PrecomputeOptions part;
  part.parts = 3;
  for (u32 i : {2u, 0u, 1u}) {
    part.part = i;
    run(families, folder / "parts.mtab", part);
  }
  CHECK(bytes_of(folder / "parts.mtab") == bytes);
  const std::vector<Family> backwards(families.rbegin(), families.rend());
  for (const Family& family : backwards) run({family}, folder / "backwards.mtab");
  CHECK(bytes_of(folder / "backwards.mtab") == bytes);
}

TEST_CASE("pieces that were solved before an interruption are kept") {
  const Folder folder;
  const std::vector<Family> families = families_of({kLayer});
  const u64 members = run(families, folder / "one.mtab").members;
  const std::string path = folder / "t.mtab";
  u64 saved = 0;
  int interruptions = 0;
  for (bool done = false; !done && interruptions < 10000;) {
    i32 cancel = 0;
    PrecomputeOptions options;
    options.cancel = &cancel;
    options.progress_us = 100;
    options.progress = [&](const PrecomputeProgress& p) {
      CHECK(p.done <= p.members);
      if (p.found == saved && p.done > p.found) __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    };
    const PrecomputeProgress end = run(families, path, options);
    CHECK(end.found == saved);
    saved += end.saved;
    CHECK(saved == end.done);
    done = !end.cancelled;
    interruptions += end.cancelled;
    const PieceCount now = count(load_table(path), kLayer);
    CHECK(now.found == saved);
    CHECK((now.missing == 0) == done);
  }
  CHECK(saved == members);
  CHECK(bytes_of(path) == bytes_of(folder / "one.mtab"));
}

TEST_CASE("a piece that has no program ends the choice") {
  const Folder folder;
  Target tiny = avx2();
  tiny.vector_registers = 1;
  const PrecomputeProgress end =
      run(families_of({"matmul f32[?<=3,2] f32[2,2]"}), folder / "t.mtab", {}, tiny);
  CHECK(!end.cancelled);
  CHECK(end.members == 1);
  CHECK(end.without_program == 1);
}

TEST_SUITE_END();

}  // namespace morello
