// SPDX-License-Identifier: MIT
// Fingerprints change with what they stand for, and with nothing else.
#include "table/identity.hh"

#include <doctest/doctest.h>

#include <set>

#include "actions/placement.hh"

namespace morello {

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
    for (const Target& target : fixed_targets()) {
      std::set<int> aliases, crowded;
      size_t far = 0;
      each_probe(target, [&](const Spec& spec) {
        for (int o = 0; o < spec.operand_count; o++) {
          const Operand& x = spec.operand[o];
          if (x.level == Level::kRegister) CHECK((!x.far && x.alias == 0));
          if (x.level < Level::kL2) continue;
          far += x.far;
          aliases.insert(x.alias);
          for (Level cache : {Level::kL1, Level::kL2})
            if (resident_lines(spec, x, cache) > footprint(spec, x).lines)
              crowded.insert(static_cast<int>(cache));
        }
      });
      CHECK(far > 0);
      CHECK(aliases == std::set<int>{0, 4, kMaxAliasL1, 8, kMaxAlias});
      CHECK(crowded.size() == 2);
    }
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
    }
    TableIdentity two = identity_of(with_machine(base, 0, 0, 2));
    CHECK(two.target_fingerprint == identity.target_fingerprint);
    CHECK(difference(two, identity) == "threads of a program: 2, wanted 1");
    TableIdentity host = identity_of(with_machine(base, 1 << 15, 1 << 21, 0));
    CHECK(difference(host, identity) == "target: avx2 (host), wanted avx2 (generic-x86-64)");
  }
}

}  // namespace morello
