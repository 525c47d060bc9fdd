// SPDX-License-Identifier: MIT
// Kernels: running them, and everything that can be asked of them.
#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "capi/operands.hh"
#include "support/concat.hh"
#include "support/overlap.hh"

using namespace morello;

namespace {

std::optional<Error> find_unusable(const morello_executor* executor) {
  if (executor == nullptr) return std::nullopt;
  if (auto e = check_struct(executor, kFirstExecutor, sizeof(morello_executor), "executor"))
    return e;
  if (executor->parallel_for == nullptr)
    return invalid_argument(
        "executor.parallel_for is NULL; it must be a function, or the executor NULL");
  if (const Pool* pool = Pool::of(*executor); pool != nullptr && pool->was_forked())
    return invalid_argument(
        "the executor is a pool whose threads are in the process that this one was forked from; "
        "create one here with morello_pool_create()");
  return std::nullopt;
}

/// find_unusable() for the path of every run, where the common cases are a comparison or two.
bool usable(const morello_executor* executor) noexcept {
  if (executor == nullptr) return true;
  const bool known =
      executor->struct_size == sizeof(morello_executor) && executor->parallel_for != nullptr;
  const Pool* pool = known ? Pool::of(*executor) : nullptr;
  if (known && (pool == nullptr || !pool->was_forked())) return true;
  return guarded(nullptr, [&]() -> Result<Done> {
           if (auto e = find_unusable(executor)) return *e;
           return Done{};
         }) == MORELLO_OK;
}

constexpr const char* kNotToRun =
    "the kernel was made with options.search_only or options.code_only and has no code to run; "
    "synthesize it without";

/// Whether the right one of two functions runs the kernel, and with a size that it has.
std::optional<Error> check_sized(const Kernel& k, bool sized, i64 size) {
  if (!k.sized && !sized) return std::nullopt;
  if (k.sized && sized) return check_size(size, k.sized->largest());
  return invalid_argument(sized ? "the kernel has no run-time size; run it without one"
                                : "the kernel has a run-time size; run it with "
                                  "morello_kernel_run_sized() or its checked form");
}

/// What a caller gives, and the size of the run; 0: the kernel has none.
struct Buffers {
  void* const* operands;
  const size_t* operand_bytes;
  i64 size;
};

/// Rows of an operand that a run of some size leaves alone.
i64 rows_beyond(const KernelOperand& o, i64 size) {
  return size == 0 || o.row_axis < 0 ? 0 : o.shape[static_cast<size_t>(o.row_axis)] - size;
}

PlacedTensor placed(const KernelOperand& o, const void* pointer, i64 size) {
  PlacedTensor t{reinterpret_cast<uintptr_t>(pointer), o.alignment, o.shape, o.strides};
  if (o.pack) {  // the packed form is the library's from end to end
    t.shape = {static_cast<i64>(o.bytes / o.alignment)};
    t.strides = {1};
  } else if (o.row_axis >= 0) {
    t.shape[static_cast<size_t>(o.row_axis)] -= rows_beyond(o, size);
  }
  return t;
}

/// Is there no byte of memory between the first and the last of both? So it is mostly; where it is
/// not, elements may still be apart, as those of neighbouring columns are.
bool are_apart(const void* a, u64 a_bytes, const void* b, u64 b_bytes) {
  const auto from_a = reinterpret_cast<uintptr_t>(a), from_b = reinterpret_cast<uintptr_t>(b);
  return from_a <= from_b ? from_b - from_a >= a_bytes : from_a - from_b >= b_bytes;
}

std::optional<Error> check_buffers(const Kernel& k, const Buffers& given) {
  const u32 count = static_cast<u32>(k.operands.size());
  auto name = [&](u32 i) { return OperandName{i, count, k.outputs}; };
  for (u32 i = 0; i < count; i++) {
    const KernelOperand& o = k.operands[i];
    if (auto e = check_pointer(name(i), given.operands[i], o.alignment)) return e;
    const u64 beyond = static_cast<u64>(rows_beyond(o, given.size)) * o.row_bytes();
    if (auto e = check_bytes(name(i), given.operand_bytes[i], o.bytes - beyond)) return e;
  }
  for (u32 out = count - k.outputs; out < count; out++) {
    for (u32 i = 0; i < out; i++) {
      if (are_apart(given.operands[i], k.operands[i].bytes, given.operands[out],
                    k.operands[out].bytes))
        continue;
      const PlacedTensor output = placed(k.operands[out], given.operands[out], given.size);
      if (find_overlap(placed(k.operands[i], given.operands[i], given.size), output) ==
          Overlap::kSome)
        return invalid_argument(
            concat({name(out).text(), " shares memory with ", name(i).text(),
                    "; no element may belong to both, not even in place: give one of them other "
                    "memory"}));
    }
  }
  return std::nullopt;
}

std::optional<Error> check_scratch(const Executable& executable, const void* scratch,
                                   size_t bytes) {
  if (scratch == nullptr) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  if (address % kScratchAlignment != 0)
    return Error{MORELLO_MISALIGNED,
                 concat({"scratch is ", address % kScratchAlignment, " bytes past a multiple of ",
                         kScratchAlignment, ", the alignment it must have"})};
  if (bytes < executable.scratch_bytes)
    return Error{
        MORELLO_OPERAND_TOO_SMALL,
        concat({"scratch has ", bytes, " bytes; the kernel needs ", executable.scratch_bytes})};
  return std::nullopt;
}

const KernelOperand* operand_at(const morello_kernel* kernel, u32 index) noexcept {
  if (kernel == nullptr || index >= kernel->kernel.operands.size()) return nullptr;
  return &kernel->kernel.operands[index];
}

double cycles(i64 units) noexcept {
  return static_cast<double>(units) / static_cast<double>(kUnitsPerCycle);
}

/// Its code, if it can run.
const Executable* runnable_of(const morello_kernel* kernel) noexcept {
  return kernel != nullptr && kernel->kernel.can_run() ? &*kernel->kernel.executable : nullptr;
}
/// The same of a kernel without a run-time size.
const Executable* executable_of(const morello_kernel* kernel) noexcept {
  return kernel != nullptr && kernel->kernel.sized ? nullptr : runnable_of(kernel);
}
bool has_size(const Kernel& k, i64 size) noexcept {
  return k.sized && size >= 1 && size <= k.sized->largest();
}

}  // namespace

