// SPDX-License-Identifier: MIT
// Where the predicted cycles of a program go: by node, by resource, by operand.
#ifndef MORELLO_COMPILER_EXPLAIN_HH
#define MORELLO_COMPILER_EXPLAIN_HH

#include <string>

#include "impl/impl.hh"

namespace morello {

/// A program, and all that it refers to.
struct Program {
  ImplTree tree;  // its `target` is not used
  Target target;
  std::array<u8, kMaxOperands> argument{};  // the Spec's operands as the user counts them
};

/// As JSON: docs/tools.md has its fields.
std::string explain(const Program& program);

}  // namespace morello

#endif
