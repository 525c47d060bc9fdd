// SPDX-License-Identifier: MIT
#include "table/walk.hh"

#include "actions/clamp.hh"
#include "table/identity.hh"
#include "table/promise.hh"
#include "table/table_builder.hh"

namespace morello {
namespace {

/// Forty times what the largest programs of tables have; a table may be made to waste time.
constexpr u32 kMaxProgramNodes = 4096;

/// Follows decisions from promised Specs to the leaves.
class Walker {
 public:
  Walker(const Table& table, const Target& target, size_t max_pairs)
      : table_(table),
        target_(with_machine(target, 0, 0, table.identity().processors)),
        max_pairs_(max_pairs) {}

  /// Are there few enough members to follow them all? Promises may overlap without end. False:
  /// found() has an error.
  bool may_promise(const std::vector<Promise>& promises) {
    u64 members = 0;
    for (const Promise& promise : promises)
      if (__builtin_add_overflow(members, member_count(promise), &members)) return too_many();
    return members <= max_pairs_ || too_many();
  }

  /// False: found() has an error.
  bool walk(const Spec& spec, const Limits& limits) {
    reach(spec, limits);
    while (!open_.empty()) {
      const Pair pair = open_.back();
      open_.pop_back();
      if (!visit(pair)) return false;
    }
    return true;
  }

  Result<DecidedPairs> found() {
    if (!problem_.empty()) return Error{MORELLO_CORRUPT_TABLE, problem_};
    return std::move(pairs_);
  }

 private:
  bool visit(const Pair& pair) {
    if (pairs_.find(pair)) return true;
    if (pairs_.size() >= max_pairs_) return too_many();
    const std::optional<Action> action = table_.find(pair.spec, pair.limits);
    Derivation d;
    if (!action || !is_listed(pair.spec, pair.limits, *action, context_, list_) ||
        !preview(pair.spec, pair.limits, *action, context_, d)) {
      problem_ = std::string("the table has ") + (action ? "a wrong" : "no") + " decision for " +
                 describe(pair.spec) + ", which a promised program needs";
      return false;
    }
    pairs_.add(pair, *action);
    for (int i = 0; i < d.count; i++) reach(d.child[i].spec, d.child[i].limits);
    return true;
  }

  bool too_many() {
    problem_ = "the table's promises are about more than " + std::to_string(max_pairs_) +
               " pairs of Specs and limits";
    return false;
  }

  void reach(const Spec& spec, const Limits& limits) {
    open_.push_back({spec, limits});
    clamp_limits(spec, open_.back().limits);
  }

  const Table& table_;
  const Target target_;
  const ActionContext context_{&target_};
  const size_t max_pairs_;
  DecidedPairs pairs_;
  std::vector<Pair> open_;
  ActionList list_;
  std::string problem_;
};

/// The Spec as searches for the table's number of threads begin with it.
Spec root_of(const Table& table, const Spec& spec) {
  Spec root = spec;
  root.serial = table.identity().processors <= 1;
  return root;
}

/// Adds all that a table promises.
std::optional<Error> add_table(const Table& table, const Target& target, TableBuilder& builder) {
  for (const std::string& family : table.families()) builder.add_family(family);
  Result<DecidedPairs> pairs = decided_pairs(table, target);
  if (!pairs) return pairs.error();
  for (const Promise& promise : table.promises())
    each_member(promise, [&](const Spec& spec, const Limits& limits) {
      builder.promise(spec, limits);
      return true;
    });
  for (const auto& [pair, action] : *pairs) builder.add(pair.spec, pair.limits, action);
  return std::nullopt;
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
  Walker walker(table, target, max_pairs);
  bool good = walker.may_promise(table.promises());
  if (!good) return walker.found();
  for (const Promise& promise : table.promises()) {
    each_member(promise, [&](const Spec& spec, const Limits& limits) {
      return good = walker.walk(spec, limits);
    });
    if (!good) break;
  }
  return walker.found();
}

Result<Table> merge(const Table& a, const Table& b, const Target& target) {
  if (a.identity() != b.identity())
    return Error{MORELLO_INCOMPATIBLE_TABLE,
                 "the tables cannot be merged: " + difference(a.identity(), b.identity())};
  TableBuilder builder(a.identity());
  for (const Table* table : {&a, &b})
    if (std::optional<Error> error = add_table(*table, target, builder)) return *error;
  return builder.build();
}

}  // namespace morello
