// SPDX-License-Identifier: MIT
#include "solved_family.hh"

#include <doctest/doctest.h>

#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "spec/statement.hh"
#include "table/identity.hh"

namespace morello::testing {
namespace {

std::string text_of(u32 a, u32 b) {
  return "f32[" + std::to_string(a) + "," + std::to_string(b) + "]";
}

/// Limits that are tighter in different ways.
Limits tightened(Limits limits, int how) {
  limits.at(Level::kRegister) = static_cast<u8>(limits.at(Level::kRegister) - how % 3);
  limits.at(Level::kL1) = static_cast<u8>(limits.at(Level::kL1) / (1 + how % 4));
  limits.at(Level::kL2) = static_cast<u8>(limits.at(Level::kL2) / (1 + how % 5));
  return limits;
}

}  // namespace

SolvedFamily solve(const std::vector<std::string>& texts, u32 processors, int tighter) {
  SolvedFamily family{with_machine(*fixed_target(Isa::kAvx2), 0, 0, processors), {}, {}, {}};
  const SpecProblem problem({&family.target});
  SpecSearch search(problem);
  SpecSearch::Worker worker(search);
  const Decisions decisions = [&](const Spec& spec, const Limits& limits) -> std::optional<Action> {
    SpecSearch::Solution s;
    if (!search.solve(spec, limits, worker, s) || !s.feasible) return std::nullopt;
    if (!family.pairs.find({spec, limits})) family.pairs.add({spec, limits}, s.action);
    return s.action;
  };
  for (const std::string& text : texts) {
    Spec spec = lower(*parse(text))->spec;
    spec.serial = processors <= 1;
    const Limits limits = limits_of(family.target);
    auto made = decide(spec, limits, problem.context(), *fixed_target(Isa::kAvx2), decisions,
                       {.trusted = true});
    REQUIRE_MESSAGE(made, text);
    family.members.push_back(spec);
    family.programs.push_back(std::move(*made));
    for (int i = 1; i <= tighter; i++)
      decide(spec, tightened(limits, i), problem.context(), family.target, decisions);
  }
  return family;
}

std::vector<std::string> matmuls(std::span<const u32> sizes) {
  std::vector<std::string> texts;
  for (u32 m : sizes)
    for (u32 k : sizes)
      for (u32 n : sizes)
        texts.push_back("matmul " + text_of(m, k) + " " + text_of(k, n) + " -> " + text_of(m, n));
  return texts;
}

std::vector<std::string> moves(std::span<const u32> sizes) {
  std::vector<std::string> texts;
  for (u32 m : sizes)
    for (u32 n : sizes) {
      texts.push_back("move " + text_of(m, n) + " -> " + text_of(m, n));
      texts.push_back("transpose " + text_of(m, n) + " perm=1,0 -> " + text_of(n, m));
    }
  return texts;
}

void add(const SolvedFamily& family, TableBuilder& builder, bool backwards) {
  auto each = [&](size_t count, auto&& f) {
    for (size_t i = 0; i < count; i++) f(backwards ? count - 1 - i : i);
  };
  each(family.members.size(),
       [&](size_t i) { builder.promise(family.members[i], limits_of(family.target)); });
  each(family.pairs.size(), [&](size_t i) {
    builder.add(family.pairs[i].key.spec, family.pairs[i].key.limits, family.pairs[i].value);
  });
}

Table table_of(const SolvedFamily& family, const BoxForm& form) {
  TableBuilder builder(identity_of(family.target));
  add(family, builder);
  Result<Table> table = builder.build(form);
  REQUIRE(table.ok());
  return std::move(*table);
}

}  // namespace morello::testing
