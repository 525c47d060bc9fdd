// SPDX-License-Identifier: MIT
#include "rounds.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "../support/scale.hh"
#include "../support/targets.hh"
#include "abi_call.hh"
#include "target/isa.hh"

namespace morello::testing {

namespace {

std::vector<morello_isa> usable_of(const std::vector<const Target*>& targets) {
  morello_cpu_info info;
  REQUIRE(morello_cpu_info_get(&info, sizeof info) == MORELLO_OK);
  const char* only = std::getenv("MORELLO_TEST_ISA");
  std::vector<morello_isa> isas;
  for (const Target* t : targets)
    if (info.usable_isas >> t->number & 1 && (!only || only == t->name) &&
        request_states(t->required) == kNoFeatures)
      isas.push_back(static_cast<morello_isa>(t->number));
  REQUIRE_MESSAGE(
      !isas.empty(),
      "no kernel can run here, so nothing would be tested: the CPU lacks AVX2 and FMA, or "
      "MORELLO_MAX_ISA or MORELLO_TEST_ISA leave no instruction set");
  return isas;
}

}  // namespace

std::string isa_text(morello_isa isa) {
  return std::string(fixed_target(static_cast<Isa>(isa))->name);
}

std::vector<morello_isa> usable_isas() { return usable_of(targets_of({Dtype::kF32})); }

std::vector<morello_isa> all_usable_isas() {
  std::vector<const Target*> all;
  for (const Target& t : fixed_targets()) all.push_back(&t);
  return usable_of(all);
}

std::vector<u64> seeds(u64 count) {
  if (const char* one = std::getenv("MORELLO_TEST_SEED")) return {std::strtoull(one, nullptr, 0)};
  std::vector<u64> all(static_cast<size_t>(rounds(static_cast<int>(count))));
  for (size_t i = 0; i < all.size(); i++) all[i] = i + 1;
  return all;
}

std::string repeat_command(const std::string& test, u64 seed, morello_isa isa) {
  return "repeat: MORELLO_TEST_SEED=" + std::to_string(seed) +
         " MORELLO_TEST_ISA=" + isa_text(isa) + " tests/kernel/morello-kernel --test-case='" +
         test + "'";
}

void set_note(const std::string& test, u64 seed, morello_isa isa) {
  set_crash_note(repeat_command(test, seed, isa));
}

}  // namespace morello::testing
