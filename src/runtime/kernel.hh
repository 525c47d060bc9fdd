// SPDX-License-Identifier: MIT
// Kernel: all that running one takes, and little of how it was made: who runs stored kernels links
// without a compiler (tests/runtime/run_only.cc). Immutable once built, so any number of threads
// may run it.
#ifndef MORELLO_RUNTIME_KERNEL_HH
#define MORELLO_RUNTIME_KERNEL_HH

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/code_memory.hh"
#include "target/target.hh"

namespace morello {

/// Of the first byte of any code.
inline constexpr size_t kCodeAlignment = 64;

/// One function of a code, and how its frame comes and goes: what debuggers and profilers ask for.
struct CodeFunction {
  morello_code_kind kind = MORELLO_CODE_ENTRY;
  u32 begin = 0, end = 0;                 // offsets in the code
  std::vector<morello_frame_step> steps;  // by offset; the first one is at `begin`
};

/// One function to call, with those that it calls. In executable memory, unless the kernel is not
/// to be run.
struct Executable {
  CodeMemory code;
  size_t entry = 0;
  u64 scratch_bytes = 0;
  std::vector<CodeFunction> functions;  // by address

  morello_kernel_fn function() const noexcept {
    return reinterpret_cast<morello_kernel_fn>(address());
  }
  /// Of a kernel with a run-time size.
  morello_sized_kernel_fn sized_function() const noexcept {
    return reinterpret_cast<morello_sized_kernel_fn>(address());
  }
  /// `size`: of a kernel with a run-time size, else 0.
  void call(void* const* operands, void* scratch, const morello_executor* executor,
            i64 size) const {
    size == 0 ? function()(operands, scratch, executor)
              : sized_function()(operands, scratch, executor, size);
  }
  /// Runs it; takes scratch for this call alone if `scratch` is nullptr and some is needed.
  /// Throws std::bad_alloc.
  void run(void* const* operands, void* scratch, const morello_executor* executor,
           i64 size = 0) const;

 private:
  uintptr_t address() const noexcept { return reinterpret_cast<uintptr_t>(code.data()) + entry; }
};

struct KernelOperand {
  u64 bytes = 0;      // from the first to past the last element; packed, if the layout was free
  u32 alignment = 1;  // of its elements; a power of two
  std::vector<i64> shape, strides;  // strides are empty if the layout was free
  int row_axis = -1;                // which has the run-time size; -1: none has
  /// Where the layout was free: copies {row-major tensor, packed tensor}. Absent if not to be run.
  std::optional<Executable> pack;

  /// From one row of the run-time size to the next.
  u64 row_bytes() const noexcept {
    return row_axis < 0 ? 0 : static_cast<u64>(strides[static_cast<size_t>(row_axis)]) * alignment;
  }
};

/// What is checked on every run, packed so that it costs a few nanoseconds.
struct PointerChecks {
  u32 count = 0;
  std::array<u32, kMaxOperands> mask{};  // of each operand: its alignment, less 1

  void add(u32 alignment) { mask[count++] = alignment - 1; }
  /// MORELLO_OK, MORELLO_NULL_OPERAND or MORELLO_MISALIGNED.
  Status check(void* const* operands, const void* scratch) const noexcept {
    uintptr_t low_bits = reinterpret_cast<uintptr_t>(scratch) & (kScratchAlignment - 1);
    bool null = false;
    for (u32 i = 0; i < count; i++) {
      const auto address = reinterpret_cast<uintptr_t>(operands[i]);
      null |= address == 0;
      low_bits |= address & mask[i];
    }
    if (null) return MORELLO_NULL_OPERAND;
    return low_bits == 0 ? MORELLO_OK : MORELLO_MISALIGNED;
  }
};

/// What the search says of a program, in units (target/target.hh).
struct Estimate {
  i64 cost = 0;
  i64 bound = 0;         // no program costs less
  bool optimal = false;  // proven
};

/// Of a kernel with a run-time size. Its code is a morello_sized_kernel_fn, and all else that a
/// kernel tells is of the largest size.
struct SizedCosts {
  std::vector<i64> cost;  // units, of each size; 0 of no rows
  i64 largest() const noexcept { return std::ssize(cost) - 1; }
};

struct Kernel {
  std::optional<Executable> executable;  // absent if only searched for
  PointerChecks checks;
  std::string name;
  std::string spec;  // what it computes, as users write it
  Estimate estimate;
  i32 target = 0;                       // its number
  std::vector<KernelOperand> operands;  // inputs, then outputs
  u32 outputs = 1;                      // how many of them are
  std::optional<SizedCosts> sized;      // absent if all sizes are fixed

  bool can_run() const noexcept { return executable && executable->code.executable(); }

  /// Writes an operand in the layout that the program expects; `source` is dense and row-major.
  /// REQUIRES: can_run(), pointers that are valid and aligned. Throws std::bad_alloc.
  void pack(u32 index, const void* source, void* packed) const;
};

}  // namespace morello

#endif
