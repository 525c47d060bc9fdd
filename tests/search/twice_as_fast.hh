// SPDX-License-Identifier: MIT
// Bounds beside costs of searches that have a microkernel which is faster than it is.
#ifndef MORELLO_TESTS_SEARCH_TWICE_AS_FAST_HH
#define MORELLO_TESTS_SEARCH_TWICE_AS_FAST_HH

#include <algorithm>
#include <string>
#include <utility>

#include "cost/shared.hh"
#include "search/best_first.hh"
#include "search/spec_problem.hh"
#include "table/identity.hh"

namespace morello::testing {

inline i64 traffic(const Spec& spec, const Target& t) {
  i64 c = 0;
  for (int o = 0; o < spec.operand_count; o++)
    c = saturating_add(c, traffic_units(spec, spec.operand[o], t));
  return c;
}

constexpr MicrokernelId kNew = static_cast<MicrokernelId>(std::size(kAllMicrokernels) + 1);

/// Another microkernel, in half of its time, lines aside.
template <MicrokernelId Id>
struct TwiceAsFast {
  static bool applies(const Spec& s, const Target& t) { return microkernel(Id).applies(s, t); }
  static u32 registers(const Spec& s, const Target& t) { return microkernel(Id).registers(s, t); }
  static i64 cost(const Spec& s, const Target& t) {
    const i64 cost = microkernel(Id).cost(s, t), lines = std::min(traffic(s, t), cost);
    return lines + (cost - lines) / 2;
  }
  static i64 step(u64 rows, u64 vecs, const Target& t) {
    return microkernel(Id).rate(Duty::kTile, t).step(rows, vecs, t) / 2;
  }
  static BlockPrice block(u64 rows, u64 columns, const Target& t) {
    BlockPrice price = microkernel(Id).rate(Duty::kContract, t).block(rows, columns, t);
    for (i64* part : {&price.group, &price.result, &price.odd_run}) *part /= 2;
    return price;
  }
  static Rate rate(Duty duty, const Target& t) {
    Rate r = microkernel(Id).rate(duty, t);
    for (i64* price : {&r.call, &r.row, &r.vector, &r.odd, &r.element, &r.vector_ops,
                       &r.element_ops, &r.together_ops, &r.group_units})
      *price /= 2;
    if (r.step) r.step = step;
    if (r.block) r.block = block;
    // By vectors, so that bounds are seen to count these too.
    if (Id == MicrokernelId::kTranspose) r.vector = 8 * std::exchange(r.element, 0);
    return r;
  }
  static constexpr Microkernel kernel = {kNew, applies, registers, cost, whole, rate};
};

/// What costs less than its bound of the pairs that are solved for a Spec with 70% of the bounds,
/// or
/// "".
/// @param full  L2 has no room.
/// @param most  pairs to expand.
inline std::string against_bounds(const Spec& user_spec, const Target& t, Microkernels kernels,
                                  bool full = false, u64 most = 3000) {
  const ActionContext context{.target = &t, .microkernels = kernels};
  SpecProblem problem(context, 70);
  BestFirst<SpecProblem> search(problem);
  BestFirst<SpecProblem>::Worker worker(search);
  worker.set_check([&] { return search.counts().expanded < most; });
  Spec spec = user_spec;
  spec.serial = true;
  BestFirst<SpecProblem>::Solution solution;
  Limits limits = limits_of(t);
  if (full) limits.at(Level::kL2) = 0;
  search.solve(spec, limits, worker, solution);
  Bounds bounds(t, kernels);
  std::string wrong;
  search.each_solved([&](const Spec& s, const Limits& l, const auto& solved) {
    if (bounds.of(s, l) > solved.cost)
      wrong = describe(s) + ": bound " + std::to_string(bounds.of(s, l)) + ", cost " +
              std::to_string(solved.cost);
  });
  return wrong;
}

}  // namespace morello::testing

#endif
