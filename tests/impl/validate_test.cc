// SPDX-License-Identifier: MIT
// validate() accepts good trees (random ones: interpret_test) and names what is wrong with others.
#include <doctest/doctest.h>

#include <functional>

#include "trees.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("impl");

struct Defect {
  const char* expected;  // in the message
  std::function<void(ImplTree&)> make;
};

void check_defects(const ImplTree& good, std::initializer_list<Defect> defects) {
  REQUIRE(validate(good) == "");
  for (const Defect& defect : defects) {
    ImplTree tree = good;
    defect.make(tree);
    std::string message = validate(tree);
    INFO("expected: " << defect.expected << "\nmessage: " << message);
    CHECK(message.find(defect.expected) != std::string::npos);
    CHECK(message.find("node ") == 0);
  }
}

TEST_CASE("validate finds wrong loops") {
  ImplTree tree = tiled(matmul(7, 8, 5, Access::kOut).spec, 0, 3, MicrokernelId::kDotProduct);
  auto loop = [](ImplTree& t) -> Loop& { return std::get<Loop>(t.nodes[0].kind); };
  check_defects(
      tree,
      {{"does not fit its dimension", [&](ImplTree& t) { loop(t).dim = 3; }},
       {"does not fit its dimension", [&](ImplTree& t) { loop(t).tile = 7; }},
       {"does not cover", [&](ImplTree& t) { loop(t).trips = 1; }},
       {"wrong number of children", [](ImplTree& t) { t.nodes[0].children.pop_back(); }},
       {"operand 2, which is in registers",
        [](ImplTree& t) { t.nodes[0].spec.out().level = Level::kRegister; }},
       {"starts inside a panel",
        [](ImplTree& t) { t.nodes[0].spec.operand[0].layout.append(0, 2); }},
       {"should compute",
        [&](ImplTree& t) {
          loop(t).dim = 1;
          loop(t).trips = 2;
          loop(t).tile = 3;
        }},
       {"should compute", [](ImplTree& t) { t.nodes[2].spec.size[0] = 9; }},
       {"may be parallel", [&](ImplTree& t) { loop(t).parallel = true; }},
       {"may be parallel", [](ImplTree& t) { t.nodes[0].spec.serial = true; }},
       {"splits a reduction",
        [&](ImplTree& t) {
          loop(t).dim = 2;
          loop(t).trips = 1;
        }},
       {"is no later node", [](ImplTree& t) { t.nodes[0].children[0].node = 0; }},
       {"is no later node", [](ImplTree& t) { t.nodes[0].children[1].node = 3; }},
       {"wrong dimensions", [](ImplTree& t) { t.nodes[0].children[0].binding.dim[1] = 0; }},
       {"wrong operands", [](ImplTree& t) { t.nodes[0].children[0].binding.operand[0] = 3; }},
       {"wrong operands",
        [](ImplTree& t) { t.nodes[0].children[0].binding.operand[0] = new_buffer(0); }},
       {"one operand twice", [](ImplTree& t) { t.nodes[0].children[0].binding.operand[0] = 1; }},
       {"costs more", [](ImplTree& t) { t.nodes[1].cost = 1000000; }},
       {"more memory", [](ImplTree& t) { t.nodes[1].peaks.at(Level::kL1) = 9; }},
       {"does not exist", [](ImplTree& t) { t.nodes[1].kind = Select{99}; }},
       {"a leaf has children",
        [](ImplTree& t) {
          t.nodes[1].children = {{2, identity_binding()}};
          t.nodes[1].children[0].binding.dim = {0, 1, 2, 0, 0, 0};
        }},
       {"has no parent", [](ImplTree& t) { t.nodes.push_back(t.nodes[1]); }}});
  CHECK(validate(ImplTree{}) == "the tree has no node");
}

TEST_CASE("validate finds wrong moves") {
  ImplTree tree = in_registers(matmul(2, 8, 3, Access::kInOut).spec);
  auto move = [](ImplTree& t) -> Move& { return std::get<Move>(t.nodes[0].kind); };
  check_defects(
      tree,
      {{"does not exist", [&](ImplTree& t) { move(t).operand = 3; }},
       {"another access", [&](ImplTree& t) { move(t).placed.access = Access::kOut; }},
       {"wrong number of children", [](ImplTree& t) { t.nodes[0].children.pop_back(); }},
       {"should compute", [](ImplTree& t) { t.nodes[2].spec.out().level = Level::kL1; }},
       {"should compute", [](ImplTree& t) { std::swap(t.nodes[1].spec, t.nodes[3].spec); }},
       {"another layout",
        [&](ImplTree& t) {
          std::swap(move(t).placed.layout.dim[0], move(t).placed.layout.dim[1]);
        }},
       {"writes an input", [](ImplTree& t) { t.nodes[0].children[2].binding.operand[1] = 0; }}});
}

