// SPDX-License-Identifier: MIT
// Kernels of random Statements: every operation, layout, stride and number of steps.
#include <doctest/doctest.h>

#include "../support/random_statement.hh"
#include "kernel_case.hh"
#include "rounds.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

/// Small ones, for the time goes into their searches; the larger ones are in "random programs".
constexpr u64 kMemoryBudget = 4 << 20;

bool is_elementwise(const Statement& s) {
  using Head = Statement::Head;
  return s.head != Head::kMatmul && s.head != Head::kEinsum && s.head != Head::kReduce;
}

void check_random(u64 count, const RandomStatementOptions& options, const char* test) {
  for (morello_isa isa : options.other_dtypes ? all_usable_isas() : usable_isas()) {
    u64 skipped = 0;
    std::vector<u64> all = seeds(count);
    for (u64 seed : all) {
      std::mt19937_64 random(seed);
      Statement statement = random_statement(random, options);
      bool special = is_elementwise(statement) && seed % 2 == 0;
      KernelRequest request{print(statement), isa, 1, seed, Values::kUniform, kMemoryBudget};
      if (special) request.values = Values::kSpecial;
      std::string wrong;
      skipped += check_kernel(request, seed % 4 == 0, wrong) == Outcome::kSkipped;
      REQUIRE_MESSAGE(wrong == "", repeat_command(test, seed, isa));
    }
    bool few = 4 * skipped <= all.size();
    CHECK_MESSAGE(
        few, skipped << " of " << all.size() << " searches exceed " << kMemoryBudget << " bytes");
  }
}

TEST_CASE("random statements") {
  RandomStatementOptions options;
  options.max_elements = 1 << 12;
  options.max_flops = 1 << 15;
  check_random(1200, options, "random statements");
}

TEST_CASE("random statements with free layouts") {
  RandomStatementOptions options;
  options.max_elements = 1 << 12;
  options.max_flops = 1 << 15;
  options.free_layouts = true;
  check_random(300, options, "random statements with free layouts");
}

// Reports and does not fail until free layouts in groups are planned ("spans several blocks").
TEST_CASE("random statements of mixed element types" * doctest::may_fail()) {
  RandomStatementOptions options;
  options.max_elements = 1 << 12;
  options.max_flops = 1 << 15;
  options.other_dtypes = true;
  check_random(400, options, "random statements of mixed element types");
  options.free_layouts = true;
  options.max_size = 256;
  check_random(100, options, "random statements of mixed element types");
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
