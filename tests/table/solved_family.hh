// SPDX-License-Identifier: MIT
// Small families of Specs, solved: what tables are made of.
#ifndef MORELLO_TESTS_TABLE_SOLVED_FAMILY_HH
#define MORELLO_TESTS_TABLE_SOLVED_FAMILY_HH

#include <span>
#include <string>
#include <vector>

#include "table/table_builder.hh"
#include "table/walk.hh"

namespace morello::testing {

struct SolvedFamily {
  Target target;
  std::vector<Spec> members;
  std::vector<ImplTree> programs;  // of the members, at the limits of the target
  DecidedPairs pairs;              // that these have
};

/// `processors`: for how many threads the programs may be. Each member is also solved at tighter
/// limits, `tighter` of them, whose pairs are decided as well.
SolvedFamily solve(const std::vector<std::string>& texts, u32 processors = 1, int tighter = 0);

/// All f32 matmuls with these sizes, and all row-major moves and transposes.
std::vector<std::string> matmuls(std::span<const u32> sizes);
std::vector<std::string> moves(std::span<const u32> sizes);

/// Adds the family, the last things first if `backwards`.
void add(const SolvedFamily& family, TableBuilder& builder, bool backwards = false);
Table table_of(const SolvedFamily& family, const BoxForm& form = {});

}  // namespace morello::testing

#endif
