// SPDX-License-Identifier: MIT
#include "search/soundness.hh"

namespace morello {
namespace {

Error wrong(const Spec& spec, const Target& target, const std::string& what) {
  return {MORELLO_INTERNAL, describe(spec) + " on " + std::string(target.name) + " (" +
                                std::string(target.machine) + "): " + what +
                                "; the cheapest program may have been lost"};
}

std::string units(i64 n) { return std::to_string(n) + " units"; }

}  // namespace

std::optional<Error> wrong_bound(const SpecSearch& search, const Target& target) {
  const auto* v = search.violation();
  if (!v) return std::nullopt;
  std::string limits;
  for (u8 use : v->limits.use) limits += (limits.empty() ? "" : ",") + std::to_string(use);
  return wrong(v->key, target,
               "within limits " + limits + " it costs " + units(v->cost) +
                   ", less than its lower bound of " + units(v->bound));
}

std::optional<Error> wrong_cost(const ImplTree& tree, i64 cost) {
  const ImplNode& root = tree.nodes[0];
  if (root.cost == cost) return std::nullopt;
  return wrong(root.spec, *tree.target,
               "its program costs " + units(root.cost) + ", the search says " + units(cost));
}

std::optional<Error> below_bound(const ImplTree& tree, i64 bound) {
  const ImplNode& root = tree.nodes[0];
  if (root.cost >= bound) return std::nullopt;
  return wrong(
      root.spec, *tree.target,
      "its program costs " + units(root.cost) + ", less than its lower bound of " + units(bound));
}

}  // namespace morello
