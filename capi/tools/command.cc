// SPDX-License-Identifier: MIT
#include "command.hh"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "fmt/format.h"

namespace morello::tools {
namespace {

void print_caret(const std::string& text, uint32_t line, uint32_t column) {
  size_t start = 0;
  for (uint32_t skipped = 1; skipped < line; ++skipped) {
    const size_t newline = text.find('\n', start);
    if (newline == text.npos) return;
    start = newline + 1;
  }
  const std::string shown = text.substr(start, text.find('\n', start) - start);
  // As wide as the text before the column: tabs stay, and a UTF-8 sequence is one character.
  std::string pad;
  for (size_t i = 0; i + 1 < column && i < shown.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(shown[i]);
    if (c == '\t') {
      pad += '\t';
    } else if ((c & 0xc0) != 0x80) {
      pad += ' ';
    }
  }
  fmt::print(stderr, "  {}\n  {}^\n", shown, pad);
}

int report(const Arguments& arguments, const std::string& text, const char* status,
           const std::string& message, uint32_t line, uint32_t column) {
  std::fflush(stdout);
  const std::string where = line == 0 ? std::string() : fmt::format("{}:{}: ", line, column);
  fmt::print(stderr, "morello: {}{}{}\n", where, message,
             *status == '\0' ? std::string() : fmt::format(" [{}]", status));
  if (line != 0) print_caret(text, line, column);
  if (arguments.json) {
    Json error = {{"status", status}, {"message", message}};
    if (line != 0) {
      error["line"] = line;
      error["column"] = column;
    }
    print_json({{"spec", text}, {"error", error}});
  }
  return *status == '\0' ? kExitFailed : kExitLibrary;
}

morello_options options_of(const Arguments& arguments, bool search_only) {
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = arguments.target;
  options.threads = arguments.threads;
  options.time_budget = static_cast<uint64_t>(std::llround(arguments.time_budget * 1e6));
  options.memory_budget = arguments.memory_budget << 20;
  options.search_only = search_only ? 1 : 0;
  return options;
}

}  // namespace

std::optional<Job> make_job(const Arguments& arguments, const std::string& text, bool search_only) {
  morello_context_options context_options;
  morello_context_options_init(&context_options, sizeof context_options);
  context_options.read_machine = arguments.read_machine ? 1 : 0;
  morello_error* error = nullptr;
  const auto failed = [&] {
    report_error(arguments, text, ErrorPtr(error).get());
    return std::nullopt;
  };

  morello_context* context = nullptr;
  if (morello_context_create(&context_options, &context, &error) != MORELLO_OK) return failed();
  const ContextPtr context_owner(context);
  Job job;
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) return failed();
  job.spec.reset(spec);
  job.text = text_of(morello_spec_print, static_cast<const morello_spec*>(spec));

  const morello_options options = options_of(arguments, search_only);
  morello_kernel* kernel = nullptr;
  const bool watched = isatty(STDERR_FILENO) != 0;
  if (watched) fmt::print(stderr, "searching...");
  const morello_status status = morello_synthesize(context, spec, &options, &kernel, &error);
  if (watched) fmt::print(stderr, "\r            \r");
  if (status != MORELLO_OK) return failed();
  job.kernel.reset(kernel);
  if (arguments.threads > 1 && !search_only) {
    morello_pool* pool = nullptr;
    if (morello_pool_create(arguments.threads, &pool, &error) != MORELLO_OK) return failed();
    job.pool.reset(pool);
  }
  return job;
}

int report_error(const Arguments& arguments, const std::string& text, const morello_error* error) {
  return report(arguments, text, morello_status_string(morello_error_status(error)),
                morello_error_message(error), morello_error_line(error),
                morello_error_column(error));
}

int report_status(const Arguments& arguments, const std::string& text, morello_status status) {
  return report(arguments, text, morello_status_string(status), "the library refused a call", 0, 0);
}

int report_failure(const Arguments& arguments, const std::string& text,
                   const std::string& message) {
  return report(arguments, text, "", message, 0, 0);
}

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

Json describe(const Job& job) {
  return {{"spec", job.text},
          {"kernel", morello_kernel_name(job.kernel.get())},
          {"isa", isa_name(morello_kernel_isa(job.kernel.get()))},
          {"cost_cycles", morello_kernel_cost(job.kernel.get())}};
}

const char* isa_name(int32_t isa) {
  for (const auto& [name, number] : kTargets)
    if (number == isa && number != MORELLO_ISA_AUTO) return name;
  return "none";
}

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string human_time(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.1f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.2f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  return fmt::format("{:.2f} s", nanoseconds / 1e9);
}

}  // namespace morello::tools
