// SPDX-License-Identifier: MIT
#include "search/sized_pieces.hh"

#include <algorithm>
#include <utility>

#include "spec/roles.hh"

namespace morello {
namespace {

/// The dimensions of an operand with a free layout, slowest first.
std::vector<u8> dims_by_stride(const Lowered& lowered, size_t operand) {
  std::vector<u8> dims;
  for (u8 d = 0; d < lowered.spec.rank; d++)
    if (has_dim(lowered.spec.operand[operand].dims, d)) dims.push_back(d);
  const auto stride = [&](u8 d) { return lowered.view[operand].dim[d].stride[0]; };
  std::sort(dims.begin(), dims.end(), [&](u8 a, u8 b) { return stride(a) > stride(b); });
  return dims;
}

/// Gives an operand of `to` the layout that a program of `from` has chosen for its own.
bool fix_layout(const Lowered& from, const PackMove& chosen, Lowered& to) {
  const auto same = std::find(to.argument.begin(), to.argument.begin() + to.spec.operand_count,
                              from.argument[chosen.operand]);
  const auto o = static_cast<size_t>(same - to.argument.begin());
  const std::vector<u8> before = dims_by_stride(from, chosen.operand),
                        after = dims_by_stride(to, o);
  if (before.size() != after.size()) return false;
  Layout layout = chosen.placed.layout;
  for (int i = 0; i < layout.count(); i++) {
    const auto at = std::find(before.begin(), before.end(), layout.dim[i]) - before.begin();
    if (from.spec.size[before[at]] != to.spec.size[after[at]]) return false;
    layout.dim[i] = after[at];
  }
  Operand& operand = to.spec.operand[o];
  operand = dense_operand(to.spec, operand.dtype, operand.level, operand.access, operand.dims,
                          layout, operand.windows);
  to.view[o] = dense_view(to.spec, operand);
  forget_pitch(operand);
  return true;
}

/// Makes the Specs of the pieces, and keeps the layouts that the first of them chose.
class PieceFinder {
 public:
  PieceFinder(const Sized& sized, const FindPiece& find) : sized_(sized), find_(find) {}

  Result<i64> cost_of(u32 size) {
    const Result<Statement> statement = sized_.at(size);
    if (!statement) return statement.error();
    Result<Lowered> lowered = lower(*statement);
    if (!lowered) return lowered.error();
    const bool first = !std::exchange(began_, true);
    bool fixed = true;
    for (const PackMove& pack : packs_) fixed = fixed && fix_layout(largest_, pack, *lowered);
    if (!first && (!fixed || has_free_operand(lowered->spec)))
      return Error{MORELLO_UNSUPPORTED,
                   "\"" + sized_.text() + "\": of size " + std::to_string(size) +
                       " it cannot have the free layout that is best for the largest size; give "
                       "the layout"};
    Result<PieceProgram> program = find_(size, *statement, *lowered);
    if (!program) return std::move(program.error());
    if (first) {
      largest_ = std::move(*lowered);
      packs_ = std::move(program->packs);
    }
    return program->cost;
  }

 private:
  const Sized& sized_;
  const FindPiece& find_;
  bool began_ = false;
  Lowered largest_;
  std::vector<PackMove> packs_;  // of the largest
};

}  // namespace

Result<ChosenPieces> choose_pieces(const Sized& sized, const FindPiece& find,
                                   const std::function<bool()>& enough) {
  PieceFinder finder(sized, find);
  return choose_pieces(
      static_cast<u32>(sized.largest()), kCallUnits, [&](u32 size) { return finder.cost_of(size); },
      enough);
}

PieceCount count_pieces(const Sized& sized,
                        const std::function<std::optional<ImplTree>(const Spec&)>& find) {
  const auto largest = static_cast<u32>(sized.largest());
  const u64 first = first_pieces(largest).size();
  PieceCount count;
  const FindPiece look = [&](u32, const Statement&,
                             const Lowered& lowered) -> Result<PieceProgram> {
    const std::optional<ImplTree> tree = find(lowered.spec);
    if (!tree) return Error{MORELLO_NO_IMPLEMENTATION, "the piece is missing"};
    count.found++;
    return program_of(*tree);
  };
  PieceFinder finder(sized, look);
  const auto cost_of = [&](u32 size) -> Result<i64> {
    count.asked++;
    Result<i64> cost = finder.cost_of(size);
    if (cost) return cost;
    if (count.missing == 0) count.missing = size;
    // The others of the first ones are asked for as well, whatever this one costs.
    if (count.asked < first) return i64{1};
    return cost;
  };
  const auto enough = [&] { return count.missing != 0 && count.asked >= first; };
  // An error says that the last one is missing.
  (void)choose_pieces(largest, kCallUnits, cost_of, enough);
  return count;
}

}  // namespace morello
