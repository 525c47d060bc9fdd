// SPDX-License-Identifier: MIT
// Synthesis: options, what is reported during a search, and the kernel object.
#include <cmath>

#include "capi/boundary.hh"
#include "capi/cache.hh"
#include "capi/spec.hh"
#include "capi/table.hh"
#include "capi/target.hh"
#include "compiler/build_sized.hh"
#include "compiler/explain.hh"
#include "table/identity.hh"
#include "target/dots.hh"

using namespace morello;

namespace {

constexpr u32 kMaxThreads = 1024;
constexpr morello_options default_options() {
  morello_options options{};
  options.struct_size = sizeof(options);
  options.target = MORELLO_ISA_AUTO;
  options.threads = 1;
  options.search_threads = 1;
  options.progress_interval = 100;
  return options;
}
constexpr morello_options kDefaults = default_options();

std::optional<Error> find_invalid(const morello_options& o) {
  if (auto e = find_bad_target(o.target)) return e;
  if (o.threads < 1 || o.threads > kMaxThreads)
    return invalid_argument("options.threads is " + std::to_string(o.threads) +
                            "; valid are 1 to " + std::to_string(kMaxThreads));
  if (o.search_threads > kMaxThreads)
    return invalid_argument("options.search_threads is " + std::to_string(o.search_threads) +
                            "; valid are 0 (one per processor) to " + std::to_string(kMaxThreads));
  if (o.reserved0 != 0)
    return invalid_argument("options.reserved0 is " + std::to_string(o.reserved0) +
                            "; it must be 0");
  if (o.strict_table > 1)
    return invalid_argument("options.strict_table is " + std::to_string(o.strict_table) +
                            "; valid are 0 and 1");
  if (o.search_only != 0 && o.code_only != 0)
    return invalid_argument(
        "options.search_only and options.code_only are both set; the one makes no code");
  return std::nullopt;
}

/// What of a table is for kernels for `target`, or why nothing is.
struct Fitting {
  const TablePart* part = nullptr;
  TableReason reason = TableReason::kNoReason;
  const TablePart* nearest = nullptr;  // for messages
};
Fitting find_fitting(const morello_table* table, const Target& target, const morello_spec& spec,
                     u64 effort) {
  Fitting found;
  if (table == nullptr) return found;
  found.part = part_for(*table, target, spec, effort);
  if (found.part != nullptr) return found;
  found.reason = TableReason::kTarget;
  found.nearest = table->parts.front().get();
  for (const auto& part : table->parts) {
    Target same_threads = part->target;
    same_threads.processors = target.processors;
    if (same_threads != target) continue;
    found.reason = TableReason::kThreads;
    found.nearest = part.get();
  }
  return found;
}

Error unfit(const TablePart& nearest, const Target& target) {
  return Error{MORELLO_INCOMPATIBLE_TABLE,
               "options.table is of another " +
                   difference(nearest.table.identity(),
                              identity_of(target, nearest.table.identity().effort)) +
                   "; set options.target and options.threads as for the table, give none, or "
                   "leave options.strict_table 0"};
}

double cycles(i64 units) {
  if (units >= kInfinite) return HUGE_VAL;
  return static_cast<double>(units) / static_cast<double>(kUnitsPerCycle);
}

std::function<void(const SearchProgress&)> progress_of(const morello_options& o) {
  if (o.progress == nullptr) return nullptr;
  return [progress = o.progress, user = o.progress_user](const SearchProgress& p) {
    const morello_progress now = {sizeof(morello_progress), p.states,       p.previews,     p.bytes,
                                  p.microseconds,           cycles(p.best), cycles(p.bound)};
    progress(user, &now);
  };
}

SearchOptions search_options(const morello_context& context, const morello_options& o,
                             const Target& target) {
  SearchOptions search;
  search.threads = target.processors;
  search.search_threads = o.search_threads == 0 ? context.machine.processors : o.search_threads;
  search.time_budget_us = o.time_budget;
  search.memory_budget_bytes = o.memory_budget;
  search.effort = o.effort;
  search.progress = progress_of(o);
  search.progress_us = u64{o.progress_interval} * 1000;
  search.cancel = o.cancel;
  return search;
}

BuildOutput output_of(const morello_options& o) {
  if (o.search_only != 0) return BuildOutput::kProgram;
  return o.code_only != 0 ? BuildOutput::kCode : BuildOutput::kExecutable;
}

/// That a search was needed in spite of a table, and why.
void log_table(const morello_context& context, const Fitting& table, const SolveStats& solving,
               const morello_spec& spec, const std::string& name) {
  if (context.log == nullptr) return;
  if (solving.table_use == TableUse::kWrong)
    log_to(context, MORELLO_LOG_WARNING,
           "options.table covers " + name + ", but what it decides is no program");
  if (solving.table_use != TableUse::kNotCovered && solving.table_use != TableUse::kNear) return;
  std::string why;
  if (solving.table_reason == TableReason::kEffort)
    why = "it is of quick searches, and more is asked for";
  else if (table.part != nullptr)
    why = miss_text(*table.part, spec);
  else
    why = std::string("it is for another ") +
          (table.reason == TableReason::kTarget ? "target" : "number of threads") + ", " +
          name_of(*table.nearest);
  if (solving.table_use == TableUse::kNear)
    why += "; what it decides for near sizes made the program";
  log_to(context, MORELLO_LOG_INFO, "options.table does not cover " + name + ": " + why);
}

/// But for what the kernel says of itself.
morello_search_stats stats_of(const BuildReport& report) noexcept {
  const SearchStats& s = report.solving.search;
  morello_search_stats stats{};
  stats.specs = s.specs;
  stats.states = s.states;
  stats.expanded = s.expanded;
  stats.previews = s.previews;
  stats.memo_hits = s.memo_hits;
  stats.bytes = s.bytes;
  stats.search_microseconds = s.microseconds;
  stats.codegen_microseconds = (report.plan_nanoseconds + report.emit_nanoseconds) / 1000;
  stats.misfits = s.misfits;
  stats.advances = s.advances;
  stats.borrowed = s.borrowed;
  stats.lookup_nanoseconds = report.solving.lookup_nanoseconds;
  stats.search_nanoseconds = report.solving.search_nanoseconds;
  stats.plan_nanoseconds = report.plan_nanoseconds;
  stats.emit_nanoseconds = report.emit_nanoseconds;
  stats.table_use = static_cast<i32>(report.solving.table_use);
  stats.table_reason = static_cast<i32>(report.solving.table_reason);
  stats.effort = report.solving.effort;
  return stats;
}

/// The element types of the operands, in `room`.
using Types = std::array<Dtype, kMaxOperands>;
std::span<const Dtype> types_of(const morello_spec& spec, Types& room) noexcept {
  size_t count = 0;
  for (const Tensor& t : spec.statement.tensors) room[count++] = t.dtype;
  return {room.data(), count};
}

}  // namespace

