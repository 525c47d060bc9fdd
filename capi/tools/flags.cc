// SPDX-License-Identifier: MIT
#include "flags.hh"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "morello/morello.h"

namespace morello::tools {
namespace {

[[noreturn]] void refuse(const char* name, const std::string& text, const std::string& valid) {
  const std::string option = std::string(name).substr(0, std::string(name).find(','));
  throw CLI::ValidationError(option, fmt::format("{} is not {}", in_quotes(text), valid));
}

CLI::Option* add(CLI::App* command, const char* name, const char* description,
                 const char* value_name, const std::function<void(const std::string&)>& read) {
  return command->add_option_function<std::string>(name, read, description)->type_name(value_name);
}

std::map<const CLI::Option*, std::vector<std::string>>& words() {
  static std::map<const CLI::Option*, std::vector<std::string>> all;
  return all;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

template <typename T>
void add_whole_of(CLI::App* command, const char* name, const char* description, const Whole& range,
                  T* value, const char* value_name) {
  add(command, name, description, value_name, [=](const std::string& text) {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, number);
    const bool good = error == std::errc() && parsed == end;
    if (!good || number < range.least || number > range.most)
      refuse(name, text, fmt::format("a whole number from {} to {}", range.least, range.most));
    *value = static_cast<T>(number);
  });
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string shown = "'";
  for (char c : text.substr(0, kShown)) shown += c >= ' ' && c != 0x7f ? c : '?';
  return shown + (text.size() > kShown ? "...'" : "'");
}

void add_whole(CLI::App* command, const char* name, const char* description, const Whole& range,
               uint64_t* value, const char* value_name) {
  add_whole_of(command, name, description, range, value, value_name);
}

void add_whole(CLI::App* command, const char* name, const char* description, const Whole& range,
               uint32_t* value, const char* value_name) {
  add_whole_of(command, name, description,
               {range.least, std::min<uint64_t>(range.most, std::numeric_limits<uint32_t>::max())},
               value, value_name);
}

void add_seconds(CLI::App* command, const char* name, const char* description, double most,
                 uint64_t* microseconds) {
  add(command, name, description, "SECONDS", [=](const std::string& text) {
    double seconds = -1;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
    if (error == std::errc::result_out_of_range)  // so small that it is 0 as a double, or too large
      seconds = std::max(std::strtod(text.c_str(), nullptr), std::numeric_limits<double>::min());
    if (parsed != end || text.starts_with('-')) seconds = -1;
    // Written such that a NaN is refused.
    if (!(seconds >= 0 && seconds <= most))
      refuse(name, text, fmt::format("a number of seconds from 0 to {:.0f}", most));
    *microseconds = static_cast<uint64_t>(std::ceil(seconds * 1e6));
  });
}

/// Sets the effort that a word names.
static bool is_effort(const std::string& text, uint64_t* effort) {
  if (same_word(text, "exact"))
    *effort = MORELLO_EFFORT_EXACT;
  else if (same_word(text, "quick"))
    *effort = MORELLO_EFFORT_QUICK;
  else
    return false;
  return true;
}

void add_effort(CLI::App* command, uint64_t* effort) {
  const char* name = "--effort";
  const CLI::Option* added =
      add(command, name, "how long to search: exact (default), quick, or at most N expansions",
          "EFFORT", [=](const std::string& text) {
            if (is_effort(text, effort)) return;
            const char* end = text.data() + text.size();
            const auto [parsed, error] = std::from_chars(text.data(), end, *effort);
            if (error != std::errc() || parsed != end || *effort == 0)
              refuse(name, text, "quick, exact, or a whole number of expansions from 1");
          });
  offer_words(added, {"exact", "quick"});
}

void add_table_effort(CLI::App* command, uint64_t* effort) {
  const char* name = "--effort";
  const CLI::Option* added =
      add(command, name, "how good programs are to be: exact (default) or quick", "EFFORT",
          [=](const std::string& text) {
            if (!is_effort(text, effort)) refuse(name, text, "exact or quick");
          });
  offer_words(added, {"exact", "quick"});
}

void add_choice(CLI::App* command, const char* name, const char* description,
                const std::vector<Choice>& choices, int32_t* value, const char* value_name) {
  const CLI::Option* added =
      add(command, name, description, value_name, [=](const std::string& text) {
        for (const auto& [word, number] : choices) {
          if (!same_word(word, text)) continue;
          *value = number;
          return;
        }
        std::vector<const char*> words;
        for (const Choice& choice : choices) words.push_back(choice.first);
        refuse(name, text, fmt::format("one of {}", fmt::join(words, ", ")));
      });
  for (const Choice& choice : choices) words()[added].push_back(choice.first);
}

void offer_words(const CLI::Option* option, const std::vector<std::string>& offered) {
  words()[option] = offered;
}

std::vector<std::string> words_of(const CLI::Option* option) {
  const auto found = words().find(option);
  return found == words().end() ? std::vector<std::string>() : found->second;
}

}  // namespace morello::tools
