// SPDX-License-Identifier: MIT
#include "space.hh"

#include "actions/action.hh"
#include "actions/clamp.hh"
#include "cost/bounds.hh"
#include "spec/statement.hh"

namespace morello::golden {
namespace {

constexpr int kWalks = 4;
constexpr int kSteps = 12;

class Walks {
 public:
  explicit Walks(const Target& target) : bounds_(target), context_{&target} {}

  void walk(Spec spec, Limits limits) {
    for (int step = 0; step < kSteps; step++) {
      clamp_limits(spec, limits);
      std::vector<Child> next = children(spec, limits);
      if (next.empty()) return;
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const Child& child = next[(random_ >> 33) % next.size()];
      spec = child.spec;
      limits = child.limits;
    }
  }

  std::string text() const {
    auto value = [](const char* name, auto sum) { return name + std::to_string(sum); };
    return value("actions ", actions_) + value(" fit ", fit_) +
           value(" prices ", static_cast<i64>(prices_)) + value(" memory ", memory_) +
           value(" times ", times_) + value(" bounds ", bound_) + value(" quick ", quick_);
  }

 private:
  /// Of all actions, with what they cost and lead to added up.
  std::vector<Child> children(const Spec& spec, const Limits& limits) {
    std::vector<Child> all;
    list_actions(spec, limits, context_, list_);
    for (const Action& action : list_) {
      actions_++;
      Derivation d;
      if (!preview(spec, limits, action, context_, d)) continue;
      fit_++;
      prices_ += static_cast<u64>(d.own);
      memory_ += d.amount;
      for (int i = 0; i < d.count; i++) {
        Child& child = d.child[i];
        clamp_limits(child.spec, child.limits);
        times_ += child.times;
        for (u8 use : child.limits.use) memory_ += use;
        bound_ += static_cast<u64>(bounds_.of(child.spec, child.limits));
        quick_ += static_cast<u64>(bounds_.quick(child.spec, child.limits));
        all.push_back(child);
      }
    }
    return all;
  }

  Bounds bounds_;
  ActionContext context_;
  ActionList list_;
  u64 actions_ = 0, fit_ = 0, prices_ = 0, memory_ = 0, times_ = 0, bound_ = 0, quick_ = 0;
  u64 random_ = 1;
};

}  // namespace

Result<std::string> space_of(const Entry& entry) {
  Result<Statement> statement = parse(entry.text);
  if (!statement) return statement.error();
  Result<Lowered> lowered = lower(*statement);
  if (!lowered) return lowered.error();
  const Target adjusted = with_machine(entry.target, 0, 0, entry.threads);
  Spec spec = lowered->spec;
  spec.serial = entry.threads == 1;
  Walks walks(adjusted);
  for (int i = 0; i < kWalks; i++) walks.walk(spec, limits_of(adjusted));
  return walks.text();
}

}  // namespace morello::golden
