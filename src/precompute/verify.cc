// SPDX-License-Identifier: MIT
#include "precompute/verify.hh"

#include <random>

#include "search/effort.hh"
#include "spec/canonical.hh"
#include "table/identity.hh"
#include "table/promise.hh"
#include "table/walk.hh"

namespace morello {
namespace {

/// `points` of all promised Specs, each as likely as any other; and how many there are. Promises of
/// hostile tables may have members without end.
std::vector<Spec> sample(const Table& table, u64 points, u64 seed, u64& count) {
  std::mt19937_64 random(seed);
  std::vector<Spec> chosen;
  for (const Promise& promise : table.promises())
    each_member(promise, [&](const Spec& spec, const Limits&) {
      if (count >= kMaxDecidedPairs) return false;
      count++;
      if (chosen.size() < points)
        chosen.push_back(spec);
      else if (const u64 at = random() % count; at < points)
        chosen[at] = spec;
      return true;
    });
  return chosen;
}

/// What the table has wrong about a promised Spec, or "".
std::string difference(const Table& table, const Spec& spec, const Target& target) {
  if (const std::string bad = not_canonical(spec); !bad.empty())
    return describe(spec) + ": the table promises what is no Spec: it " + bad;
  SearchOptions options;
  options.threads = table.identity().processors;
  // All of the space, whatever that takes.
  const SearchPart part{.breadth = space_of(table.identity().effort)};
  const Result<ImplTree> searched = search_part(spec, target, options, part, nullptr);
  const std::optional<ImplTree> found = program(table, spec, target);
  if (!found) return describe(spec) + ": the table promises a program, but has none";
  if (!searched) return describe(spec) + ": the search says, " + searched.error().message;
  const i64 wanted = searched->nodes[0].cost, cost = found->nodes[0].cost;
  if (cost != wanted)
    return describe(spec) + ": the table's program costs " + std::to_string(cost) +
           " units, the cheapest one " + std::to_string(wanted);
  if (print(*found) != print(*searched))
    return describe(spec) + ": the table's program is another one of the same cost";
  return "";
}

}  // namespace

Verification verify(const Table& table, const Target& target, u64 points, u64 seed) {
  Verification result;
  auto failed = [&](const std::string& why) {
    if (result.failures++ == 0) result.failure = why;
  };
  const Result<DecidedPairs> pairs = decided_pairs(table, target);
  if (pairs)
    result.pairs = pairs->size();
  else
    failed(pairs.error().message);
  for (const Spec& spec : sample(table, points, seed, result.promised)) {
    result.searched++;
    if (const std::string why = difference(table, spec, target); !why.empty()) failed(why);
  }
  return result;
}

}  // namespace morello
