// SPDX-License-Identifier: MIT
// The command line as data, read from the tables by which it is parsed: for shell completions and
// the manual page, so that neither can forget an option.
#ifndef MORELLO_CAPI_TOOLS_REFERENCE_HH
#define MORELLO_CAPI_TOOLS_REFERENCE_HH

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace morello::tools {

struct OptionRow {
  std::vector<std::string> names;  // with dashes; of an argument without: its name
  std::string value;               // "": takes none
  std::vector<std::string> words;  // the values there are; empty: others
  std::string description;
  bool required = false;
  bool repeats = false;  // of an argument without dashes: any number of times

  bool is_path() const { return value.starts_with("FILE") || value == "DIR"; }
  bool is_list() const { return value.ends_with(",.."); }  // of several of the words
};

struct CommandRow {
  std::string path;  // "morello table info"
  std::string description;
  std::vector<OptionRow> options, arguments;
  std::vector<std::string> commands;  // names of what follows

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// The tool itself first, then its commands, each before what is below it.
std::vector<CommandRow> command_rows(const CLI::App& app);

/// Words and pages. `shell` is of shells().
const std::vector<const char*>& shells();
std::string completion_of(const std::string& shell, const std::vector<CommandRow>& rows);
std::string manual_page(const CLI::App& app, const std::vector<CommandRow>& rows);

}  // namespace morello::tools

#endif
