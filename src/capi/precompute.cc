// SPDX-License-Identifier: MIT
// Making tables from families of Specs.
#include "precompute/precompute.hh"

#include <algorithm>

#include "capi/boundary.hh"
#include "capi/table.hh"
#include "capi/target.hh"
#include "table/frame.hh"

using namespace morello;

namespace {

constexpr u32 kMaxThreads = 1024;
morello_precompute_options default_options() noexcept {
  const PrecomputeOptions defaults;
  morello_precompute_options options{};
  options.struct_size = sizeof(options);
  options.target = MORELLO_ISA_AUTO;
  options.threads = 1;
  options.parts = 1;
  options.save_interval = static_cast<u32>(defaults.save_us / 1000);
  options.progress_interval = static_cast<u32>(defaults.progress_us / 1000);
  options.memory_budget = defaults.memory_bytes;
  return options;
}

std::optional<Error> find_invalid(const morello_precompute_options& o) {
  if (auto e = find_bad_target(o.target)) return e;
  auto invalid = [](const char* name, u32 value, const std::string& valid) {
    return invalid_argument(std::string("options.") + name + " is " + std::to_string(value) +
                            "; valid " + valid);
  };
  const std::string most = std::to_string(kMaxThreads);
  if (o.threads < 1 || o.threads > kMaxThreads)
    return invalid("threads", o.threads, "are 1 to " + most);
  if (o.workers > kMaxThreads)
    return invalid("workers", o.workers, "are 0 (one per processor) to " + most);
  if (o.parts < 1) return invalid("parts", o.parts, "is 1 or more");
  if (o.part >= o.parts)
    return invalid(
        "part", o.part,
        "are 0 to " + std::to_string(o.parts - 1) + ", as parts is " + std::to_string(o.parts));
  if (o.effort != kExactEffort && o.effort != kQuickEffort)
    return invalid("effort", o.effort,
                   "are 0 (MORELLO_EFFORT_EXACT) and " + std::to_string(kQuickEffort) +
                       " (MORELLO_EFFORT_QUICK): what a table decides depends on no count");
  return std::nullopt;
}

PrecomputeOptions internal_options(const morello_context& context,
                                   const morello_precompute_options& o) {
  PrecomputeOptions options;
  options.workers = o.workers == 0 ? std::max(1u, context.machine.processors) : o.workers;
  options.memory_bytes = o.memory_budget;
  options.effort = o.effort;
  options.table_bytes = context.table_memory;
  options.part = o.part;
  options.parts = o.parts;
  options.save_us = u64{o.save_interval} * 1000;
  options.progress_us = u64{o.progress_interval} * 1000;
  options.cancel = o.cancel;
  if (o.progress != nullptr)
    options.progress = [progress = o.progress,
                        user = o.progress_user](const PrecomputeProgress& p) {
      const morello_precompute_progress now = {
          sizeof(now), p.members, p.done,  p.found,        p.without_program, p.saved,
          p.pairs,     p.boxes,   p.bytes, p.microseconds, p.remaining_us};
      progress(user, &now);
    };
  return options;
}

Result<std::vector<Family>> parse_families(const char* const* texts, size_t count) {
  std::vector<Family> families;
  for (size_t i = 0; i < count; i++) {
    if (auto e = find_null({{"an entry of families", texts[i]}})) return *e;
    Result<Family> family = Family::parse(texts[i]);
    if (!family && count > 1)
      family.error().message = "families[" + std::to_string(i) + "]: " + family.error().message;
    if (!family) return std::move(family.error());
    families.push_back(std::move(*family));
  }
  return families;
}

/// What both precomputes do. `store`, a function (target, effort) -> Result<TableStore>, says where
/// to; `at_end`, (target, progress) -> Result<Done>, what the call returns.
template <class Store, class AtEnd>
Result<Done> solve_families(const morello_context& context, const char* const* families,
                            size_t family_count, const morello_precompute_options* options,
                            Store&& store, AtEnd&& at_end) {
  const auto given = read_struct(options, default_options(), kFirstPrecomputeOptions, "options");
  if (!given) return given.error();
  if (auto e = find_invalid(*given)) return *e;
  const Result<std::vector<Family>> parsed = parse_families(families, family_count);
  if (!parsed) return parsed.error();
  std::vector<Dtype> types;
  for (const Family& family : *parsed)
    for (Dtype type : family.types()) types.push_back(type);
  const Result<const Target*> chosen =
      choose_target(context, given->target, /*to_run=*/false, types);
  if (!chosen) return chosen.error();
  const Target target = make_target(context, **chosen, given->threads);
  const Result<TableStore> place = store(target, given->effort);
  if (!place) return place.error();
  const Result<PrecomputeProgress> end =
      precompute(*parsed, target, *place, internal_options(context, *given));
  if (!end) return end.error();
  return at_end(target, *end);
}

/// In the part that covers most of the pieces: a kernel's are all of one part.
PieceCount best_count(const morello_table& table, const Sized& sized) {
  PieceCount best;
  for (const auto& part : table.parts) {
    const PieceCount count = count_pieces(*part, sized);
    const bool is_whole = count.missing == 0;
    if (best.asked == 0 || is_whole || count.found > best.found) best = count;
    if (is_whole) break;
  }
  return best;
}

}  // namespace