/// With what has been checked.
static morello_status run(const Executable& executable, void* const* operands, void* scratch,
                          const morello_executor* executor, i64 size) noexcept {
  if (scratch != nullptr || executable.scratch_bytes == 0) {
    executable.call(operands, scratch, executor, size);
    return MORELLO_OK;
  }
  return guarded_status([&] {
    executable.run(operands, nullptr, executor, size);
    return MORELLO_OK;
  });
}

morello_status morello_kernel_run(const morello_kernel* kernel, void* const* operands,
                                  void* scratch, const morello_executor* executor) {
  const Executable* executable = executable_of(kernel);
  if (executable == nullptr) return MORELLO_INVALID_ARGUMENT;
  if (operands == nullptr) return MORELLO_NULL_OPERAND;
  const morello_status status = kernel->kernel.checks.check(operands, scratch);
  if (status != MORELLO_OK) return status;
  if (!usable(executor)) return MORELLO_INVALID_ARGUMENT;
  return run(*executable, operands, scratch, executor, 0);
}

static morello_status run_checked(const morello_kernel* kernel, bool sized, const Buffers& given,
                                  uint32_t operand_count, void* scratch, size_t scratch_bytes,
                                  const morello_executor* executor, morello_error** err) noexcept {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"kernel", kernel}})) return *e;
    const Executable* executable = runnable_of(kernel);
    if (executable == nullptr) return invalid_argument(kNotToRun);
    if (auto e = check_sized(kernel->kernel, sized, given.size)) return *e;
    if (auto e = check_list(given.operands)) return *e;
    if (auto e = find_null({{"operand_bytes", given.operand_bytes}})) return *e;
    const Kernel& k = kernel->kernel;
    if (operand_count != k.operands.size())
      return invalid_argument(concat({"argument `operand_count` is ", operand_count,
                                      "; the kernel has ", k.operands.size(), " operands"}));
    if (auto e = check_buffers(k, given)) return *e;
    if (auto e = check_scratch(*executable, scratch, scratch_bytes)) return *e;
    if (auto e = find_unusable(executor)) return *e;
    executable->run(given.operands, scratch, executor, given.size);
    return Done{};
  });
}

morello_status morello_kernel_run_checked(const morello_kernel* kernel, void* const* operands,
                                          const size_t* operand_bytes, uint32_t operand_count,
                                          void* scratch, size_t scratch_bytes,
                                          const morello_executor* executor, morello_error** err) {
  return run_checked(kernel, false, {operands, operand_bytes, 0}, operand_count, scratch,
                     scratch_bytes, executor, err);
}

int64_t morello_kernel_largest_size(const morello_kernel* kernel) {
  return kernel == nullptr || !kernel->kernel.sized ? 0 : kernel->kernel.sized->largest();
}

morello_status morello_kernel_run_sized(const morello_kernel* kernel, int64_t size,
                                        void* const* operands, void* scratch,
                                        const morello_executor* executor) {
  const Executable* executable = runnable_of(kernel);
  if (executable == nullptr || !has_size(kernel->kernel, size)) return MORELLO_INVALID_ARGUMENT;
  if (operands == nullptr) return MORELLO_NULL_OPERAND;
  const morello_status status = kernel->kernel.checks.check(operands, scratch);
  if (status != MORELLO_OK) return status;
  if (!usable(executor)) return MORELLO_INVALID_ARGUMENT;
  return run(*executable, operands, scratch, executor, size);
}

