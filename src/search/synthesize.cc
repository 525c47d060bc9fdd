// SPDX-License-Identifier: MIT
#include "search/synthesize.hh"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "search/effort.hh"
#include "search/improve.hh"
#include "search/incumbent.hh"
#include "search/soundness.hh"
#include "support/threads.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

/// Why a search ended before it was done.
enum class Stop { kNone, kTime, kMemory, kEffort, kCancelled };

class Synthesis {
 public:
  Synthesis(const Spec& spec, const Target& target, const SearchOptions& options,
            const SearchPart& part)
      : target_(target),
        options_(options),
        part_(part),
        adjusted_(with_machine(target, 0, 0, options.threads)),
        problem_(context_of(options, part, adjusted_), options.bound_percent, part.guide),
        search_(problem_, {options.slack_shift, options.borrow,
                           /*monotone=*/!part.guide || part.ignores_limits}),
        worker_(search_),
        root_(spec),
        limits_(limits_of(adjusted_)),
        most_(part.work),
        next_progress_(options.progress_us),
        whole_(problem_.context()) {
    whole_.breadth = Breadth::kWhole;
    root_.serial = options.threads <= 1;
    if (part.best) best_ = *part.best;
  }

  /// After run(): improves what it found, part by part if `by_parts`, by so much work, if it costs
  /// less than `tree` then. What is counted and measured begins anew.
  Result<ImplTree> improve_more(const ImplTree& tree, bool by_parts, u64 work, u64 time_budget_us,
                                SearchStats* stats) {
    counted_ = stats_now(false, 0);
    began_ = Clock::now();
    next_progress_ = options_.progress_us;
    options_.time_budget_us = time_budget_us;
    part_.improvements = work;
    part_.improves_from = part_.improves_until = 0;
    std::optional<ImplTree> better = tree;
    if (by_parts && !subtrees_)
      subtrees_ = std::make_unique<Subtrees>(whole_, options_.bound_percent, worked_);
    improve(better);
    const i64 bound = bound_now(worker_);
    if (stats) *stats = stats_now(false, bound);
    if (std::optional<Error> error = wrong_bound(search_, adjusted_)) return std::move(*error);
    if (subtrees_)
      if (std::optional<Error> error = wrong_bound(subtrees_->search(), adjusted_))
        return std::move(*error);
    if (!better) return error_of(bound);
    if (std::optional<Error> error = below_bound(*better, bound)) return std::move(*error);
    return std::move(*better);
  }

  Result<ImplTree> run(SearchStats* stats) {
    SpecSearch::Solution solution;
    bool done = search(solution);
    if (part_.ended) *part_.ended = done;
    std::optional<ImplTree> tree;
    if (done && solution.feasible)
      tree = solved_tree();
    else if (!done && stop_ != Stop::kCancelled && !keeps_best() && !search_.violation())
      tree = incumbent(search_, problem_, worker_, root_, limits_, target_, kTries, &completed_);
    // What is dearer than what another part found is not the one to improve.
    const bool dearer = tree && best_ && tree->nodes[0].cost > best_->nodes[0].cost;
    const bool improved = part_.improvements != 0 && !dearer && improve(tree);
    i64 bound = bound_now(worker_);
    if (!done && stop_ != Stop::kCancelled && best_ &&
        (!tree || best_->nodes[0].cost < tree->nodes[0].cost))
      tree = std::move(best_);
    if (stats) *stats = stats_now(done && is_whole(), bound);
    if (std::optional<Error> error = wrong_bound(search_, adjusted_)) return std::move(*error);
    if (tree) {
      std::optional<Error> error =
          done && !improved ? wrong_cost(*tree, solution.cost) : below_bound(*tree, bound);
      if (error) return std::move(*error);
      return std::move(*tree);
    }
    return error_of(bound);
  }

