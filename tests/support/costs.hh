// SPDX-License-Identifier: MIT
// What the program of a Spec's text costs.
#ifndef MORELLO_TESTS_SUPPORT_COSTS_HH
#define MORELLO_TESTS_SUPPORT_COSTS_HH

#include <doctest/doctest.h>

#include <string_view>

#include "lowered.hh"
#include "search/synthesize.hh"

namespace morello::testing {

/// Units, on the fixed target; REQUIREs that there is a program.
inline i64 cost_of(std::string_view text, Isa isa, u64 effort) {
  INFO(text);
  SearchOptions options;
  options.effort = effort;
  const Result<ImplTree> tree = synthesize(spec_of(text), *fixed_target(isa), options, nullptr);
  REQUIRE_MESSAGE(tree.ok(), (tree.ok() ? "" : tree.error().message));
  return tree->nodes[0].cost;
}

}  // namespace morello::testing

#endif
