// SPDX-License-Identifier: MIT
#include "support/insertion_map.hh"

#include <doctest/doctest.h>

#include "spec/statement.hh"

namespace morello {
namespace {

/// Collides with all others, unless the seed is in the hash.
struct Planned {
  u64 number = 0;
  friend bool operator==(const Planned&, const Planned&) = default;
};
u64 asked_seed = 0;
u64 hash_of(const Planned& key, u64 seed) {
  asked_seed = seed;
  return (key.number ^ seed) * 0x9e3779b97f4a7c15u;
}

}  // namespace

TEST_SUITE("support") {
  TEST_CASE("maps find what was added, in the order of addition") {
    InsertionMap<Planned, u64> map;
    for (u64 i = 0; i < 1000; i++) map.add({i * i}, i);
    for (u64 i = 0; i < 1000; i++) {
      REQUIRE(map.find({i * i}));
      CHECK(*map.find({i * i}) == i);
      CHECK(map[i].value == i);
    }
    CHECK(!map.find({2}));
    CHECK(asked_seed == hash_seed());
  }

  TEST_CASE("the seed is in hashes of Specs, and without it they are the same everywhere") {
    const Spec spec = lower(*parse("relu f32[8] -> f32[8]"))->spec;
    CHECK(hash_of(spec) == hash_of(spec, 0));
    CHECK(hash_of(spec, 1) != hash_of(spec, 2));
    CHECK(hash_seed() != 0);
    CHECK(hash_seed() == hash_seed());
  }
}

}  // namespace morello
