// SPDX-License-Identifier: MIT
#include "search/pieces.hh"

#include <algorithm>
#include <map>

#include "spec/ladder.hh"

namespace morello {
namespace {

/// How many times as much as the program for exactly one size its decomposition may cost before it
/// gets one of its own; and, once pieces are left out, at most, and on average over all sizes.
constexpr double kGood = 1.04, kWorst = 1.1, kMean = 1.025;

/// What a program for each size costs, with straight lines between those that are known: the least
/// that can be expected, as a size that fits no register tile costs more than the line.
std::vector<double> expected_costs(const std::map<u32, i64>& known, u32 largest, i64 call) {
  std::vector<double> costs(largest + 1);
  auto from = known.begin();
  for (auto to = std::next(from); to != known.end(); from = to++) {
    const double step = static_cast<double>(to->second - from->second) / (to->first - from->first);
    for (u32 size = from->first; size <= to->first; size++)
      costs[size] = static_cast<double>(from->second + call) + step * (size - from->first);
  }
  return costs;
}

std::vector<Piece> list(const std::map<u32, i64>& known) {
  std::vector<Piece> pieces;
  for (const auto& [size, cost] : known) pieces.push_back({size, cost});
  return pieces;
}

double ratio(const Decomposition& d, const std::vector<double>& expected, u32 size) {
  return static_cast<double>(d.cost[size]) / expected[size];
}

/// What decompositions cost, compared with what is expected.
struct Loss {
  double worst = 0, mean = 0;
};
Loss loss(const Decomposition& d, const std::vector<double>& expected) {
  Loss l;
  for (u32 size = 1; size < expected.size(); size++) {
    const double r = ratio(d, expected, size);
    l.worst = std::max(l.worst, r);
    l.mean += r / static_cast<double>(expected.size() - 1);
  }
  return l;
}

/// Leaves out pieces, those first that fewest sizes begin with.
void prune(std::vector<Piece>& pieces, u32 largest, i64 call, const std::vector<double>& expected) {
  Decomposition whole = decompose(pieces, largest, call);
  const Loss least = loss(whole, expected);
  const Loss most{std::max(kWorst, least.worst), std::max(kMean, least.mean)};
  std::vector<u32> uses(pieces.size());
  for (u32 size = 1; size <= largest; size++) uses[whole.next[size]]++;
  std::vector<std::pair<u32, u32>> order;  // uses, size
  for (size_t p = 0; p < pieces.size(); p++) order.push_back({uses[p], pieces[p].size});
  std::sort(order.begin(), order.end());
  for (const auto& [used, size] : order) {
    if (size == 1) continue;  // so that every size has a decomposition
    std::vector<Piece> fewer;
    for (const Piece& piece : pieces)
      if (piece.size != size) fewer.push_back(piece);
    const Loss now = used == 0 ? least : loss(decompose(fewer, largest, call), expected);
    if (now.worst <= most.worst && now.mean <= most.mean) pieces = std::move(fewer);
  }
}

}  // namespace

Decomposition decompose(std::span<const Piece> pieces, u32 largest, i64 call) {
  Decomposition d{std::vector<u8>(largest + 1), std::vector<i64>(largest + 1)};
  for (u32 size = 1; size <= largest; size++) {
    i64 best = -1;
    for (size_t p = 0; p < pieces.size() && pieces[p].size <= size; p++) {
      const i64 cost = pieces[p].cost + call + d.cost[size - pieces[p].size];
      if (best >= 0 && cost > best) continue;
      best = cost;
      d.next[size] = static_cast<u8>(p);
    }
    d.cost[size] = best;
  }
  return d;
}

std::vector<u32> first_pieces(u32 largest) {
  std::vector<u32> sizes = {largest, 1};
  for (u32 size = 2; size < largest; size = next_on_ladder(size)) sizes.push_back(size);
  return sizes;
}

Result<ChosenPieces> choose_pieces(u32 largest, i64 call, const CostOf& cost_of,
                                   const std::function<bool()>& enough) {
  std::map<u32, i64> known;
  std::vector<u32> wanted = first_pieces(largest);
  ChosenPieces chosen;
  for (size_t i = 0; i < wanted.size(); i++) {
    if (i >= 2 && enough()) {
      chosen.complete = false;
      break;
    }
    const Result<i64> cost = cost_of(wanted[i]);
    if (!cost) return cost.error();
    known[wanted[i]] = *cost;
    if (i + 1 < wanted.size() || known.size() == kMostPieces) continue;
    // The next one where most is lost.
    const std::vector<double> expected = expected_costs(known, largest, call);
    const Decomposition d = decompose(list(known), largest, call);
    double worst = kGood;
    u32 at = 0;
    for (u32 size = 1; size <= largest; size++) {
      if (ratio(d, expected, size) <= worst) continue;
      worst = ratio(d, expected, size);
      at = size;
    }
    if (at != 0) wanted.push_back(at);
  }
  chosen.pieces = list(known);
  prune(chosen.pieces, largest, call, expected_costs(known, largest, call));
  return chosen;
}

}  // namespace morello
