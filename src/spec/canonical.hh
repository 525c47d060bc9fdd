// SPDX-License-Identifier: MIT
// The rules of the canonical form, as code. Specs are made in a few places (lower(), tile(), the
// actions, tables), all of which assert them in debug and sanitizer builds; fuzzers ask as well.
#ifndef MORELLO_SPEC_CANONICAL_HH
#define MORELLO_SPEC_CANONICAL_HH

#include <cassert>
#include <cstdio>
#include <string>

#include "spec/spec.hh"

namespace morello {

/// What is not canonical, or "".
std::string not_canonical(const Spec& spec);
/// Of the dimensions `dims`, whatever their sizes.
std::string not_canonical(const Layout& layout, DimMask dims);
/// Of an operand of `spec`, whose dimensions, stages and windows are canonical.
std::string not_canonical(const Spec& spec, const Operand& operand);

/// All that does not depend on sizes and levels: what is true of the key of a table as well, in
/// which these are 0.
std::string not_canonical_form(const Spec& spec);

inline void assert_canonical([[maybe_unused]] const Spec& spec) {
#ifndef NDEBUG
  const std::string bad = not_canonical(spec);
  if (!bad.empty()) std::fprintf(stderr, "%s: %s\n", describe(spec).c_str(), bad.c_str());
  assert(bad.empty());
#endif
}

/// One of sixteen calls of a thread: for where searches make a Spec for every preview, which they
/// would take twice as long for.
inline void assert_canonical_at_times([[maybe_unused]] const Spec& spec) {
#ifndef NDEBUG
  static thread_local u32 calls = 0;
  if (calls++ % 16 == 0) assert_canonical(spec);
#endif
}

}  // namespace morello

#endif
