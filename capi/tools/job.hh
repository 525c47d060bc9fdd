// SPDX-License-Identifier: MIT
// The steps of make_job(), for commands that make many kernels.
#ifndef MORELLO_CAPI_TOOLS_JOB_HH
#define MORELLO_CAPI_TOOLS_JOB_HH

#include <optional>
#include <string>
#include <vector>

#include "command.hh"

namespace morello::tools {

/// make_job() with a context, and a table, or nullptr, instead of those that the arguments name.
std::optional<Job> make_job_in(const Arguments& arguments, const std::string& text, JobKind kind,
                               morello_context* context, const morello_table* table);

/// morello_table_miss().
std::string miss_text(const morello_table* table, const morello_spec* spec);

/// All tables as one, or none without any. False: *error says why.
bool load_tables(const std::vector<std::string>& paths, morello_context* context, TablePtr* all,
                 morello_error** error);

}  // namespace morello::tools

#endif
