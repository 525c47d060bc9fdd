// SPDX-License-Identifier: MIT
#include "precompute/precompute.hh"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "precompute/regions.hh"
#include "search/sized_pieces.hh"
#include "search/soundness.hh"
#include "search/spec_problem.hh"
#include "support/threads.hh"
#include "table/identity.hh"

namespace morello {
namespace {

using Clock = std::chrono::steady_clock;

u64 microseconds_since(Clock::time_point start) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

Result<Lowered> lowered(const Family& family, std::span<const u32> at) {
  const Result<Statement> statement = family.member(at);
  if (statement) return lower(*statement);
  return Error{MORELLO_UNSUPPORTED, "a member of '" + family.text() +
                                        "' is not supported: " + statement.error().message};
}

std::optional<Error> find_too_many(std::span<const Family> families) {
  u64 members = 0;
  for (const Family& family : families)
    members += std::min(family.members(), kMaxPrecomputeMembers + 1);
  if (members <= kMaxPrecomputeMembers) return std::nullopt;
  return Error{MORELLO_UNSUPPORTED, "the families have more than " +
                                        std::to_string(kMaxPrecomputeMembers) +
                                        " members; lower their bounds"};
}

/// A search that several workers share, and that lives until the last one has left it.
struct SharedSearch {
  SharedSearch(const Target& target, u64 effort)
      : problem(context_of(target, effort)), search(problem) {}
  static ActionContext context_of(const Target& target, u64 effort) {
    ActionContext context{&target};
    context.breadth = space_of(effort);
    return context;
  }
  SpecProblem problem;
  SpecSearch search;
};

/// One worker's place in a search.
struct Seat {
  std::shared_ptr<SharedSearch> shared;
  std::optional<SpecSearch::Worker> worker;
};

class Precompute {
 public:
  Precompute(std::span<const Family> families, const Target& target, const TableStore& store,
             const PrecomputeOptions& options)
      : families_(families),
        target_(target),
        options_(options),
        limits_(limits_of(target)),
        regions_(regions_of(families, options.part, options.parts)),
        keeper_(families, target, store, options.effort, options.table_bytes) {
    for (const Region& region : regions_) {
      const Family& family = families_[region.family];
      if (family.sized()) {
        const std::vector<u32> sizes = first_pieces(static_cast<u32>(family.sized()->largest()));
        members_ += sizes.size();
        for (u32 size : sizes) work_ += work_of_piece(size);
        continue;
      }
      members_ += members_of(region);
      each_member(region, [&](std::span<const u32> at) {
        work_ += work_of(family, at);
        return true;
      });
    }
  }

  Result<PrecomputeProgress> run() {
    if (std::optional<Error> error = keeper_.open()) return *error;
    Threads workers([this] { stopping_ = true; });
    running_ = options_.workers;
    const u32 started = workers.start(options_.workers, [this] { work(); });
    leave(options_.workers - started);
    if (started == 0)
      return Error{MORELLO_OUT_OF_MEMORY, "the system cannot start a thread to solve members"};
    attend();
    workers.join();
    if (!error_) save();
    workers.rethrow();
    if (error_) return *error_;
    PrecomputeProgress end = progress_now();
    end.cancelled = end.done < end.members;
    if (options_.progress) options_.progress(end);
    return end;
  }

 private:
  /// The search for a Spec takes about the square root of its size.
  static double work_of(const Family& family, std::span<const u32> at) {
    double size = 1;
    for (size_t d = 0; d < at.size(); d++) size *= family.dims()[d][at[d]];
    return std::sqrt(size);
  }
  static double work_of_piece(u32 size) { return std::sqrt(static_cast<double>(size)); }

  bool cancelled() const {
    return stopping_.load(std::memory_order_relaxed) ||
           (options_.cancel && __atomic_load_n(options_.cancel, __ATOMIC_RELAXED) != 0);
  }

  // ---- in the workers' threads

  void work() {
    struct Leave {
      Precompute& precompute;
      ~Leave() { precompute.leave(1); }
    } at_end{*this};
    Solved solved;
    Seat seat;
    for (size_t i; !cancelled() && (i = next_.fetch_add(1)) < regions_.size();) {
      const Family& family = families_[regions_[i].family];
      if (family.sized())
        solve_pieces(family, seat, solved);
      else
        solve_region(regions_[i], seat, solved);
      if (!deliver(seat, solved)) return;
    }
  }

  /// So many workers are no more.
  void leave(u32 workers) {
    std::lock_guard lock(mutex_);
    running_ -= workers;
    changed_.notify_one();
  }

  /// False, if the search was wrong.
  bool deliver(const Seat& seat, Solved& solved) {
    if (seat.shared)
      if (std::optional<Error> error = wrong_bound(seat.shared->search, target_)) {
        fail(std::move(*error));
        return false;
      }
    std::lock_guard lock(mutex_);
    if (!solved.members.empty()) solved_.push_back(std::exchange(solved, {}));
    return true;
  }

