// SPDX-License-Identifier: MIT
#include "rounds.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "abi_call.hh"

namespace morello::testing {

const char* isa_text(morello_isa isa) { return isa == MORELLO_ISA_AVX2 ? "avx2" : "avx512"; }

std::vector<morello_isa> usable_isas() {
  morello_cpu_info info;
  REQUIRE(morello_cpu_info_get(&info, sizeof info) == MORELLO_OK);
  const char* only = std::getenv("MORELLO_TEST_ISA");
  std::vector<morello_isa> isas;
  for (morello_isa isa : {MORELLO_ISA_AVX2, MORELLO_ISA_AVX512})
    if (info.usable_isas >> isa & 1 && (!only || std::string(only) == isa_text(isa)))
      isas.push_back(isa);
  REQUIRE_MESSAGE(
      !isas.empty(),
      "no kernel can run here, so nothing would be tested: the CPU lacks AVX2 and FMA, or "
      "MORELLO_MAX_ISA or MORELLO_TEST_ISA leave no instruction set");
  return isas;
}

std::vector<u64> seeds(u64 count) {
  if (const char* one = std::getenv("MORELLO_TEST_SEED")) return {std::strtoull(one, nullptr, 0)};
  const char* scale = std::getenv("MORELLO_TEST_ROUNDS");
  double rounds =
      static_cast<double>(count) * (scale ? std::max(0.0, std::strtod(scale, nullptr)) : 1);
  std::vector<u64> all(static_cast<size_t>(std::max(1.0, rounds)));
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
