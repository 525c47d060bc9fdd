// SPDX-License-Identifier: MIT
#include "capi/operands.hh"

#include "support/concat.hh"

namespace morello {

std::string OperandName::text() const {
  const u32 inputs = count - outputs;
  if (index >= inputs && outputs == 1) return concat({"operand ", index, " (the output)"});
  return concat({"operand ", index, index < inputs ? " (input " : " (output ",
                 index < inputs ? index : index - inputs, ")"});
}

std::optional<Error> check_list(void* const* operands) {
  if (operands != nullptr) return std::nullopt;
  return Error{MORELLO_NULL_OPERAND,
               "argument `operands` is NULL; it must list a pointer per operand"};
}

std::optional<Error> check_pointer(OperandName name, const void* pointer, u32 alignment) {
  if (pointer == nullptr)
    return Error{MORELLO_NULL_OPERAND, concat({name.text(), " is NULL; each of the ", name.count,
                                               " operands must point to its elements"})};
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % alignment != 0)
    return Error{
        MORELLO_MISALIGNED,
        concat({name.text(), " is ", address % alignment, " bytes past a multiple of ", alignment,
                "; it must be aligned to its element size, ", alignment, " bytes"})};
  return std::nullopt;
}

std::optional<Error> check_size(i64 size, i64 largest) {
  if (size >= 1 && size <= largest) return std::nullopt;
  return Error{MORELLO_INVALID_ARGUMENT, concat({"argument `size` is ", size, "; valid are 1 to ",
                                                 largest, ", the bound of the run-time size"})};
}

std::optional<Error> check_bytes(OperandName name, u64 given, u64 needed) {
  if (given >= needed) return std::nullopt;
  return Error{MORELLO_OPERAND_TOO_SMALL,
               concat({name.text(), " has ", given, " bytes; the kernel needs ", needed})};
}

}  // namespace morello
