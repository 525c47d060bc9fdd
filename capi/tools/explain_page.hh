// SPDX-License-Identifier: MIT
#ifndef MORELLO_CAPI_TOOLS_EXPLAIN_PAGE_HH
#define MORELLO_CAPI_TOOLS_EXPLAIN_PAGE_HH

#include <string>

#include "command.hh"

namespace morello::tools {

/// One HTML page that needs nothing else: what `explain` prints, as bars, with a roofline and, with
/// --table, the boxes of the table that the Spec is nearest to. *problem: why there is none.
std::string explanation_page(const Arguments& arguments, const Json& explanation,
                             std::string* problem);

}  // namespace morello::tools

#endif
