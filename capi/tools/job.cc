// SPDX-License-Identifier: MIT
// Making a kernel as the arguments say: tables, options, and a line of progress on a terminal.
#include "job.hh"

#include <cmath>
#include <filesystem>
#include <utility>

#include "output.hh"

namespace morello::tools {
namespace {

void show_progress(void* line, const morello_progress* p) {
  std::string best = "no program yet";
  if (std::isfinite(p->best_cost)) best = fmt::format("best {} cycles", grouped(p->best_cost));
  static_cast<StatusLine*>(line)->show(fmt::format(
      "searching {:.1f} s, {} states, {} MiB: {}, at least {}",
      static_cast<double>(p->microseconds) / 1e6, grouped(static_cast<double>(p->states)),
      p->bytes >> 20, best, grouped(p->lower_bound)));
}

morello_options options_of(const Arguments& arguments, JobKind kind) {
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = arguments.target;
  options.threads = arguments.threads;
  options.search_threads = arguments.search_threads;
  options.time_budget = arguments.time_budget;
  options.memory_budget = arguments.memory_budget << 20;
  options.effort = arguments.effort;
  options.search_only = kind == JobKind::kSearch ? 1 : 0;
  options.code_only = kind == JobKind::kCode ? 1 : 0;
  options.strict_table = arguments.strict_table ? 1 : 0;
  return options;
}

/// Statistics, size and threads of a job that has its kernel. False: *error says why not.
bool finish_job(const Arguments& arguments, JobKind kind, Job* job, morello_error** error) {
  morello_kernel_stats_get(job->kernel.get(), &job->stats, sizeof job->stats);
  const int64_t largest = morello_kernel_largest_size(job->kernel.get());
  const int64_t size = arguments.sizes.empty() ? largest : arguments.sizes.front();
  if (largest != 0 && kind == JobKind::kRun && !set_size(job, size, error)) return false;
  if (arguments.threads == 1 || kind != JobKind::kRun) return true;
  morello_pool* pool = nullptr;
  if (morello_pool_create(arguments.threads, &pool, error) != MORELLO_OK) return false;
  job->pool.reset(pool);
  return true;
}

/// A stored kernel, and its Spec to check it with.
std::optional<Job> load_job(const Arguments& arguments, const std::string& path, JobKind kind,
                            morello_context* context) {
  if (kind != JobKind::kRun || arguments.plan) {
    report_text(arguments, path, "a stored kernel can be run, not searched for: a SPEC is needed",
                1);
    return std::nullopt;
  }
  Job job;
  morello_error* error = nullptr;
  morello_kernel* kernel = nullptr;
  morello_spec* spec = nullptr;
  const bool loaded = morello_kernel_load(context, path.c_str(), &kernel, &error) == MORELLO_OK;
  job.kernel.reset(kernel);
  if (loaded) job.text = morello_kernel_spec(kernel);
  if (loaded && morello_spec_parse(context, job.text.c_str(), &spec, &error) == MORELLO_OK) {
    job.spec.reset(spec);
    if (finish_job(arguments, kind, &job, &error)) return job;
  }
  report_error(arguments, path, ErrorPtr(error).get());
  return std::nullopt;
}

}  // namespace

bool set_size(Job* job, int64_t size, morello_error** error) {
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, error) != MORELLO_OK) return false;
  const ContextPtr own(context);
  morello_spec *whole = nullptr, *fixed = nullptr;
  if (morello_spec_parse(context, job->text.c_str(), &whole, error) != MORELLO_OK) return false;
  const SpecPtr parsed(whole);
  if (morello_spec_at_size(whole, size, &fixed, error) != MORELLO_OK) return false;
  job->spec.reset(fixed);
  job->size = size;
  return true;
}

int report_size(const Job& job) {
  print_error("morello: --size: \"{}\" has no run-time size, such as ?<=512\n", job.text);
  return kExitUsage;
}

int report_run_time_size(const Arguments& arguments, const std::string& text) {
  return report_text(arguments, text,
                     "this command needs to know all sizes; write a number for each '?'", 1);
}

std::string miss_text(const morello_table* table, const morello_spec* spec) {
  std::string text(morello_table_miss(table, spec, nullptr, 0), '\0');
  morello_table_miss(table, spec, text.data(), text.size() + 1);
  return text;
}

bool load_tables(const std::vector<std::string>& paths, morello_context* context, TablePtr* all,
                 morello_error** error) {
  for (const std::string& path : paths) {
    morello_table* table = nullptr;
    if (morello_table_load(context, path.c_str(), &table, error) != MORELLO_OK) return false;
    const TablePtr loaded(std::exchange(table, nullptr));
    if (!*all) {
      all->reset(morello_table_retain(loaded.get()));
      continue;
    }
    if (morello_table_merge(all->get(), loaded.get(), &table, error) != MORELLO_OK) return false;
    all->reset(table);
  }
  return true;
}

std::optional<Job> make_job(const Arguments& arguments, const std::string& text, JobKind kind) {
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);
  if (context && text.ends_with(".mkrn")) return load_job(arguments, text, kind, context.get());
  std::error_code unknown;
  if (text.find_first_of(" [") == text.npos && std::filesystem::is_regular_file(text, unknown)) {
    report_text(arguments, text,
                "is a file, no Spec; of files, stored kernels are taken, whose names end with "
                ".mkrn. Specs by lines come from standard input (-), tables go behind --table",
                1);
    return std::nullopt;
  }
  TablePtr table;
  if (!context || !load_tables(arguments.tables, context.get(), &table, &error)) {
    report_error(arguments, text, ErrorPtr(error).get());
    return std::nullopt;
  }
  return make_job_in(arguments, text, kind, context.get(), table.get());
}

std::optional<Job> make_job_in(const Arguments& arguments, const std::string& text, JobKind kind,
                               morello_context* context, const morello_table* table) {
  morello_error* error = nullptr;
  const auto failed = [&] {
    report_error(arguments, text, ErrorPtr(error).get());
    return std::nullopt;
  };

  Job job;
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) return failed();
  job.spec.reset(spec);
  job.text = text_of(morello_spec_print, static_cast<const morello_spec*>(spec));

  morello_options options = options_of(arguments, kind);
  options.table = table;
  morello_kernel* kernel = nullptr;
  morello_status status;
  {
    StatusLine line;
    line.show("searching...");
    options.progress = show_progress;
    options.progress_user = &line;
    status = morello_synthesize(context, spec, &options, &kernel, &error);
  }
  if (status != MORELLO_OK) return failed();
  job.kernel.reset(kernel);
  if (table != nullptr) job.miss = miss_text(table, spec);
  if (!finish_job(arguments, kind, &job, &error)) return failed();
  return job;
}

}  // namespace morello::tools
