// SPDX-License-Identifier: MIT
// Code once: what a plan does at several places, with other addresses, becomes a routine.
#ifndef MORELLO_CODEGEN_ROUTINES_HH
#define MORELLO_CODEGEN_ROUTINES_HH

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello {

/// Of the Plan that it was made with. Each part of the plan becomes a routine as soon as it is
/// complete, and equal ones become the same, so the time is linear in the plan, whatever it
/// repeats. In the end those that are called at one place only are put back there, and so are those
/// that are short, where the calls would count.
class Routines {
 public:
  Routines(Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  /// The nodes of `list` from `start` on are complete: replaces them by a call of a routine, unless
  /// they are hardly more than a call.
  void share(std::vector<PlanId>& list, size_t start);
  /// The plan is complete: decides what stays a routine, and which microkernels are rare.
  void finish();
  /// Of a finished plan of several kernels: what runs long enough and occurs more than once becomes
  /// a routine, and equal routines become the same. Nothing else changes.
  void share_kernels();

 private:
  /// A call of a microkernel, and the time that the kernel spends in it.
  struct Timed {
    i64 units = 0;
    PlanId call = 0;
    auto operator<=>(const Timed&) const = default;
  };

  i64 cost_of(const std::vector<PlanId>& list, size_t start) const;
  void make_routine(std::vector<PlanId>& list, size_t start, i64 cost);
  void share_parts(std::vector<PlanId>& list, const std::vector<u32>& same, bool whole = true);
  bool has_parallel(const std::vector<PlanId>& list, size_t start) const;
  void count_uses(const std::vector<PlanId>& list);
  void put_back(std::vector<PlanId>& list);
  void put_back_single();

  std::vector<u32> callers_first() const;
  void start_counting();
  void add_times(u32 function, u64 trips, i64 times);
  void measure(const std::vector<PlanId>& list, i64 times, std::vector<Timed>& out);
  std::vector<Timed> measure();
  static i64 sum_of(const std::vector<Timed>& all);

  bool is_worth_calling(u32 routine, i64 times);
  std::vector<PlanId> copy(const std::vector<PlanId>& list);
  std::vector<PlanId> unfold(std::vector<PlanId> list, i64 times);
  void mark_rare();

  Plan& plan_;
  const Target& target_;
  std::map<std::string, u32> known_;  // content of a routine -> its number
  std::map<u32, i64> cost_;           // units of a routine
  std::vector<u32> uses_;             // places where each function is called
  std::vector<i64> times_;            // that each function runs, once its callers are counted
  u32 kept_ = 0;                      // so many of the first routines are called in any case
  i64 calls_left_ = 0;                // units that calls of short routines may still take
};

}  // namespace morello

#endif
