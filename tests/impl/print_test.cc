// SPDX-License-Identifier: MIT
// The text of Impl trees.
#include <doctest/doctest.h>

#include "trees.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("impl");

TEST_CASE("a loop is printed with its trips, costs and peaks") {
  ImplTree tree = tiled(matmul(7, 8, 5, Access::kOut).spec, 0, 3, MicrokernelId::kDotProduct);
  tree.nodes[0].peaks.at(Level::kRegister) = 5;
  tree.nodes[0].peaks.at(Level::kL1) = code_at_least(20);
  CHECK(print(tree) ==
        R"(target avx2, machine generic-x86-64
  cycles      own reg  L1 KiB  L2 KiB  program
      33        3   5     1.2     0.0  tile m by 3, 2 trips + rest 1: muladd m7 n8 k5 [m,k]mem [k,n]mem -> [m,n]mem
      10       10   0     0.0     0.0    select dot_product: muladd m3 n8 k5 [m,k]mem [k,n]mem -> [m,n]mem
      10       10   0     0.0     0.0    rest select dot_product: muladd n8 k5 [k]mem [k,n]mem -> [n]mem
)");
}

TEST_CASE("a node with two parents is printed once") {
  ImplTree tree = in_registers(matmul(2, 8, 3, Access::kInOut).spec);
  tree.nodes[0].children[2].node = 1;
  tree.nodes.pop_back();
  CHECK(print(tree) ==
        R"(target avx2, machine generic-x86-64
  cycles      own reg  L1 KiB  L2 KiB  program
      31        1   0     0.0     0.0  move operand 2 to registers: muladd m2 n8 k3 [m,k]mem [k,n]mem += [m,n]mem
      10       10   0     0.0     0.0    in #1 select map: copy m2 n8 [m,n]mem -> [m,n]reg
      10       10   0     0.0     0.0    select outer_product: muladd m2 n8 k3 [m,k]mem [k,n]mem += [m,n]reg
                                         out as #1
)");
}

TEST_CASE("decisions are printed in words") {
  Problem p = matmul(64, 96, 32, Access::kOut);
  ImplTree tree;
  Spec free = p.spec;
  free.operand[1].free_layout = true;
  Operand panels = free.operand[1];
  panels.free_layout = false;
  panels.layout = layout_in_order(std::array{1, 2});
  panels.layout.append(1, 16);
  panels =
      dense_operand(free, Dtype::kF32, Level::kMemory, Access::kIn, panels.dims, panels.layout);
  Spec packed = free;
  packed.operand[1] = panels;
  forget_pitch(packed.operand[1]);
  Spec near = packed;
  near.operand[1].level = Level::kL2;
  Binding same = identity_binding();
  tree.nodes = {{free, Choose{1, panels}, {{1, same}}, 16 * 12345678, {}},
                {packed, Move{1, true, near.operand[1]}, {{2, same}}, 16 * 12345678, {}},
                leaf(near, static_cast<MicrokernelId>(77))};
  REQUIRE(validate(tree).find("microkernel that does not exist") != std::string::npos);
  CHECK(print(tree) ==
        R"(  cycles      own reg  L1 KiB  L2 KiB  program
  1.23e7        0   0     0.0     0.0  choose operand 1 as [n,k; 16 n]mem: muladd m64 n96 k32 [m,k]mem [k,n]*mem -> [m,n]mem
  1.23e7   1.23e7   0     0.0     0.0    keep operand 1 in L2: muladd m64 n96 k32 [m,k]mem [n,k; 16 n]mem -> [m,n]mem
      10       10   0     0.0     0.0      select 77: muladd m64 n96 k32 [m,k]mem [n,k; 16 n]L2 -> [m,n]mem
)");
}

TEST_CASE("dimensions without roles are numbered") {
  Spec s;
  s.rank = 2;
  s.size = {3, 4};
  s.operand_count = 1;
  s.stage_count = 1;
  set_stages(s, {stage_of_op(Op::kFill)});
  s.operand[0] = dense_operand(s, Dtype::kF32, Level::kMemory, Access::kOut, 3,
                               layout_in_order(std::array{0, 1}));
  ImplTree tree;
  tree.nodes = {leaf(s, MicrokernelId::kMap)};
  CHECK(print(tree).find("select map: fill d0:3 d1:4 -> [d0,d1]mem\n") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
