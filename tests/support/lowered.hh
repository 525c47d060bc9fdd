// SPDX-License-Identifier: MIT
// Spec texts as Specs.
#ifndef MORELLO_TESTS_SUPPORT_LOWERED_HH
#define MORELLO_TESTS_SUPPORT_LOWERED_HH

#include <doctest/doctest.h>

#include <string_view>

#include "spec/statement.hh"

namespace morello::testing {

/// Errors go to doctest.
inline Lowered lowered(std::string_view text) {
  INFO(text);
  const Result<Statement> s = parse(text);
  if (!s) FAIL(s.error().message);
  Result<Lowered> l = lower(*s);
  if (!l) FAIL(l.error().message);
  return *l;
}

inline Spec spec_of(std::string_view text) { return lowered(text).spec; }

}  // namespace morello::testing

#endif
