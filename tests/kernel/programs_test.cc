// SPDX-License-Identifier: MIT
// Machine code of random programs, good and bad, against the interpreter's run of the same Impl
// tree and an independent evaluation.
#include <doctest/doctest.h>

#include "../support/random_statement.hh"
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
  const Spec& spec = tree.nodes[0].spec;
  for (int o = 0; o < trial.operand_count; o++)
    memory.push_back({data[o].data(), data[o].size() / size_of(spec.operand[o].dtype)});
  Result<InterpretStats> stats = interpret(tree, views, memory);
  if (!stats) return "interpreter: " + stats.error().message;
  std::string wrong = compare(trial.expected, trial.dtype, data[trial.operand_count - 1].data());
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

/// A Spec with data for its operands, and what must come out.
struct Subject {
  Spec spec;
  Views views;
  Trial trial;
};

Subject random_subject(u64 seed, const Target& target, bool mixed, std::mt19937_64& random) {
  Subject s;
  Values values = Values::kUniform;
  if (seed % 2 && !mixed) {
    Random shape(static_cast<u32>(seed));
    Problem problem = random_problem(shape, seed % 4 == 1 ? 19 : 70);
    s.spec = problem.spec;
    s.views = problem.views;
    for (int o = 0; o < s.spec.operand_count; o++)
      s.trial.data[o].resize(problem.data[o].size() * sizeof(float));
  } else {
    RandomStatementOptions options;
    options.max_flops = 1 << 17;
    options.other_dtypes = mixed;
    Lowered lowered = *lower(random_statement(random, options));
    s.spec = lowered.spec;
    s.views = lowered.view;
    for (int o = 0; o < s.spec.operand_count; o++) s.trial.data[o].resize(lowered.bytes[o]);
    if (seed % 4 == 0 && !is_reduction(s.spec.stage[0])) values = Values::kSpecial;
  }
  s.trial.operand_count = s.spec.operand_count;
  s.trial.dtype = s.spec.out().dtype;
  std::array<const void*, kMaxOperands> pointers{};
  for (int o = 0; o < s.spec.operand_count; o++) pointers[o] = s.trial.data[o].data();
  fill(s.trial, s.spec, values, random);
  s.trial.expected = expect(s.spec, s.views, pointers.data(), denormals_of(target));
  return s;
}

/// "" if right, or if the walk came to a dead end, which `dead_ends` counts.
std::string check_random_program(u64 seed, const Target& target, bool mixed, u64& dead_ends) {
  std::mt19937_64 random(seed);
  Subject subject = random_subject(seed, target, mixed, random);
  u32 threads = seed % 3 == 0 ? 2 : 1;
  Target machine = with_machine(target, 0, 0, threads);
  std::optional<ImplTree> tree = random_program(subject.spec, machine, threads, random);
  dead_ends += !tree;
  if (!tree) return "";
  std::string wrong = check_program(*tree, subject.views, subject.trial);
  return wrong.empty() ? "" : wrong + "\n" + print(*tree);
}

void check_random_programs(u64 count, bool mixed, const char* test) {
  for (morello_isa isa : mixed ? all_usable_isas() : usable_isas()) {
    u64 dead_ends = 0;
    std::vector<u64> all = seeds(count);
    for (u64 seed : all) {
      set_note(test, seed, isa);
      std::string wrong =
          check_random_program(seed, *fixed_target(static_cast<Isa>(isa)), mixed, dead_ends);
      REQUIRE_MESSAGE(wrong == "", repeat_command(test, seed, isa));
    }
    CHECK(10 * dead_ends <= all.size());
  }
}

TEST_CASE("random programs") { check_random_programs(4000, false, "random programs"); }

// Reports and does not fail until free layouts in groups are planned ("spans several blocks").
TEST_CASE("random programs of mixed element types" * doctest::may_fail()) {
  check_random_programs(1200, true, "random programs of mixed element types");
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
