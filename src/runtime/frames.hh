// SPDX-License-Identifier: MIT
// What is written about code that is in memory already: tables for unwinding, and an object file.
#ifndef MORELLO_RUNTIME_FRAMES_HH
#define MORELLO_RUNTIME_FRAMES_HH

#include <string>

#include "runtime/kernel.hh"

namespace morello {

/// A function of an Executable, with its name for symbols.
struct NamedFunction {
  std::string name;
  const CodeFunction* function;
};
/// "NAME" is what is called from outside, "NAME.task1" what an executor calls, "NAME.routine2" what
/// several places share; numbered by their places in the code.
std::vector<NamedFunction> named_functions(const Executable& executable, const std::string& name);

/// As .eh_frame has them, with absolute addresses, and the terminator at the end.
std::string frame_table(const Executable& executable);

/// An ELF object with symbols of the functions and the frame table, for code at its address.
std::string object_image(const Executable& executable, const std::string& name);

}  // namespace morello

#endif
