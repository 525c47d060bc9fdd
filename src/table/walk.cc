// SPDX-License-Identifier: MIT
#include "table/walk.hh"

#include "spec/canonical.hh"
#include "table/identity.hh"
#include "table/promise.hh"
#include "table/table_builder.hh"

namespace morello {
namespace {

/// Forty times what the largest programs of tables have; a table may be made to waste time.
constexpr u32 kMaxProgramNodes = 4096;

/// The Spec as searches for the table's number of threads begin with it.
Spec root_of(const Table& table, const Spec& spec) {
  Spec root = spec;
  root.serial = table.identity().processors <= 1;
  return root;
}

/// Are there few enough members to follow them all? Promises may overlap without end.
bool may_promise(const std::vector<Promise>& promises, size_t most) {
  u64 members = 0;
  for (const Promise& promise : promises)
    if (__builtin_add_overflow(members, member_count(promise), &members)) return false;
  return members <= most;
}

}  // namespace

std::optional<ImplTree> program(const Table& table, const Spec& spec, const Target& target) {
  if (!covers(table, spec, target)) return std::nullopt;
  return guess(table, spec, target);
}

bool covers(const Table& table, const Spec& spec, const Target& target) {
  return table.promises(root_of(table, spec), limits_of(target));
}

std::optional<ImplTree> guess(const Table& table, const Spec& spec, const Target& target) {
  const Target adjusted = with_machine(target, 0, 0, table.identity().processors);
  return decide(root_of(table, spec), limits_of(adjusted), {&adjusted}, target,
                [&](const Spec& s, const Limits& l) { return table.find(s, l); },
                {.max_nodes = kMaxProgramNodes});
}

Result<DecidedPairs> decided_pairs(const Table& table, const Target& target, size_t max_pairs) {
  const Error too_many{MORELLO_CORRUPT_TABLE, "the table's promises are about more than " +
                                                  std::to_string(max_pairs) +
                                                  " pairs of Specs and limits"};
  if (!may_promise(table.promises(), max_pairs)) return too_many;
  const Target adjusted = with_machine(target, 0, 0, table.identity().processors);
  const ActionContext context{&adjusted};
  const Decisions decisions = [&](const Spec& s, const Limits& l) { return table.find(s, l); };
  const DecideOptions options{.max_nodes = max_pairs};
  DecidedPairs pairs;
  Walk<Action> walk(context, decisions, options, pairs);
  using Obstacle = Walk<Action>::Obstacle;
  for (const Promise& promise : table.promises()) {
    std::string bad;
    each_member(promise, [&](const Spec& spec, const Limits& limits) {
      bad = not_canonical(spec);
      return bad.empty() && walk.to(spec, limits, the_action).has_value();
    });
    if (!bad.empty())
      return Error{MORELLO_CORRUPT_TABLE, "the table promises what is no Spec: it " + bad};
    if (walk.obstacle() != Obstacle::kNothing) break;
  }
  if (walk.obstacle() == Obstacle::kNothing) return pairs;
  if (walk.obstacle() == Obstacle::kTooMany) return too_many;
  return Error{MORELLO_CORRUPT_TABLE,
               std::string("the table has ") +
                   (walk.obstacle() == Obstacle::kUnknown ? "no" : "a wrong") + " decision for " +
                   describe(walk.where()) + ", which a promised program needs"};
}

Result<DecidedPairs> add_promises(const Table& table, const Target& target, TableBuilder& builder) {
  Result<DecidedPairs> pairs = decided_pairs(table, target);
  if (!pairs) return pairs;
  for (const std::string& family : table.families()) builder.add_family(family);
  for (const Promise& promise : table.promises())
    each_member(promise, [&](const Spec& spec, const Limits& limits) {
      builder.promise(spec, limits);
      return true;
    });
  return pairs;
}

Result<Table> merge(const Table& a, const Table& b, const Target& target) {
  if (a.identity() != b.identity())
    return Error{MORELLO_INCOMPATIBLE_TABLE,
                 "the tables cannot be merged: " + difference(a.identity(), b.identity())};
  TableBuilder builder(a.identity());
  for (const Table* table : {&a, &b}) {
    const Result<DecidedPairs> pairs = add_promises(*table, target, builder);
    if (!pairs) return pairs.error();
    for (const auto& [pair, action] : *pairs) builder.add(pair.spec, pair.limits, action);
  }
  return builder.build();
}

}  // namespace morello
