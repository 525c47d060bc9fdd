// SPDX-License-Identifier: MIT
#include "search/memo.hh"

#include <doctest/doctest.h>

namespace morello {
namespace {

struct ToyLimits {
  int memory = 0;
  bool within(const ToyLimits& other) const { return memory <= other.memory; }
  friend bool operator==(const ToyLimits&, const ToyLimits&) = default;
};
struct ToyState {
  ToyLimits peaks;
  i64 bound = 0;
  bool solved = false, feasible = false;
  bool answers(const ToyLimits& limits) const {
    return solved && (!feasible || peaks.within(limits));
  }
  i64 low() const { return bound; }
  void raise(i64 low) { bound = std::max(bound, low); }
};

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("the memo answers boxes of limits, and passes bounds on to tighter ones") {
    Memo<int, ToyLimits, ToyState> memo;
    bool found = true;
    auto& e = memo.find_or_add(1, 11, {8}, found);
    CHECK(!found);
    CHECK(&memo.find_or_add(1, 11, {8}, found) == &e);
    CHECK(found);
    e.bound = 40;
    e.solved = e.feasible = true;
    e.peaks = {4};
    CHECK(&memo.find_or_add(1, 11, {5}, found) == &e);
    CHECK(&memo.find_or_add(1, 11, {4}, found) == &e);
    auto& tighter = memo.find_or_add(1, 11, {3}, found);  // its program does not fit
    CHECK(!found);
    CHECK(tighter.low() == 40);
    CHECK(&memo.loosest_of(tighter) == &e);
    CHECK(&memo.find_or_add(tighter, {5}, found) == &e);
    auto& looser = memo.find_or_add(1, 11, {9}, found);  // there may be a better one
    CHECK(!found);
    CHECK(looser.low() == 0);
    CHECK(&memo.loosest_of(tighter) == &looser);
    CHECK(&memo.loosest_of(looser) == &looser);
    memo.find_or_add(2, 11, {8}, found);  // equal hash, other key
    CHECK(!found);
    for (int key = 10; key < 5000; key++)
      memo.find_or_add(key, static_cast<u64>(key % 7) << 60, {1}, found);
    for (int key = 10; key < 5000; key += 97) {
      CHECK(memo.find_or_add(key, static_cast<u64>(key % 7) << 60, {1}, found).key() == key);
      CHECK(found);
    }
    CHECK(memo.keys() == 4992);
  }

  TEST_CASE("where less memory may cost less, an entry answers its own limits only") {
    Memo<int, ToyLimits, ToyState> memo(/*monotone=*/false);
    bool found = true;
    auto& e = memo.find_or_add(1, 11, {8}, found);
    e.bound = 40;
    e.solved = e.feasible = true;
    e.peaks = {4};
    auto& tighter = memo.find_or_add(1, 11, {5}, found);  // which has a list of its own
    CHECK(!found);
    CHECK(&tighter != &e);
    CHECK(tighter.low() == 0);
    CHECK(memo.find(1, 11, {6}) == nullptr);
    CHECK(memo.find(1, 11, {8}) == &e);
  }
}

}  // namespace morello
