// SPDX-License-Identifier: MIT
#include "reference.hh"

#include "CLI/CLI.hpp"
#include "flags.hh"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "morello/morello.h"

namespace morello::tools {
namespace {

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (row.names.empty()) row.names.push_back(option.get_name());
  if (option.get_items_expected_max() > 0) {
    row.value =
        option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
    if (row.value.empty()) row.value = "VALUE";
  }
  row.required = option.get_required();
  row.repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  row.words = words_of(&option);
  row.description = option.get_description();
  return row;
}

void add_rows(const CLI::App& app, const std::string& before, std::vector<CommandRow>* rows) {
  CommandRow row;
  row.path = before + (before.empty() ? "morello" : app.get_name());
  row.description = app.get_description();
  for (const CLI::Option* option : app.get_options())
    (option->nonpositional() ? row.options : row.arguments).push_back(row_of(*option));
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) row.commands.push_back(command->get_name());
  const std::string path = row.path + " ";
  rows->push_back(std::move(row));
  for (const CLI::App* command : below) add_rows(*command, path, rows);
}

/// For roff: nothing of it is a command.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if (c == '\'') {
      safe += "\\(aq";
    } else {
      if (c == '.' && (safe.empty() || safe.back() == '\n')) safe += "\\&";
      safe += c;
    }
  }
  return safe;
}

void add_option(const OptionRow& row, std::string* page) {
  std::vector<std::string> names;
  for (const std::string& name : row.names) names.push_back("\\fB" + roff(name) + "\\fR");
  *page += fmt::format(
      ".TP\n{}{}\n{}\n", fmt::join(names, ", "),
      row.value.empty() || row.names[0][0] != '-' ? "" : " \\fI" + roff(row.value) + "\\fR",
      roff(row.description));
}

struct Variable {
  const char* name;
  const char* about;
};
constexpr Variable kEnvironment[] = {
    {"MORELLO_MAX_ISA", "kernels use no CPU feature that this instruction set does not list"},
    {"MORELLO_CACHE_DIR", "where kernels are kept, as with --cache"},
    {"MORELLO_TOOLS",
     "who is told of kernels: gdb, unwind, map, jitdump, with commas between them; "
     "if unset, gdb"},
    {"JITDUMPDIR", "where jitdump files are written; if unset, the working directory"}};

}  // namespace

std::vector<CommandRow> command_rows(const CLI::App& app) {
  std::vector<CommandRow> rows;
  add_rows(app, "", &rows);
  return rows;
}

std::string manual_page(const CLI::App& app, const std::vector<CommandRow>& rows) {
  std::string page = fmt::format(
      ".TH MORELLO 1 \"\" \"morello {0}\" \"User Commands\"\n.SH NAME\nmorello \\- synthesize fast "
      "kernels for tensor computations\n.SH SYNOPSIS\n",
      morello_version_string());
  for (const CommandRow& row : rows) {
    if (!row.commands.empty() && &row != &rows.front()) continue;
    page += ".B " + roff(row.path) + "\n[\\fIOPTION\\fR]...";
    if (!row.commands.empty()) page += " \\fICOMMAND\\fR";
    for (const OptionRow& argument : row.arguments)
      page +=
          fmt::format(" {}\\fI{}\\fR{}{}", argument.required ? "" : "[", roff(argument.names[0]),
                      argument.repeats ? "..." : "", argument.required ? "" : "]");
    page += "\n.br\n";
  }
  page += ".SH DESCRIPTION\n.nf\n" + roff(app.get_footer()) + "\n.fi\n.SH COMMANDS\n";
  for (const CommandRow& row : rows) {
    page += ".SS \"" + roff(row.path) + "\"\n" + roff(row.description) + "\n";
    for (const OptionRow& argument : row.arguments) add_option(argument, &page);
    for (const OptionRow& option : row.options) add_option(option, &page);
  }
  page += ".SH ENVIRONMENT\n";
  for (const auto& [name, about] : kEnvironment)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", name, roff(about));
  return page + ".SH SEE ALSO\nThe documents in share/doc/morello.\n";
}

}  // namespace morello::tools
