// SPDX-License-Identifier: MIT
// The interpreter computes what random trees mean, and finds every kind of wrong access.
#include "impl/interpret.hh"

#include <doctest/doctest.h>

#include "../support/compare.hh"
#include "trees.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("impl");

TEST_CASE("random Impl trees are valid and compute their Spec") {
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    Problem problem = random_problem(random);
    problem.fill(random);
    ImplTree tree = random_tree(problem.spec, random, static_cast<int>(seed % 9));
    INFO("seed " << seed << ":\n" << print(tree));
    REQUIRE(validate(tree) == "");
    auto pointers = problem.pointers();
    std::vector<Expected> expected = expect(problem.spec, problem.views, pointers.data());
    auto inputs = problem.data;
    Result<InterpretStats> stats = interpret(tree, problem.views, problem.memory());
    REQUIRE_MESSAGE(stats.ok(), stats.error().message);
    int out = problem.spec.out_index();
    REQUIRE(compare(expected, problem.data[out].data()) == "");
    for (int o = 0; o < out; o++) REQUIRE(problem.data[o] == inputs[o]);
    CHECK(stats->points >= volume(problem.spec));
  }
}

/// The message of an execution that must fail.
std::string failure(const ImplTree& tree, Problem& problem) {
  Result<InterpretStats> stats = interpret(tree, problem.views, problem.memory());
  return stats.ok() ? "it succeeded" : stats.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the interpreter counts what it did") {
  Problem p = matmul(7, 8, 5, Access::kOut);
  Result<InterpretStats> stats =
      interpret(tiled(p.spec, 0, 3, MicrokernelId::kDotProduct), p.views, p.memory());
  REQUIRE(stats.ok());
  CHECK(stats->leaves == 3);
  CHECK(stats->points == 7 * 8 * 5);
  stats = interpret(in_registers(p.spec), p.views, p.memory());
  REQUIRE(stats.ok());
  CHECK(stats->peak_elements[static_cast<int>(Level::kRegister)] == 56);
}

TEST_CASE("the interpreter refuses operands that are too small") {
  Problem p = matmul(4, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  p.data[1].pop_back();
  const std::string message = failure(tree, p);
  CHECK(contains(message, "node 0, muladd"));
  CHECK(contains(message, "operand 1 has element 15 outside of its memory"));
  auto memory = p.memory();
  memory.pop_back();
  CHECK(interpret(tree, p.views, memory).error().status == MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("the interpreter finds accesses outside of an operand") {
  Problem p = matmul(4, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  std::get<Loop>(tree.nodes[0].kind).trips = 3;
  std::string message = failure(tree, p);
  CHECK(contains(message, "node 1, muladd"));
  CHECK(contains(message, "operand 0 is read at element 16 outside of it"));
}

TEST_CASE("the interpreter finds writes between the rows of an output") {
  Problem p = matmul(4, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  p.views[2].dim[0].stride[0] = 5;
  p.data[2].assign(20, 0);
  CHECK(interpret(tree, p.views, p.memory()).ok());
  tree.nodes[1].spec.size[1] = 5;  // one column more than there is
  p.data[1].assign(40, 0);
  CHECK(contains(failure(tree, p), "operand 1 is read at element 16 outside of it"));
  tree.nodes[1].spec.operand[1].dims = 0;
  CHECK(contains(failure(tree, p), "operand 2 is written at element 4 outside of it"));
}

TEST_CASE("the interpreter finds elements that nothing wrote") {
  Problem p = matmul(5, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  ImplTree short_loop = tree;
  short_loop.nodes[0].children.pop_back();
  const std::string message = failure(short_loop, p);
  CHECK(contains(message, "node 0, muladd"));
  CHECK(contains(message, "operand 2 leaves element 16 unwritten"));

  tree.nodes[1].spec.out().access = Access::kInOut;
  CHECK(contains(failure(tree, p), "operand 2 is read at element 0 which nothing wrote before"));

  Problem q = matmul(2, 8, 3, Access::kInOut);
  ImplTree registers = in_registers(q.spec);
  CHECK(interpret(registers, q.views, q.memory()).ok());
  registers.nodes[0].children.erase(registers.nodes[0].children.begin());
  CHECK(contains(failure(registers, q), "which nothing wrote before"));
}

TEST_CASE("the interpreter finds operands of another element type than what they are") {
  Problem p = matmul(4, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  tree.nodes[1].spec.operand[1].dtype = Dtype::kI32;
  const std::string message = failure(tree, p);
  CHECK(contains(message, "node 1, muladd"));
  CHECK(contains(message, "operand 1 has another element type than its memory, at 0"));
}

TEST_CASE("the interpreter finds writes to inputs and bindings to nothing") {
  Problem p = matmul(4, 4, 4, Access::kOut);
  ImplTree tree = tiled(p.spec, 0, 2, MicrokernelId::kDotProduct);
  std::swap(tree.nodes[0].children[0].binding.operand[0],
            tree.nodes[0].children[0].binding.operand[2]);
  CHECK(contains(failure(tree, p), "which nothing wrote before"));
  tree.nodes[1].spec.operand[0].access = Access::kOut;
  CHECK(contains(failure(tree, p), "operand 2 writes element 0 of an input"));
  tree.nodes[0].children[0].binding.operand[1] = new_buffer(0);
  CHECK(contains(failure(tree, p), "that its parent does not have"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
