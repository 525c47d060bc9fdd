// SPDX-License-Identifier: MIT
// Crashes or stays busy in a kernel, or below one: crash.c callback|guard|busy.
#define _GNU_SOURCE  // MAP_ANONYMOUS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "morello/morello.h"

enum { kSize = 256 };
static const char* const kSpec = "matmul f32[256,256] f32[256,256] -> f32[256,256]";

static void need(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

__attribute__((noinline)) static void crash_in_executor(void* user, size_t count,
                                                        void (*fn)(void*, size_t), void* arg) {
  (void)user, (void)count, (void)fn, (void)arg;
  raise(SIGSEGV);
  __asm__ volatile("");  // so that the call is none in the tail, which would leave no frame
}

/// Memory of `bytes`, of which the last `missing` cannot be touched.
static float* guarded(size_t bytes, size_t missing) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  need(memory != MAP_FAILED, "mmap");
  need(missing == 0 || mprotect(memory + bytes - missing, missing, PROT_NONE) == 0, "mprotect");
  return (float*)memory;
}

__attribute__((noinline)) static void use_kernel(const morello_kernel* kernel, const char* how) {
  const size_t bytes = sizeof(float) * kSize * kSize;
  void* operands[] = {guarded(bytes, 0), guarded(bytes, strcmp(how, "guard") == 0 ? 4096 : 0),
                      guarded(bytes, 0)};
  morello_executor executor = {sizeof executor, NULL, crash_in_executor};
  const morello_executor* used = strcmp(how, "callback") == 0 ? &executor : NULL;
  const int rounds = strcmp(how, "busy") == 0 ? 1500 : 1;
  for (int i = 0; i < rounds; i++)
    need(morello_kernel_run(kernel, operands, NULL, used) == MORELLO_OK, "run");
}

int main(int argc, char** argv) {
  need(argc == 2, "crash callback|guard|busy");
  morello_context* context = NULL;
  morello_spec* spec = NULL;
  morello_kernel* kernel = NULL;
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.threads = strcmp(argv[1], "callback") == 0 ? 4 : 1;
  options.target = MORELLO_ISA_AVX2;
  need(morello_context_create(NULL, &context, NULL) == MORELLO_OK, "context");
  need(morello_spec_parse(context, kSpec, &spec, NULL) == MORELLO_OK, "spec");
  need(morello_synthesize(context, spec, &options, &kernel, NULL) == MORELLO_OK, "kernel");
  use_kernel(kernel, argv[1]);
  printf("done\n");
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_context_release(context);
  return 0;
}
