// SPDX-License-Identifier: MIT
// Tables of a Spec and of everything that any rewrites can make of it, not only the cheapest ones.
#include <doctest/doctest.h>

#include "actions/clamp.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "spec/statement.hh"
#include "table/encode.hh"
#include "table/identity.hh"
#include "table/table_builder.hh"
#include "table/walk.hh"

namespace morello {
namespace {

const Target& target() { return *fixed_target(Isa::kAvx2); }

/// The optimal actions of all pairs that actions lead to, those that have a program. The first is
/// that of `root`.
DecidedPairs all_below(const Pair& root) {
  const SpecProblem problem({&target()});
  SpecSearch search(problem);
  SpecSearch::Worker worker(search);
  DecidedPairs decided;
  auto meet = [&](Pair pair) {
    clamp_limits(pair.spec, pair.limits);
    if (decided.find(pair)) return;
    SpecSearch::Solution s;
    const bool solved = search.solve(pair.spec, pair.limits, worker, s);
    // Of some the bound says that there is no program.
    REQUIRE((solved || search.low(pair.spec, pair.limits, worker) >= kInfinite));
    if (solved && s.feasible) decided.add(pair, s.action);
  };
  meet(root);
  ActionList actions;
  for (size_t i = 0; i < decided.size(); i++) {
    const Pair pair = decided[i].key;
    problem.list(pair.spec, pair.limits, actions);
    for (const Action& action : actions) {
      Derivation d;
      if (!problem.preview(pair.spec, pair.limits, action, d)) continue;
      for (int c = 0; c < d.count; c++) meet({d.child[c].spec, d.child[c].limits});
    }
  }
  return decided;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("matmul 4x4x4 with all its dependencies: every pair, in less than two kilobytes") {
    Spec spec = lower(*parse("matmul f32[4,4] f32[4,4]"))->spec;
    spec.serial = true;
    const DecidedPairs all = all_below({spec, limits_of(target())});
    TableBuilder builder(identity_of(target()));
    builder.promise(spec, limits_of(target()));
    for (const auto& [pair, action] : all) builder.add(pair.spec, pair.limits, action);
    const Result<Table> table = builder.build();
    REQUIRE(table.ok());
    for (const auto& [pair, action] : all) CHECK(table->agrees(pair.spec, pair.limits, action));

    const Bytes bytes = encode(table->content());
    MESSAGE(all.size() << " pairs in " << table->boxes() << " boxes, " << bytes.size() << " bytes");
    CHECK(all.size() > 10000);
    CHECK(bytes.size() < 2048);
    const Result<TableContent> again = decode(bytes);
    REQUIRE(again.ok());
    CHECK(*again == table->content());
  }
}

}  // namespace morello
