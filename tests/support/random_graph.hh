// SPDX-License-Identifier: MIT
// Random graphs for tests: heads, shared values, constants, broadcasting, of tame numbers.
#ifndef MORELLO_TESTS_SUPPORT_RANDOM_GRAPH_HH
#define MORELLO_TESTS_SUPPORT_RANDOM_GRAPH_HH

#include "spec/statement.hh"
#include "support/random_tree.hh"

namespace morello::testing {

/// A Statement of Head::kGraph that lower() accepts. Of `most` or a few more nodes; some have
/// several outputs, of various types and layouts, some of which are added to.
Statement random_graph(Random& random, int most);

/// The same graph with its nodes in another order.
Statement reordered(const Statement& graph, Random& random);

}  // namespace morello::testing

#endif