void morello_options_init(morello_options* options, size_t options_size) {
  if (options != nullptr) write_struct(options, options_size, kDefaults);
}

int32_t morello_spec_isa(const morello_spec* spec, uint32_t usable_isas) {
  return guarded_value(int32_t{0}, [&] {
    if (spec == nullptr) return 0;
    Types types;
    const Target* best = best_among(usable_isas, types_of(*spec, types));
    return best == nullptr ? 0 : best->number;
  });
}

morello_status morello_synthesize(const morello_context* context, const morello_spec* spec,
                                  const morello_options* options, morello_kernel** kernel,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"spec", spec}, {"kernel", kernel}})) return *e;
    const auto given = read_struct(options, kDefaults, kFirstOptions, "options");
    if (!given) return given.error();
    if (auto e = find_invalid(*given)) return *e;
    const BuildOutput output = output_of(*given);
    Types types;
    const Result<const Target*> chosen = choose_target(
        *context, given->target, output == BuildOutput::kExecutable, types_of(*spec, types));
    if (!chosen) return chosen.error();
    const Target target = make_target(*context, **chosen, given->threads);
    const Fitting fitting = find_fitting(given->table, target, *spec, given->effort);
    const bool fits = fitting.reason == TableReason::kNoReason;
    if (!fits && given->strict_table != 0) return unfit(*fitting.nearest, target);
    const SearchOptions search = search_options(*context, *given, target);
    std::optional<CacheKeys> keys;
    if (context->cache && output != BuildOutput::kProgram) {
      keys.emplace(*spec, target, search);
      const bool to_run = output == BuildOutput::kExecutable;
      if (std::optional<Kernel> found = keys->find(*context, to_run)) {
        *kernel = loaded_kernel(*context, std::move(*found));
        return Done{};
      }
    }
    const Table* asked = fitting.part == nullptr ? nullptr : &fitting.part->table;
    Result<BuiltKernel> built =
        spec->sized ? build_sized_kernel(*spec->sized, target, search, asked, output)
                    : build_kernel(spec->statement, spec->lowered, target, search, asked, output);
    if (!built) return std::move(built.error());
    if (!fits) {
      built->report.solving.table_use = TableUse::kNotCovered;
      built->report.solving.table_reason = fitting.reason;
    }
    log_table(*context, fitting, built->report.solving, *spec, built->kernel.name);
    // A table may be wrong about what is cheapest, and answers fast; what is not proven depends on
    // what it has for near sizes.
    const bool by_table = asked != nullptr && !built->kernel.estimate.optimal;
    if (keys && !by_table && built->report.solving.table_use != TableUse::kAnswered)
      keys->put(*context, built->kernel);
    auto made = make_kernel(*context, std::move(built->kernel));
    made->impl_text = std::move(built->report.impl_text);
    made->plan_text = std::move(built->report.plan_text);
    made->stats = stats_of(built->report);
    if (spec->sized) {
      *kernel = made.release();
      return Done{};
    }
    const auto program = std::make_shared<Program>(
        Program{std::move(built->report.tree), target, spec->lowered.argument});
    program->tree.target = &program->target;
    made->explain = [program] { return explain(*program); };
    *kernel = made.release();
    return Done{};
  });
}
