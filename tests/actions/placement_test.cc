// SPDX-License-Identifier: MIT
// What operands take of caches where they stay with their strides.
#include "actions/placement.hh"

#include <doctest/doctest.h>

#include <string>

#include "support/lowered.hh"

namespace morello {
namespace {

constexpr int kRows = 128;

/// A factor of 16 columns, so many numbers apart.
Spec product(int pitch) {
  return testing::spec_of("matmul f32[8,128] f32[128,16]{strides=" + std::to_string(pitch) +
                          ",1} -> f32[8,16]");
}

bool fits_l1(const Spec& spec) {
  const Target& target = *fixed_target(Isa::kAvx2);
  Derivation d;
  return preview(spec, limits_of(target), {ActionKind::kView, 1, {}, {}, 0}, {&target}, d);
}

}  // namespace

TEST_SUITE("actions") {
  TEST_CASE("runs on pages of their own take room for eight lines each") {
    const Spec apart = product(776), near = product(760);  // 3104 and 3040 bytes
    for (Level cache : {Level::kL1, Level::kL2}) {
      CHECK(resident_lines(apart, apart.operand[1], cache) == 8 * kRows);
      CHECK(resident_lines(near, near.operand[1], cache) < 3 * kRows);
    }
    const Spec sets = product(1024);  // 4 KiB, which is one set: 64 lines of L1 each
    CHECK(resident_lines(sets, sets.operand[1], Level::kL1) == 64 * kRows);
  }

  TEST_CASE("more pages than a core remembers beside L1 are no part of it") {
    Spec apart = product(900), near = product(700);
    for (Spec* spec : {&apart, &near}) spec->operand[1].level = Level::kL2;
    CHECK_FALSE(fits_l1(apart));
    CHECK(fits_l1(near));
  }
}

}  // namespace morello
