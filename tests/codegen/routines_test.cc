// SPDX-License-Identifier: MIT
// Plans: what a program repeats is emitted once, and what it reads from memory is asked for ahead.
#include "codegen/routines.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/emit.hh"
#include "codegen/nest.hh"
#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "harness.hh"

namespace morello {
namespace {

using testing::plan_of;

/// Bit o: some microkernel asks for operand o of the kernel ahead, as it reads it or for a copy.
/// What the first adds is some steps of a loop of its function, and no more than one if a step is
/// 64 lines or the loop has few trips.
u32 asked_ahead(const Plan& plan) {
  struct Step {
    CursorId cursor;
    i64 bytes;
    u64 trips;
  };
  u32 asked = 0;
  const PlanFunction& kernel = plan.functions[0];
  const auto find = [&](const auto& self, const std::vector<PlanId>& list, std::vector<Step> steps,
                        const std::vector<Cursor>& at) -> void {
    for (PlanId id : list) {
      const PlanNode& node = plan.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        std::vector<Step> inside = steps;
        for (const CursorStep& s : loop->steps) inside.push_back({s.cursor, s.bytes, loop->trips});
        self(self, loop->body, inside, at);
        self(self, loop->rest, steps, at);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        std::vector<Cursor> arguments;
        for (CursorId c : invoke->cursors) arguments.push_back(at[c]);
        const PlanFunction& routine = plan.functions[invoke->function];
        std::vector<Cursor> inner = routine.cursors;
        for (Cursor& c : inner)
          if (c.base == Cursor::Base::kArgument) c = arguments[c.value];
        self(self, routine.body, {}, inner);
      } else if (const auto* call = std::get_if<PlanCall>(&node)) {
        if (call->ask.rows != 0) asked |= 1u << at[call->ask.cursor].value;
        for (int o = 0; o < call->spec.operand_count; o++) {
          const PlanOperand& x = call->operand[o];
          if (x.ahead == 0) continue;
          CHECK(at[x.cursor].base == Cursor::Base::kOperand);
          asked |= 1u << at[x.cursor].value;
          if (&at == &kernel.cursors)
            CHECK(std::any_of(steps.begin(), steps.end(), [&](const Step& s) {
              if (s.cursor != x.cursor || x.ahead % s.bytes != 0) return false;
              const u64 trips = static_cast<u64>(x.ahead / s.bytes);
              const u64 lines = footprint(call->spec, call->spec.operand[o]).lines;
              return trips == 1 || (trips * 16 <= s.trips && (trips - 1) * lines < 64);
            }));
        }
      }
    }
  };
  find(find, kernel.body, {}, kernel.cursors);
  return asked;
}

/// Calls that ask for what the next trip reads of operand 0 of the kernel, which comes to L1.
int next_asks(const char* text, const Target& target) {
  const Plan plan = plan_of(text, target);
  int asks = 0;
  for (const PlanNode& node : plan.nodes)
    if (const auto* call = std::get_if<PlanCall>(&node))
      for (int o = 0; o < call->spec.operand_count; o++) {
        const PlanOperand& x = call->operand[o];
        if (x.next == 0) continue;
        asks++;
        CHECK(plan.functions[0].cursors[x.cursor] == Cursor{});
        CHECK(std::any_of(plan.nodes.begin(), plan.nodes.end(), [&](const PlanNode& n) {
          const auto* loop = std::get_if<PlanLoop>(&n);
          return loop != nullptr && step_of(loop->steps, x.cursor) == x.next;
        }));
      }
  return asks;
}

/// Calls of each routine, counted in the bodies of all functions.
void count(const Plan& plan, const std::vector<PlanId>& list, std::map<u32, u32>& calls) {
  for (PlanId id : list) {
    const PlanNode& node = plan.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      count(plan, loop->body, calls);
      count(plan, loop->rest, calls);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      calls[invoke->function]++;
      const PlanFunction& routine = plan.functions[invoke->function];
      CHECK(routine.routine);
      CHECK(routine.cursors.size() == invoke->cursors.size());
    }
  }
}

/// How often what a plan consists of runs, found by running it in thought: no use of counts that
/// the library made.
class Counts {
 public:
  Counts(const Plan& plan, const Target& target, u32 kernel = 0) : plan_(plan), target_(target) {
    run(plan.functions[kernel].body, 1);
  }

  double total = 0, rare = 0;           // units in microkernels
  double short_calls = 0;               // of routines that run for less than 1000 cycles
  std::map<PlanId, bool> microkernels;  // each, and whether it is rare

