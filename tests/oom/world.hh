// SPDX-License-Identifier: MIT
// What the scenarios work on, made once before the first trial, and shared by all: small Specs.
#ifndef MORELLO_TESTS_OOM_WORLD_HH
#define MORELLO_TESTS_OOM_WORLD_HH

#include <string>
#include <vector>

#include "scenario.hh"

namespace morello::testing {

/// A context, never released.
morello_context* context();
/// A Spec and its kernel, never released.
const morello_spec* spec_of(const std::string& text);
const morello_kernel* kernel_of(const std::string& text);
/// The bytes of a table of these families.
const std::string& table_bytes(const std::vector<std::string>& families);
morello_table* table_of(const std::vector<std::string>& families);

morello_options default_options();
/// The whole text of a kernel's Impl tree, plan and code.
std::string description_of(const morello_kernel* kernel);
/// How many f32 cover `bytes` of an operand of any element type.
inline size_t floats_for(size_t bytes) { return (bytes + sizeof(float) - 1) / sizeof(float); }
/// "", or how a run of the kernel differs from the reference.
std::string wrong_result(const morello_spec* spec, const morello_kernel* kernel);

/// A folder for files, removed at the end of the process that made it.
std::string folder();
std::string bytes_of_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace morello::testing

#endif
