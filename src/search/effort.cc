// SPDX-License-Identifier: MIT
#include "search/effort.hh"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "search/apart.hh"
#include "search/batch_loops.hh"
#include "search/near.hh"
#include "search/terms.hh"

namespace morello {
namespace {

/// Of what is searched whatever the effort, until there is a program: the fewest actions, few, and
/// improving what these find. Only where that is no program, a narrow space.
constexpr u64 kMostFewest = 3000 * kWorkOfExpansion, kMostStart = 2500 * kWorkOfExpansion,
              kMostAnyway = 4096 * kWorkOfExpansion;
/// In all, with improving what was found: by so much at least.
constexpr u64 kMostImproved = 3800 * kWorkOfExpansion, kLeastImproving = 1250 * kWorkOfExpansion;
/// With parts of the program solved, where that and the wider spaces of a quick search took less.
constexpr u64 kMostParts = 3000 * kWorkOfExpansion, kUsual = kQuickEffort * kWorkOfExpansion;
/// Of products one after another, or terms of windows, without improving: mostly a tenth of it.
constexpr u64 kMostBeside = 2500 * kWorkOfExpansion;
/// Where the fewest actions take so much, few are too many.
constexpr u64 kLarge = 650 * kWorkOfExpansion;
/// Units: what terms by themselves may gain of a program that takes less, about a millisecond, is
/// less than it takes to find it.
constexpr i64 kDear = i64{1} << 26;
/// Of what is near.
constexpr u64 kMostNear = 2048 * kWorkOfExpansion;
/// What is near suffices if it costs no more than this many times what is expected: the best of its
/// space, or what is known of that when the work is done.
constexpr double kGoodEnough = 1.1, kGoodUnfinished = 1.01;

class Parts {
 public:
  Parts(const Spec& spec, const Target& target, const SearchOptions& options)
      : spec_(spec),
        target_(target),
        options_(options),
        adjusted_(with_machine(target, 0, 0, options.threads)),
        ignores_limits_(!multiplies_batches(spec)),
        loops_(context_of(Breadth::kFewest, adjusted_, options), !ignores_limits_, is_single(spec)),
        fitting_loops_(context_of(Breadth::kFewest, adjusted_, options), true, is_single(spec)),
        few_loops_(context_of(Breadth::kFew, adjusted_, options), true, is_single(spec)) {}

  Result<ImplTree> run(SearchStats* stats) {
    std::optional<Error> error;
    if (options_.near && search_near(&error)) {
      if (stats) *stats = all_;
      if (failed_) return std::move(*error);
      return std::move(*best_);
    }
    if (!is_exact()) search_start(&error);
    used_at_start_ = used_;
    if (!is_exact() && Apart::serves(spec_)) search_beside(apart_guide_, false, &error);
    const bool is_dear = best_ && best_->nodes[0].cost >= kDear;
    if (is_dear && !is_exact() && Terms::serves(spec_)) search_beside(terms_guide_, true, &error);
    // What ends before it has a program is completed like a search that a budget ended.
    for (Breadth breadth : {Breadth::kNarrow, Breadth::kMiddle, Breadth::kWhole}) {
      if (is_exact() && breadth != Breadth::kWhole) continue;
      if (failed_ || all_.budget_ended) break;
      if (breadth == Breadth::kNarrow && best_) continue;
      u64 most = kMostAnyway;
      if (breadth == Breadth::kWhole && (!best_ || is_exact()))
        most = 0;  // until there is one
      else if (breadth != Breadth::kNarrow && best_)
        most = effort() - std::min(effort(), used_);
      if (most == 0 && best_ && !is_exact()) break;
      SearchPart part{breadth, most, best_ ? &*best_ : nullptr};
      if (breadth == Breadth::kNarrow) {
        part.best = nullptr;  // so that it is completed
        part.improvements = kLeastImproving;
      }
      error = search(part);
      note(error);
    }
    if (best_ && !is_exact()) improve_parts(&error);
    if (stats) *stats = all_;
    if (best_ && !failed_) return std::move(*best_);
    return std::move(*error);
  }

 private:
  bool is_exact() const { return options_.effort == kExactEffort; }
  /// Work.
  u64 effort() const { return static_cast<u64>(saturating_mul(options_.effort, kWorkOfExpansion)); }

  void note(const std::optional<Error>& error) {
    const bool empty = error && (error->status == MORELLO_NO_IMPLEMENTATION ||
                                 (error->status == MORELLO_BUDGET_EXCEEDED && !all_.budget_ended));
    failed_ = error && !empty && !all_.budget_ended;  // cancelled, or a bug
  }

