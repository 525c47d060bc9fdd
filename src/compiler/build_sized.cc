// SPDX-License-Identifier: MIT
#include "compiler/build_sized.hh"

#include <algorithm>
#include <chrono>
#include <map>

#include "codegen/emit.hh"
#include "search/sized_pieces.hh"
#include "spec/ladder.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

class SizedBuilder {
 public:
  SizedBuilder(const Sized& sized, const Target& target, const SearchOptions& options,
               const Table* table, BuildOutput output)
      : sized_(sized), target_(target), options_(options), table_(table), output_(output) {}

  Result<BuiltKernel> build() {
    const auto largest = static_cast<u32>(sized_.largest());
    const Result<ChosenPieces> chosen = choose_pieces(
        sized_,
        [&](u32 size, const Statement& statement, const Lowered& lowered) {
          return add(size, statement, lowered);
        },
        [&] { return late(0); });
    if (!chosen) return chosen.error();
    Decomposition rows = decompose(chosen->pieces, largest, kCallUnits);
    BuiltKernel& whole = built_.at(largest);
    bool proven = chosen->complete;
    for (size_t o = 0; o < whole.kernel.operands.size(); o++)
      whole.kernel.operands[o].row_axis = sized_.axes()[o];
    for (const Piece& piece : chosen->pieces)
      proven &= built_.at(piece.size).kernel.estimate.optimal;
    if (output_ != BuildOutput::kProgram) {
      Result<Executable> joined = join(chosen->pieces, rows.next);
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

 private:
  /// Of the time budget, so many microseconds or fewer are left.
  bool late(u64 left) const { return options_.time_budget_us != 0 && remaining_us() <= left; }
  u64 remaining_us() const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_).count();
    return options_.time_budget_us - std::min(options_.time_budget_us, static_cast<u64>(passed));
  }

  Result<PieceProgram> add(u32 size, const Statement& statement, const Lowered& lowered) {
    const bool first = built_.empty();  // the largest
    SearchOptions options = options_;
    if (options.time_budget_us != 0) {
      constexpr u64 kShares = 2 * kLadder.size();  // more than there are pieces to begin with
      options.time_budget_us =
          std::max<u64>(1000, std::min(remaining_us(), options.time_budget_us / kShares));
    }
    Result<BuiltKernel> built =
        build_kernel(statement, lowered, target_, options, table_, output_, &plans_[size]);
    if (!built) return std::move(built.error());
    if (first) {
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
    PieceProgram program = program_of(built->report.tree);
    built_.emplace(size, std::move(*built));
    return program;
  }

  Result<Executable> join(const std::vector<Piece>& pieces, const std::vector<u8>& next) {
    const Clock::time_point start = Clock::now();
    std::vector<u32> sizes;
    std::vector<Plan> plans;
    for (const Piece& piece : pieces) {
      sizes.push_back(piece.size);
      plans.push_back(std::move(plans_.at(piece.size)));
    }
    std::vector<i64> steps;
    for (const KernelOperand& o : built_.at(static_cast<u32>(sized_.largest())).kernel.operands)
      steps.push_back(static_cast<i64>(o.row_bytes()));
    const Plan plan = join_plans(std::move(plans), target_);
    Result<Code> code = emit_pieces(plan, sizes, next, steps, target_);
    if (!code) return std::move(code.error());
    Result<CodeMemory> memory = output_ == BuildOutput::kExecutable ? CodeMemory::make(code->bytes)
                                                                    : CodeMemory::keep(code->bytes);
    if (!memory) return std::move(memory.error());
    Executable joined;
    joined.code = std::move(*memory);
    joined.entry = code->entry;
    joined.functions = std::move(code->functions);
    joined.scratch_bytes = plan.scratch_bytes();
    emit_nanoseconds_ += static_cast<u64>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
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
  const Clock::time_point start_ = Clock::now();
  std::map<u32, BuiltKernel> built_;  // by size
  std::map<u32, Plan> plans_;         // likewise
  SolveStats stats_;
  u64 plan_nanoseconds_ = 0, emit_nanoseconds_ = 0;
};

}  // namespace

Result<BuiltKernel> build_sized_kernel(const Sized& sized, const Target& target,
                                       const SearchOptions& options, const Table* table,
                                       BuildOutput output) {
  return SizedBuilder(sized, target, options, table, output).build();
}

}  // namespace morello
