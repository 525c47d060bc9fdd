// SPDX-License-Identifier: MIT
#include "usage.hh"

#include <algorithm>
#include <set>

#include "CLI/CLI.hpp"
#include "flags.hh"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "handles.hh"

namespace morello::tools {
namespace {

using Names = std::vector<std::string>;

/// Letters to insert, remove, replace or swap with their neighbour until both are equal.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// The name that was probably meant, or an empty string.
std::string nearest(const std::string& word, const Names& names) {
  std::string best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  if (word.size() < 2 || word.size() > 40) return best;
  for (const std::string& name : names) {
    size_t steps = distance(word, name);
    if (name.starts_with(word) || word.starts_with(name)) steps = std::min<size_t>(steps, 1);
    if (steps >= least) continue;
    least = steps;
    best = name;
  }
  return best;
}

std::string without_dashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

/// "synth", "table info"; empty for the tool itself.
std::string path_of(const CLI::App* command) {
  if (command->get_parent() == nullptr) return {};
  const std::string parent = path_of(command->get_parent());
  return parent.empty() ? command->get_name() : parent + " " + command->get_name();
}

std::string tool_with(const std::string& path) {
  return path.empty() ? "morello" : "morello " + path;
}

Names commands_of(const CLI::App* command) {
  Names names;
  for (const CLI::App* c : command->get_subcommands({})) names.push_back(c->get_name());
  return names;
}

/// Long names of options, without dashes.
Names options_of(const CLI::App* command) {
  Names names;
  for (const CLI::Option* option : command->get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The first command that has this option, or nothing.
const CLI::App* owner_of(const CLI::App* command, const std::string& option) {
  if (has(options_of(command), option)) return command;
  for (const CLI::App* c : command->get_subcommands({}))
    if (const CLI::App* found = owner_of(c, option)) return found;
  return nullptr;
}

/// Does the library know the operation that the text begins with?
bool is_spec(const std::string& text) {
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  morello_error* error = nullptr;
  if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return false;
  const ContextPtr owner(context);
  if (morello_spec_parse(context, text.c_str(), &spec, &error) == MORELLO_OK) {
    morello_spec_release(spec);
    return true;
  }
  const ErrorPtr error_owner(error);
  return morello_error_column(error) > 1;
}

bool takes_spec(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    if (option->get_name() == "SPEC" || option->get_name() == "FAMILY") return true;
  return false;
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? std::string() : fmt::format("; did you mean {}?", in_quotes(name));
}

std::string unknown_option(const CLI::App& app, const CLI::App* command, const std::string& word) {
  const std::string name = without_dashes(word.substr(0, word.find('=')));
  const std::string typed = in_quotes(word.substr(0, word.find('=')));
  const std::string path = path_of(command);
  if (word.starts_with("--") && has(options_of(command), name))
    return fmt::format("{} goes after the command: {} --{}", typed, tool_with(path), name);
  std::string text = fmt::format("{} has no option {}", tool_with(path), typed);
  const CLI::App* owner = owner_of(&app, name);
  if (const std::string meant = nearest(name, options_of(command)); !meant.empty()) {
    text += did_you_mean("--" + meant);
  } else if (owner != nullptr) {
    text += fmt::format("; {} has it", tool_with(path_of(owner)));
  }
  return text;
}

std::string unknown_command(const CLI::App* command, const std::string& word) {
  if (command->get_parent() == nullptr && is_spec(word))
    return fmt::format("{} is no command. {}", in_quotes(word), quotes_hint("bench"));
  const std::string path = path_of(command);
  const std::string prefix = path.empty() ? path : path + " ";
  const std::string meant = nearest(word, commands_of(command));
  return fmt::format("unknown command {}{}", in_quotes(prefix + word),
                     meant.empty()
                         ? fmt::format("; there are {}", fmt::join(commands_of(command), ", "))
                         : did_you_mean(prefix + meant));
}

/// The first word that CLI11 could do nothing with, options before others; nullptr if there is
/// none.
const std::string* stray(const CLI::App& app, const std::vector<std::string>& words) {
  const Names left = app.remaining(true);
  const auto is_option = [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word[1] != '>';
  };
  for (const std::string& word : words)
    if (has(left, word) && is_option(word)) return &word;
  for (const std::string& word : words)
    if (has(left, word)) return &word;
  return nullptr;
}

std::string problem_of(const CLI::App& app, const CLI::App* command, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  const auto is_a = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  if (is_a(CLI::ExitCodes::ArgumentMismatch)) {
    const std::string text = error.what();
    return text.substr(0, text.find(':')) + (text.find("At Most") != text.npos
                                                 ? ": more values than it takes; give it once"
                                                 : ": its value is missing");
  }
  // "Could not convert: --size = abc". Only options of whole numbers leave that to CLI11.
  if (const std::string text = error.what(), start = "Could not convert: ";
      is_a(CLI::ExitCodes::ConversionError) && text.starts_with(start)) {
    const size_t equals = text.find(" = ");
    if (equals != text.npos)
      return fmt::format("{}: {} is not a whole number",
                         text.substr(start.size(), equals - start.size()),
                         in_quotes(text.substr(equals + 3)));
  }
  const bool is_about_words =
      is_a(CLI::ExitCodes::ExtrasError) || is_a(CLI::ExitCodes::RequiredError);
  const std::string* word = is_about_words ? stray(app, words) : nullptr;
  const bool needs_command = !commands_of(command).empty();
  if (word == nullptr) {
    if (needs_command && is_about_words)
      return fmt::format("a command is needed after {}: {}", tool_with(path_of(command)),
                         fmt::join(commands_of(command), ", "));
    return error.what();
  }
  if (word->size() > 1 && word->starts_with('-') && !word->starts_with("->"))
    return unknown_option(app, command, *word);
  if (needs_command) return unknown_command(command, *word);
  return fmt::format("{} is one argument too many{}", in_quotes(*word),
                     takes_spec(command) ? ". " + quotes_hint(path_of(command)) : "");
}

}  // namespace

std::string quotes_hint(const std::string& command) {
  return fmt::format(
      "A Spec is one argument of a command and needs quotes, as the shell acts on > and {{}}:\n"
      "  morello {} 'matmul f32[4,8] f32[8,16] -> f32[4,16]'",
      command);
}

std::string explain(const CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return fmt::format("morello: {}\n{} --help says more.", problem_of(app, command, error, words),
                     tool_with(path_of(command)));
}

}  // namespace morello::tools
