// SPDX-License-Identifier: MIT
// Random Statements for tests: every operation, layout, number of steps and awkward shape.
#ifndef MORELLO_TESTS_SUPPORT_RANDOM_STATEMENT_HH
#define MORELLO_TESTS_SUPPORT_RANDOM_STATEMENT_HH

#include <random>

#include "spec/statement.hh"

namespace morello::testing {

struct RandomStatementOptions {
  i64 max_elements = 1 << 16;  // of one tensor
  i64 max_flops = 1 << 20;     // of the whole: about the points of the iteration space
  int max_steps = kMaxStages - 1;
  bool accumulate = true;     // may produce `+=`
  bool free_layouts = false;  // may leave the layout of an input free
  bool strided = true;        // padded leading dimensions, permuted axes, inputs with stride 0
  i64 max_size = 0;  // 0: sizes are small; else some are up to this one, as in applications
  bool other_dtypes = false;  // mixed element types; else f32
};

/// A Statement that lower() accepts. The same on every machine for one state of `rng`.
Statement random_statement(std::mt19937_64& rng, const RandomStatementOptions& options = {});

}  // namespace morello::testing

#endif
