// SPDX-License-Identifier: MIT
// Chains and reductions of mixed element types: every microkernel that computes one, and whole
// trees, against evaluate(), bit by bit.
#include <doctest/doctest.h>

#include <set>

#include "cost/microkernel.hh"
#include "harness.hh"

namespace morello::testing {
namespace {

void check(const ImplTree& tree, const TypedProblem& p) {
  CAPTURE(describe(tree.nodes[0].spec));
  CAPTURE(tree.target->name);
  const std::string wrong = check_tree(tree, p);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("element types: every microkernel") {
    std::set<std::pair<MicrokernelId, Dtype>> loaded, stored;
    for (u32 seed = 0; seed < 6000; seed++) {
      CAPTURE(seed);
      Random random(seed);
      const TypedProblem p = random_typed_problem(random, chance(random, 20) ? 70 : 19);
      for (const Target* target : targets())
        for (const Microkernel* m : microkernels()) {
          if (!m->applies(p.spec, *target)) continue;
          if (m->registers(p.spec, *target) > target->vector_registers) continue;
          ImplTree tree;
          tree.target = target;
          tree.nodes.push_back({p.spec, Select{static_cast<u16>(m->id)}, {}, 0, {}});
          check(tree, p);
          for (int o = 0; o < p.spec.operand_count; o++)
            (o == p.spec.out_index() ? stored : loaded).insert({m->id, p.spec.operand[o].dtype});
        }
    }
    for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap,
                             MicrokernelId::kReduceLanes, MicrokernelId::kScalarReduce})
      for (Dtype dtype : kAllDtypes) {
        CAPTURE(name_of(id));
        CAPTURE(name_of(dtype));
        CHECK(loaded.contains({id, dtype}));
        CHECK(stored.contains({id, dtype}));
      }
  }

  TEST_CASE("element types: random trees") {
    int ran = 0;
    for (u32 seed = 0; seed < 6000; seed++) {
      CAPTURE(seed);
      Random random(seed);
      const TypedProblem p = random_typed_problem(random);
      ImplTree tree = random_tree(p.spec, random, static_cast<int>(pick(random, 1, 6)));
      for (const Target* target : targets()) {
        tree.target = target;
        if (!select_leaves(tree, 0, 0, random)) continue;
        check(tree, p);
        ran++;
      }
    }
    CHECK(ran > 1000);
  }
}

}  // namespace morello::testing
