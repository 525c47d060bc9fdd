// SPDX-License-Identifier: MIT
// The same figures as a Markdown table, as CSV, and as a picture.
#ifndef MORELLO_BENCH_PEERS_REPORT_HH
#define MORELLO_BENCH_PEERS_REPORT_HH

#include <string>
#include <vector>

#include "record.hh"

namespace morello::bench {

std::string table_of(const Group& group);
std::string csv_of(const std::vector<Group>& groups);
/// An SVG document: a line for each problem, a mark for each library where its best round lies
/// between nothing and the limit.
std::string plot_of(const std::vector<Group>& groups);

/// "warm" or "cold", behind the Spec.
std::string title_of(const Outcome& outcome);

}  // namespace morello::bench

#endif
