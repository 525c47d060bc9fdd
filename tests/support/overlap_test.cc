// SPDX-License-Identifier: MIT
#include "support/overlap.hh"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>

namespace morello {
namespace {

Overlap between(const PlacedTensor& a, const PlacedTensor& b) {
  const Overlap found = find_overlap(a, b);
  CHECK(find_overlap(b, a) == found);
  return found;
}

/// Every byte of every element.
std::set<u64> bytes_of(const PlacedTensor& t) {
  std::set<u64> starts = {t.base};
  for (size_t axis = 0; axis < t.shape.size(); axis++) {
    std::set<u64> more;
    for (u64 start : starts)
      for (i64 i = 0; i < t.shape[axis]; i++)
        more.insert(start + static_cast<u64>(i * t.strides[axis]) * t.element);
    starts = std::move(more);
  }
  std::set<u64> bytes;
  for (u64 start : starts)
    for (u64 i = 0; i < t.element; i++) bytes.insert(start + i);
  return bytes;
}

bool share(const PlacedTensor& a, const PlacedTensor& b) {
  const std::set<u64> of_a = bytes_of(a);
  for (u64 byte : bytes_of(b))
    if (of_a.count(byte) != 0) return true;
  return false;
}

std::string text_of(const PlacedTensor& t) {
  std::string text = std::to_string(t.base) + " + " + std::to_string(t.element) + " *";
  for (size_t axis = 0; axis < t.shape.size(); axis++)
    text += " " + std::to_string(t.shape[axis]) + ":" + std::to_string(t.strides[axis]);
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("support");

TEST_CASE("dense tensors overlap if their bytes do") {
  const PlacedTensor a{1000, 4, {10, 10}, {10, 1}};
  CHECK(between(a, a) == Overlap::kSome);
  CHECK(between(a, {1000 + 396, 4, {3}, {1}}) == Overlap::kSome);
  CHECK(between(a, {1000 + 400, 4, {3}, {1}}) == Overlap::kDisjoint);
  CHECK(between(a, {1000 - 12, 4, {3}, {1}}) == Overlap::kDisjoint);
  CHECK(between(a, {1000 - 8, 4, {3}, {1}}) == Overlap::kSome);
  CHECK(between(a, {1000 + 399, 1, {}, {}}) == Overlap::kSome);
  CHECK(between(a, {1000 + 400, 1, {}, {}}) == Overlap::kDisjoint);
}

TEST_CASE("interleaved tensors do not overlap") {
  // Real and imaginary parts; left and right half of a matrix; even and odd rows.
  CHECK(between({0, 4, {100}, {2}}, {4, 4, {100}, {2}}) == Overlap::kDisjoint);
  CHECK(between({0, 4, {100}, {2}}, {8, 4, {100}, {2}}) == Overlap::kSome);
  CHECK(between({0, 4, {64, 50}, {128, 1}}, {200, 4, {64, 78}, {128, 1}}) == Overlap::kDisjoint);
  CHECK(between({0, 4, {64, 51}, {128, 1}}, {200, 4, {64, 78}, {128, 1}}) == Overlap::kSome);
  CHECK(between({0, 4, {64, 50}, {128, 1}}, {200, 4, {64, 79}, {128, 1}}) == Overlap::kSome);
  CHECK(between({0, 4, {20, 64}, {128, 1}}, {256, 4, {20, 64}, {128, 1}}) == Overlap::kDisjoint);
  // A column of a matrix and another one's transpose.
  CHECK(between({0, 4, {1000}, {1000}}, {4, 4, {999, 1000}, {1, 1000}}) == Overlap::kDisjoint);
  CHECK(between({0, 4, {1000}, {1000}}, {4, 4, {1000, 1000}, {1, 1000}}) == Overlap::kSome);
}

TEST_CASE("axes that repeat elements, and huge tensors, cost nothing") {
  CHECK(between({0, 4, {1 << 30, 5}, {0, 1}}, {20, 4, {1 << 30}, {0}}) == Overlap::kDisjoint);
  CHECK(between({0, 4, {1 << 30, 5}, {0, 1}}, {16, 4, {1 << 30}, {0}}) == Overlap::kSome);
  const i64 side = 46340;
  CHECK(between({0, 4, {side, side}, {side, 1}}, {u64(4 * side * side), 4, {side}, {1}}) ==
        Overlap::kDisjoint);
  CHECK(between({0, 4, {side, side}, {1, side}}, {u64(4 * side * side - 4), 4, {side}, {side}}) ==
        Overlap::kSome);
}

TEST_CASE("strides that do not nest end in bounded time") {
  // Six axes each, strides about the same, all of them coprime: a knapsack.
  const std::vector<i64> shape(6, 1000);
  const PlacedTensor a{0, 4, shape, {100003, 100019, 100043, 100049, 100057, 100069}};
  const PlacedTensor b{4, 4, shape, {100103, 100109, 100129, 100151, 100153, 100169}};
  const Overlap found = find_overlap(a, b);
  CHECK((found == Overlap::kSome || found == Overlap::kUnknown));
}

TEST_CASE("random tensors overlap if and only if a byte is in both") {
  const unsigned seed = 20261121;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](u32 n) { return static_cast<i64>(random() % n); };
  const auto tensor = [&] {
    PlacedTensor t{static_cast<u64>(below(80)), random() % 4 == 0 ? 2u : 4u, {}, {}};
    for (i64 rank = below(4); rank > 0; rank--) {
      t.shape.push_back(1 + below(5));
      t.strides.push_back(below(14));
    }
    return t;
  };
  int some = 0, unknown = 0;
  for (int round = 0; round < 5000; round++) {
    const PlacedTensor a = tensor(), b = tensor();
    const std::string texts = text_of(a) + " and " + text_of(b);
    CAPTURE(texts);
    const Overlap found = between(a, b);
    some += found == Overlap::kSome;
    unknown += found == Overlap::kUnknown;
    if (found != Overlap::kUnknown) REQUIRE((found == Overlap::kSome) == share(a, b));
  }
  CHECK(some > 500);
  CHECK(some < 4500);
  CHECK(unknown == 0);
}

TEST_SUITE_END();

}  // namespace morello
