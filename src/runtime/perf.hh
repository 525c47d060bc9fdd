// SPDX-License-Identifier: MIT
// The two files in which perf looks for names of machine code that no file has.
#ifndef MORELLO_RUNTIME_PERF_HH
#define MORELLO_RUNTIME_PERF_HH

#include "runtime/frames.hh"

namespace morello {

// One thread at a time.

/// A line per function in /tmp/perf-PID.map. There is no way to take one back.
std::optional<Error> add_to_perf_map(const std::vector<NamedFunction>& functions,
                                     const Executable& executable);

/// A record per function, code included, in jit-PID.dump, in the folder JITDUMPDIR of the
/// environment, else in the working directory.
std::optional<Error> add_to_jitdump(const std::vector<NamedFunction>& functions,
                                    const Executable& executable);

}  // namespace morello

#endif