/// Operand 0 as its body sees it: at L1, in a buffer, or where it is.
ImplTree moved(const Spec& spec, bool view) {
  ImplTree tree;
  tree.target = fixed_target(Isa::kAvx2);
  Operand placed = spec.operand[0];
  placed.level = Level::kL1;
  Spec body = spec;
  body.operand[0] = placed;
  forget_pitch(body.operand[0]);
  Binding copy, same = identity_binding();
  if (!view) same.operand[0] = new_buffer(0);
  tree.nodes = {{spec, Move{0, view, placed}, {{1, same}}, 500, {}},
                leaf(body, MicrokernelId::kDotProduct)};
  if (view) return tree;
  tree.nodes.push_back(leaf(move_spec(spec, 0, placed, true, &copy), MicrokernelId::kMap));
  tree.nodes[0].children.insert(tree.nodes[0].children.begin(), {2, copy});
  return tree;
}

TEST_CASE("validate finds wrong views and buffers") {
  const Spec spec = matmul(4, 8, 3, Access::kOut).spec;
  auto from = [](ImplTree& t) -> Operand& { return t.nodes[0].spec.operand[0]; };
  auto to = [](ImplTree& t) -> Operand& { return std::get<Move>(t.nodes[0].kind).placed; };
  check_defects(moved(spec, true),
                {{"more than the level", [&](ImplTree& t) { to(t).level = Level::kMemory; }},
                 {"more than the level", [&](ImplTree& t) { to(t).contig--; }},
                 {"should compute", [](ImplTree& t) { t.nodes[1].spec.operand[0].contig--; }},
                 {"another access", [&](ImplTree& t) { to(t).dims = 0b11; }},
                 {"another access", [&](ImplTree& t) { from(t).free_layout = true; }},
                 {"another access", [&](ImplTree& t) { to(t).free_layout = true; }},
                 {"another access", [&](ImplTree& t) { to(t).windows = 1; }}});
  check_defects(
      moved(spec, false),
      {{"farther level",
        [&](ImplTree& t) { to(t).level = Level::kMemory, from(t).level = Level::kL2; }},
       {"input is moved to registers", [&](ImplTree& t) { to(t).level = Level::kRegister; }},
       {"is not dense", [&](ImplTree& t) { to(t).contig--; }},
       {"should compute", [](ImplTree& t) { t.nodes[2].spec.size[0]--; }},
       {"wrong number of children", [](ImplTree& t) { t.nodes[0].children.pop_back(); }}});
}

TEST_CASE("validate finds wrong blocks") {
  ImplTree tree;
  Problem p = matmul(3, 4, 5, Access::kOut);
  Spec fill;
  fill.rank = 2;
  fill.size = {3, 4};
  fill.operand_count = 1;
  set_stages(fill, {stage_of_op(Op::kFill)});
  fill.operand[0] = p.spec.out();
  Binding binding = identity_binding();
  binding.operand[0] = 2;
  Spec sum = p.spec;
  sum.out().access = Access::kInOut;
  tree.nodes = {{p.spec, Block{}, {{1, binding}, {2, identity_binding()}}, 400, {}},
                leaf(fill, MicrokernelId::kMap),
                leaf(sum, MicrokernelId::kDotProduct)};
  check_defects(
      tree, {{"before it is written",
              [](ImplTree& t) { std::swap(t.nodes[0].children[0], t.nodes[0].children[1]); }},
             {"fewer than two",
              [](ImplTree& t) {
                t.nodes[0].children.pop_back();
                t.nodes.pop_back();
              }},
             {"other sizes", [](ImplTree& t) { t.nodes[1].spec.size[0] = 2; }},
             {"something else", [](ImplTree& t) { t.nodes[1].spec.stage[0].constant = 1; }},
             {"something else", [](ImplTree& t) { t.nodes[2].spec.stage[0].op = Op::kMul; }},
             {"something else",
              [](ImplTree& t) {
                std::swap(t.nodes[2].spec.stage[0].in[0], t.nodes[2].spec.stage[0].in[1]);
              }},
             {"differently", [](ImplTree& t) { t.nodes[1].spec.out().level = Level::kL2; }},
             {"something else", [](ImplTree& t) { t.nodes[0].spec.out().access = Access::kInOut; }},
             {"uses the buffer", [&](ImplTree& t) {
                t.nodes[0].kind = Block{1, {t.nodes[0].spec.out()}};
              }}});
}

TEST_CASE("validate compares what is filled with") {
  Spec spec;  // o0 = relu(3)
  spec.rank = 1;
  spec.size[0] = 4;
  spec.operand_count = 1;
  set_stages(spec, {stage_of_op(Op::kFill), stage_of_op(Op::kRelu, kPrevious)});
  spec.stage[0].constant = bits_of(3);
  spec.operand[0] = dense_operand(spec, Dtype::kF32, Level::kMemory, Access::kOut, 1,
                                  layout_in_order(std::array<u8, 1>{0}));
  Spec fill = spec, relu = spec;
  set_stages(fill, {stage_of_op(Op::kFill)});
  fill.stage[0].constant = bits_of(3);
  set_stages(relu, {stage_of_op(Op::kRelu, 0)});
  relu.operand[0].access = Access::kInOut;
  ImplTree tree;
  tree.target = fixed_target(Isa::kAvx2);
  tree.nodes = {{spec, Block{}, {{1, identity_binding()}, {2, identity_binding()}}, 400, {}},
                leaf(fill, MicrokernelId::kMap),
                leaf(relu, MicrokernelId::kMap)};
  check_defects(tree,
                {{"something else", [](ImplTree& t) { t.nodes[1].spec.stage[0].constant = 0; }}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
