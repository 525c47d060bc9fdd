// SPDX-License-Identifier: MIT
#include "search/effort.hh"

#include <algorithm>
#include <optional>
#include <utility>

#include "search/batch_loops.hh"
#include "search/near.hh"

namespace morello {
namespace {

/// Of what is searched whatever the effort, until there is a program: the fewest actions, few, and
/// improving what these find. Only where that is no program, a narrow space.
constexpr u64 kMostFewest = 3000 * kWorkOfExpansion, kMostStart = 2500 * kWorkOfExpansion,
              kMostAnyway = 4096 * kWorkOfExpansion;
/// In all, with improving what was found: by so much at least.
constexpr u64 kMostImproved = 3800 * kWorkOfExpansion, kLeastImproving = 1250 * kWorkOfExpansion;
/// Where the fewest actions take so much, few are too many.
constexpr u64 kLarge = 650 * kWorkOfExpansion;
/// Of what is near.
constexpr u64 kMostNear = 2048 * kWorkOfExpansion;
/// What is near suffices if it costs no more than this many times what is expected: the best of its
/// space, or what is known of that when the work is done.
constexpr double kGoodEnough = 1.1, kGoodUnfinished = 1.01;

class Parts {
 public:
  Parts(const Spec& spec, const Target& target, const SearchOptions& options)
      : spec_(spec), target_(target), options_(options) {}

  Result<ImplTree> run(SearchStats* stats) {
    std::optional<Error> error;
    if (options_.near && search_near(&error)) {
      if (stats) *stats = all_;
      if (failed_) return std::move(*error);
      return std::move(*best_);
    }
    if (!is_exact()) search_start(&error);
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

  /// Finds a program to begin with, and improves it.
  void search_start(std::optional<Error>* error) {
    const Target target = with_machine(target_, 0, 0, options_.threads);
    ActionContext fewest{&target, options_.disabled_actions, options_.disabled_restrictions};
    fewest.breadth = Breadth::kFewest;
    const bool ignores_limits = !multiplies_batches(spec_);
    const BatchLoops loops(fewest, !ignores_limits);
    const SpecProblem::Guide guide = [&](const Spec& spec, const Limits& l, ActionList& out) {
      loops.list(spec, l, out);
    };
    SearchPart part{Breadth::kFewest, kMostFewest, best_ ? &*best_ : nullptr, &guide,
                    ignores_limits};
    part.improvements = kLeastImproving;
    part.improves_until = kMostImproved;
    part.improves_from = kLarge;
    PartSearch first(spec_, target_, options_for(part), part);
    SearchStats stats;
    Result<ImplTree> found = first.run(&stats);
    *error = take(std::move(found), stats);
    note(*error);
    if (*error || failed_ || all_.budget_ended || used_ >= kLarge) return;
    SearchPart few{Breadth::kFew, kMostStart - used_, &*best_};
    few.improvements = kLeastImproving;
    few.improves_until = kMostImproved - used_;
    bool ended = false;
    few.ended = &ended;
    *error = search(few);
    note(*error);
    if (failed_ || all_.budget_ended || ended) return;
    // What few actions would have found was not; what the fewest found is not improved yet.
    found = first.improve(*best_, kMostImproved - used_, options_for(part).time_budget_us, &stats);
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
    if (options.time_budget_us != 0)
      options.time_budget_us -= std::min(options.time_budget_us - 1, all_.microseconds);
    return options;
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
  u64 used_ = 0;  // work, of the effort
  bool failed_ = false;
  std::optional<ImplTree> best_;
};

}  // namespace

Result<ImplTree> search_in_parts(const Spec& spec, const Target& target,
                                 const SearchOptions& options, SearchStats* stats) {
  return Parts(spec, target, options).run(stats);
}

}  // namespace morello
