// SPDX-License-Identifier: MIT
// Telling debuggers, profilers and unwinders of machine code that no file has.
#ifndef MORELLO_RUNTIME_TOOLS_HH
#define MORELLO_RUNTIME_TOOLS_HH

#include <memory>
#include <string_view>

#include "runtime/kernel.hh"

namespace morello {

/// A bit each.
enum Tool : u32 {
  kToolGdb = 1,      // GDB's JIT interface: symbols and unwinding, in live processes and in cores
  kToolUnwind = 2,   // frames for the unwinder of the process: backtrace(), crash reporters
  kToolPerfMap = 4,  // a line per function in /tmp/perf-PID.map
  kToolJitdump = 8   // jit-PID.dump, for `perf inject --jit`: also code that is gone
};

/// Names with commas between them, such as "gdb,map"; "" for none. INVALID_ARGUMENT.
Result<u32> parse_tools(std::string_view names);

/// What tools were told of a kernel's code, until it is destroyed. Any threads may make and destroy
/// them at once; also a process that was forked while another thread did.
class Announcement {
 public:
  Announcement();
  Announcement(Announcement&&) noexcept;
  Announcement& operator=(Announcement&&) noexcept;
  ~Announcement();

  /// What cannot be told is left out: `problem` says why. REQUIRES: `kernel`'s code stays where it
  /// is for as long as what is returned.
  static Announcement of(const Kernel& kernel, u32 tools, std::optional<Error>& problem) noexcept;

 private:
  struct Entry;
  std::vector<std::unique_ptr<Entry>> entries_;  // one per Executable
};

}  // namespace morello

#endif