morello_status morello_kernel_run_sized_checked(const morello_kernel* kernel, int64_t size,
                                                void* const* operands, const size_t* operand_bytes,
                                                uint32_t operand_count, void* scratch,
                                                size_t scratch_bytes,
                                                const morello_executor* executor,
                                                morello_error** err) {
  return run_checked(kernel, true, {operands, operand_bytes, size}, operand_count, scratch,
                     scratch_bytes, executor, err);
}

morello_sized_kernel_fn morello_kernel_sized_function(const morello_kernel* kernel) {
  const Executable* executable = runnable_of(kernel);
  return executable == nullptr || !kernel->kernel.sized ? nullptr : executable->sized_function();
}

double morello_kernel_sized_cost(const morello_kernel* kernel, int64_t size) {
  if (kernel == nullptr || !has_size(kernel->kernel, size)) return 0;
  return cycles(kernel->kernel.sized->cost[static_cast<size_t>(size)]);
}

morello_kernel_fn morello_kernel_function(const morello_kernel* kernel) {
  const Executable* executable = executable_of(kernel);
  return executable == nullptr ? nullptr : executable->function();
}

uint32_t morello_kernel_operand_count(const morello_kernel* kernel) {
  return kernel == nullptr ? 0 : static_cast<uint32_t>(kernel->kernel.operands.size());
}

uint32_t morello_kernel_output_count(const morello_kernel* kernel) {
  return kernel == nullptr ? 0 : kernel->kernel.outputs;
}

size_t morello_kernel_operand_size(const morello_kernel* kernel, uint32_t index) {
  const KernelOperand* operand = operand_at(kernel, index);
  return operand == nullptr ? 0 : operand->bytes;
}

size_t morello_kernel_scratch_size(const morello_kernel* kernel) {
  const Executable* executable = code_of(kernel);
  return executable == nullptr ? 0 : executable->scratch_bytes;
}

size_t morello_kernel_scratch_alignment(const morello_kernel*) { return kScratchAlignment; }

morello_status morello_kernel_pack(const morello_kernel* kernel, uint32_t index, const void* src,
                                   void* dst) {
  const KernelOperand* o = operand_at(kernel, index);
  if (o == nullptr || runnable_of(kernel) == nullptr) return MORELLO_INVALID_ARGUMENT;
  if (src == nullptr || dst == nullptr) return MORELLO_NULL_OPERAND;
  const auto addresses = reinterpret_cast<uintptr_t>(src) | reinterpret_cast<uintptr_t>(dst);
  if (addresses % o->alignment != 0) return MORELLO_MISALIGNED;
  return guarded_status([&] {
    kernel->kernel.pack(index, src, dst);
    return MORELLO_OK;
  });
}

size_t morello_kernel_print(const morello_kernel* kernel, char* buffer, size_t size) {
  return copy_text(kernel == nullptr ? std::string_view() : kernel->impl_text, buffer, size);
}

size_t morello_kernel_print_plan(const morello_kernel* kernel, char* buffer, size_t size) {
  return copy_text(kernel == nullptr ? std::string_view() : kernel->plan_text, buffer, size);
}

size_t morello_kernel_explain(const morello_kernel* kernel, char* buffer, size_t size) {
  return guarded_value(size_t{0}, [&] {
    const bool known = kernel != nullptr && kernel->explain;
    return copy_text(known ? kernel->explain() : std::string(), buffer, size);
  });
}

const char* morello_kernel_name(const morello_kernel* kernel) {
  return kernel == nullptr ? "" : kernel->kernel.name.c_str();
}

const char* morello_kernel_spec(const morello_kernel* kernel) {
  return kernel == nullptr ? "" : kernel->kernel.spec.c_str();
}

int32_t morello_kernel_isa(const morello_kernel* kernel) {
  return kernel == nullptr ? 0 : kernel->kernel.target;
}

double morello_kernel_cost(const morello_kernel* kernel) {
  if (kernel == nullptr) return 0;
  return cycles(kernel->kernel.estimate.cost);
}

morello_status morello_kernel_stats_get(const morello_kernel* kernel, morello_search_stats* stats,
                                        size_t stats_size) {
  if (kernel == nullptr || stats == nullptr || stats_size < kFirstSearchStats ||
      stats_size > kLargestStruct)
    return MORELLO_INVALID_ARGUMENT;
  morello_search_stats known = kernel->stats;
  known.lower_bound = cycles(kernel->kernel.estimate.bound);
  known.optimal = kernel->kernel.estimate.optimal ? 1 : 0;
  write_struct(stats, stats_size, known);
  return MORELLO_OK;
}

morello_kernel* morello_kernel_retain(const morello_kernel* kernel) { return retain(kernel); }
void morello_kernel_release(morello_kernel* kernel) { release(kernel); }
