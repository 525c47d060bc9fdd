// SPDX-License-Identifier: MIT
#include "support/concat.hh"

#include <doctest/doctest.h>

#include <limits>

namespace morello {

TEST_SUITE("support") {
  TEST_CASE("texts and numbers are joined") {
    CHECK(concat({}) == "");
    CHECK(concat({"", std::string(), std::string_view()}) == "");
    CHECK(concat({"a", std::string("b"), std::string_view("cd", 1), '\1'}) == "abc1");
    const auto same = [](auto number) { CHECK(concat({number}) == std::to_string(number)); };
    for (int n : {0, 1, -1, 9, 10, -10, 1000000}) same(n);
    same(std::numeric_limits<u64>::max());
    same(std::numeric_limits<i64>::max());
    same(std::numeric_limits<i64>::min());
    same(std::numeric_limits<i32>::min());
    same(std::numeric_limits<u32>::max());
  }
}

}  // namespace morello
