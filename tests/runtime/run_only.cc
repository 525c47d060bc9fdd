// SPDX-License-Identifier: MIT
// A program that only runs kernels: linked from the objects of src/support, src/target and
// src/runtime alone, so that it links as long as these refer to no search, table or emitter.
#include <cstdio>

#include "runtime/kernel.hh"
#include "runtime/pool.hh"

namespace {

using namespace morello;

// void kernel(void* const* operands, void* scratch, const morello_executor*), System V ABI:
// operands[1][0] = operands[0][0], by way of scratch.
constexpr u8 kCopy[] = {
    0xcc,                    // int3: not the entry
    0x48, 0x8b, 0x07,        // mov rax, [rdi]
    0x48, 0x8b, 0x4f, 0x08,  // mov rcx, [rdi + 8]
    0x8b, 0x10,              // mov edx, [rax]
    0x89, 0x16,              // mov [rsi], edx
    0x8b, 0x16,              // mov edx, [rsi]
    0x89, 0x11,              // mov [rcx], edx
    0xc3,                    // ret
};

/// A kernel as one that was read from a file would be.
Result<Kernel> stored_kernel() {
  Result<CodeMemory> code = CodeMemory::make(kCopy);
  if (!code) return code.error();
  Kernel kernel;
  kernel.name = "copy";
  kernel.operands.resize(2);
  for (KernelOperand& operand : kernel.operands) {
    operand.bytes = operand.alignment = sizeof(float);
    kernel.checks.add(operand.alignment);
  }
  kernel.executable.emplace();
  kernel.executable->code = std::move(*code);
  kernel.executable->entry = 1;
  kernel.executable->scratch_bytes = sizeof(float);
  return kernel;
}

int run() {
  const Result<Kernel> kernel = stored_kernel();
  if (!kernel) {
    std::printf("no executable memory: %s\n", kernel.error().message.c_str());
    return 1;
  }
  const Result<std::unique_ptr<Pool>> pool = Pool::make(2);
  if (!pool) return 1;
  const float in = 42;
  float out = 0;
  void* const operands[] = {const_cast<float*>(&in), &out};
  if (kernel->checks.check(operands, nullptr) != MORELLO_OK) return 1;
  kernel->executable->run(operands, nullptr, &(*pool)->executor());
  std::printf("%s: %g\n", kernel->name.c_str(), static_cast<double>(out));
  return out == in ? 0 : 1;
}

}  // namespace

int main() { return run(); }
