// SPDX-License-Identifier: MIT
// What holds for stages of a graph whatever is around them: how each is written, and what is known
// of its value.
#ifndef MORELLO_SPEC_GRAPH_RULES_HH
#define MORELLO_SPEC_GRAPH_RULES_HH

#include <span>

#include "spec/graph.hh"

namespace morello {

inline bool is_number(const Source& s, double value) {
  return s == Source{Source::Kind::kNumber, 0, value};
}

/// One way to write what can be written in several.
void normalise(GraphStage& stage);

/// Is it what is left of elements when the greatest of them is subtracted? Then it is NaN or not
/// above 0, but where a fast_max met a NaN, and e^x takes fewer instructions: Op::kDecay.
/// @param computed  in what each stage computes.
bool is_never_positive(std::span<const GraphStage> stages, std::span<const Dtype> computed,
                       const Source& value);

}  // namespace morello

#endif
