// SPDX-License-Identifier: MIT
#include "table/identity.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "actions/clamp.hh"
#include "cost/microkernel.hh"
#include "cost/recipe.hh"
#include "cost/shared.hh"
#include "spec/statement.hh"
#include "target/dots.hh"

namespace morello {
namespace {

/// The hash of a list of numbers and names.
class Fingerprint {
 public:
  void add(i64 number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void add(std::string_view name) {
    add(static_cast<i64>(name.size()));
    bytes_ += name;
  }
  u64 value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::string bytes_;
};

/// What is asked about. Between them their Specs have every action, every microkernel and every way
/// to sum products (tests/table/identity_test.cc), each on the targets that differ for its types.
constexpr std::string_view kProbes[] = {
    // Rows 1, 64 and 16 KiB apart, or nearly so: far, and in few sets of a cache.
    "matmul f32[40,100]{strides=256,1} f32[100,48]{strides=16384,1} -> f32[40,48]{strides=4096,1}",
    "matmul f32[40,72]{strides=1022,1} f32[72,48]{strides=4097,1} -> f32[40,48]",
    "matmul f32[20,100] f32[100,48]{strides=1300,1} -> f32[20,48]",  // rows on pages
    "matmul f32[100,480] f32[480,40] -> f32[100,40]",                // vectors that stream
    "matmul f32[100,520] f32[520,40] -> f32[100,40]",                // the same, two to a line
    "matmul f32[100,72] f32[72,200] + bias f32[200] -> relu -> f32[100,200]",
    "matmul f32[3,64] f32[64,5]{0,1} -> f32[3,5]",
    "matmul f32[1,512] f32[512,5]{0,1} -> f32[1,5]",
    "matmul f32[1,40] f32[40,1200] -> f32[1,1200]",  // rows that are read once, and pieces of them
    "matmul f32[6,40]{strides=1,9} f32[40,35]{*} += f32[6,35]",
    "transpose f32[24,17,9] perm=2,1,0 -> f32[9,17,24]",
    "reduce_max f32[30,70] axis=0 -> sqrt -> f32[70]",
    "reduce_sum f32[30,70] axis=1 -> f32[30]",
    "reduce_sum f32[12,40] axis=0 -> f32[40]",
    "matmul bf16[6,40] bf16[40,35] + bias f32[35] -> bf16[6,35]",
    "matmul bf16[24,40] bf16[40,80]{*} -> f32[24,80]",
    "matmul bf16[20,64] bf16[64,24]{*} -> f32[20,24]",
    "matmul u8[5,70] i8[70,40]{*} -> i32[5,40]",
    "matmul bf16[600,100] bf16[100,80] -> f32[600,80]",  // rows enough for copies
    "matmul i8[3,64] i8[64,5]{0,1} += i32[3,5]",
    "matmul i8[5,70] i8[70,40]{*} -> i32[5,40]",
    "matmul u8[24,70] i8[70,40]{0,1} -> i32[24,40]",
    "transpose bf16[24,34] perm=1,0 -> bf16[34,24]",
    "square f32[30,70] -> reduce_sum axis=1",
    "softmax f32[30,70] axis=1",
    "conv2d f32[1,3,12,20] f32[8,3,3,3] padding=1",
    "conv2d bf16[1,8,12,20] bf16[8,8,3,3] padding=1",  // borders around groups
    "conv2d f32[1,2,6,256] f32[8,2,3,3]",              // rows of windows that share sets of a cache
    "conv2d f32[1,6,7,3] f32[3,3,3,16] padding=1 nhwc",  // terms and channels, apart and not
    "conv2d bf16[1,8,20,64] bf16[3,3,64,32] nhwc -> f32[1,6,18,32]",  // sums over windows
    "conv2d f32[1,9,10,16] f32[3,3,1,16] padding=1 groups=16 nhwc",   // both factors in vectors
    "conv2d f32[1,2,13,19] f32[2,1,3,3] groups=2",                    // one factor along windows
    "conv2d f32[1,2,13,37] f32[2,1,3,3] groups=2 stride=2",           // every second element
    "conv2d f32[1,7,7,64] f32[3,3,64,32] padding=1 nhwc",  // terms that some places have outside
    "conv2d bf16[1,6,7,96] bf16[3,3,96,16] padding=1 nhwc",
    "conv2d f32[1,6,7,96] f32[3,3,96,16] padding=1 nhwc -> relu",
    "einsum \"gmk,gkn->mng\" f32[3,24,12] f32[3,12,30]",  // members of a batch side by side
    "matmul f32[12,40] f32[40,72] -> relu -> matmul f32[72,20]",
    "matmul f32[12,40] f32[40,72]{*} -> relu -> matmul f32[72,20]{*}",
    "attention f32[40,8] f32[40,8] f32[40,8] causal",
    "max_pool f32[1,3,9,12] window=3 padding=1",
    "gather f32[50,40] i32[7] axis=0",
    "max_pool f32[1,2,6,18] window=3",  // windows that share rows
    "softmax f32[1,300000] axis=1",
    "attention f32[3,32] f32[6144,32] f32[6144,32]",
};
/// Ways from each of them down to a leaf.
constexpr int kWalks = 3;
constexpr int kMaxSteps = 24;

/// Asks on one target. Parallel loops are asked about for every table: how many threads a table is
/// for is no fingerprint.
class Prober {
 public:
  /// `quick` gets what is listed in the space of tables of quick searches.
  Prober(const Target& target, Fingerprint& actions, Fingerprint& costs, Fingerprint& quick)
      : target_(with_machine(target, 0, 0, 2)), actions_(actions), costs_(costs), quick_(quick) {
    quick_context_.breadth = space_of(MORELLO_EFFORT_QUICK);
  }

