// SPDX-License-Identifier: MIT
// Sections as files that linkers take.
#ifndef MORELLO_CAPI_TOOLS_EMIT_OBJECT_HH
#define MORELLO_CAPI_TOOLS_EMIT_OBJECT_HH

#include <string>
#include <vector>

#include "emit/parts.hh"

namespace morello::tools {

/// Why there are no object files in this build of the tool; "" if there are.
std::string find_missing_writer();

/// A relocatable ELF object for x86-64. The same sections give the same bytes. On failure *problem
/// says why.
std::string make_object(const std::vector<Section>& sections, std::string* problem);

/// A static library with that one member, and its index of `symbols`.
std::string make_archive(const std::string& object, const std::vector<std::string>& symbols);

/// A shared library of it, by the system's linker. On failure *problem says why.
std::string make_shared_library(const std::string& object, const std::string& soname,
                                std::string* problem);

}  // namespace morello::tools

#endif