  void solve_region(const Region& region, Seat& seat, Solved& solved) {
    const Family& family = families_[region.family];
    each_member(region, [&](std::span<const u32> at) {
      Result<Statement> statement = family.member(at);
      const Result<Lowered> lowered = statement ? lower(*statement) : statement.error();
      if (!lowered) {
        fail({MORELLO_UNSUPPORTED,
              "a member of '" + family.text() + "' is not supported: " + lowered.error().message});
        return false;
      }
      return !cancelled() && solve_member(root_of(lowered->spec), work_of(family, at), seat,
                                          solved) != Ended::kStopped;
    });
  }

  /// The pieces of a kernel with a run-time size, one by one: which one is next depends on what
  /// those before cost.
  void solve_pieces(const Family& family, Seat& seat, Solved& solved) {
    const u64 first = first_pieces(static_cast<u32>(family.sized()->largest())).size();
    u64 asked = 0;
    const FindPiece find = [&](u32 size, const Statement&,
                               const Lowered& lowered) -> Result<PieceProgram> {
      const Error no_more{MORELLO_CANCELLED, "the choice of pieces ends here"};
      const double work = work_of_piece(size);
      if (asked++ >= first) {
        members_++;
        work_ += work;
      }
      if (cancelled()) return no_more;
      const Spec root = root_of(lowered.spec);
      const Ended ended = solve_member(root, work, seat, solved);
      // What else a choice without this piece would ask for is of no use: no kernel has it.
      if (ended == Ended::kNoProgram && asked < first) members_ -= first - asked;
      std::optional<ImplTree> tree;
      if (ended == Ended::kFound) tree = keeper_.program(root);
      if (ended == Ended::kSolved) tree = tree_of(root, seat, solved.pairs);
      if (!tree || !deliver(seat, solved)) return no_more;
      return program_of(*tree);
    };
    const Result<ChosenPieces> chosen = choose_pieces(*family.sized(), find, [] { return false; });
    if (!chosen && chosen.error().status != MORELLO_CANCELLED) fail(chosen.error());
  }

  /// As searches for the target's number of threads begin with it.
  Spec root_of(Spec spec) const {
    spec.serial = target_.processors <= 1;
    return spec;
  }

  enum class Ended : u8 { kStopped, kNoProgram, kFound, kSolved };

  /// Counts it as done, unless it was stopped before it was.
  Ended solve_member(const Spec& root, double work, Seat& seat, Solved& solved) {
    const Ended ended = solve_root(root, seat, solved);
    if (ended == Ended::kStopped) return ended;
    if (ended == Ended::kNoProgram) without_program_++;
    if (ended == Ended::kFound) {
      found_++;
      found_work_ += work;
    }
    done_++;
    done_work_ += work;
    return ended;
  }

  Ended solve_root(const Spec& root, Seat& seat, Solved& solved) {
    if (keeper_.found(root, limits_)) return Ended::kFound;
    take(seat);
    SpecSearch::Solution solution;
    if (!seat.shared->search.solve(root, limits_, *seat.worker, solution)) return Ended::kStopped;
    if (!solution.feasible) return Ended::kNoProgram;
    const size_t packs = solved.packs.size(), pairs = solved.pairs.size();
    if (add_program(root, seat, solved.pairs) && add_packs(root, seat, solved)) {
      solved.members.push_back(root);
      return Ended::kSolved;
    }
    DecidedPairs whole;
    for (size_t i = 0; i < pairs; i++) whole.add(solved.pairs[i].key, solved.pairs[i].value);
    solved.pairs = std::move(whole);
    solved.packs.resize(packs);
    return Ended::kStopped;
  }

  /// REQUIRES: `pairs` has those of its program.
  std::optional<ImplTree> tree_of(const Spec& root, const Seat& seat, const DecidedPairs& pairs) {
    const auto decision = [&](const Spec& spec, const Limits& limits) -> std::optional<Action> {
      const Action* action = pairs.find({spec, limits});
      return action ? std::optional<Action>(*action) : std::nullopt;
    };
    return decide(root, limits_, seat.shared->problem.context(), target_, decision,
                  {.trusted = true});
  }

  /// Adds the copies that a kernel of a program with free layouts needs besides. False if it was
  /// stopped before it was done.
  bool add_packs(const Spec& root, Seat& seat, Solved& solved) {
    const auto begin = root.operand.begin(), end = begin + root.operand_count;
    if (std::none_of(begin, end, [](const Operand& o) { return o.free_layout; })) return true;
    const std::optional<ImplTree> tree = tree_of(root, seat, solved.pairs);
    if (!tree) return true;
    for (const PackMove& pack : pack_moves(*tree)) {
      Spec move = pack.spec;
      move.serial = root.serial;
      SpecSearch::Solution solution;
      if (!seat.shared->search.solve(move, limits_, *seat.worker, solution)) return false;
      if (!solution.feasible) continue;
      if (!add_program(move, seat, solved.pairs)) return false;
      solved.packs.push_back(move);
    }
    return true;
  }

