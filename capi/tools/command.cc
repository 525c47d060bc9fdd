// SPDX-License-Identifier: MIT
#include "command.hh"

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

const char* reason_name(int32_t table_reason) {
  switch (table_reason) {
    case MORELLO_TABLE_REASON_NONE:
      return "";
    case MORELLO_TABLE_REASON_SPEC:
      return "spec";
    case MORELLO_TABLE_REASON_TARGET:
      return "target";
    case MORELLO_TABLE_REASON_THREADS:
      return "threads";
  }
  return "unknown";
}

const char* name_of(int32_t table_use) {
  switch (table_use) {
    case MORELLO_TABLE_NONE:
      return "none";
    case MORELLO_TABLE_ANSWERED:
      return "answered";
    case MORELLO_TABLE_NOT_COVERED:
      return "not covered";
    case MORELLO_TABLE_WRONG:
      return "wrong";
  }
  return "unknown";
}

}  // namespace

ContextPtr make_context(const Arguments& arguments, morello_error** error) {
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  options.read_machine = arguments.read_machine ? 1 : 0;
  morello_context* context = nullptr;
  morello_context_create(&options, &context, error);
  return ContextPtr(context);
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
          {"cost_cycles", morello_kernel_cost(job.kernel.get())},
          {"optimal", job.stats.optimal == 1},
          {"lower_bound_cycles", job.stats.lower_bound},
          {"table", name_of(job.stats.table_use)},
          {"table_reason", reason_name(job.stats.table_reason)}};
}

std::string describe_proof(const Job& job) {
  if (job.stats.optimal == 1) return "the cheapest on the model";
  const double cost = morello_kernel_cost(job.kernel.get()), bound = job.stats.lower_bound;
  return fmt::format("not proven optimal: the cheapest costs at least {} cycles{}", grouped(bound),
                     bound > 0 ? fmt::format(", gap {:.1f}%", 100 * (cost / bound - 1)) : "");
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
