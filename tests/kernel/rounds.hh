// SPDX-License-Identifier: MIT
// What to run: instruction sets, seeds and numbers of rounds, from the environment.
//
//   MORELLO_TEST_ROUNDS=10   ten times as many random cases (0.1: a tenth)
//   MORELLO_TEST_SEED=7      only the random case with this seed
//   MORELLO_TEST_ISA=avx2    only this instruction set
//
// The test case "one kernel" takes its Spec from MORELLO_TEST_SPEC='relu f32[3]', and where they
// matter MORELLO_TEST_THREADS=2 and MORELLO_TEST_VALUES=1, a number of Values.
#ifndef MORELLO_TESTS_KERNEL_ROUNDS_HH
#define MORELLO_TESTS_KERNEL_ROUNDS_HH

#include <string>
#include <vector>

#include "morello/morello.h"
#include "support/types.hh"

namespace morello::testing {

/// The instruction sets that this CPU has, unless the environment names one of them: those that
/// differ for f32, and those that differ for any element types. Fails the test if there is none.
std::vector<morello_isa> usable_isas();
std::vector<morello_isa> all_usable_isas();
std::string isa_text(morello_isa isa);
/// `count` seeds, scaled by the environment; or the one that it names.
std::vector<u64> seeds(u64 count);
/// One line for the shell that runs this case of a test alone.
std::string repeat_command(const std::string& test, u64 seed, morello_isa isa);
/// The same is printed if the process dies on the way.
void set_note(const std::string& test, u64 seed, morello_isa isa);

}  // namespace morello::testing

#endif
