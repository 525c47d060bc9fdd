// SPDX-License-Identifier: MIT
// Completions for shells. Each script finds out which command the words before the cursor name, and
// then has one case for each.
#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "reference.hh"

namespace morello::tools {
namespace {

using Rows = std::vector<CommandRow>;

std::vector<std::string> names_of(const CommandRow& row) {
  std::vector<std::string> names;
  for (const OptionRow& option : row.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// In single quotes, as bash and zsh read them.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? "'\\''" : std::string(1, c);
  return safe + "'";
}

/// "'morello synth' | 'morello table'": all paths but the tool's.
std::string paths(const Rows& rows, const char* between) {
  std::vector<std::string> all;
  for (const CommandRow& row : rows)
    if (&row != &rows.front()) all.push_back("'" + row.path + "'");
  return fmt::format("{}", fmt::join(all, between));
}

std::string bash(const Rows& rows) {
  std::string script = fmt::format(
      "_morello_list() {{\n  local word head=\n  [[ $4 == *,* ]] && head=${{4%,*}},\n"
      "  for word in $2; do\n    [[ ,$head != *,$word,* && $word == \"${{4##*,}}\"* ]] && echo "
      "\"$head$word\"\n  done\n}}\n"
      "_morello() {{\n  local current=${{COMP_WORDS[COMP_CWORD]}} "
      "previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command=morello i words=\n  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$command ${{COMP_WORDS[i]}}\" in\n"
      "      {}) command=\"$command ${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n"
      "  case \"$command $previous\" in\n",
      paths(rows, " | "));
  for (const CommandRow& row : rows)
    for (const OptionRow& option : row.options) {
      if (option.value.empty()) continue;
      std::vector<std::string> cases;
      for (const std::string& name : option.names)
        cases.push_back("'" + row.path + " " + name + "'");
      // Without words, files are completed; of a list, what follows the last comma.
      const char* found = option.is_list() ? "_morello_list" : "compgen";
      script += fmt::format("    {}) COMPREPLY=($({} -W \"{}\" -- \"$current\")); return ;;\n",
                            fmt::join(cases, " | "), found, fmt::join(option.words, " "));
    }
  script += "  esac\n  case \"$command\" in\n";
  for (const CommandRow& row : rows) {
    const std::vector<OptionRow>& arguments = row.arguments;
    std::vector<std::string> words = row.commands;
    if (!arguments.empty())
      words.insert(words.end(), arguments[0].words.begin(), arguments[0].words.end());
    script += fmt::format(
        "    '{}')\n      if [[ $current == -* ]]; then words=\"{}\"; else words=\"{}\"; fi ;;\n",
        row.path, fmt::join(names_of(row), " "), fmt::join(words, " "));
  }
  return script +
         "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default "
         "-F _morello morello\n";
}

/// What follows the colons of _arguments.
std::string zsh_value(const OptionRow& row) {
  const std::string words = fmt::format("{}", fmt::join(row.words, " "));
  const std::string action = !words.empty() && row.is_list() ? "_values -s , word " + words
                             : !words.empty()                ? "(" + words + ")"
                             : row.value == "DIR"            ? "_directories"
                             : row.is_path()                 ? "_files"
                                                             : " ";
  std::string value = row.value;
  std::replace(value.begin(), value.end(), ':', ' ');
  return ":" + value + ":" + action;
}

std::string zsh_description(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh(const Rows& rows) {
  std::string script = fmt::format(
      "#compdef morello\n_morello() {{\n  local command=morello depth=1 i\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n    case \"$command $words[i]\" in\n"
      "      ({}) command=\"$command $words[i]\"; depth=$i ;;\n    esac\n  done\n"
      "  shift $((depth - 1)) words\n  ((CURRENT -= depth - 1))\n  case $command in\n",
      paths(rows, " | "));
  for (const CommandRow& row : rows) {
    script += "    ('" + row.path + "')\n      _arguments -s";
    for (const OptionRow& option : row.options)
      for (const std::string& name : option.names)
        script += " \\\n        " + quoted("*" + name + "[" + zsh_description(option.description) +
                                           "]" + (option.value.empty() ? "" : zsh_value(option)));
    if (!row.commands.empty())
      script +=
          " \\\n        " + quoted(fmt::format("1:command:({})", fmt::join(row.commands, " ")));
    for (const OptionRow& argument : row.arguments)
      script +=
          " \\\n        " +
          quoted("*:" + argument.names[0] + ":" +
                 (argument.words.empty() ? "_files"
                                         : fmt::format("({})", fmt::join(argument.words, " "))));
    script += "\n      ;;\n";
  }
  return script +
         "  esac\n}\nif [[ $funcstack[1] == _morello ]]; then _morello \"$@\"; else compdef "
         "_morello morello; fi\n";
}

std::string fish(const Rows& rows) {
  const auto safe = [](const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "'";
  };
  std::string script = fmt::format(
      "function __morello_at\n  set -l command morello\n  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$command $word\"\n      case {}\n        set command \"$command $word\"\n    "
      "end\n"
      "  end\n  test \"$command\" = \"$argv[1]\"\nend\n",
      paths(rows, " "));
  const auto description_of = [&](const std::string& command) {
    for (const CommandRow& row : rows)
      if (row.path == command) return row.description;
    return std::string();
  };
  for (const CommandRow& row : rows) {
    const std::string at = "complete -c morello -n " + safe("__morello_at " + safe(row.path));
    for (const std::string& command : row.commands)
      script += at + " -f -a " + safe(command) + " -d " +
                safe(description_of(row.path + " " + command)) + "\n";
    for (const OptionRow& argument : row.arguments)
      for (const std::string& word : argument.words) script += at + " -f -a " + safe(word) + "\n";
    for (const OptionRow& option : row.options) {
      script += at;
      for (const std::string& name : option.names)
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) script += option.is_path() ? " -r -F" : " -x";
      const std::string words = fmt::format("{}", fmt::join(option.words, " "));
      if (!words.empty())
        script += " -a " + safe(option.is_list() ? "(__fish_append , " + words + ")" : words);
      script += " -d " + safe(option.description) + "\n";
    }
  }
  return script;
}

struct Shell {
  const char* name;
  std::string (*script)(const Rows&);
};
constexpr Shell kShells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

const std::vector<const char*>& shells() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all;
    for (const Shell& shell : kShells) all.push_back(shell.name);
    return all;
  }();
  return names;
}

std::string completion_of(const std::string& shell, const std::vector<CommandRow>& rows) {
  for (const auto& [name, script] : kShells)
    if (shell == name) return script(rows);
  return {};
}

}  // namespace morello::tools
