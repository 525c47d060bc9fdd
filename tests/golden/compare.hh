// SPDX-License-Identifier: MIT
// Files of what is expected for every Spec of specs.txt on every target, and how they are compared.
#ifndef MORELLO_TESTS_GOLDEN_COMPARE_HH
#define MORELLO_TESTS_GOLDEN_COMPARE_HH

#include <functional>
#include <string>
#include <vector>

#include "support/result.hh"
#include "target/target.hh"

namespace morello::golden {

/// One line of specs.txt.
struct Entry {
  u32 threads;
  std::string text;
};
std::vector<Entry> read_entries(const std::string& folder);

/// One of the files.
struct File {
  const char* name;
  std::function<Result<std::string>(const Entry&, const Target&)> values;
};

/// Says what differs, and writes the file anew if it is to be blessed. True if all is well.
bool compare(const std::string& folder, const File& file, bool bless);

}  // namespace morello::golden

#endif
