// SPDX-License-Identifier: MIT
#include "search/effort.hh"

#include <algorithm>
#include <optional>
#include <utility>

namespace morello {
namespace {

/// What an expansion counts: in the whole space it lists about four times as many actions.
constexpr u64 price_of(Breadth breadth) { return breadth == Breadth::kWhole ? 4 : 1; }

/// Of what is searched whatever the effort, until there is a program. Few Specs need so many:
/// batches with axes in odd orders, large graphs.
constexpr u64 kMostAnyway = 8192;

class Parts {
 public:
  Parts(const Spec& spec, const Target& target, const SearchOptions& options)
      : spec_(spec), target_(target), options_(options) {
    options_.search_threads = 1;  // how much several threads expand is chance
    if (options.hint) best_ = *options.hint;
  }

  Result<ImplTree> run(SearchStats* stats) {
    std::optional<Error> error;
    // What ends before it has a program is completed like a search that a budget ended.
    for (Breadth breadth : {Breadth::kNarrow, Breadth::kMiddle, Breadth::kWhole}) {
      u64 most = kMostAnyway;
      if (breadth == Breadth::kWhole && !best_)
        most = 0;  // until there is one
      else if (breadth != Breadth::kNarrow && best_)
        most = (options_.effort - std::min(options_.effort, used_)) / price_of(breadth);
      if (most == 0 && best_) break;
      error = search(breadth, most);
      const bool empty =
          error && (error->status == MORELLO_NO_IMPLEMENTATION ||
                    (error->status == MORELLO_BUDGET_EXCEEDED && !all_.budget_ended));
      failed_ = error && !empty && !all_.budget_ended;  // cancelled, or a bug
      if (failed_ || all_.budget_ended) break;
    }
    if (stats) *stats = all_;
    if (best_ && !failed_) return std::move(*best_);
    return std::move(*error);
  }

 private:
  std::optional<Error> search(Breadth breadth, u64 most) {
    const SearchPart part{breadth, most, best_ ? &*best_ : nullptr};
    SearchOptions options = options_;
    if (options.time_budget_us != 0)
      options.time_budget_us -= std::min(options.time_budget_us - 1, all_.microseconds);
    SearchStats stats;
    Result<ImplTree> tree = search_part(spec_, target_, options, part, &stats);
    add(stats);
    used_ += stats.expanded * price_of(breadth);
    if (!tree) return std::move(tree.error());
    // Of equal ones that of the whole space, which is the one that an exact search takes.
    if (!best_ || stats.optimal || tree->nodes[0].cost < best_->nodes[0].cost)
      best_ = std::move(*tree);
    return std::nullopt;
  }

  void add(const SearchStats& s) {
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
  u64 used_ = 0;  // of the effort
  bool failed_ = false;
  std::optional<ImplTree> best_;
};

}  // namespace

Result<ImplTree> search_with_effort(const Spec& spec, const Target& target,
                                    const SearchOptions& options, SearchStats* stats) {
  return Parts(spec, target, options).run(stats);
}

}  // namespace morello
