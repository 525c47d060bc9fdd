// SPDX-License-Identifier: MIT
// What this machine can run: CPUID together with XGETBV, cache sizes, processors.
#ifndef MORELLO_TARGET_ISA_HH
#define MORELLO_TARGET_ISA_HH

#include <span>
#include <string>
#include <string_view>

#include "support/result.hh"
#include "support/types.hh"
#include "target/target.hh"

namespace morello {

struct Machine {
  std::string name;  // brand string
  Features features = kNoFeatures;
  u32 processors = 1;
  u64 l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches of one core; 0 where unknown
};

/// A row of features.def: where CPUID says a feature.
struct FeatureRow {
  Feature feature;
  std::string_view name;
  u32 leaf, subleaf;
  u8 word;  // eax, ebx, ecx, edx
  u8 bit;
  u64 states;  // bits of XCR0 that the operating system must have set
};
std::span<const FeatureRow> feature_rows();

/// Reads CPUID and XGETBV: a feature counts only if the operating system saves its registers.
Machine read_machine();

/// Asks Linux for the register states of `wanted` that a process has only once it asked: those of
/// tiles. Once is enough; threads and children have them too. It is not undone, and from then on
/// sigaltstack() wants room for them.
/// @return those of `wanted` that the system refuses, as where a thread has a smaller alternate
///     signal stack.
Features request_states(Features wanted);

/// The cap of the environment variable MORELLO_MAX_ISA, which names a target: the features that it
/// requires. kAllFeatures (no cap) if it is unset or empty. Ignored under secure execution. Error:
/// INVALID_ARGUMENT for a value that names no target.
Result<Features> cap_from_environment();

}  // namespace morello

#endif
