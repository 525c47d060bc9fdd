// SPDX-License-Identifier: MIT
// What is said about measurements.
#include "rounds.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace morello::tools {
namespace {

TEST_CASE("a spread is that of the slow rounds, however few there are") {
  CHECK(Timing{{8}, 1}.spread() == 0);
  CHECK(Timing{{8, 12}, 1}.spread() == 0.5);
  CHECK(Timing{{8, 9, 12}, 1}.spread() == 0.5);
  CHECK(Timing{{8, 8, 8, 8, 8, 8, 8, 8, 8, 10, 80}, 1}.spread() == 0.25);  // one in ten may be off
}

TEST_CASE("figures that spread too far are called noise") {
  CHECK(noise(0).empty());
  CHECK(noise(0.5).empty());
  CHECK(noise(0.51).find("rounds differ by 51%") == 0);
  CHECK(noise(6.29).find("629%") != std::string::npos);
  CHECK(noise(0.51).find("noise") != std::string::npos);
}

Timing in_rounds(const std::vector<double>& rounds) {
  Timing timing{rounds, 1, rounds};
  std::sort(timing.samples.begin(), timing.samples.end());
  return timing;
}

TEST_CASE("contenders are compared round by round: noise that meets both says nothing") {
  std::vector<double> a, b, same;
  for (int i = 0; i < 40; i++) {
    const double neighbour = i % 3 == 0 ? 5 : 1;  // five times as slow now and then
    a.push_back(100 * neighbour);
    b.push_back((103 + i % 3) * neighbour);
    same.push_back((i % 2 == 0 ? 98 : 102) * neighbour);
  }
  const Ratio slower = compare(in_rounds(b), in_rounds(a));
  CHECK(slower.differs());
  CHECK(slower.median == doctest::Approx(1.04));
  CHECK(slower.low >= 1.03);
  CHECK(slower.high <= 1.05);
  CHECK(!compare(in_rounds(same), in_rounds(a)).differs());
  CHECK(!compare(in_rounds(a), in_rounds(a)).differs());
  const Ratio few = compare(in_rounds({1, 1, 1}), in_rounds({2, 2, 2}));
  CHECK(few.median == 0.5);
  CHECK(!few.differs());
  CHECK(compare(in_rounds(std::vector<double>(20, 1)), in_rounds(std::vector<double>(20, 2)))
            .differs());
}

TEST_CASE("where nothing differs, 99 of 100 comparisons say so") {
  std::mt19937 random(1);
  std::normal_distribution<double> noise_of(100, 5);
  int differ = 0;
  for (int i = 0; i < 1000; i++) {
    std::vector<double> a(30), b(30);
    for (int r = 0; r < 30; r++) a[r] = noise_of(random), b[r] = noise_of(random);
    differ += compare(in_rounds(a), in_rounds(b)).differs();
  }
  CHECK(differ <= 25);
}

}  // namespace
}  // namespace morello::tools
