// SPDX-License-Identifier: MIT
// What to say about a command line that cannot be understood, and what may have been meant.
#ifndef MORELLO_CAPI_TOOLS_USAGE_HH
#define MORELLO_CAPI_TOOLS_USAGE_HH

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace morello::tools {

/// One or two sentences, lines of text without the last newline. `words` is the command line
/// without the name of the program.
std::string explain(const CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& words);

/// How a Spec is written after `command`, for who forgot the quotes.
std::string quotes_hint(const std::string& command);

}  // namespace morello::tools

#endif
