// SPDX-License-Identifier: MIT
#include "compiler/build_sized.hh"

#include <algorithm>
#include <chrono>
#include <map>

#include "codegen/emit.hh"
#include "compiler/pieces.hh"
#include "spec/ladder.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

/// Looking a piece up, calling it and advancing the operands, in units.
constexpr i64 kCallUnits = 30 * kUnitsPerCycle;

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

class SizedBuilder {
 public:
  SizedBuilder(const Sized& sized, const Target& target, const SearchOptions& options,
               const Table* table, BuildOutput output)
      : sized_(sized), target_(target), options_(options), table_(table), output_(output) {}

  Result<BuiltKernel> build() {
    const auto largest = static_cast<u32>(sized_.largest());
    const Result<ChosenPieces> chosen = choose_pieces(
        largest, kCallUnits, [&](u32 size) { return add(size); }, [&] { return late(0); });
    if (!chosen) return chosen.error();
    Decomposition rows = decompose(chosen->pieces, largest, kCallUnits);
    BuiltKernel& whole = built_.at(largest);
    bool proven = chosen->complete;
    for (size_t o = 0; o < whole.kernel.operands.size(); o++)
      whole.kernel.operands[o].row_axis = sized_.axes()[o];
    std::vector<Executable*> parts;
    for (const Piece& piece : chosen->pieces) {
      BuiltKernel& part = built_.at(piece.size);
      proven &= part.kernel.estimate.optimal;
      if (output_ != BuildOutput::kProgram) parts.push_back(&*part.kernel.executable);
    }
    if (output_ != BuildOutput::kProgram) {
      Result<Executable> joined = join(chosen->pieces, parts, rows.next);
      if (!joined) return std::move(joined.error());
      whole.kernel.executable = std::move(*joined);
    }
    describe(chosen->pieces, rows, whole.report);
    Kernel& kernel = whole.kernel;
    kernel.name += "_sized";
    kernel.spec = sized_.text();
    kernel.estimate.cost = rows.cost.back();
    kernel.estimate.bound = std::min(kernel.estimate.bound, kernel.estimate.cost);
    kernel.estimate.optimal = proven;
    kernel.sized = SizedCosts{std::move(rows.cost)};
    stats_.search.optimal = proven;
    whole.report.solving = stats_;
    whole.report.plan_nanoseconds = plan_nanoseconds_;
    whole.report.emit_nanoseconds = emit_nanoseconds_;
    return std::move(whole);
  }

  u32 last_size() const { return last_; }

