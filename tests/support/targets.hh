// SPDX-License-Identifier: MIT
// The targets that differ for problems of some element types.
#ifndef MORELLO_TESTS_SUPPORT_TARGETS_HH
#define MORELLO_TESTS_SUPPORT_TARGETS_HH

#include <initializer_list>
#include <vector>

#include "target/dots.hh"

namespace morello::testing {

/// Each is what AUTO means on some CPU; what differs only in name is left out.
inline std::vector<const Target*> targets_of(std::initializer_list<Dtype> types) {
  std::vector<const Target*> all;
  for (const Target& t : fixed_targets())
    if (best_target(t.required, kAllFeatures, types) == &t) all.push_back(&t);
  return all;
}

}  // namespace morello::testing

#endif
