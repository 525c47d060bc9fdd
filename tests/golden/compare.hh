// SPDX-License-Identifier: MIT
// Files of what is expected for every Spec of specs.txt on every target, and how they are compared.
#ifndef MORELLO_TESTS_GOLDEN_COMPARE_HH
#define MORELLO_TESTS_GOLDEN_COMPARE_HH

#include <string>
#include <vector>

#include "support/result.hh"
#include "target/target.hh"

namespace morello::golden {

/// A line of specs.txt on a target.
struct Entry {
  const Target& target;
  u32 threads;
  std::string text;
  std::string key() const;  // "avx2 1 matmul ..."
};
/// For every target that makes a difference.
std::vector<Entry> read_entries(const std::string& folder);

struct Line {
  std::string key;
  Result<std::string> values;
};
/// Says what differs from a file, and writes it anew if it is to be blessed. True if all is well.
bool compare(const std::string& path, const std::vector<Line>& lines, bool bless);

}  // namespace morello::golden

#endif
