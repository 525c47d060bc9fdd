// SPDX-License-Identifier: MIT
#include "capi/operands.hh"

namespace morello {

std::string OperandName::text() const {
  const u32 inputs = count - outputs;
  const std::string role = index < inputs ? "input " + std::to_string(index)
                           : outputs == 1 ? "the output"
                                          : "output " + std::to_string(index - inputs);
  return "operand " + std::to_string(index) + " (" + role + ")";
}

std::optional<Error> check_list(void* const* operands) {
  if (operands != nullptr) return std::nullopt;
  return Error{MORELLO_NULL_OPERAND,
               "argument `operands` is NULL; it must list a pointer per operand"};
}

std::optional<Error> check_pointer(OperandName name, const void* pointer, u32 alignment) {
  if (pointer == nullptr)
    return Error{MORELLO_NULL_OPERAND, name.text() + " is NULL; each of the " +
                                           std::to_string(name.count) +
                                           " operands must point to its elements"};
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % alignment != 0)
    return Error{MORELLO_MISALIGNED, name.text() + " is " + std::to_string(address % alignment) +
                                         " bytes past a multiple of " + std::to_string(alignment) +
                                         "; it must be aligned to its element size, " +
                                         std::to_string(alignment) + " bytes"};
  return std::nullopt;
}

std::optional<Error> check_size(i64 size, i64 largest) {
  if (size >= 1 && size <= largest) return std::nullopt;
  return Error{MORELLO_INVALID_ARGUMENT, "argument `size` is " + std::to_string(size) +
                                             "; valid are 1 to " + std::to_string(largest) +
                                             ", the bound of the run-time size"};
}

std::optional<Error> check_bytes(OperandName name, u64 given, u64 needed) {
  if (given >= needed) return std::nullopt;
  return Error{MORELLO_OPERAND_TOO_SMALL, name.text() + " has " + std::to_string(given) +
                                              " bytes; the kernel needs " + std::to_string(needed)};
}

}  // namespace morello
