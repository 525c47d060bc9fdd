// SPDX-License-Identifier: MIT
// A process that may not have the tile registers: AUTO takes another target, and who names it is
// told. A process of its own, for what Linux has given stays given.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "morello/morello.h"

namespace {

constexpr int kSkipped = 77;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

/// The target of the kernel, or -1; what the library says then.
int target_of_kernel(morello_context* context, int32_t target, char* message, size_t size) {
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  morello_error* error = nullptr;
  expect(
      morello_spec_parse(context, "matmul bf16[32,64] bf16[64,32]", &spec, nullptr) == MORELLO_OK,
      "the Spec");
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = target;
  const morello_status status = morello_synthesize(context, spec, &options, &kernel, &error);
  int found = -1;
  if (status == MORELLO_OK) found = morello_kernel_isa(kernel);
  std::snprintf(message, size, "%s", error != nullptr ? morello_error_message(error) : "");
  expect(status == MORELLO_OK || status == MORELLO_ISA_UNAVAILABLE, "the status");
  morello_error_release(error);
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  return found;
}

}  // namespace

int main() {
  morello_cpu_info cpu;
  expect(morello_cpu_info_get(&cpu, sizeof cpu) == MORELLO_OK, "the facts of the CPU");
  if ((cpu.usable_isas >> MORELLO_ISA_AVX512_AMX & 1) == 0) {
    std::puts("skipped: no AMX here, or MORELLO_MAX_ISA forbids it");
    return kSkipped;
  }
  std::vector<char> memory(8192);  // tiles alone take as much
  stack_t small{};
  small.ss_sp = memory.data();
  small.ss_size = memory.size();
  expect(sigaltstack(&small, nullptr) == 0, "a small alternate signal stack");

  morello_context* context = nullptr;
  char message[400];
  expect(morello_context_create(nullptr, &context, nullptr) == MORELLO_OK, "the context");
  expect(target_of_kernel(context, MORELLO_ISA_AUTO, message, sizeof message) ==
             MORELLO_ISA_AVX512_BF16,
         "AUTO takes the next target");
  expect(target_of_kernel(context, MORELLO_ISA_AVX512_AMX, message, sizeof message) == -1,
         "the target is refused");
  expect(std::strstr(message, "alternate signal stack") != nullptr, "it is said why");

  stack_t none{};
  none.ss_flags = SS_DISABLE;
  expect(sigaltstack(&none, nullptr) == 0, "no alternate signal stack");
  expect(target_of_kernel(context, MORELLO_ISA_AUTO, message, sizeof message) ==
             MORELLO_ISA_AVX512_AMX,
         "AUTO takes the target");
  morello_context_release(context);
  return 0;
}
