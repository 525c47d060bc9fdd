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

constexpr double kNone = 1e300;

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

/// @param element  the least price of bringing one.
double bound_with_load(const Contraction& p, double load, double element) {
  double total = p.fast + load, base = load * element - p.registers * p.visit;
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
  return p.points * ratio - load * element;
}

}  // namespace

double io_bound(const Contraction& p) {
  if (!(p.far_a || p.far_b || p.far_c)) return 0;
  double element = kNone;
  if (p.far_a) element = p.element_a;
  if (p.far_b) element = std::min(element, p.element_b);
  if (p.far_c) element = std::min(element, p.element_c);
  return std::max(
      {0.0, bound_with_load(p, p.fast, element), bound_with_load(p, 2 * p.fast, element)});
}

namespace {

/// What comes inside of a tile that stays, of size u w: an array that lacks one of its dimensions
/// and has z, which the tile lacks.
struct Inner {
  double price;         // of an element
  double run_w, run_z;  // of a run along the dimension of the tile that it has, and along z
  bool may_stay;
};

/// The least p / u + q / w where u w <= room, w (u + z) <= room_of_two.
double least_of_two(double p, double q, double most_u, double most_w, double room, double z,
                    double room_of_two) {
  const auto in_room = [&](double size, double more) {
    const double least_u = std::min(most_u, size / most_w - more);
    const double best_u = q > 0 ? std::sqrt(size * p / q) : most_u;
    const double u = std::clamp(best_u, std::max(least_u, 1e-9), most_u);
    return p / u + q / std::min(most_w, size / (u + more));
  };
  return z > 0 ? std::max(in_room(room, 0), in_room(room_of_two, z)) : in_room(room, 0);
}

/// The end of the interval of sizes that begins after z.
double next_size(double z) {
  if (z < 16) return 16;
  const double power = std::exp2(std::floor(std::log2(z)));
  return z > power ? 2 * power : 1.5 * power;
}

/// The least price per product of p, which lacks u, and q, which lacks w.
double least_inside(const Inner& p, const Inner& q, double u, double w, double z, double room,
                    double room_of_two) {
  const double shared = (p.run_w + q.run_w) / std::min(room, u * w);
  const auto least = [&](double p_price, double q_price, double least_z) {
    double best = kNone;
    if (p.may_stay)
      best = std::min(best, least_of_two(p_price, q_price, u, w, room, least_z, room_of_two));
    if (q.may_stay)
      best = std::min(best, least_of_two(q_price, p_price, w, u, room, least_z, room_of_two));
    return best;
  };
  double best = kNone;
  // Of sizes in an interval, runs are as long as at its end, and take the room of its beginning.
  for (double low = 0, high; low < z; low = high) {
    if (least(p.price, q.price, low) >= best) break;
    high = std::min(z, next_size(low));
    best = std::min(best, least(p.price + p.run_z / high, q.price + q.run_z / high, low));
  }
  return best + shared;
}

}  // namespace

// A tile of an array that comes at a place of size (m, n, k) in the nest costs its elements for m n
// k products: for each, the price of an element over the size of what does not index the array, and
// that of a run over both. All other moves are nested inside of the first tile that stays, and have
// no larger sizes; so the room of that tile bounds the product of two of the sizes that count, and
// the room of it and the next one the third. If none stays, leaves read all, of which results fit
// the registers; the results of a leaf count as the next tile. A tile of windows has at least its
// places over those that have an element: as if it had all places, but prices over, and rooms times
// as many.
double nest_bound(const Contraction& p) {
  const double n = p.points / p.a, m = p.points / p.b, k = p.points / p.c;
  const double a = p.far_a ? p.element_a / p.places_a : 0;
  const double b = p.far_b ? p.element_b / p.places_b : 0;
  const double of_two = p.fast_of_two * std::max(p.places_a, p.places_b);
  const double c = p.far_c ? 2 * p.element_c : 0, v = p.visit;
  const double in_leaves = least_of_two(a, b, n, m, p.registers, 0, 0);
  double best = (c + v) / k + in_leaves;
  if (p.fast <= 0) return best;  // nothing stays
  const auto inside = [&](const Inner& x, const Inner& y, double u, double w, double z,
                          double places) {
    return least_inside(x, y, u, w, z, p.fast * places, of_two);
  };
  if (p.far_a) {
    const double first = (a + p.run_am / m + p.run_ak / k) / n;
    best = std::min(best, first + inside({b, p.run_bk, p.run_bn, p.far_b},
                                         {c + v, p.run_cm, p.run_cn, true}, m, k, n, p.places_a));
  }
  if (p.far_b) {
    const double first = (b + p.run_bk / k + p.run_bn / n) / m;
    best = std::min(best, first + inside({a, p.run_ak, p.run_am, p.far_a},
                                         {c + v, p.run_cn, p.run_cm, true}, n, k, m, p.places_b));
  }
  if (p.far_c) {
    const double first = (c + p.run_cm / m + p.run_cn / n) / k;
    double second =
        inside({a, p.run_am, p.run_ak, p.far_a}, {b, p.run_bn, p.run_bk, p.far_b}, n, m, k, 1) +
        v / k;
    if (p.far_a && p.far_b) {
      // The second tile that stays is as deep as visits are apart.
      const auto with_visits = [&](double of_second, double of_third, double most, double other) {
        const double both = std::sqrt(of_second) + std::sqrt(v);
        return least_of_two(both * both, of_third, most + k, other, of_two, 0, 0);
      };
      second = std::max(second, std::min(with_visits(a, b, n, m), with_visits(b, a, m, n)));
    }
    best = std::min(best, first + std::min(second, v / k + in_leaves));
  }
  return best;
}

}  // namespace morello