  static ActionContext context_of(Breadth breadth, const Target& target,
                                  const SearchOptions& options) {
    ActionContext context{&target, options.disabled_actions, options.disabled_restrictions};
    context.breadth = breadth;
    return context;
  }

  /// What finds a program, or did not, is kept in `search`.
  std::optional<Error> search_fewest(const SpecProblem::Guide& guide, bool ignores_limits,
                                     std::unique_ptr<PartSearch>* search) {
    SearchPart part{Breadth::kFewest, kMostFewest, best_ ? &*best_ : nullptr, &guide,
                    ignores_limits};
    part.improvements = kLeastImproving;
    part.improves_until = kMostImproved - used_;
    part.improves_from = kLarge;
    *search = std::make_unique<PartSearch>(spec_, target_, options_for(part), part);
    SearchStats stats;
    Result<ImplTree> found = (*search)->run(&stats);
    std::optional<Error> error = take(std::move(found), stats);
    note(error);
    return error;
  }

  /// Finds a program to begin with, and improves it.
  void search_start(std::optional<Error>* error) {
    std::unique_ptr<PartSearch> first;
    *error = search_fewest(guide_, ignores_limits_, &first);
    // What comes before all else may have left no room for what has to come later: then limits are
    // asked.
    if (*error && ignores_limits_ && !failed_ && !all_.budget_ended)
      *error = search_fewest(fitting_guide_, false, &first);
    if (*error || failed_ || all_.budget_ended) return;
    started_ = std::move(first);
    if (used_ >= kLarge) return;
    SearchPart few{Breadth::kFew, kMostStart - used_, &*best_};
    few.improvements = kLeastImproving;
    few.improves_until = kMostImproved - used_;
    bool ended = false;
    few.ended = &ended;
    auto second = std::make_unique<PartSearch>(spec_, target_, options_for(few), few);
    SearchStats stats;
    Result<ImplTree> found = second->run(&stats);
    ended = ended && found;
    const bool dearer = ended && found->nodes[0].cost > best_->nodes[0].cost;
    *error = take(std::move(found), stats);
    note(*error);
    if (failed_ || all_.budget_ended) return;
    if (ended && !dearer) return std::swap(started_, second);
    // What few actions would have found was not, or is dearer; what the fewest found is not
    // improved yet. Where little of that is to be improved, the dearer one may become cheaper.
    *error = improve_start(*started_);
    if (failed_ || all_.budget_ended || !ended || used_ >= kMostImproved) return;
    const i64 before = best_->nodes[0].cost;
    *error = improve_start(*second);
    if (best_->nodes[0].cost < before) std::swap(started_, second);
  }

  /// A small space of another order: one product after another, so that a graph of several costs no
  /// more than its parts do, about; or one term of windows after another. What it finds is kept if
  /// it is cheaper, improved or (not `improves`) as it is, then to be improved.
  void search_beside(const SpecProblem::Guide& guide, bool improves, std::optional<Error>* error) {
    if (failed_ || all_.budget_ended) return;
    const std::optional<ImplTree> before = std::exchange(best_, std::nullopt);
    const bool near = all_.near;
    const SearchPart part{Breadth::kFewest, kMostBeside, nullptr, &guide};
    auto search = std::make_unique<PartSearch>(spec_, target_, options_for(part), part);
    SearchStats stats;
    Result<ImplTree> found = search->run(&stats);
    note(*error = take(std::move(found), stats));
    const auto is_cheaper = [&] {
      return best_ && (!before || best_->nodes[0].cost < before->nodes[0].cost);
    };
    if (best_ && (improves || is_cheaper()) && !failed_ && !all_.budget_ended)
      note(*error = take(search->improve(*best_, kLeastImproving, budget_left(), &stats), stats));
    const bool cheaper = is_cheaper();
    if (cheaper) started_ = std::move(search);
    if (!cheaper) {
      best_ = before;
      all_.near = near;
    }
    used_ = used_at_start_;  // an effort is for the other parts
  }

  std::optional<Error> improve_start(PartSearch& search) {
    SearchStats stats;
    std::optional<Error> error =
        take(search.improve(*best_, kMostImproved - used_, budget_left(), &stats), stats);
    note(error);
    return error;
  }

  /// Of what was found to begin with. The work is the same whatever the effort, so that with more
  /// of it no less is found.
  void improve_parts(std::optional<Error>* error) {
    const u64 used = std::max(used_at_start_, kUsual);
    if (!started_ || failed_ || all_.optimal || all_.budget_ended || used >= kMostParts) return;
    SearchStats stats;
    Result<ImplTree> found =
        started_->improve_parts(*best_, kMostParts - used, budget_left(), &stats);
    *error = take(std::move(found), stats);
    note(*error);
  }

