// SPDX-License-Identifier: MIT
#ifndef MORELLO_CAPI_TOOLS_EXPLAIN_HH
#define MORELLO_CAPI_TOOLS_EXPLAIN_HH

#include <string>

namespace morello::tools {

/// What a resource of morello_kernel_explain() is, for people.
std::string about_resource(const std::string& name);

}  // namespace morello::tools

#endif
