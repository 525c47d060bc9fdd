// SPDX-License-Identifier: MIT
// Emitted functions for Rust.
#ifndef MORELLO_CAPI_TOOLS_EMIT_RUST_HH
#define MORELLO_CAPI_TOOLS_EMIT_RUST_HH

#include <string>
#include <vector>

#include "emit/parts.hh"

namespace morello::tools {

/// A file to be included in a module: safe functions whose arguments have the sizes that are
/// needed.
std::string make_rust(const std::vector<Function>& functions);

}  // namespace morello::tools

#endif
