// SPDX-License-Identifier: MIT
// What a graph means, from the text of its nodes alone: in doubles, node by node, on dense arrays,
// as NumPy would. Shares no code with lower() or evaluate(), and knows no stages.
#ifndef MORELLO_TESTS_SUPPORT_GRAPH_REFERENCE_HH
#define MORELLO_TESTS_SUPPORT_GRAPH_REFERENCE_HH

#include <vector>

#include "spec/statement.hh"

namespace morello::testing {

struct Array {
  std::vector<i64> shape;
  std::vector<double> at;  // row-major
};

/// The results of the graph, before they are rounded to their outputs' types or added to them.
/// `data` has the memory of each input. `greatest`, if there is one, becomes the largest magnitude
/// that any node has. REQUIRES: lower() accepts it.
std::vector<Array> graph_results_of(const Statement& graph,
                                    const std::vector<std::vector<char>>& data,
                                    double* greatest = nullptr);

/// The tensor in `memory`, or the other way round.
Array array_of(const Tensor& tensor, const std::vector<char>& memory);

}  // namespace morello::testing

#endif