  /// `seen`, if it is not null, is called with every Spec.
  void probe(const std::function<void(const Spec&)>& seen = nullptr) {
    seen_ = seen;
    for (std::string_view text : kProbes) {
      Result<Statement> statement = parse(text);
      Result<Lowered> lowered = lower(*statement);
      if (!differs_for(lowered->spec)) continue;
      random_ = 1;  // other probes change what comes of them, not of this one
      for (int i = 0; i < kWalks; i++) walk(lowered->spec, limits_of(target_));
    }
  }

 private:
  /// Targets that are alike for the types of a Spec say the same of it.
  bool differs_for(const Spec& spec) const {
    std::vector<Dtype> types;
    for (int o = 0; o < spec.operand_count; o++) types.push_back(spec.operand[o].dtype);
    const Target* least = best_target(target_.required, kAllFeatures, types);
    return least != nullptr && least->number == target_.number;
  }

  void walk(Spec spec, Limits limits) {
    for (int step = 0; step < kMaxSteps; step++) {
      clamp_limits(spec, limits);
      if (seen_) seen_(spec);
      add_prices(spec);
      add_prices(with_register_tile(spec));
      std::vector<Child> next = add_actions(spec, limits);
      if (next.empty()) return;
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const Child& child = next[(random_ >> 33) % next.size()];
      spec = child.spec;
      limits = child.limits;
    }
  }

  /// Few walks come to a leaf that accumulates in registers, and these are what matters most.
  static Spec with_register_tile(Spec spec) {
    spec.out().level = Level::kRegister;
    spec.out().access = Access::kInOut;
    return spec;
  }

  void add_prices(const Spec& spec) {
    for (int o = 0; o < spec.operand_count; o++) {
      if (spec.operand[o].level == Level::kRegister) continue;
      costs_.add(step_units(spec, spec.operand[o], target_));
      costs_.add(traffic_units(spec, spec.operand[o], target_));
    }
    for (const Microkernel* kernel : microkernels()) {
      if (!kernel->applies(spec, target_)) continue;
      costs_.add(static_cast<i64>(kernel->id));
      costs_.add(kernel->registers(spec, target_));
      costs_.add(kernel->cost(spec, target_));
    }
  }

  /// Nor do many cut depth while sums are in L1, as quick searches do.
  static Spec with_near_sums(Spec spec) {
    spec.out().level = Level::kL1;
    spec.out().access = Access::kInOut;
    return spec;
  }

  void add_quick_actions(const Spec& spec, const Limits& limits) {
    list_actions(spec, limits, quick_context_, list_);
    for (const Action& action : list_) quick_.add(static_cast<i64>(order_of(action)));
  }

  /// The children of all actions.
  std::vector<Child> add_actions(const Spec& spec, const Limits& limits) {
    std::vector<Child> children;
    add(limits);
    add_quick_actions(spec, limits);
    if (spec.out().level > Level::kL1) {
      const Spec near = with_near_sums(spec);
      if (seen_) seen_(near);
      add_quick_actions(near, limits);
    }
    list_actions(spec, limits, context_, list_);
    for (const Action& action : list_) {
      actions_.add(static_cast<i64>(order_of(action)));
      Derivation d;
      if (!preview(spec, limits, action, context_, d)) continue;
      costs_.add(d.own);
      actions_.add(static_cast<i64>(d.level));
      actions_.add(static_cast<i64>(d.amount));
      for (int i = 0; i < d.count; i++) {
        actions_.add(static_cast<i64>(hash_of(d.child[i].spec)));
        actions_.add(static_cast<i64>(d.child[i].times));
        add(d.child[i].limits);
        children.push_back(d.child[i]);
      }
    }
    return children;
  }

