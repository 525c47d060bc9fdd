// SPDX-License-Identifier: MIT
// Tables that somebody made to waste time or memory: right checksums, and all that few bytes can
// ask for.
#ifndef MORELLO_TESTS_HOSTILE_TABLES_HH
#define MORELLO_TESTS_HOSTILE_TABLES_HH

#include <functional>

#include "parts.hh"

namespace morello::testing {

struct Hostile {
  const char* name;
  bool loads;                        // it may be loaded, as far as memory allows
  std::function<Parts(u32 n)> make;  // of about n rows in the longest section
};

/// A table as searches make them, as far as its shape goes: boxes along eight axes.
Parts benign(u32 n);
const std::vector<Hostile>& hostile_tables();

}  // namespace morello::testing

#endif
