// SPDX-License-Identifier: MIT
// Tables for unwinding, as .eh_frame has them.
#ifndef MORELLO_CAPI_TOOLS_EMIT_FRAMES_HH
#define MORELLO_CAPI_TOOLS_EMIT_FRAMES_HH

#include <string>
#include <vector>

#include "emit/parts.hh"

namespace morello::tools {

struct FrameTable {
  std::string bytes;
  /// The address of a function, relative to the field. `section` counts those of the sources.
  struct Place {
    uint64_t offset;
    size_t section;
    int64_t addend;
  };
  std::vector<Place> places;
};

FrameTable make_frame_table(const std::vector<Section>& sections);

}  // namespace morello::tools

#endif
