// SPDX-License-Identifier: MIT
// The C header of emitted functions.
#ifndef MORELLO_CAPI_TOOLS_EMIT_HEADER_HH
#define MORELLO_CAPI_TOOLS_EMIT_HEADER_HH

#include <string>
#include <vector>

#include "emit/parts.hh"

namespace morello::tools {

/// REQUIRES: at least one function.
std::string make_header(const std::vector<Function>& functions);

/// "NAME" of a name.
std::string in_capitals(std::string name);

}  // namespace morello::tools

#endif