 private:
  u64 microseconds() const {
    return static_cast<u64>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count());
  }

  static ActionContext context_of(const SearchOptions& options, const SearchPart& part,
                                  const Target& target) {
    ActionContext context{&target, options.disabled_actions, options.disabled_restrictions};
    context.breadth = part.breadth;
    return context;
  }
  /// A part that the effort ended counts for nothing.
  bool keeps_best() const { return stop_ == Stop::kEffort && part_.best; }
  bool is_whole() const { return part_.breadth == Breadth::kWhole && !part_.guide; }

  /// Of all programs, not of those of the part alone.
  i64 bound_now(SpecSearch::Worker& w) {
    if (is_whole()) return search_.low(root_, limits_, w);
    return problem_.lower_bound(root_, limits_);
  }

  size_t bytes() const { return search_.bytes() + (subtrees_ ? subtrees_->search().bytes() : 0); }

  /// False if the search is to stop.
  bool check() {
    if (options_.cancel && __atomic_load_n(options_.cancel, __ATOMIC_RELAXED) != 0)
      stop_ = Stop::kCancelled;
    else if (options_.time_budget_us && microseconds() >= options_.time_budget_us)
      stop_ = Stop::kTime;
    else if (options_.memory_budget_bytes && bytes() > options_.memory_budget_bytes)
      stop_ = Stop::kMemory;
    else if (most_ != 0 && search_.counts().work + improving_.work >= most_)
      stop_ = Stop::kEffort;
    if (stop_ != Stop::kNone) return false;
    if (const u64 before = microseconds(); options_.progress && before >= next_progress_) {
      report();
      next_progress_ = microseconds();
      // Completing a program takes as long as hundreds of expansions: a tenth of the time at most,
      // unless reports are asked for without a pause.
      if (options_.progress_us != 0)
        next_progress_ += std::max(options_.progress_us, 9 * (next_progress_ - before));
    }
    return true;
  }

  void report() {
    // Its own worker: the search is in the middle of using the other one.
    SpecSearch::Worker w(search_);
    // Completing expands pairs, and an effort counts all that are expanded.
    if (part_.work == 0)
      if (auto tree = incumbent(search_, problem_, w, root_, limits_, target_, 1))
        if (!best_ || tree->nodes[0].cost < best_->nodes[0].cost) best_ = std::move(tree);
    options_.progress({search_.entries(), search_.counts().previews, search_.bytes(),
                       microseconds(), best_ ? best_->nodes[0].cost : kInfinite, bound_now(w)});
  }

  bool search(SpecSearch::Solution& solution) {
    // An effort is counted one by one, for the result to be the same.
    worker_.set_check([this] { return check(); }, part_.work != 0 ? 1 : kPollEvery);
    if (!check()) return false;
    Threads helpers([this] { search_.stop(); });
    if (options_.search_threads > 1)  // fewer, if the system has no more: the result is the same
      helpers.start(options_.search_threads - 1, [this] {
        SpecSearch::Worker w(search_);
        SpecSearch::Solution ignored;
        search_.solve(root_, limits_, w, ignored);
      });
    const bool done = search_.solve(root_, limits_, worker_, solution);
    search_.stop();
    helpers.join();
    helpers.rethrow();
    search_.allow();
    worker_.set_check({});
    return done;
  }

  /// Of what there is, if the search took as long as it should have. False if there is no better
  /// program; none is left if the caller cancelled.
  bool improve(std::optional<ImplTree>& tree) {
    if (!tree || search_.violation() || (stop_ != Stop::kNone && stop_ != Stop::kEffort))
      return false;
    worker_.flush();
    const u64 work = search_.counts().work + improving_.work;
    if (work < part_.improves_from) return false;
    const Stop before = std::exchange(stop_, Stop::kNone);
    most_ = std::max(work + part_.improvements, part_.improves_until);
    worker_.set_check([this] { return check(); }, 1);
    search_.allow();
    if (!improvement_)
      improvement_ =
          std::make_unique<Improvement>(search_, problem_, worker_, whole_, start_, worked_);
    if (subtrees_)
      improvement_->run_with(*subtrees_, root_, limits_);
    else
      improvement_->run(root_, limits_);
    worker_.set_check({});
    search_.allow();
    if (stop_ == Stop::kNone) stop_ = before;
    if (stop_ == Stop::kCancelled) tree.reset();
    if (stop_ == Stop::kCancelled || search_.violation()) return false;
    std::optional<ImplTree> better =
        decide(root_, limits_, problem_.context(), target_,
               [&](const Spec& spec, const Limits& l) { return improvement_->action_of(spec, l); },
               {.trusted = true});
    if (!better || better->nodes[0].cost >= tree->nodes[0].cost) return false;
    tree = std::move(better);
    return true;
  }

  std::optional<ImplTree> solved_tree() {
    auto action = [this](const Spec& spec, const Limits& limits) -> std::optional<Action> {
      SpecSearch::Solution s;
      // Solved on the way, or quickly: a clamp may round limits that were not asked for.
      if (!search_.solve(spec, limits, worker_, s) || !s.feasible) return std::nullopt;
      return s.action;
    };
    auto tree = decide(root_, limits_, problem_.context(), target_, action, {.trusted = true});
    assert(!tree || validate(*tree).empty());
    return tree;
  }

  SearchStats stats_now(bool optimal, i64 bound) {
    worker_.flush();
    SearchCounts c = search_.counts();
    c.add(improving_);
    SearchStats s;
    s.specs = search_.keys() - counted_.specs;
    s.states = search_.entries() - counted_.states;
    if (subtrees_) {
      s.specs += subtrees_->search().keys();
      s.states += subtrees_->search().entries();
    }
    s.work = c.work - counted_.work;
    s.expanded = c.expanded - counted_.expanded;
    s.previews = c.previews - counted_.previews;
    s.misfits = c.misfits - counted_.misfits;
    s.advances = c.advances - counted_.advances;
    s.memo_hits = c.memo_hits - counted_.memo_hits;
    s.borrowed = c.borrowed - counted_.borrowed;
    s.bytes = bytes();
    s.microseconds = microseconds();
    s.optimal = optimal;
    s.budget_ended = stop_ == Stop::kTime || stop_ == Stop::kMemory;
    s.bound = bound;
    return s;
  }

  Error error_of(i64 bound) const {
    if (stop_ == Stop::kCancelled)
      return {MORELLO_CANCELLED, "the search was cancelled by its caller"};
    if (stop_ == Stop::kNone)
      return {MORELLO_NO_IMPLEMENTATION,
              "no program for " + describe(root_) + " fits the memory limits of target " +
                  std::string(target_.name) + " (" + std::string(target_.machine) +
                  "), or its microkernels do not take these element types"};
    std::string what =
        stop_ == Stop::kTime
            ? "time budget of " + std::to_string(options_.time_budget_us) + " microseconds"
            : "memory budget of " + std::to_string(options_.memory_budget_bytes) + " bytes";
    return {MORELLO_BUDGET_EXCEEDED,
            "the " + what +
                " ended the search before a program was found; known so far: the cheapest costs "
                "at least " +
                std::to_string(bound / kUnitsPerCycle) +
                " cycles; raise the budget, or set it to 0 for no limit"};
  }

  static constexpr u32 kPollEvery = 64;  // expansions
  static constexpr u32 kTries = 30;

  const Target& target_;
  SearchOptions options_;
  SearchPart part_;
  Clock::time_point began_ = Clock::now();
  Target adjusted_;
  SpecProblem problem_;
  SpecSearch search_;
  SpecSearch::Worker worker_;
  Spec root_;
  Limits limits_;
  Stop stop_ = Stop::kNone;
  u64 most_;  // work, if it is not 0
  u64 next_progress_;
  std::optional<ImplTree> best_;
  SearchCounts improving_;  // besides what the search counts
  SearchStats counted_;     // before an improvement that came later
  DecidedPairs completed_;  // what a search that was ended decides
  // Of improvements, which come after one another.
  ActionContext whole_;
  const Decisions start_ = [this](const Spec& spec, const Limits& limits) {
    const Action* action = completed_.find({spec, limits});
    return action ? std::optional(*action) : std::nullopt;
  };
  const Improvement::Worked worked_ = [this](const SearchCounts& counts) {
    improving_.add(counts);
    if (!check()) search_.stop();
    return !search_.stopped();
  };
  std::unique_ptr<Subtrees> subtrees_;  // and the next one: too large for stacks
  std::unique_ptr<Improvement> improvement_;
};

}  // namespace