 private:
  /// Of the time budget, so many microseconds or fewer are left.
  bool late(u64 left) const { return options_.time_budget_us != 0 && remaining_us() <= left; }
  u64 remaining_us() const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_).count();
    return options_.time_budget_us - std::min(options_.time_budget_us, static_cast<u64>(passed));
  }

  /// Builds the piece; returns its cost.
  Result<i64> add(u32 size) {
    last_ = size;
    const Result<Statement> statement = sized_.at(size);
    if (!statement) return statement.error();
    Result<Lowered> lowered = lower(*statement);
    if (!lowered) return lowered.error();
    const bool first = built_.empty();  // the largest
    if (first) largest_ = *lowered;
    bool fixed = true;
    for (const PackMove& pack : packs_) fixed = fixed && fix_layout(largest_, pack, *lowered);
    if (!first && (!fixed || has_free_operand(lowered->spec)))
      return Error{MORELLO_UNSUPPORTED,
                   "\"" + sized_.text() + "\": of size " + std::to_string(size) +
                       " it cannot have the free layout that is best for the largest size; give "
                       "the layout"};
    SearchOptions options = options_;
    if (options.time_budget_us != 0) {
      constexpr u64 kShares = 2 * kLadder.size();  // more than there are pieces to begin with
      options.time_budget_us =
          std::max<u64>(1000, std::min(remaining_us(), options.time_budget_us / kShares));
    }
    const BuildOutput output =
        first || output_ == BuildOutput::kProgram ? output_ : BuildOutput::kCode;
    Result<BuiltKernel> built =
        build_kernel(*statement, *lowered, target_, options, table_, output);
    if (!built) return std::move(built.error());
    if (first) {
      packs_ = pack_moves(built->report.tree);
      stats_ = built->report.solving;
    } else {
      accumulate(stats_, built->report.solving);
      // Of the first piece that the table does not answer for.
      if (stats_.table_use == TableUse::kAnswered) {
        stats_.table_use = built->report.solving.table_use;
        stats_.table_reason = built->report.solving.table_reason;
      }
    }
    plan_nanoseconds_ += built->report.plan_nanoseconds;
    emit_nanoseconds_ += built->report.emit_nanoseconds;
    const i64 cost = built->kernel.estimate.cost;
    built_.emplace(size, std::move(*built));
    return cost;
  }

  Result<Executable> join(const std::vector<Piece>& pieces, const std::vector<Executable*>& parts,
                          const std::vector<u8>& next) const {
    std::vector<PieceCode> codes;
    Executable joined;
    for (size_t p = 0; p < parts.size(); p++) {
      const u8* const bytes = parts[p]->code.data();
      codes.push_back({pieces[p].size,
                       {{bytes, bytes + parts[p]->code.size()},
                        parts[p]->entry,
                        std::move(parts[p]->functions)}});
      joined.scratch_bytes = std::max(joined.scratch_bytes, parts[p]->scratch_bytes);
    }
    std::vector<i64> steps;
    for (const KernelOperand& o : built_.at(static_cast<u32>(sized_.largest())).kernel.operands)
      steps.push_back(static_cast<i64>(o.row_bytes()));
    Result<Code> code = emit_pieces(codes, next, steps, target_);
    if (!code) return std::move(code.error());
    Result<CodeMemory> memory = output_ == BuildOutput::kExecutable ? CodeMemory::make(code->bytes)
                                                                    : CodeMemory::keep(code->bytes);
    if (!memory) return std::move(memory.error());
    joined.code = std::move(*memory);
    joined.entry = code->entry;
    joined.functions = std::move(code->functions);
    return joined;
  }

  /// What runs for which size, then the programs of the pieces.
  void describe(const std::vector<Piece>& pieces, const Decomposition& rows, BuildReport& report) {
    std::string text = std::to_string(pieces.size()) + " pieces for sizes up to " +
                       std::to_string(sized_.largest()) + "\n";
    for (size_t from = 1, to = 1; from < rows.next.size(); from = to) {
      while (to < rows.next.size() && rows.next[to] == rows.next[from]) to++;
      const u32 piece = pieces[rows.next[from]].size;
      text += "  size " + std::to_string(from);
      if (to - 1 > from) text += " to " + std::to_string(to - 1);
      text +=
          ": " + std::to_string(piece) + (from == piece && to == from + 1 ? "" : ", rest") + "\n";
    }
    std::string plans;
    for (const Piece& piece : pieces) {
      const BuildReport& part = built_.at(piece.size).report;
      const std::string title = "\npiece of " + std::to_string(piece.size) + "\n";
      text += title + part.impl_text;
      plans += title + part.plan_text;
    }
    report.impl_text = std::move(text);
    report.plan_text = output_ == BuildOutput::kProgram ? "" : plans;
  }

  const Sized& sized_;
  const Target& target_;
  const SearchOptions& options_;
  const Table* table_;
  const BuildOutput output_;
  u32 last_ = 0;  // begun
  const Clock::time_point start_ = Clock::now();
  std::map<u32, BuiltKernel> built_;  // by size
  Lowered largest_;
  std::vector<PackMove> packs_;  // of the largest, which is built first
  SolveStats stats_;
  u64 plan_nanoseconds_ = 0, emit_nanoseconds_ = 0;
};

}  // namespace

Result<BuiltKernel> build_sized_kernel(const Sized& sized, const Target& target,
                                       const SearchOptions& options, const Table* table,
                                       BuildOutput output) {
  return SizedBuilder(sized, target, options, table, output).build();
}

u32 find_failing_piece(const Sized& sized, const Target& target, const SearchOptions& options,
                       const Table* table) {
  SizedBuilder builder(sized, target, options, table, BuildOutput::kProgram);
  return builder.build().ok() ? 0 : builder.last_size();
}

}  // namespace morello
