// SPDX-License-Identifier: MIT
// What this machine can run: CPUID together with XGETBV, cache sizes, processors.
#ifndef MORELLO_TARGET_ISA_HH
#define MORELLO_TARGET_ISA_HH

#include <string>

#include "support/result.hh"
#include "support/types.hh"
#include "target/target.hh"

namespace morello {

struct Machine {
  std::string name;  // brand string
  Isa isa = Isa::kNone;
  u32 processors = 1;
  u64 l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches of one core; 0 where unknown
};

/// Reads CPUID and XGETBV: an instruction set counts only if the operating system saves its
/// registers. AVX2 means AVX2+FMA+BMI; AVX-512 means F, BW, VL and DQ.
Machine read_machine();

/// The cap named by `text` ("avx2", "avx512", case-insensitive); kNone if it names none.
Isa isa_from_name(std::string_view text);
std::string_view name_of(Isa isa);

/// The cap of the environment variable MORELLO_MAX_ISA, or kBestIsa (no cap) if it is unset or
/// empty. Ignored under secure execution. Error: INVALID_ARGUMENT for a value that names no
/// instruction set.
Result<Isa> isa_cap_from_environment();

}  // namespace morello

#endif
