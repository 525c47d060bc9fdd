// SPDX-License-Identifier: MIT
// Machine code of random programs, good and bad, against the interpreter's run of the same Impl
// tree and an independent evaluation.
#include <doctest/doctest.h>

#include "../support/random_tree.hh"
#include "codegen/emit.hh"
#include "impl/interpret.hh"
#include "random_program.hh"
#include "rounds.hh"
#include "runtime/code_memory.hh"
#include "trial.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

/// What is wrong with the tree, as the interpreter runs it and as code.
std::string check_program(const ImplTree& tree, const Views& views, const Trial& trial) {
  if (std::string wrong = validate(tree); !wrong.empty()) return "invalid: " + wrong;
  auto data = trial.data;
  std::vector<OperandMemory> memory;
  for (int o = 0; o < trial.operand_count; o++) memory.push_back({data[o].data(), data[o].size()});
  Result<InterpretStats> stats = interpret(tree, views, memory);
  if (!stats) return "interpreter: " + stats.error().message;
  std::string wrong = compare(trial.expected, data[trial.operand_count - 1].data());
  if (!wrong.empty()) return "interpreter: " + wrong;

  Result<Plan> plan = make_plan(tree, views);
  if (!plan) return "plan: " + plan.error().message;
  Result<Code> code = emit(*plan, *tree.target);
  if (!code) return "emitter: " + code.error().message + "\n" + print(*plan);
  Result<CodeMemory> program = CodeMemory::make(code->bytes);
  if (!program) return "code memory: " + program.error().message;
  Call call;
  call.function = reinterpret_cast<morello_kernel_fn>(reinterpret_cast<uintptr_t>(program->data()) +
                                                      code->entry);
  call.scratch_bytes = plan->scratch_bytes();
  ReverseExecutor reverse;
  call.executor = reverse.get();
  for (Guarded::Side side : {Guarded::Side::kEnd, Guarded::Side::kStart}) {
    wrong = run(trial, call, side);
    wrong += reverse.wrong();
    if (!wrong.empty()) return "code: " + wrong + "\n" + print(*plan);
  }
  return "";
}

std::string check_random_program(u64 seed, const Target& target) {
  std::mt19937_64 random(seed);
  Random shape(static_cast<u32>(seed));
  Problem problem = random_problem(shape, seed % 2 ? 19 : 70);
  Trial trial;
  trial.operand_count = problem.spec.operand_count;
  for (int o = 0; o < trial.operand_count; o++) {
    fill(problem.data[o], Values::kUniform, random);
    trial.data[o] = problem.data[o];
  }
  auto pointers = problem.pointers();
  trial.expected = expect(problem.spec, problem.views, pointers.data());
  u32 threads = seed % 3 == 0 ? 2 : 1;
  Target machine = with_machine(target, 0, 0, threads);
  std::optional<ImplTree> tree = random_program(problem.spec, machine, threads, random);
  if (!tree) return "";
  std::string wrong = check_program(*tree, problem.views, trial);
  return wrong.empty() ? "" : wrong + "\n" + print(*tree);
}

TEST_CASE("random programs run as interpreted") {
  for (morello_isa isa : usable_isas()) {
    for (u64 seed : seeds(1500)) {
      set_note("program", seed, isa);
      std::string wrong = check_random_program(seed, *fixed_target(static_cast<Isa>(isa)));
      REQUIRE_MESSAGE(wrong == "", repeat_command("random programs run as interpreted", seed, isa));
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
