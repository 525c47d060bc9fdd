// SPDX-License-Identifier: MIT
// The library's own kernel as one more Method.
#ifndef MORELLO_BENCH_PEERS_OURS_HH
#define MORELLO_BENCH_PEERS_OURS_HH

#include <string>

#include "peer.hh"

namespace morello::bench {

/// The Spec of `text` for the best instruction set that the environment allows.
Offer our_offer(const std::string& text, const Setting& setting);

/// The Spec of `text` as the library prints it, with all that it may leave out, such as the result;
/// `text` itself if the library refuses it.
std::string in_full(const std::string& text);

/// Operands of a Spec that parse_problem() does not know; none if the library refuses it.
Problem problem_of(const std::string& text);

/// Evaluates the Spec on `operands`, slowly. Empty, or why not.
std::string evaluate(const std::string& text, void* const* operands);

}  // namespace morello::bench

#endif
