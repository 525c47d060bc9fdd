// SPDX-License-Identifier: MIT
// Why a table does not cover a Spec, in words.
#ifndef MORELLO_TABLE_MISS_HH
#define MORELLO_TABLE_MISS_HH

#include <span>
#include <string>

#include "table/table.hh"

namespace morello {

/// What the nearest promise has otherwise: "m = 50 is not on the ladder of sizes; 48 and 64 are
/// covered", "operand 1 is bf16; covered is f32". `numbers`: what the operands are called.
/// REQUIRES: the table has no program for `spec`; its identity is that of `target`.
std::string miss(const Table& table, const Spec& spec, const Target& target,
                 std::span<const u8> numbers);

}  // namespace morello

#endif
