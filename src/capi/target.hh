// SPDX-License-Identifier: MIT
// Which target the options of a call mean.
#ifndef MORELLO_CAPI_TARGET_HH
#define MORELLO_CAPI_TARGET_HH

#include <optional>
#include <span>

#include "capi/objects.hh"
#include "support/dtype.hh"
#include "support/result.hh"

namespace morello {

/// What is wrong with a target's number.
std::optional<Error> find_bad_target(i32 target);

/// ISA_UNAVAILABLE if kernels for a target cannot run here, or the cap forbids it. `remedy`: what
/// the message advises where the CPU is the reason.
std::optional<Error> find_lacking(const morello_context& context, const Target& target,
                                  const char* remedy);

/// The target to make kernels for, of problems with these element types. The CPU matters only if
/// they are to run here, the cap always.
/// REQUIRES: find_bad_target(target) finds nothing. Error: ISA_UNAVAILABLE.
Result<const Target*> choose_target(const morello_context& context, i32 target, bool to_run,
                                    std::span<const Dtype> types);

/// The fixed model, or this machine's caches; as many processors as a kernel may use.
Target make_target(const morello_context& context, const Target& fixed, u32 threads);

}  // namespace morello

#endif
