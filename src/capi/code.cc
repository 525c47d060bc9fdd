// SPDX-License-Identifier: MIT
// Kernels as code: bytes, and what is known of the functions in them.
#include "capi/boundary.hh"
#include "capi/objects.hh"

using namespace morello;

namespace {

constexpr i32 kOwn = -1;  // the operand that stands for the kernel's own code

/// What `operand` names, or nullptr: also if it is packed without code, and then *known is true.
const Executable* find_code(const morello_kernel* kernel, i32 operand, bool* known) noexcept {
  const Executable* own = code_of(kernel);
  const bool has_operand = own != nullptr && operand >= 0 &&
                           static_cast<size_t>(operand) < kernel->kernel.operands.size();
  *known = own != nullptr && (operand == kOwn || has_operand);
  if (!*known || operand == kOwn) return own;
  const KernelOperand& o = kernel->kernel.operands[static_cast<size_t>(operand)];
  return o.pack ? &*o.pack : nullptr;
}

}  // namespace

const uint8_t* morello_kernel_code(const morello_kernel* kernel, size_t* size) {
  const Executable* executable = code_of(kernel);
  if (size != nullptr) *size = executable == nullptr ? 0 : executable->code.size();
  return executable == nullptr ? nullptr : executable->code.data();
}

morello_status morello_kernel_code_get(const morello_kernel* kernel, int32_t operand,
                                       morello_code* code, size_t code_size) {
  bool known = false;
  const Executable* executable = find_code(kernel, operand, &known);
  if (!known || code == nullptr || code_size < kFirstCode || code_size > kLargestStruct)
    return MORELLO_INVALID_ARGUMENT;
  morello_code facts{};
  if (executable != nullptr) {
    facts.bytes = executable->code.data();
    facts.size = executable->code.size();
    facts.alignment = kCodeAlignment;
    facts.entry = executable->entry;
    facts.scratch_size = executable->scratch_bytes;
    facts.function_count = static_cast<u32>(executable->functions.size());
  }
  write_struct(code, code_size, facts);
  return MORELLO_OK;
}

morello_status morello_kernel_code_function_get(const morello_kernel* kernel, int32_t operand,
                                                uint32_t index, morello_code_function* function,
                                                size_t function_size) {
  bool known = false;
  const Executable* executable = find_code(kernel, operand, &known);
  if (executable == nullptr || index >= executable->functions.size() || function == nullptr ||
      function_size < kFirstCodeFunction || function_size > kLargestStruct)
    return MORELLO_INVALID_ARGUMENT;
  const CodeFunction& f = executable->functions[index];
  morello_code_function facts{};
  facts.begin = f.begin;
  facts.end = f.end;
  facts.kind = f.kind;
  facts.step_count = static_cast<u32>(f.steps.size());
  facts.steps = f.steps.data();
  write_struct(function, function_size, facts);
  return MORELLO_OK;
}
