// SPDX-License-Identifier: MIT
// Specs of several outputs, of any value and in any number: what the search finds computes them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "../support/random_graph.hh"
#include "cost/bounds.hh"
#include "harness.hh"
#include "impl/evaluate.hh"
#include "runtime/code_memory.hh"
#include "search/synthesize.hh"
#include "spec/canonical.hh"
#include "spec/gather.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello::testing {
namespace {

/// The Spec with the value of a stage as one output more, before the last one; dense, in the order
/// of the dimensions' numbers. Unchanged if there is no room.
Spec with_output(Spec spec, int stage) {
  const int most = kMaxOperands - (spec.diagonal.used() ? 1 : 0);
  if (spec.operand_count == most || spec.stage[stage].out != kNoRef) return spec;
  const DimMask dims = dims_of(spec, value_of(stage));
  const Ref now = static_cast<Ref>(spec.out_index()), last = static_cast<Ref>(now + 1);
  auto move = [&](Ref& ref) { ref = ref == now ? last : ref; };
  for (int s = 0; s < spec.stage_count; s++) {
    for (Ref& in : spec.stage[s].in) move(in);
    move(spec.stage[s].out);
  }
  spec.operand[last] = spec.operand[now];
  spec.operand_count++;
  Layout layout;
  for (u8 d = 0; d < spec.rank; d++)
    if (has_dim(dims, d)) layout.append(d);
  spec.operand[now] =
      dense_operand(spec, spec.stage[stage].dtype, Level::kMemory, Access::kOut, dims, layout);
  spec.stage[stage].out = now;
  return spec;
}

/// "" if the program that the search finds writes what evaluate() does, and nothing else.
std::string wrong(const Spec& spec, const Target& target, Random& random, u32 threads) {
  if (const std::string bad = not_canonical(spec); !bad.empty()) return bad;
  SearchOptions options;
  options.threads = threads;
  options.memory_budget_bytes = 24 << 20;
  const Result<ImplTree> tree = synthesize(spec, target, options, nullptr);
  if (!tree.ok()) return tree.error().status == MORELLO_BUDGET_EXCEEDED ? "" : tree.error().message;
  Views views;
  std::vector<GuardedMemory> memory;
  std::array<std::vector<float>, kMaxOperands> data;
  std::array<void*, kMaxOperands> want{}, got{};
  for (int o = 0; o < spec.operand_count; o++) {
    const Operand& x = spec.operand[o];
    views[o] = dense_view(spec, x);
    data[o].resize(dense_elements(spec, x));
    for (float& v : data[o])
      v = x.access == Access::kIn ? static_cast<float>(pick(random, 0, 4000)) / 1000 - 2 : -7.0f;
    memory.emplace_back(data[o].size() * sizeof(float), GuardedMemory::Side::kEnd, 4);
    got[o] = memory.back().data();
    std::memcpy(got[o], data[o].data(), data[o].size() * sizeof(float));
    want[o] = data[o].data();
  }
  evaluate(spec, views, want.data());
  const auto plan = make_plan(*tree, views);
  if (!plan.ok()) return plan.error().message;
  const auto code = emit(*plan, *tree->target);
  if (!code.ok()) return code.error().message;
  const auto executable = CodeMemory::make(code->bytes);
  if (!executable.ok()) return executable.error().message;
  const GuardedMemory scratch(plan->scratch_bytes() + 64, GuardedMemory::Side::kStart, 64);
  if (!call_with_canaries(executable->data() + code->entry, got.data(), scratch.data(), nullptr))
    return "a register that must be kept was changed";
  double greatest = 1;
  for (int o = 0; o < spec.operand_count; o++)
    for (float v : data[o])
      if (std::isfinite(v)) greatest = std::max(greatest, std::fabs(static_cast<double>(v)));
  for (int o = 0; o < spec.operand_count; o++) {
    const bool in = spec.operand[o].access == Access::kIn;
    for (size_t i = 0; i < data[o].size(); i++) {
      const float w = data[o][i], g = static_cast<const float*>(got[o])[i];
      const bool same = w == g || (std::isnan(w) && std::isnan(g));
      if (!same && (in || !(std::fabs(w - g) <= 1e-5 * greatest)))
        return "operand " + std::to_string(o) + " has " + std::to_string(g) + " at " +
               std::to_string(i) + ", not " + std::to_string(w) + "\n" + print(*tree);
    }
  }
  return "";
}

Spec spec_of(std::string_view text) { return lower(*parse(text))->spec; }

/// Dense operands of f32: those of a graph may have other views, and its outputs other types.
/// REQUIRES: it gathers nothing.
Spec dense(Spec spec) {
  for (int o = 0; o < spec.operand_count; o++) {
    Operand& x = spec.operand[o];
    x = dense_operand(spec, Dtype::kF32, x.level, x.access, x.dims, plain_layout(x.layout),
                      x.windows);
  }
  return spec;
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("several outputs: what people would ask for") {
    const std::pair<const char*, int> cases[] = {
        {"softmax f32[6,37] axis=1", 0},  // and the maxima
        {"softmax f32[6,37] axis=1", 2},  // and the exponentials
        {"softmax f32[6,37] axis=1", 3},  // and their sums
        {"c = mean x f32[6,50] axis=1 keep; sub x c -> square -> mean axis=1", 1},  // and the means
        {"add f32[9,33] f32[33] -> relu", 0},  // and what relu is of
        {"matmul f32[9,13] f32[13,20] + bias f32[20] -> relu -> f32[9,20]", 1},
        {"matmul f32[9,13] f32[13,20] -> relu -> f32[9,20]", 0},
        {"rmsnorm f32[6,33] f32[33] axis=1", 1},
        {"exp f32[70] -> reduce_sum axis=0", 0},
    };
    for (const Target* target : targets())
      for (const auto& c : cases) {
        Random random(1);
        const Spec spec = with_output(dense(spec_of(c.first)), c.second);
        INFO(c.first << ", with the value of stage " << c.second << ": " << describe(spec));
        CHECK(wrong(spec, *target, random, 1) == "");
      }
  }

  TEST_CASE("several outputs: random graphs") {
    size_t outputs = 0;
    for (const Target* target : targets())
      for (u32 seed = 1; seed <= 60; seed++) {
        Random random(seed);
        Spec spec;
        do {
          spec = lower(random_graph(random, static_cast<int>(seed % 7)))->spec;
        } while (gathers(spec));  // by integers
        spec = dense(spec);
        for (int s = 0; s + 1 < spec.stage_count; s++)
          if (chance(random, 30)) spec = with_output(spec, s);
        for (int o = 0; o < spec.operand_count; o++)
          outputs += spec.operand[o].access != Access::kIn;
        INFO("seed " << seed << ": " << describe(spec));
        REQUIRE(wrong(spec, *target, random, seed % 3 == 0 ? 2 : 1) == "");
      }
    CHECK(outputs > 100);
  }
}

}  // namespace morello::testing
