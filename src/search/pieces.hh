// SPDX-License-Identifier: MIT
// What a run-time size is made of: a few sizes with a program each, pieces, and for each size up to
// the largest the cheapest list of them.
#ifndef MORELLO_SEARCH_PIECES_HH
#define MORELLO_SEARCH_PIECES_HH

#include <functional>
#include <span>
#include <vector>

#include "support/result.hh"

namespace morello {

struct Piece {
  u32 size = 0;
  i64 cost = 0;  // units
};

/// For each size up to the largest: the piece to begin with, and what all cost together. Entry 0 is
/// that of no rows.
struct Decomposition {
  std::vector<u8> next;
  std::vector<i64> cost;
};

inline constexpr size_t kMostPieces = 128;

/// The cheapest decompositions, of those the one with the largest first piece. `call`: units that
/// each piece costs besides.
/// REQUIRES: ascending sizes, the first is 1; at most kMostPieces.
Decomposition decompose(std::span<const Piece> pieces, u32 largest, i64 call);

/// What is asked for whatever it costs, in this order: the largest size, then the ladder.
std::vector<u32> first_pieces(u32 largest);

/// Units of a piece that was not asked for yet.
using CostOf = std::function<Result<i64>(u32 size)>;

struct ChosenPieces {
  std::vector<Piece> pieces;  // ascending
  bool complete = true;       // `enough` did not end the choice
};

/// Asks for pieces until decompositions of all sizes cost little more than a program for exactly
/// that size would, as far as programs of nearby sizes tell, and leaves out those that are worth
/// little. `enough` is asked before each piece that decompositions could do without.
Result<ChosenPieces> choose_pieces(u32 largest, i64 call, const CostOf& cost_of,
                                   const std::function<bool()>& enough);

}  // namespace morello

#endif