struct PartSearch::Search : Synthesis {
  using Synthesis::Synthesis;
};
PartSearch::PartSearch(const Spec& spec, const Target& target, const SearchOptions& options,
                       const SearchPart& part)
    : search_(std::make_unique<Search>(spec, target, options, part)) {}
PartSearch::~PartSearch() = default;
Result<ImplTree> PartSearch::run(SearchStats* stats) { return search_->run(stats); }
Result<ImplTree> PartSearch::improve(const ImplTree& tree, u64 work, u64 time_budget_us,
                                     SearchStats* stats) {
  return search_->improve_more(tree, /*by_parts=*/false, work, time_budget_us, stats);
}
Result<ImplTree> PartSearch::improve_parts(const ImplTree& tree, u64 work, u64 time_budget_us,
                                           SearchStats* stats) {
  return search_->improve_more(tree, /*by_parts=*/true, work, time_budget_us, stats);
}

Result<ImplTree> search_part(const Spec& spec, const Target& target, const SearchOptions& options,
                             const SearchPart& part, SearchStats* stats) {
  return Synthesis(spec, target, options, part).run(stats);
}

namespace {

/// What a budget ended early may be far from what a quick search finds in some milliseconds.
Result<ImplTree> or_quick(Result<ImplTree> tree, const Spec& spec, const Target& target,
                          SearchOptions options, SearchStats* stats) {
  options.effort = kQuickEffort;
  options.time_budget_us = 0;
  options.progress = {};
  options.near = nullptr;
  SearchStats quick;
  Result<ImplTree> other = search_in_parts(spec, target, options, &quick);
  stats->microseconds += quick.microseconds;
  stats->bytes = std::max(stats->bytes, quick.bytes);
  if (!other && other.error().status == MORELLO_CANCELLED) return other;
  if (!other || (tree && tree->nodes[0].cost <= other->nodes[0].cost)) return tree;
  stats->bound = std::max(stats->bound, quick.bound);
  stats->near = false;
  return other;
}

}  // namespace

Result<ImplTree> synthesize(const Spec& spec, const Target& target, const SearchOptions& options,
                            SearchStats* stats) {
  const bool has_budget = options.time_budget_us != 0 || options.memory_budget_bytes != 0;
  const bool exact = options.effort == kExactEffort;
  SearchStats found;
  Result<ImplTree> tree = exact && !(has_budget && options.near)
                              ? search_part(spec, target, options, {}, &found)
                              : search_in_parts(spec, target, options, &found);
  if (exact && found.budget_ended) tree = or_quick(std::move(tree), spec, target, options, &found);
  if (stats) *stats = found;
  return tree;
}

}  // namespace morello
