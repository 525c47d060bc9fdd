// SPDX-License-Identifier: MIT
// A byte is shared if  base_a + sum of a_k i_k = base_b + sum of b_k j_k  has a solution within the
// sizes. With j_k counted from its end this is one equation with bounded unknowns and positive
// coefficients, which is searched from the largest coefficient down: where strides nest, as they do
// in tensors, what is left pins each unknown to a value or two.
#include "support/overlap.hh"

#include <algorithm>
#include <numeric>

namespace morello {
namespace {

constexpr int kMostSteps = 4096;

struct Term {
  i64 coefficient;
  i64 most;  // the unknown is 0 .. most
};

class Equation {
 public:
  void add(i64 coefficient, i64 most) {
    if (coefficient == 0 || most == 0) return;
    for (Term& t : terms_) {
      if (t.coefficient != coefficient) continue;
      t.most += most;
      return;
    }
    terms_.push_back({coefficient, most});
  }
  /// Adds the elements of a tensor, and their bytes. Returns the reach of its last byte.
  i64 add(const PlacedTensor& t) {
    i64 reach = t.element - 1;
    add(1, reach);
    for (size_t axis = 0; axis < t.shape.size(); axis++) {
      const i64 stride = t.strides[axis] * t.element, most = t.shape[axis] - 1;
      add(stride, most);
      reach += stride * most;
    }
    return reach;
  }

  /// Does the sum of all terms take this value?
  Overlap takes(i64 value) {
    // There are two for each axis at most: std::sort would be more code than all this.
    for (size_t i = 1; i < terms_.size(); i++)
      for (size_t k = i; k > 0 && terms_[k - 1].coefficient < terms_[k].coefficient; k--)
        std::swap(terms_[k - 1], terms_[k]);
    // Of the terms from here on: the largest sum, and what all sums are a multiple of.
    i64 reach = 0, divisor = 0;
    rest_.assign(terms_.size() + 1, {0, 0});
    for (size_t k = terms_.size(); k-- > 0;) {
      reach += terms_[k].coefficient * terms_[k].most;
      divisor = std::gcd(divisor, terms_[k].coefficient);
      rest_[k] = {reach, divisor};
    }
    const bool found = search(0, value);
    if (steps_ > kMostSteps) return Overlap::kUnknown;
    return found ? Overlap::kSome : Overlap::kDisjoint;
  }

 private:
  struct Rest {
    i64 reach, divisor;
  };

  /// True if found, or out of steps.
  bool search(size_t k, i64 value) {
    if (value < 0 || value > rest_[k].reach) return false;
    if (k == terms_.size()) return true;
    if (value % rest_[k].divisor != 0) return false;
    const auto [coefficient, most] = terms_[k];
    const i64 beyond = value - rest_[k + 1].reach;  // what the rest cannot make
    const i64 first = beyond <= 0 ? 0 : (beyond + coefficient - 1) / coefficient;
    const i64 last = std::min(most, value / coefficient);
    for (i64 i = first; i <= last; i++) {
      if (++steps_ > kMostSteps) return true;
      if (search(k + 1, value - coefficient * i)) return true;
    }
    return false;
  }

  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  int steps_ = 0;
};

}  // namespace

Overlap find_overlap(const PlacedTensor& a, const PlacedTensor& b) {
  Equation equation;
  equation.add(a);
  const i64 reach = equation.add(b);
  return equation.takes(static_cast<i64>(b.base - a.base) + reach);
}

}  // namespace morello
