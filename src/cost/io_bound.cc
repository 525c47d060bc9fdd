// SPDX-License-Identifier: MIT
// Cut the run of a program into phases that bring `load` elements each. A phase that touches a, b
// and c elements of the three arrays computes at most sqrt(a b c) products (Loomis and Whitney),
// and the far ones among them were in the fast memory before, or were brought. Its price is at
// least that of the load and of c visits. So the price per product is at least the least ratio of
// the two, and only the last phase may be short.
//
// Without visits and with load = 2 fast this is the bound of Smith, Lowery, Langou and van de Geijn
// (A tight I/O lower bound for matrix multiplication, 2019).
#include "cost/io_bound.hh"

#include <algorithm>
#include <cmath>
#include <limits>

namespace morello {
namespace {

/// One phase: price = base + visit * c.
struct Phase {
  double base, visit, most_c;

  double price_per_product(double c, double products) const {
    return (base + visit * c) / products;
  }
  /// The least ratio where sqrt(a b) <= k.
  double with_bounded_factors(double k) const {
    double c = visit * most_c <= base ? most_c : base / visit;
    return price_per_product(c, k * std::sqrt(c));
  }
  /// The least ratio where a <= k and b + c <= total.
  double with_one_bounded_factor(double k, double total) const {
    double c = std::min(most_c, base * total / (visit * total + 2 * base));
    return price_per_product(c, std::sqrt(k * (total - c) * c));
  }
  /// The least ratio where a + b + c <= total.
  double with_shared_room(double total) const {
    double p = visit * total + 3 * base;
    double c =
        std::min(most_c, 2 * base * total / (p + std::sqrt(p * p + 4 * visit * base * total)));
    return price_per_product(c, (total - c) / 2 * std::sqrt(c));
  }
};

double bound_with_load(const Contraction& p, double load) {
  double total = p.fast + load, base = load * p.element - p.registers * p.visit;
  if (base <= 0) return 0;
  Phase phase{base, p.visit, p.far_c ? std::min(p.c, total) : p.c};
  // Each of these drops some of the conditions, so each is a bound.
  double ratio = phase.with_bounded_factors(std::sqrt(p.a * p.b));
  auto one_bounded = [&](double size) {
    ratio = std::max(ratio, p.far_c ? phase.with_one_bounded_factor(size, total)
                                    : phase.with_bounded_factors(std::sqrt(size * total)));
  };
  if (p.far_a) one_bounded(p.b);
  if (p.far_b) one_bounded(p.a);
  if (p.far_a && p.far_b)
    ratio = std::max(
        ratio, p.far_c ? phase.with_shared_room(total) : phase.with_bounded_factors(total / 2));
  return p.points * ratio - load * p.element;
}

}  // namespace

double io_bound(const Contraction& p) {
  if (!(p.far_a || p.far_b || p.far_c)) return 0;
  return std::max({0.0, bound_with_load(p, p.fast), bound_with_load(p, 2 * p.fast)});
}

namespace {

/// The least p / y + q / z where y z <= room.
double least_of_two(double p, double q, double most_y, double most_z, double room) {
  if (most_y * most_z <= room) return p / most_y + q / most_z;
  const double least_y = room / most_z;
  const double best_y = q > 0 ? std::sqrt(room * p / q) : most_y;
  const double y = std::clamp(best_y, least_y, most_y);
  return p / y + q * y / room;
}

}  // namespace

// A tile of an array that comes at a place of size (m, n, k) in the nest costs its elements for m n
// k products: for each, the price of an element over the size of what does not index the array. All
// other moves are nested inside of the first tile that stays, and have no larger sizes; so the room
// of that tile bounds the product of two of the sizes that count. If none stays, leaves read all,
// of which results fit the registers.
double nest_bound(const Contraction& p) {
  const double n = p.points / p.a, m = p.points / p.b, k = p.points / p.c;
  const double a = p.far_a ? p.element : 0, b = p.far_b ? p.element : 0;
  const double c = p.far_c ? 2 * p.element : 0, v = p.visit;
  const double in_leaves = least_of_two(a, b, n, m, p.registers);
  double best = (c + v) / k + in_leaves;
  if (p.fast <= 0) return best;  // nothing stays
  if (p.far_a) best = std::min(best, a / n + least_of_two(b, c + v, m, k, p.fast));
  if (p.far_b) best = std::min(best, b / m + least_of_two(a, c + v, n, k, p.fast));
  if (p.far_c) {
    double inside = v / k + least_of_two(a, b, n, m, p.fast);
    if (p.far_a && p.far_b) {
      // The second tile that stays is as deep as visits are apart, and takes room as well.
      const auto with_second = [&](double of_second, double of_third, double most, double other) {
        const double both = std::sqrt(of_second) + std::sqrt(v);
        return least_of_two(both * both, of_third, most + k, other, p.fast);
      };
      const double second = std::min(with_second(a, b, n, m), with_second(b, a, m, n));
      inside = std::max(inside, std::min(second, v / k + in_leaves));
    }
    best = std::min(best, c / k + inside);
  }
  return best;
}

}  // namespace morello