void morello_precompute_options_init(morello_precompute_options* options, size_t options_size) {
  if (options != nullptr) write_struct(options, options_size, default_options());
}

morello_status morello_precompute(const morello_context* context, const char* const* families,
                                  size_t family_count, const char* path,
                                  const morello_precompute_options* options, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"families", families}, {"path", path}}))
      return *e;
    const auto store = [&](const Target&, u64) -> Result<TableStore> { return file_store(path); };
    const auto at_end = [](const Target&, const PrecomputeProgress& end) -> Result<Done> {
      if (!end.cancelled) return Done{};
      return Error{MORELLO_CANCELLED, "the precompute was cancelled by its caller; " +
                                          std::to_string(end.saved) +
                                          " members that it solved are in the table"};
    };
    return solve_families(*context, families, family_count, options, store, at_end);
  });
}

morello_status morello_precompute_table(const morello_context* context, const char* const* families,
                                        size_t family_count, const morello_table* known,
                                        const morello_precompute_options* options,
                                        morello_table** table, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"families", families}, {"table", table}}))
      return *e;
    std::optional<TableContent> content;
    TableParts others;
    const auto store = [&](const Target& target, u64 effort) -> Result<TableStore> {
      if (known == nullptr) return memory_store(content);
      const std::string &machine = known->parts.front()->table.identity().machine,
                        here(target.machine);
      if (machine != here)
        return Error{MORELLO_INCOMPATIBLE_TABLE, "argument `known`: it is for machine " + machine +
                                                     ", and the context for " + here};
      for (const auto& part : known->parts) {
        if (part->target == target && part->table.identity().effort == effort)
          content = part->table.content();
        else
          others.push_back(part);
      }
      return memory_store(content);
    };
    const auto at_end = [&](const Target& target, const PrecomputeProgress& end) -> Result<Done> {
      if (end.cancelled)
        return Error{MORELLO_CANCELLED,
                     "the precompute was cancelled by its caller; there is no table"};
      Result<Table> made = Table::make(*content);
      if (!made) return std::move(made.error());
      auto part = make_part(std::move(*made), target);
      const auto after = std::find_if(others.begin(), others.end(), [&](const auto& other) {
        return place_of(part->table.identity()) < place_of(other->table.identity());
      });
      others.insert(after, std::move(part));
      *table = make_table(std::move(others));
      return Done{};
    };
    return solve_families(*context, families, family_count, options, store, at_end);
  });
}

morello_status morello_table_coverage(const morello_table* table, const char* family,
                                      uint64_t* members, uint64_t* covered, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"family", family}})) return *e;
    const Result<Family> parsed = Family::parse(family);
    if (!parsed) return parsed.error();
    if (parsed->sized()) {
      const PieceCount count = best_count(*table, *parsed->sized());
      if (members != nullptr) *members = count.asked;
      if (covered != nullptr) *covered = count.found;
      return Done{};
    }
    if (covered != nullptr) {
      const Result<u64> count = count_members(*parsed, [&](const Spec& member) {
        return std::any_of(table->parts.begin(), table->parts.end(), [&](const auto& part) {
          return covers(part->table, member, part->target);
        });
      });
      if (!count) return count.error();
      *covered = *count;
    }
    if (members != nullptr) *members = parsed->members();
    return Done{};
  });
}
