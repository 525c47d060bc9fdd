// SPDX-License-Identifier: MIT
// What tests of precomputed tables begin with.
#ifndef MORELLO_TESTS_PRECOMPUTE_PRECOMPUTED_HH
#define MORELLO_TESTS_PRECOMPUTE_PRECOMPUTED_HH

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "precompute/precompute.hh"
#include "table/file.hh"
#include "table/table.hh"

namespace morello::testing {

inline Target avx2(u32 processors = 1) {
  return with_machine(*fixed_target(Isa::kAvx2), 0, 0, processors);
}

inline std::vector<Family> families_of(const std::vector<std::string>& texts) {
  std::vector<Family> families;
  for (const std::string& text : texts) {
    Result<Family> family = Family::parse(text);
    REQUIRE_MESSAGE(family.ok(), text);
    families.push_back(std::move(*family));
  }
  return families;
}

inline PrecomputeProgress run(const std::vector<Family>& families, const std::string& path,
                              const PrecomputeOptions& options = {},
                              const Target& target = avx2()) {
  const Result<PrecomputeProgress> end = precompute(families, target, path, options);
  REQUIRE_MESSAGE(end.ok(), end.error().message);
  return *end;
}

inline Table load_table(const std::string& path) {
  const Result<TableContent> content = load(path);
  REQUIRE(content.ok());
  Result<Table> table = Table::make(*content);
  REQUIRE(table.ok());
  return std::move(*table);
}

}  // namespace morello::testing

#endif
