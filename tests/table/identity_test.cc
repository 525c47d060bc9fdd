// SPDX-License-Identifier: MIT
// Fingerprints change with what they stand for, and with nothing else.
#include "table/identity.hh"

#include <doctest/doctest.h>

#include <set>

#include "../support/targets.hh"
#include "actions/clamp.hh"
#include "actions/placement.hh"
#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "cost/shared.hh"

namespace morello {
namespace {

Limits clamped(const Spec& spec, const Target& target) {
  Limits limits = limits_of(target);
  clamp_limits(spec, limits);
  return limits;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("the identity of a target is always the same, and of each another") {
    std::vector<TableIdentity> all;
    for (const Target& target : fixed_targets()) {
      TableIdentity identity = identity_of(target);
      CHECK(identity == identity_of(target));
      CHECK(difference(identity, identity) == "");
      CHECK(identity.cost_model_fingerprint != 0);
      CHECK(identity.action_fingerprint != 0);
      CHECK(identity.cost_model_fingerprint != identity.action_fingerprint);
      for (const TableIdentity& other : all) {
        CHECK(identity.target_fingerprint != other.target_fingerprint);
        CHECK(identity.cost_model_fingerprint == other.cost_model_fingerprint);
        CHECK(identity.action_fingerprint == other.action_fingerprint);
      }
      all.push_back(identity);
    }
  }

  TEST_CASE("the fingerprints ask about far rows that share cache sets, at every level") {
    for (const Target* target : testing::targets_of({Dtype::kF32})) {
      std::set<int> aliases, crowded;
      size_t far = 0, rows = 0, ragged = 0;
      each_probe(*target, [&](const Spec& spec) {
        for (int o = 0; o < spec.operand_count; o++) {
          const Operand& x = spec.operand[o];
          if (x.level == Level::kRegister) CHECK((!x.far && x.alias == 0));
          if (x.level < Level::kL2) continue;
          far += x.far;
          aliases.insert(run_alias(x));
          ragged += is_ragged(x);
          rows += window_alias(x) > 0;
          for (Level cache : {Level::kL1, Level::kL2})
            if (resident_lines(spec, x, cache) > footprint(spec, x).lines)
              crowded.insert(static_cast<int>(cache));
        }
      });
      CHECK(far > 0);
      CHECK(rows > 0);  // of windows
      CHECK(aliases == std::set<int>(kAliases.begin(), kAliases.begin() + kAliasCount));
      CHECK(ragged > 0);
      CHECK(crowded.size() == 2);
    }
  }

  TEST_CASE("the fingerprints ask about rows that are read once, and about pieces of them") {
    for (const Target* target : testing::targets_of({Dtype::kF32})) {
      bool many = false, pieces = false;
      each_probe(*target, [&](const Spec& spec) {
        if (!contraction_of(spec)) return;
        const Operand& x = spec.operand[1];
        const u8 along = unit_dim(x);
        if (x.level != Level::kMemory || along == kNoDim || has_dim(spec.reduced(), along)) return;
        if (volume(spec) >= kFewUses * elements(spec, x)) return;
        const u64 rows = elements(spec, x) / spec.size[along];
        pieces |= x.far && rows > 1;
        many |= !x.far && rows > 12 && spec.size[along] > 1024 / 4;
      });
      CHECK(pieces);
      CHECK(many);
    }
  }

  TEST_CASE("the fingerprints ask how quick searches cut depth while sums are in L1") {
    for (const Target* target : testing::targets_of({Dtype::kF32})) {
      ActionContext context{target};
      context.breadth = space_of(MORELLO_EFFORT_QUICK);
      ActionList list;
      std::set<u32> tiles;
      each_probe(*target, [&](const Spec& spec) {
        if (!contraction_of(spec) || spec.out().level != Level::kL1) return;
        list_actions(spec, clamped(spec, *target), context, list);
        for (const Action& action : list)
          if (action.kind == ActionKind::kTile && has_dim(spec.reduced(), action.arg))
            tiles.insert(action.size);
      });
      CHECK_MESSAGE(tiles.upper_bound(64) != tiles.end(), target->name);
    }
  }

  TEST_CASE("the fingerprints ask about every action, microkernel and way to sum products") {
    std::set<ActionKind> actions;
    std::set<MicrokernelId> kernels;
    std::set<const Dot*> ways;
    size_t lanes = 0;  // transposed
    for (const Target& fixed : fixed_targets()) {
      const Target target = with_machine(fixed, 0, 0, 2);
      ActionContext context{&target};
      ActionList list;
      each_probe(target, [&](Spec spec) {
        list_actions(spec, clamped(spec, target), context, list);
        for (const Action& action : list) actions.insert(action.kind);
        for (bool on_tile : {false, true}) {
          if (on_tile) {
            spec.out().level = Level::kRegister;
            spec.out().access = Access::kInOut;
          }
          for (const Microkernel* kernel : microkernels()) {
            if (!kernel->applies(spec, target)) continue;
            kernels.insert(kernel->id);
            lanes += kernel->id == MicrokernelId::kTranspose && lane_group(spec.out()) > 1;
            const auto roles = contraction_roles(spec);
            if (!roles) continue;
            ways.insert(dot_of(spec, *roles, target));
            ways.insert(dot_along(spec, *roles, target));
          }
        }
      });
    }
#define MORELLO_ACTION(number, name) \
  CHECK_MESSAGE(actions.contains(ActionKind::k##name), "action " #name);
#include "actions/actions.def"
#undef MORELLO_ACTION
    for (MicrokernelId id : kAllMicrokernels)
      CHECK_MESSAGE(kernels.contains(id), "microkernel " << name_of(id));
    CHECK(lanes > 0);
    for (const Dot& dot : dots())
      CHECK_MESSAGE(ways.contains(&dot), "row " << &dot - dots().data() << " of dots()");
  }

  TEST_CASE("every number of a target counts, processors apart") {
    const Target base = *fixed_target(Isa::kAvx2);
    const TableIdentity identity = identity_of(base);
    auto changes = [&](auto&& change) {
      Target target = base;
      change(target);
      CHECK(identity_of(target).target_fingerprint != identity.target_fingerprint);
    };
    changes([](Target& t) { t.number++; });
    changes([](Target& t) { t.required |= features(Feature::kAvxVnni); });
    changes([](Target& t) { t.vector_bytes *= 2; });
    changes([](Target& t) { t.vector_registers++; });
    changes([](Target& t) { t.has_masks = !t.has_masks; });
    changes([](Target& t) { t.fma_per_cycle++; });
    changes([](Target& t) { t.fma_latency++; });
    changes([](Target& t) { t.vector_per_cycle++; });
    changes([](Target& t) { t.loads_per_cycle++; });
    changes([](Target& t) { t.stores_per_cycle++; });
    changes([](Target& t) { t.parallel_units++; });
    size_t prices = 0;
    each_field(base.prices, [&](std::string_view, const i64& price) {
      // Where a price is in `base`, it is in a copy.
      const size_t offset = static_cast<size_t>(reinterpret_cast<const char*>(&price) -
                                                reinterpret_cast<const char*>(&base));
      changes([&](Target& t) { ++*reinterpret_cast<i64*>(reinterpret_cast<char*>(&t) + offset); });
      prices++;
    });
    CHECK(prices == sizeof(Prices) / sizeof(i64));
    for (size_t level = 0; level < kLevels; level++) {
      changes([&](Target& t) { t.level[level].bytes++; });
      changes([&](Target& t) { t.level[level].line_units++; });
      changes([&](Target& t) { t.level[level].run_units++; });
      changes([&](Target& t) { t.level[level].streams++; });
    }
    TableIdentity two = identity_of(with_machine(base, 0, 0, 2));
    CHECK(two.target_fingerprint == identity.target_fingerprint);
    CHECK(difference(two, identity) == "threads of a program: 2, wanted 1");
    TableIdentity host = identity_of(with_machine(base, 1 << 15, 1 << 21, 0));
    CHECK(difference(host, identity) == "target: avx2 (host), wanted avx2 (generic-x86-64)");
  }
}

}  // namespace morello
