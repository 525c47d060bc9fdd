// SPDX-License-Identifier: MIT
// Sweeps: one scenario with a failure at each of its allocations, each trial in its own process.
#ifndef MORELLO_TESTS_OOM_SWEEP_HH
#define MORELLO_TESTS_OOM_SWEEP_HH

#include <random>

#include "faults.hh"
#include "scenario.hh"

namespace morello::testing {

struct Trial {
  faults::Counts counts;
  bool absorbed = false;  // something failed, and the call did what it should all the same
  char wrong[500] = "";   // "", or what is
};

/// The scenario once, with failures as arm() says, then again without.
Trial try_once(const Scenario& s, uint64_t n, faults::Mode mode, bool trace = false);
/// The same in a child, whatever becomes of it.
Trial try_in_child(const Scenario& s, uint64_t n, faults::Mode mode);

struct Tally {
  uint64_t trials = 0, absorbed = 0, wrong = 0;
  uint64_t calls = 0;  // of the scenario without failures
};
/// Every n, in both modes, until nothing is left to fail; or, where that takes more than so many
/// seconds of CPU, as many at random. Prints what is wrong, and how to repeat it.
Tally sweep(const Scenario& s, double cpu_seconds, std::mt19937& random);

const char* text_of(faults::Mode mode);
/// Of all trials so far.
double cpu_seconds_of_children();

}  // namespace morello::testing

#endif
