// SPDX-License-Identifier: MIT
// Random contents of tables: keys of Specs that searches meet, boxes and decisions that mean
// nothing.
#ifndef MORELLO_TESTS_TABLE_RANDOM_CONTENT_HH
#define MORELLO_TESTS_TABLE_RANDOM_CONTENT_HH

#include <random>

#include "table/content.hh"

namespace morello::testing {

/// Points that a search could meet: of random Statements, and of what their actions leave.
std::vector<GridPoint> random_points(std::mt19937_64& rng, size_t count);

/// With at most `groups` groups of up to `boxes` boxes each. Passes check().
TableContent random_content(std::mt19937_64& rng, size_t groups, size_t boxes);

}  // namespace morello::testing

#endif
