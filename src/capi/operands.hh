// SPDX-License-Identifier: MIT
// Checks of the buffers that a caller passes to be computed on, with messages that name them.
#ifndef MORELLO_CAPI_OPERANDS_HH
#define MORELLO_CAPI_OPERANDS_HH

#include <optional>

#include "support/result.hh"

namespace morello {

/// One of `count` operands, the last of which are outputs.
struct OperandName {
  u32 index;
  u32 count;
  u32 outputs;
  std::string text() const;
};

/// MORELLO_NULL_OPERAND, if the list of all operands is NULL itself.
std::optional<Error> check_list(void* const* operands);
/// MORELLO_NULL_OPERAND or MORELLO_MISALIGNED. `alignment` is a power of two.
std::optional<Error> check_pointer(OperandName name, const void* pointer, u32 alignment);
/// MORELLO_INVALID_ARGUMENT: a run-time size that is none.
std::optional<Error> check_size(i64 size, i64 largest);
/// MORELLO_OPERAND_TOO_SMALL
std::optional<Error> check_bytes(OperandName name, u64 given, u64 needed);

}  // namespace morello

#endif