  /// Where searches begin.
  std::pair<Spec, Limits> start() const {
    Spec root = spec_;
    root.serial = options_.threads <= 1;
    Limits limits = limits_of(with_machine(target_, 0, 0, options_.threads));
    clamp_limits(root, limits);
    return {root, limits};
  }

  /// Searches what is near. True if that is all: it is good enough, or the search was ended.
  bool search_near(std::optional<Error>* error) {
    const NearDecisions& near = *options_.near;
    const SpecProblem::Guide guide = [&](const Spec& spec, const Limits& limits, ActionList& out) {
      near.list(spec, limits, out);
    };
    const auto [root, limits] = start();
    if (!near.has(root, limits)) return false;
    if (!best_) best_ = near.guess(root);
    *error = search({Breadth::kFew, kMostNear, best_ ? &*best_ : nullptr, &guide});
    note(*error);
    used_ = 0;  // an effort is for the other parts: without a table, they are searched as far
    if (failed_) return true;
    all_.near = !*error;
    if (!best_) return false;
    if (all_.budget_ended) return true;
    if (is_exact() || options_.effort > kQuickEffort) return false;
    const double good = all_.work < kMostNear ? kGoodEnough : kGoodUnfinished;
    return static_cast<double>(best_->nodes[0].cost) <=
           good * static_cast<double>(near.expected_cost(root));
  }

  std::optional<Error> search(const SearchPart& part) {
    SearchStats stats;
    Result<ImplTree> tree = search_part(spec_, target_, options_for(part), part, &stats);
    return take(std::move(tree), stats);
  }

  SearchOptions options_for(const SearchPart& part) const {
    SearchOptions options = options_;
    // How much several threads expand is chance.
    if (part.work != 0 || !is_exact()) options.search_threads = 1;
    options.time_budget_us = budget_left();
    return options;
  }

  u64 budget_left() const {
    const u64 all = options_.time_budget_us;
    return all == 0 ? 0 : all - std::min(all - 1, all_.microseconds);
  }

  std::optional<Error> take(Result<ImplTree> tree, const SearchStats& stats) {
    add(stats);
    used_ += stats.work;
    if (!tree) return std::move(tree.error());
    // Of equal ones that of the whole space, which is the one that an exact search takes.
    if (!best_ || stats.optimal || tree->nodes[0].cost < best_->nodes[0].cost) {
      best_ = std::move(*tree);
      all_.near = false;
    }
    return std::nullopt;
  }

  void add(const SearchStats& s) {
    all_.work += s.work;
    all_.specs += s.specs;
    all_.states += s.states;
    all_.expanded += s.expanded;
    all_.previews += s.previews;
    all_.misfits += s.misfits;
    all_.advances += s.advances;
    all_.memo_hits += s.memo_hits;
    all_.borrowed += s.borrowed;
    all_.microseconds += s.microseconds;
    all_.bytes = std::max(all_.bytes, s.bytes);
    all_.bound = std::max(all_.bound, s.bound);
    all_.optimal = s.optimal;
    all_.budget_ended = s.budget_ended;
  }

  const Spec& spec_;
  const Target& target_;
  SearchOptions options_;
  SearchStats all_;
  u64 used_ = 0;           // work, of the effort
  u64 used_at_start_ = 0;  // of that, before wider spaces
  bool failed_ = false;
  std::optional<ImplTree> best_;
  // The space of the fewest actions.
  const Target adjusted_;
  const bool ignores_limits_;
  const BatchLoops loops_, fitting_loops_, few_loops_;
  const SpecProblem::Guide guide_ = [this](const Spec& spec, const Limits& l, ActionList& out) {
    loops_.list(spec, l, out);
  };
  const Apart apart_{fitting_loops_};
  const SpecProblem::Guide apart_guide_ = [this](const Spec& spec, const Limits& l,
                                                 ActionList& out) { apart_.list(spec, l, out); };
  const Terms terms_{few_loops_};
  const SpecProblem::Guide terms_guide_ = [this](const Spec& spec, const Limits& l,
                                                 ActionList& out) { terms_.list(spec, l, out); };
  const SpecProblem::Guide fitting_guide_ = [this](const Spec& spec, const Limits& l,
                                                   ActionList& out) {
    fitting_loops_.list(spec, l, out);
  };
  std::unique_ptr<PartSearch> started_;  // what found the program to begin with
};

}  // namespace

Result<ImplTree> search_in_parts(const Spec& spec, const Target& target,
                                 const SearchOptions& options, SearchStats* stats) {
  return Parts(spec, target, options).run(stats);
}

}  // namespace morello