 private:
  double cost(const std::vector<PlanId>& list) const {
    double sum = 0;
    for (PlanId id : list) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node))
        sum += static_cast<double>(loop->trips) * cost(loop->body) + cost(loop->rest);
      else if (const auto* invoke = std::get_if<PlanInvoke>(&node))
        sum += cost(plan_.functions[invoke->function].body);
      else if (const auto* call = std::get_if<PlanCall>(&node))
        sum += static_cast<double>(microkernel(call->id).cost(call->spec, target_));
    }
    return sum;
  }

  void run(const std::vector<PlanId>& list, double times) {
    for (PlanId id : list) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        run(loop->body, times * static_cast<double>(loop->trips));
        run(loop->rest, times);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        const auto& body = plan_.functions[invoke->function].body;
        if (cost(body) < 1000 * kUnitsPerCycle) short_calls += times;
        run(body, times);
      } else {
        const auto& call = std::get<PlanCall>(node);
        const double units = times * cost({id});
        total += units;
        if (call.rare) rare += units;
        microkernels[id] = call.rare;
      }
    }
  }

  const Plan& plan_;
  const Target& target_;
};

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("calls of short routines and short code cost next to nothing") {
    size_t short_routines = 0, rare = 0;
    for (const char* text :
         {"matmul f32[127,129] f32[129,33]", "matmul f32[1181,15] f32[15,503]",
          "matmul f32[5,159,5] f32[5,5,219]", "matmul f32[3,40,300] f32[3,300,37]",
          "matmul f32[64,64] f32[64,64]", "matmul f32[7,5] f32[5,9]"})
      for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
        const Target& target = *fixed_target(isa);
        const Plan plan = plan_of(text, target);
        const Counts counts(plan, target);
        INFO(std::string(text));
        CHECK(counts.short_calls * 20 * kUnitsPerCycle <= 0.02 * counts.total);
        CHECK(counts.rare <= 0.15 * counts.total);
        CHECK(counts.rare <=
              0.0025 * static_cast<double>(counts.microkernels.size()) * counts.total);
        short_routines += counts.short_calls > 0;
        for (const auto& [id, is_rare] : counts.microkernels) rare += is_rare;
      }
    CHECK(short_routines > 0);
    CHECK(rare > 0);
  }

  TEST_CASE("what is rare takes less code") {
    const Target& target = *fixed_target(Isa::kAvx512);
    Plan plan = plan_of("matmul f32[14,64] f32[64,32]", target);
    Result<Code> often = emit(plan, target);
    for (PlanNode& node : plan.nodes)
      if (auto* call = std::get_if<PlanCall>(&node)) call->rare = true;
    Result<Code> rarely = emit(plan, target);
    REQUIRE(often.ok());
    REQUIRE(rarely.ok());
    CHECK(rarely->bytes.size() < often->bytes.size());
  }

  TEST_CASE("a routine is called at two places or more, and its code is there once") {
    const Target& target = *fixed_target(Isa::kAvx2);
    size_t routines = 0;
    for (const char* text :
         {"matmul f32[127,129] f32[129,33]", "matmul f32[150,100] f32[100,90]",
          "matmul f32[64,64] f32[64,64]", "matmul f32[41,64]{0,1} f32[64,41] + f32[]"}) {
      const Plan plan = plan_of(text, target);
      std::map<u32, u32> calls;
      for (const PlanFunction& function : plan.functions) count(plan, function.body, calls);
      for (u32 f = 1; f < plan.functions.size(); f++) {
        const PlanFunction& function = plan.functions[f];
        CHECK_MESSAGE(function.body.empty() == (calls[f] == 0), std::string(text));
        CHECK_MESSAGE(calls[f] != 1, std::string(text));
        routines += calls[f] > 1;
      }
    }
    CHECK(routines > 0);
  }

  TEST_CASE("what several kernels do alike is in one code once, and each does what it did") {
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const Target& target = *fixed_target(isa);
      std::vector<Plan> plans;
      size_t apart = 0;
      for (const char* text :
           {"matmul f32[24,512] f32[512,32]", "matmul f32[30,512] f32[512,32]",
            "matmul f32[24,512] f32[512,32]", "matmul f32[30,512] f32[512,32]"}) {
        plans.push_back(plan_of(text, target));
        apart += emit(plans.back(), target)->bytes.size();
      }
      const Plan joined = join_plans(plans, target);
      REQUIRE(joined.kernels == plans.size());
      std::map<u32, u32> calls;
      for (const PlanFunction& function : joined.functions) count(joined, function.body, calls);
      u64 scratch = 0;
      for (u32 k = 0; k < joined.kernels; k++) {
        const Counts before(plans[k], target), now(joined, target, k);
        CHECK(now.total == before.total);
        CHECK(now.rare == before.rare);
        CHECK((now.short_calls - before.short_calls) * 20 * kUnitsPerCycle <= 0.02 * now.total);
        CHECK(!joined.functions[k].routine);
        CHECK(joined.functions[k].cursors == plans[k].functions[0].cursors);
        scratch = std::max(scratch, plans[k].scratch_bytes());
      }
      for (u32 f = joined.kernels; f < joined.functions.size(); f++) CHECK(calls[f] != 1);
      CHECK(joined.scratch_bytes() == scratch);
      const Result<Code> code = emit(joined, target);
      REQUIRE(code.ok());
      CAPTURE(apart);
      CHECK(4 * code->bytes.size() < 3 * apart);
      CHECK(std::count_if(code->functions.begin(), code->functions.end(), [](const auto& f) {
              return f.kind == MORELLO_CODE_ENTRY;
            }) == static_cast<long>(plans.size()));
    }
  }

  TEST_CASE("thousands of rows do not take hundreds of kilobytes of code") {
    const Target& target = *fixed_target(Isa::kAvx512);
    const Plan plan = plan_of("matmul f32[5504,80] f32[80,40]", target);
    Result<Code> code = emit(plan, target);
    REQUIRE(code.ok());
    CHECK(code->bytes.size() < 16384);  // it was 932,644
  }

  TEST_CASE("lines of operands that L2 does not hold are asked for by the step of a loop") {
    for (const Target& target : fixed_targets()) {
      INFO(target.name);
      CHECK(asked_ahead(plan_of("matmul f32[8,1024] f32[1024,1024]", target)) == 1u << 1);
      CHECK(asked_ahead(plan_of("matmul f32[8,256] f32[256,256]", target)) == 0);
      // Used once each: only what is far larger than L2.
      CHECK(asked_ahead(plan_of("matmul f32[1,1024] f32[1024,1024]", target)) == 0);
      CHECK(asked_ahead(plan_of("matmul f32[1,2048] f32[2048,4096]", target)) == 1u << 1);
      CHECK(asked_ahead(plan_of("matmul f32[1,512] f32[512,16384]", target)) == 1u << 1);
      // Short columns that are widened, too, which are over before prefetchers have found them.
      CHECK(asked_ahead(plan_of("matmul bf16[1,768] bf16[768,3072]{0,1} -> f32[1,3072]", target)) ==
            1u << 1);
      CHECK(asked_ahead(plan_of("matmul f32[1,768] f32[768,2000]{0,1}", target)) == 0);
      // A whole head of values would be gone before it is read.
      CHECK(asked_ahead(plan_of("matmul f32[32,1,2048] f32[32,2048,64]", target)) == 0);
    }
  }

  TEST_CASE("columns that are read one after another are asked for a page ahead at most") {
    for (const char* spec :
         {"matmul f32[1,768] f32[768,30000]{0,1}", "matmul f32[1,1024] f32[1024,30000]{0,1}",
          "matmul f32[1,2048] f32[2048,30000]{0,1}"}) {
      INFO(spec);
      const Plan plan = plan_of(spec, *fixed_target(Isa::kAvx512));
      int asking = 0;
      for (const PlanNode& node : plan.nodes)
        if (const auto* call = std::get_if<PlanCall>(&node))
          for (const PlanOperand& operand : call->operand) {
            asking += operand.ahead != 0;
            CHECK(operand.ahead <= 6144);  // two columns of 768 numbers have 96 lines
          }
      CHECK(asking > 0);
    }
  }

  TEST_CASE("of passes over a row in L1, the one that neither waits nor stores asks for the next") {
    for (const Target& target : fixed_targets()) {
      INFO(target.name);
      CHECK(next_asks("layernorm f32[64,768] f32[768] f32[768] axis=1", target) == 1);
      CHECK(next_asks("layernorm bf16[64,768] bf16[768] bf16[768] axis=1", target) == 1);
      // Of two passes, the second one stores. In few trips, what is asked for may not be there.
      CHECK(next_asks("rmsnorm f32[64,768] f32[768] axis=1", target) == 0);
      CHECK(next_asks("layernorm f32[3,768] f32[768] f32[768] axis=1", target) == 0);
      // Of what comes from memory, those that store ask for what is read later still.
      CHECK(next_asks("layernorm f32[8192,768] f32[768] f32[768] axis=1", target) == 0);
    }
  }

  TEST_CASE("many kinds of remainders do not, either") {
    const Target& target = *fixed_target(Isa::kAvx512);
    const Plan plan = plan_of("matmul f32[1181,15] f32[15,503]", target);
    Result<Code> code = emit(plan, target);
    REQUIRE(code.ok());
    CHECK(code->bytes.size() < 49152);  // it was 99,812
  }
}

}  // namespace morello