  void add(const Limits& limits) {
    for (u8 use : limits.use) actions_.add(use);
  }

  Target target_;
  ActionContext context_{&target_}, quick_context_{&target_};
  Fingerprint& actions_;
  Fingerprint& costs_;
  Fingerprint& quick_;
  ActionList list_;
  std::function<void(const Spec&)> seen_;
  u64 random_ = 1;
};

void add_constants(Fingerprint& costs) {
  for (i64 constant : {i64{MORELLO_COST_MODEL_VERSION}, kUnitsPerCycle, i64{kLineBytes}, kInfinite})
    costs.add(constant);
}

/// Of each operation, most of which no probe has.
void add_operations(const Target& t, Fingerprint& costs) {
  auto add = [&](Op op, Dtype computed) {
    const Recipe* recipe = recipe_of(op, computed);
    costs.add(recipe ? recipe->temporaries_on(t) : 0);
    costs.add(op_units(op, computed, t));
    costs.add(scalar_op_units(op, computed, t));
  };
  for (const Elementwise& e : kElementwise)
    for (Dtype computed : {Dtype::kF32, Dtype::kI32}) add(e.op, computed);
  add(Op::kDecay, Dtype::kF32);
}

void add_names(Fingerprint& actions) {
#define MORELLO_ACTION(number, name) \
  actions.add(number);               \
  actions.add(#name);
#include "actions/actions.def"
#undef MORELLO_ACTION
  for (MicrokernelId id : kAllMicrokernels) {
    actions.add(static_cast<i64>(id));
    actions.add(name_of(id));
  }
}

std::string described(const TableIdentity& t) { return t.target + " (" + t.machine + ")"; }

/// Of this library, whatever the target.
struct Fingerprints {
  u64 cost_model = 0, actions = 0, quick_actions = 0;
};

Fingerprints find_fingerprints() {
  Fingerprint actions, costs, quick;
  add_names(actions);
  add_constants(costs);
  for (const Target& t : fixed_targets()) {
    add_operations(t, costs);
    Prober(t, actions, costs, quick).probe();
  }
  quick.add(static_cast<i64>(actions.value()));
  return {costs.value(), actions.value(), quick.value()};
}

}  // namespace

u64 target_fingerprint(const Target& t) {
  Fingerprint f;
  each_field(t, [&]<class T>(std::string_view name, const T& value) {
    if (name == "processors") return;  // of which tables say the number
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      (void)value;  // so are the names in words
    } else if constexpr (std::is_same_v<T, decltype(t.level)>) {
      for (const auto& [bytes, line_units, run_units, streams, stream_units] : value)
        for (i64 number : {static_cast<i64>(bytes), line_units, run_units, streams, stream_units})
          f.add(number);
    } else if constexpr (std::is_same_v<T, Prices> || std::is_same_v<T, TileUnit>) {
      each_field(value, [&](std::string_view, i64 price) { f.add(price); });
    } else {
      f.add(static_cast<i64>(value));
    }
  });
  return f.value();
}

TableIdentity identity_of(const Target& target, u64 effort) {
  static const Fingerprints library = find_fingerprints();
  TableIdentity identity;
  identity.target = target.name;
  identity.machine = target.machine;
  identity.processors = target.processors;
  identity.target_fingerprint = target_fingerprint(target);
  identity.cost_model_fingerprint = library.cost_model;
  identity.action_fingerprint = effort == 0 ? library.actions : library.quick_actions;
  identity.effort = effort;
  return identity;
}

void each_probe(const Target& target, const std::function<void(const Spec&)>& seen) {
  Fingerprint actions, costs, quick;
  Prober(target, actions, costs, quick).probe(seen);
}

std::string name_of_effort(u64 effort) { return effort == 0 ? "exact" : "quick"; }

std::string difference(const TableIdentity& found, const TableIdentity& wanted) {
  std::string all;
  auto add = [&](const std::string& one) { all += (all.empty() ? "" : "; ") + one; };
  if (described(found) != described(wanted))
    add("target: " + described(found) + ", wanted " + described(wanted));
  else if (found.target_fingerprint != wanted.target_fingerprint)
    add("target: " + described(found) + " with other numbers, such as cache sizes");
  if (found.processors != wanted.processors)
    add("threads of a program: " + std::to_string(found.processors) + ", wanted " +
        std::to_string(wanted.processors));
  if (found.effort != wanted.effort)
    add("effort: " + name_of_effort(found.effort) + ", wanted " + name_of_effort(wanted.effort));
  if (found.cost_model_fingerprint != wanted.cost_model_fingerprint) add("cost model");
  if (found.action_fingerprint != wanted.action_fingerprint) add("actions");
  return all;
}

}  // namespace morello
