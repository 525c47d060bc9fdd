// SPDX-License-Identifier: MIT
#include "search/improve.hh"

#include <algorithm>

#include "actions/walk.hh"

namespace morello {
namespace {

/// Of the program's cost, that a decision has to save at least.
constexpr double kLeastSaved = 0.001;
/// Work for one decision: this much, then, if it was not enough, all of it again.
constexpr u64 kMostForOne[] = {150 * kWorkOfExpansion, 600 * kWorkOfExpansion,
                               1500 * kWorkOfExpansion};
/// Work for a part. What is above one that takes more takes more, too, so it is not tried.
constexpr u64 kMostForPart = 3000 * kWorkOfExpansion;
/// Of looking up an action's children.
constexpr u64 kWorkOfRaise = 12;
/// What an action is improved by at least, as in any search: see best_first.hh.
constexpr int kSlackShift = 10;

}  // namespace

std::optional<Action> Improvement::action_of(const Spec& spec, const Limits& limits) {
  SpecSearch::Solution solution;
  if (subtrees_ && subtrees_->known(spec, limits, solution) && solution.feasible)
    return solution.action;
  if (const Known* known = best_.find({spec, limits})) return known->action;
  if (!search_.known(spec, limits, solution)) return start_(spec, limits);
  return solution.feasible ? std::optional(solution.action) : std::nullopt;
}

/// The program as it is now, with its costs.
bool Improvement::trace(const Spec& spec, const Limits& limits) {
  program_.clear();
  const Decisions decisions = [this](const Spec& s, const Limits& l) { return action_of(s, l); };
  const DecideOptions trusted{.trusted = true};
  Walk<u32>::Known seen;
  const auto finish = [this](const Pair& pair, const Action& action, const Derivation& d,
                             const std::array<u32, kMaxChildren>& child) {
    Step step;
    step.pair = pair;
    step.action = action;
    step.cost = step.own = d.own;
    step.count = static_cast<size_t>(d.count);
    step.child = child;
    for (size_t i = 0; i < step.count; i++) {
      step.times[i] = d.child[i].times;
      step.cost = saturating_add(step.cost, saturating_mul(step.times[i], program_[child[i]].cost));
    }
    if (Known* known = best_.find(pair))
      *known = {action, step.cost};
    else
      best_.add(pair, {action, step.cost});
    program_.push_back(step);
    return std::optional(static_cast<u32>(program_.size() - 1));
  };
  if (!Walk<u32>(problem_.context(), decisions, trusted, seen).to(spec, limits, finish))
    return false;
  program_.back().runs = 1;
  for (size_t s = program_.size(); s-- > 0;)
    for (size_t i = 0; i < program_[s].count; i++)
      program_[program_[s].child[i]].runs +=
          program_[s].runs * static_cast<double>(program_[s].times[i]);
  return true;
}

/// `quick`: unless it is known, the quick bound.
Improvement::Value Improvement::value(const Spec& spec, Limits limits, bool quick) {
  clamp_limits(spec, limits);
  SpecSearch::Solution solution;
  if (subtrees_ && subtrees_->known(spec, limits, solution)) return {solution.cost, true};
  if (const Known* known = best_.find({spec, limits})) return {known->cost, true};
  if (!quick) {  // in one look-up
    const bool known = search_.solve(spec, limits, worker_, solution, 0);
    return {solution.cost, known};
  }
  if (search_.known(spec, limits, solution)) return {solution.cost, true};
  return {problem_.quick_bound(spec, limits), false};
}

namespace {

/// Of equal ones the first in the order of actions is best.
constexpr auto is_worse = [](const auto& a, const auto& b) {
  return a.f != b.f ? a.f > b.f : order_of(a.action) > order_of(b.action);
};

}  // namespace

/// The other actions of a pair that may cost less than `target`.
void Improvement::list(const Step& step, i64 target) {
  const Pair& pair = step.pair;
  Derivation& d = derivation_;
  list_actions(pair.spec, pair.limits, whole_, list_);
  heap_.clear();
  for (const Action& a : list_) {
    if (a == step.action || !preview(pair.spec, pair.limits, a, whole_, d)) continue;
    i64 f = d.own;
    for (int i = 0; i < d.count && f < target; i++)
      f = saturating_add(
          f, saturating_mul(d.child[i].times,
                            value(d.child[i].spec, d.child[i].limits, /*quick=*/true).cost));
    if (f < target) heap_.push_back({f, a});
  }
  std::make_heap(heap_.begin(), heap_.end(), is_worse);
  worked_({.work = kWorkOfPreview[0] * list_.size(), .expanded = 1, .previews = list_.size()});
}

/// True if another action costs less than `target`: then that is decided. False after so much work.
bool Improvement::improve(const Step& step, i64 target, u64 most) {
  const u64 before = search_.counts().work;
  list(step, target);
  while (!heap_.empty() && !search_.stopped()) {
    if (search_.counts().work - before >= most) return false;
    std::pop_heap(heap_.begin(), heap_.end(), is_worse);
    Candidate top = heap_.back();
    heap_.pop_back();
    if (raise(step.pair, top, heap_.empty() ? kInfinite : heap_.front().f, target)) {
      *best_.find(step.pair) = {top.action, top.f};
      return true;
    }
    if (top.f >= target) continue;
    heap_.push_back(top);
    std::push_heap(heap_.begin(), heap_.end(), is_worse);
  }
  if (!search_.stopped()) *tried_.find(step.pair) = ~u64{0};
  return false;
}

/// Raises the bound of the best action until it is past that of the second one. True if its cost is
/// known, and the least.
bool Improvement::raise(const Pair& pair, Candidate& top, i64 second, i64 target) {
  Derivation& d = derivation_;
  preview(pair.spec, pair.limits, top.action, whole_, d);
  const size_t count = static_cast<size_t>(d.count);
  worked_({.work = kWorkOfRaise});
  std::array<Value, kMaxChildren> values{};
  for (size_t i = 0; i < count; i++)
    values[i] = value(d.child[i].spec, d.child[i].limits, /*quick=*/false);
  const auto sum = [&] {
    i64 f = d.own;
    for (size_t i = 0; i < count; i++)
      f = saturating_add(f, saturating_mul(d.child[i].times, values[i].cost));
    return f;
  };
  top.f = std::max(top.f, sum());
  const i64 least = saturating_add(top.f, top.f >> kSlackShift);
  const i64 most = std::min(target, saturating_add(std::max(second, least), 1));
  for (size_t i = 0; i < count && top.f <= second && top.f < most && !search_.stopped(); i++) {
    if (values[i].known) continue;
    const i64 missing = (most - top.f) / static_cast<i64>(d.child[i].times) + 1;
    SpecSearch::Solution ignored;
    search_.solve(d.child[i].spec, d.child[i].limits, worker_, ignored,
                  saturating_add(values[i].cost, missing));
    values[i] = value(d.child[i].spec, d.child[i].limits, /*quick=*/false);
    top.f = std::max(top.f, sum());
  }
  for (size_t i = 0; i < count; i++)
    if (!values[i].known) return false;
  return top.f <= second && top.f < target;
}

/// What a step has to cost less than.
i64 Improvement::target_of(const Step& step) const {
  const double least = kLeastSaved * static_cast<double>(program_.back().cost);
  return step.cost - std::max(i64{1}, static_cast<i64>(least / step.runs));
}

/// The program's steps, with how much each makes the bound rise: what is lost is most likely lost
/// there.
void Improvement::find_rises() {
  for (Step& step : program_) {
    step.bound = problem_.lower_bound(step.pair.spec, step.pair.limits);
    i64 bound = step.own;  // after the decision
    for (size_t i = 0; i < step.count; i++)
      bound = saturating_add(bound, saturating_mul(step.times[i], program_[step.child[i]].bound));
    step.rise = step.runs * static_cast<double>(bound - step.bound);
  }
}

/// How much work a step gets when it is tried next; 0: it is not.
u64 Improvement::next_work(const Step& step) {
  if (step.bound >= target_of(step)) return 0;
  const u64* tried = tried_.find(step.pair);
  for (const u64 most : kMostForOne)
    if (!tried || *tried < most) return most;
  return 0;
}

/// Improves one decision, of those that promise most for their work; of equal ones that which takes
/// less, then the one nearer to the root. False if there is none left.
bool Improvement::improve_one() {
  find_rises();
  while (!search_.stopped()) {
    const Step* best = nullptr;
    u64 most = 0;
    double promise = 0;
    for (size_t s = program_.size(); s-- > 0;) {
      const Step& step = program_[s];
      const u64 work = next_work(step);
      if (work == 0) continue;
      const double promised = step.rise / static_cast<double>(work);
      if (best && (promised < promise || (promised == promise && work >= most))) continue;
      best = &step;
      most = work;
      promise = promised;
    }
    if (!best) return false;
    u64* tried = tried_.find(best->pair);
    (tried ? *tried : tried_.add(best->pair, 0)) = most;
    if (improve(*best, target_of(*best), most)) return true;
  }
  return false;
}

void Improvement::run(const Spec& spec, const Limits& limits) {
  while (!search_.stopped() && trace(spec, limits) && improve_one()) {
  }
}

/// True if the step is cheaper now. `solved`: nothing below it is.
bool Improvement::solve_part(Step& step, bool* solved) {
  const i64 target = target_of(step);
  *solved = true;
  if (step.count == 0 || problem_.lower_bound(step.pair.spec, step.pair.limits) >= target)
    return false;
  *solved = !hard_.find(step.pair);
  if (!*solved) return false;
  SpecSearch::Solution found;
  if (!subtrees_->solve(step.pair, target, kMostForPart, found)) {
    *solved = found.cost >= target;
    if (!*solved) hard_.add(step.pair, true);
    return false;
  }
  if (found.cost >= step.cost) return false;
  step.cost = found.cost;
  *best_.find(step.pair) = {found.action, found.cost};
  return true;
}

/// Solves parts from the leaves up, those that are not above any that was too much work. True if
/// some are cheaper now.
bool Improvement::solve_parts() {
  bool better = false;
  std::vector<bool> solved(program_.size());
  for (size_t s = 0; s < program_.size() && !search_.stopped(); s++) {
    Step& step = program_[s];
    step.cost = step.own;
    bool ready = true;
    for (size_t i = 0; i < step.count; i++) {
      const u32 child = step.child[i];
      step.cost = saturating_add(step.cost, saturating_mul(step.times[i], program_[child].cost));
      ready = ready && solved[child];
    }
    best_.find(step.pair)->cost = step.cost;
    bool done = false;
    if (ready) better = solve_part(step, &done) || better;
    solved[s] = done;
  }
  return better;
}

void Improvement::run_with(Subtrees& subtrees, const Spec& spec, const Limits& limits) {
  subtrees_ = &subtrees;
  while (trace(spec, limits) && solve_parts() && !search_.stopped()) run(spec, limits);
}

}  // namespace morello
