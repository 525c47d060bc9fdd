// SPDX-License-Identifier: MIT
// The pieces of a Spec with a run-time size: kernels are built of them, and tables cover them, so
// both ask for the same ones.
#ifndef MORELLO_SEARCH_SIZED_PIECES_HH
#define MORELLO_SEARCH_SIZED_PIECES_HH

#include "impl/impl.hh"
#include "search/pieces.hh"
#include "spec/sized.hh"
#include "target/target.hh"

namespace morello {

/// Looking a piece up, calling it and advancing the operands, in units.
inline constexpr i64 kCallUnits = 30 * kUnitsPerCycle;

/// What is to be known of a piece's program.
struct PieceProgram {
  i64 cost = 0;
  std::vector<PackMove> packs;
};
inline PieceProgram program_of(const ImplTree& tree) {
  return {tree.nodes[0].cost, pack_moves(tree)};
}

/// The program of a piece that was not asked for yet.
using FindPiece =
    std::function<Result<PieceProgram>(u32 size, const Statement& statement, const Lowered&)>;

/// choose_pieces() for the programs of these sizes. The largest comes first; the free layouts that
/// its program chose are those of all others.
/// @return the first error of `find`; that of a size that is no valid Spec; UNSUPPORTED, if a piece
/// cannot have these layouts.
Result<ChosenPieces> choose_pieces(const Sized& sized, const FindPiece& find,
                                   const std::function<bool()>& enough);

/// How many pieces are asked for, as far as that is known, how many of them are there, and the size
/// of the first one that is not; 0: all are.
struct PieceCount {
  u64 asked = 0, found = 0;
  u32 missing = 0;
};
/// Which pieces are asked for besides first_pieces() depends on what these cost: where some of them
/// are missing, the others are not counted. `find`: nothing, where there is no program.
PieceCount count_pieces(const Sized& sized,
                        const std::function<std::optional<ImplTree>(const Spec&)>& find);

}  // namespace morello

#endif
