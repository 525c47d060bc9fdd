// SPDX-License-Identifier: MIT
#include "command.hh"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "output.hh"

namespace morello::tools {
namespace {

/// As much of a long line as is needed to see a place in it: it may be from anywhere.
constexpr size_t kShownBefore = 160, kShownAfter = 80;

void print_caret(const std::string& text, uint32_t line, uint32_t column) {
  size_t start = 0;
  for (uint32_t skipped = 1; skipped < line; ++skipped) {
    const size_t newline = text.find('\n', start);
    if (newline == text.npos) return;
    start = newline + 1;
  }
  std::string shown = text.substr(start, text.find('\n', start) - start);
  size_t place = std::min<size_t>(column - 1, shown.size());
  if (shown.size() > place + kShownAfter) shown.resize(place + kShownAfter);
  if (place > kShownBefore) {
    shown.erase(0, place - kShownBefore);
    place = kShownBefore;
  }
  for (char& c : shown)
    if ((c >= 0 && c < ' ' && c != '\t') || c == 0x7f) c = '?';
  // As wide as the text before the column: tabs stay, and a UTF-8 sequence is one character.
  std::string pad;
  for (size_t i = 0; i < place; ++i) {
    const unsigned char c = static_cast<unsigned char>(shown[i]);
    if (c == '\t') {
      pad += '\t';
    } else if ((c & 0xc0) != 0x80) {
      pad += ' ';
    }
  }
  print_error("  {}\n  {}^\n", shown, pad);
}

int report(const Arguments& arguments, const std::string& text, const char* status,
           const std::string& message, uint32_t line, uint32_t column) {
  std::string where;
  if (line != 0) {
    where = fmt::format("{}:{}: ", line + std::max<uint64_t>(arguments.input_line, 1) - 1, column);
  } else if (arguments.input_line != 0) {
    where = fmt::format("{}: ", arguments.input_line);
  }
  print_error("morello: {}{}{}\n", where, message,
              *status == '\0' ? std::string() : fmt::format(" [{}]", status));
  if (line != 0) print_caret(text, line, column);
  if (arguments.json) {
    Json error = {{"status", status}, {"message", message}};
    if (line != 0) {
      error["line"] = line;
      error["column"] = column;
    }
    if (arguments.input_line != 0) error["input_line"] = arguments.input_line;
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
    case MORELLO_TABLE_REASON_EFFORT:
      return "effort";
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
    case MORELLO_TABLE_NEAR:
      return "near sizes";
  }
  return "unknown";
}

}  // namespace

ContextPtr make_context(const Arguments& arguments, morello_error** error) {
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  options.read_machine = arguments.read_machine ? 1 : 0;
  if (!arguments.cache.empty()) options.cache_directory = arguments.cache.c_str();
  if (arguments.table_memory > 0) options.table_memory = arguments.table_memory << 20;
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

int report_text(const Arguments& arguments, const std::string& text, const std::string& message,
                uint32_t column) {
  return report(arguments, text, morello_status_string(MORELLO_SYNTAX_ERROR), message, 1, column);
}

void print_json(const Json& json) {
  print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  flush_out();
}

Json describe(const Job& job) {
  return {{"spec", job.text},
          {"kernel", morello_kernel_name(job.kernel.get())},
          {"isa", isa_name(morello_kernel_isa(job.kernel.get()))},
          {"cost_cycles", morello_kernel_cost(job.kernel.get())},
          {"optimal", job.stats.optimal == 1},
          {"lower_bound_cycles", job.stats.lower_bound},
          {"effort", job.stats.effort},
          {"table", name_of(job.stats.table_use)},
          {"table_miss", job.miss},
          {"table_reason", reason_name(job.stats.table_reason)}};
}

std::string describe_proof(const Job& job) {
  if (job.stats.optimal == 1) return "the cheapest on the model";
  const double cost = morello_kernel_cost(job.kernel.get()), bound = job.stats.lower_bound;
  std::string text =
      fmt::format("not proven optimal: the cheapest costs at least {} cycles", grouped(bound));
  if (bound <= 0) return text;
  const double gap = 100 * (cost / bound - 1);
  return text + (gap < 1e6 ? fmt::format(", gap {:.1f}%", gap) : fmt::format(", gap {:.3g}%", gap));
}

void print_miss(const Job& job) {
  if (job.miss.empty()) return;
  std::istringstream lines(job.miss);
  for (std::string line; std::getline(lines, line);) print("         {}\n", line);
}

const char* isa_name(int32_t isa) {
  for (const auto& [name, number] : kTargets)
    if (number == isa && number != MORELLO_ISA_AUTO) return name;
  return "none";
}

std::string grouped(double value) {
  if (!(std::fabs(value) < 1e15)) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string human_time(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.1f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.2f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  return fmt::format("{:.2f} s", nanoseconds / 1e9);
}

}  // namespace morello::tools
