// SPDX-License-Identifier: MIT
// The Specs of a command line: one argument, or the lines of standard input.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "command.hh"
#include "output.hh"

namespace morello::tools {
namespace {

/// No list of Specs has a longer line; a device may have one that never ends.
constexpr size_t kLongestLine = 1 << 20;

/// False at the end of the input, at an error of it, or after kLongestLine bytes.
bool read_line(std::string* line) {
  line->clear();
  for (int c = 0; (c = std::getc(stdin)) != EOF;) {
    if (c == '\n') return true;
    if (line->size() == kLongestLine) return false;
    *line += static_cast<char>(c);
  }
  return !line->empty() && std::ferror(stdin) == 0;
}

int run_line(const Arguments& arguments, const Command& command, const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == line.npos || line[first] == '#') return kExitOk;
  // The library would read the text up to there.
  if (const size_t zero = line.find('\0'); zero != line.npos) {
    return report_text(arguments, line, "a zero byte; a Spec is text",
                       static_cast<uint32_t>(zero + 1));
  }
  return command(arguments, line);
}

/// The option that names a file of what is known of one Spec; nullptr: none is given.
const char* option_of_one(const Arguments& arguments) {
  if (!arguments.save.empty()) return "--save";
  if (!arguments.html.empty()) return "--html";
  if (!arguments.bytes.empty()) return "--bytes";
  if (!arguments.results.empty()) return "--output";
  return arguments.exports.empty() ? nullptr : "--export";
}

}  // namespace

int for_each_spec(const Arguments& arguments, const Command& command) {
  if (arguments.spec != "-") return command(arguments, arguments.spec);
  if (const char* option = option_of_one(arguments)) {
    print_error("morello: {} is a file of one SPEC, and - reads many; give it as an argument\n",
                option);
    return kExitUsage;
  }
  Arguments numbered = arguments;
  int exit_code = kExitOk;
  std::string line;
  errno = 0;
  while (!output_failed() && read_line(&line)) {
    numbered.input_line++;
    exit_code = std::max(exit_code, run_line(numbered, command, line));
    errno = 0;
  }
  const int why = errno;
  numbered.input_line++;
  std::string problem;
  if (std::ferror(stdin) != 0)
    problem = fmt::format("cannot read standard input: {}", std::strerror(why));
  if (line.size() == kLongestLine)
    problem =
        fmt::format("a line of more than {} bytes; it and what follows is not read", kLongestLine);
  if (problem.empty()) return exit_code;
  return std::max(exit_code, report_failure(numbered, "-", problem));
}

}  // namespace morello::tools
