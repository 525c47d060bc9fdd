// SPDX-License-Identifier: MIT
// Random Impl trees for Specs of the general form: loops, moves of any operand into any layout,
// cuts of the graph with buffers for the values that cross them, fills before what accumulates.
#ifndef MORELLO_TESTS_SUPPORT_GRAPH_TREE_HH
#define MORELLO_TESTS_SUPPORT_GRAPH_TREE_HH

#include "random_spec.hh"

namespace morello::testing {

struct GraphTreeCounts {
  int loops = 0, views = 0, copies = 0, windows = 0, cuts = 0, cuts_of_three = 0, fills = 0,
      pads = 0, grouped_pads = 0, border_cuts = 0, divides = 0, columns_left_out = 0, masks = 0,
      indices = 0;
};

/// About `depth` decisions deep. Leaves select no microkernel in particular.
ImplTree random_graph_tree(const Spec& spec, Random& random, int depth, GraphTreeCounts& counts);
/// Does a loop run over a dimension that a stage reduces?
bool splits_reduction(const ImplTree& tree);

}  // namespace morello::testing

#endif
