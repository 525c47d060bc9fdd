// SPDX-License-Identifier: MIT
// libmorello-runtime is small: it tells debuggers and profilers nothing.
#include "runtime/tools.hh"

namespace morello {

struct Announcement::Entry {};

Result<u32> parse_tools(std::string_view names) {
  if (names.empty() || names == "gdb") return 0u;  // what libmorello does unless it is told
  return Error{MORELLO_UNSUPPORTED,
               "tools: libmorello-runtime tells debuggers and profilers nothing; valid is \"\""};
}

Announcement::Announcement() = default;
Announcement::Announcement(Announcement&&) noexcept = default;
Announcement& Announcement::operator=(Announcement&&) noexcept = default;
Announcement::~Announcement() = default;

Announcement Announcement::of(const Kernel&, u32, std::optional<Error>&) noexcept { return {}; }

}  // namespace morello
