// SPDX-License-Identifier: MIT
// Elementwise stages that read one another's values, of any stage before, in one pass.
#include <doctest/doctest.h>

#include "cost/map_registers.hh"
#include "cost/microkernel.hh"
#include "harness.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"

namespace morello::testing {
namespace {

constexpr Op kOps[] = {Op::kAdd,      Op::kSub,   Op::kMul,    Op::kMax,  Op::kFastMin,
                       Op::kLess,     Op::kEqual, Op::kSelect, Op::kRelu, Op::kNeg,
                       Op::kNotEqual, Op::kAbs,   Op::kSquare, Op::kMin,  Op::kGreaterEqual};

/// Operations whose results have the same bits everywhere, on values of any stage; the last stage
/// reads all that nobody has read.
Spec random_web(Random& random, Dtype dtype) {
  Spec s;
  s.rank = static_cast<u8>(pick(random, 1, 3));
  for (int d = 0; d < s.rank; d++) s.size[d] = pick(random, 2, d + 1 == s.rank ? 40 : 4);
  const int inputs = static_cast<int>(pick(random, 1, 4));
  auto place = [&](int o, DimMask dims, Access access) {
    Layout layout;
    for (u8 d = 0; d < s.rank; d++)
      if (has_dim(dims, d)) layout.append(d);
    s.operand[o] = dense_operand(s, dtype, Level::kMemory, access, dims, layout);
  };
  s.operand_count = static_cast<u8>(inputs + 1);
  for (int o = 0; o < inputs; o++)
    place(o, o == 0 ? s.all_dims() : static_cast<DimMask>(s.all_dims() & pick(random, 0, 7)),
          Access::kIn);
  place(inputs, s.all_dims(), Access::kOut);
  std::vector<Ref> unread;
  int next = 0;
  const int most = static_cast<int>(pick(random, 3, 9));
  while (s.stage_count < most || unread.size() > 1 || next < inputs) {
    if (s.stage_count == kMaxStages) return {};
    Stage& stage = s.stage[s.stage_count];
    stage.dtype = dtype;
    const bool joins = s.stage_count >= most;
    do stage.op = kOps[pick(random, 0, std::size(kOps) - 1)];
    while (joins && elementwise_inputs(stage.op) < 2);
    for (int i = 0; i < elementwise_inputs(stage.op); i++) {
      Ref& in = stage.in[static_cast<size_t>(i)];
      if (next < inputs && (s.stage_count == 0 || chance(random, 40)))
        in = static_cast<Ref>(next++);
      else if (!unread.empty() && (joins || chance(random, 50)))
        in = unread[pick(random, 0, static_cast<u32>(unread.size()) - 1)];
      else if (next > 0 && (s.stage_count == 0 || chance(random, 30)))
        in = static_cast<Ref>(pick(random, 0, static_cast<u32>(next) - 1));
      else if (i > 0 && !reads_constant(stage) && chance(random, 20))
        in = kConstant;
      else
        in = s.stage_count == 0 ? Ref{0}
                                : value_of(static_cast<int>(pick(random, 0, s.stage_count - 1u)));
      std::erase(unread, in);
    }
    if (reads_constant(stage)) stage.constant = bits_of_number(dtype, pick(random, 0, 2));
    unread.push_back(value_of(s.stage_count++));
  }
  s.stage[s.stage_count - 1].out = static_cast<Ref>(inputs);
  return s;
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("webs: values wait in registers while they are needed") {
    int ran = 0;
    for (u32 seed = 1; seed <= 1500; seed++) {
      CAPTURE(seed);
      Random random(seed);
      TypedProblem p;
      p.spec = random_web(random, chance(random, 70) ? Dtype::kF32 : Dtype::kI32);
      if (p.spec.stage_count == 0 || !not_canonical(p.spec).empty() || !is_web(p.spec)) continue;
      for (int o = 0; o < p.spec.operand_count; o++)
        p.views[o] = dense_view(p.spec, p.spec.operand[o]);
      p.fill(random);
      CAPTURE(describe(p.spec));
      for (const Target* target : targets())
        for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap}) {
          if (!microkernel(id).applies(p.spec, *target)) continue;
          if (microkernel(id).registers(p.spec, *target) > target->vector_registers) continue;
          ImplTree tree;
          tree.target = target;
          tree.nodes.push_back({p.spec, Select{static_cast<u16>(id)}, {}, 0, {}});
          const std::string wrong = check_tree(tree, p);
          REQUIRE_MESSAGE(wrong.empty(), wrong);
          ran++;
        }
    }
    CHECK(ran > 1000);
  }
}

}  // namespace morello::testing