  /// Adds the pairs of a program. False if it was stopped before it was done.
  bool add_program(const Spec& root, Seat& seat, DecidedPairs& pairs) {
    const Decisions decisions = [&](const Spec& spec, const Limits& limits) {
      SpecSearch::Solution solution;
      // Solved on the way, or quickly: a clamp may round limits that were not asked for.
      const bool solved = seat.shared->search.solve(spec, limits, *seat.worker, solution);
      return solved ? std::optional(solution.action) : std::nullopt;
    };
    const DecideOptions options{.trusted = true, .max_nodes = ~size_t{0}, .max_depth = ~0u};
    return Walk<Action>(seat.shared->problem.context(), decisions, options, pairs)
        .to(root, limits_, the_action)
        .has_value();
  }

  /// Gives a worker its place in the current search, a new one if that has grown too large.
  void take(Seat& seat) {
    std::lock_guard lock(current_mutex_);
    if (!current_ || current_->search.bytes() > options_.memory_bytes / 2)
      current_ = std::make_shared<SharedSearch>(target_, options_.effort);
    if (seat.shared == current_) return;
    seat.worker.reset();
    seat.shared = current_;
    seat.worker.emplace(seat.shared->search);
    seat.worker->set_check([this] { return !cancelled(); });
  }

  void fail(Error error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopping_ = true;
  }

  // ---- in the calling thread

  /// Saves and reports until no worker runs.
  void attend() {
    const std::chrono::microseconds pause(options_.progress_us);
    Clock::time_point saved = Clock::now();
    u64 between_saves = options_.save_us;
    for (bool running = true; running;) {
      {
        std::unique_lock lock(mutex_);
        running = !changed_.wait_for(lock, pause, [this] { return running_ == 0; });
      }
      if (running && microseconds_since(saved) >= between_saves) {
        const Clock::time_point start = Clock::now();
        save();
        // Most of the time is for solving, however large the table has become.
        between_saves = std::max(options_.save_us, 5 * microseconds_since(start));
        saved = Clock::now();
      }
      if (running && options_.progress) options_.progress(progress_now());
    }
  }

  void save() {
    std::vector<Solved> solved;
    {
      std::lock_guard lock(mutex_);
      solved.swap(solved_);
    }
    if (solved.empty() && keeper_.pairs() > 0) return;
    if (std::optional<Error> error = keeper_.save(solved)) return fail(std::move(*error));
    for (const Solved& s : solved) saved_ += s.members.size();
  }

  PrecomputeProgress progress_now() {
    PrecomputeProgress p;
    p.members = members_;
    p.done = done_;
    // These are counted a little before a member is done.
    p.found = std::min<u64>(found_, p.done);
    p.without_program = std::min<u64>(without_program_, p.done);
    p.saved = std::min<u64>(saved_, p.done);
    p.pairs = keeper_.pairs();
    p.boxes = keeper_.boxes();
    p.microseconds = microseconds_since(start_);
    const double solved = done_work_ - found_work_;
    if (solved > 0 && p.done < p.members)
      p.remaining_us = static_cast<u64>(static_cast<double>(p.microseconds) *
                                        std::max(0.0, work_ - done_work_) / solved);
    std::lock_guard lock(current_mutex_);
    if (current_) p.bytes = current_->search.bytes();
    return p;
  }

  const std::span<const Family> families_;
  const Target& target_;
  const PrecomputeOptions& options_;
  const Limits limits_;
  const std::vector<Region> regions_;
  const Clock::time_point start_ = Clock::now();
  u64 saved_ = 0;
  Keeper keeper_;

  // More while pieces of run-time sizes are chosen.
  std::atomic<u64> members_{0};
  std::atomic<double> work_{0};

  std::atomic<size_t> next_{0};
  std::atomic<u64> done_{0}, found_{0}, without_program_{0};
  std::atomic<double> done_work_{0}, found_work_{0};
  std::atomic<bool> stopping_{false};

  std::mutex current_mutex_;
  std::shared_ptr<SharedSearch> current_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  u32 running_ = 0;
  std::vector<Solved> solved_;  // and not saved
  std::optional<Error> error_;
};

}  // namespace

Result<PrecomputeProgress> precompute(std::span<const Family> families, const Target& target,
                                      const TableStore& store, const PrecomputeOptions& options) {
  if (std::optional<Error> error = find_too_many(families)) return *error;
  return Precompute(families, target, store, options).run();
}

Result<PrecomputeProgress> precompute(std::span<const Family> families, const Target& target,
                                      const std::string& path, const PrecomputeOptions& options) {
  return precompute(families, target, file_store(path), options);
}

Result<u64> count_members(const Family& family, const std::function<bool(const Spec&)>& is_wanted) {
  if (std::optional<Error> error = find_too_many({&family, 1})) return *error;
  u64 wanted = 0;
  std::optional<Error> error;
  for (const Region& region : regions_of({&family, 1}))
    each_member(region, [&](std::span<const u32> at) {
      const Result<Lowered> member = lowered(family, at);
      if (!member)
        error = member.error();
      else
        wanted += is_wanted(member->spec);
      return !error;
    });
  if (error) return *error;
  return wanted;
}

}  // namespace morello
