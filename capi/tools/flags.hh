// SPDX-License-Identifier: MIT
// Options with values, checked by us: every value that is refused gets one short sentence that says
// what would be valid.
#ifndef MORELLO_CAPI_TOOLS_FLAGS_HH
#define MORELLO_CAPI_TOOLS_FLAGS_HH

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace morello::tools {

/// What the user typed, quoted, and shortened if it is long.
std::string in_quotes(std::string_view text);

/// A whole number from `least` to `most`.
struct Whole {
  uint64_t least = 0;
  uint64_t most = std::numeric_limits<uint64_t>::max();
};
void add_whole(CLI::App* command, const char* name, const char* description, const Whole& range,
               uint64_t* value, const char* value_name = "N");
void add_whole(CLI::App* command, const char* name, const char* description, const Whole& range,
               uint32_t* value, const char* value_name = "N");

/// Seconds, as microseconds: 0, or what is more than 0 and at most `most` rounded up to at least 1.
void add_seconds(CLI::App* command, const char* name, const char* description, double most,
                 uint64_t* microseconds);

/// --effort: quick, exact, or a number of expansions.
void add_effort(CLI::App* command, uint64_t* effort);
/// The same of a table: quick or exact.
void add_table_effort(CLI::App* command, uint64_t* effort);

/// One of some words, in any case.
using Choice = std::pair<const char*, int32_t>;
void add_choice(CLI::App* command, const char* name, const char* description,
                const std::vector<Choice>& choices, int32_t* value, const char* value_name);
/// What shells offer as values of an option; those of add_choice() and efforts are known.
void offer_words(const CLI::Option* option, const std::vector<std::string>& words);
/// Those words; none, if nothing is offered.
std::vector<std::string> words_of(const CLI::Option* option);

}  // namespace morello::tools

#endif
