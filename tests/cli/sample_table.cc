// SPDX-License-Identifier: MIT
// Writes a table for AVX2 that covers some Specs: sample_table FILE.mtab SPEC...
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "../table/solved_family.hh"
#include "table/file.hh"
#include "table/identity.hh"

int main(int argc, char** argv) {
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();  // of solved_family.cc; they abort
  if (argc < 3) return 2;
  const std::vector<std::string> specs(argv + 2, argv + argc);
  const morello::testing::SolvedFamily family = morello::testing::solve(specs);
  morello::TableBuilder builder(morello::identity_of(family.target));
  morello::testing::add(family, builder);
  for (const std::string& spec : specs) builder.add_family(spec);
  const morello::Result<morello::Table> table = builder.build();
  return table.ok() && !morello::save(argv[1], table->content()) ? 0 : 1;
}
