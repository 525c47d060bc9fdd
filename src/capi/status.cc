// SPDX-License-Identifier: MIT
// Status names, error objects and versions.
#include "capi/objects.hh"

const char* morello_status_string(morello_status status) {
  switch (status) {
    case MORELLO_OK:
      return "MORELLO_OK";
    case MORELLO_INVALID_ARGUMENT:
      return "MORELLO_INVALID_ARGUMENT";
    case MORELLO_SYNTAX_ERROR:
      return "MORELLO_SYNTAX_ERROR";
    case MORELLO_INVALID_SHAPE:
      return "MORELLO_INVALID_SHAPE";
    case MORELLO_SIZE_OVERFLOW:
      return "MORELLO_SIZE_OVERFLOW";
    case MORELLO_UNKNOWN_DTYPE:
      return "MORELLO_UNKNOWN_DTYPE";
    case MORELLO_INVALID_LAYOUT:
      return "MORELLO_INVALID_LAYOUT";
    case MORELLO_UNSUPPORTED:
      return "MORELLO_UNSUPPORTED";
    case MORELLO_NULL_OPERAND:
      return "MORELLO_NULL_OPERAND";
    case MORELLO_OPERAND_TOO_SMALL:
      return "MORELLO_OPERAND_TOO_SMALL";
    case MORELLO_MISALIGNED:
      return "MORELLO_MISALIGNED";
    case MORELLO_ISA_UNAVAILABLE:
      return "MORELLO_ISA_UNAVAILABLE";
    case MORELLO_NO_IMPLEMENTATION:
      return "MORELLO_NO_IMPLEMENTATION";
    case MORELLO_BUDGET_EXCEEDED:
      return "MORELLO_BUDGET_EXCEEDED";
    case MORELLO_EXEC_MEMORY_DENIED:
      return "MORELLO_EXEC_MEMORY_DENIED";
    case MORELLO_OUT_OF_MEMORY:
      return "MORELLO_OUT_OF_MEMORY";
    case MORELLO_INTERNAL:
      return "MORELLO_INTERNAL";
    case MORELLO_IO_ERROR:
      return "MORELLO_IO_ERROR";
    case MORELLO_CORRUPT_TABLE:
      return "MORELLO_CORRUPT_TABLE";
    case MORELLO_INCOMPATIBLE_TABLE:
      return "MORELLO_INCOMPATIBLE_TABLE";
    case MORELLO_CANCELLED:
      return "MORELLO_CANCELLED";
    case MORELLO_TABLE_TOO_LARGE:
      return "MORELLO_TABLE_TOO_LARGE";
    case MORELLO_CORRUPT_KERNEL:
      return "MORELLO_CORRUPT_KERNEL";
    case MORELLO_INCOMPATIBLE_KERNEL:
      return "MORELLO_INCOMPATIBLE_KERNEL";
  }
  return "unknown status";
}

// A NULL error is what a failed call leaves when there was no memory to describe the failure.
morello_status morello_error_status(const morello_error* error) {
  return error == nullptr ? MORELLO_OUT_OF_MEMORY : error->status;
}

const char* morello_error_message(const morello_error* error) {
  return error == nullptr ? "no memory to describe the error" : error->message.get();
}

uint32_t morello_error_line(const morello_error* error) {
  return error == nullptr ? 0 : error->line;
}

uint32_t morello_error_column(const morello_error* error) {
  return error == nullptr ? 0 : error->column;
}

void morello_error_release(morello_error* error) { delete error; }

uint32_t morello_version(void) { return MORELLO_VERSION; }
const char* morello_version_string(void) { return MORELLO_VERSION_STRING; }
uint32_t morello_abi_version(void) { return MORELLO_ABI_VERSION; }
uint32_t morello_cost_model_version(void) { return MORELLO_COST_MODEL_VERSION; }
