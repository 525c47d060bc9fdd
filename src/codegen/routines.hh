// SPDX-License-Identifier: MIT
// Code once: what a plan does at several places, with other addresses, becomes a routine.
#ifndef MORELLO_CODEGEN_ROUTINES_HH
#define MORELLO_CODEGEN_ROUTINES_HH

#include <map>
#include <string>
#include <vector>

#include "codegen/plan.hh"
#include "target/target.hh"

namespace morello {

/// Of the Plan that it was made with. Each part of the plan that is worth a call becomes a routine
/// as soon as it is complete, and equal ones become the same; in the end those that are called at
/// one place only are put back there. So the time is linear in the plan, whatever it repeats.
class Routines {
 public:
  Routines(Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  /// The nodes of `list` from `start` on are complete: replaces them by a call of a routine, unless
  /// they run for so short that the call would count.
  void share(std::vector<PlanId>& list, size_t start);
  /// The plan is complete.
  void finish();

 private:
  i64 cost_of(const std::vector<PlanId>& list, size_t start) const;
  bool has_parallel(const std::vector<PlanId>& list, size_t start) const;
  void count_uses(const std::vector<PlanId>& list);
  void put_back(std::vector<PlanId>& list);

  Plan& plan_;
  const Target& target_;
  std::map<std::string, u32> known_;  // content of a routine -> its number
  std::map<u32, i64> cost_;           // units of a routine
  std::vector<u32> uses_;             // places where each function is called
};

}  // namespace morello

#endif
