/* SPDX-License-Identifier: MIT
 * For programs that embed the library: whose allocation functions does the process use? Plain C
 * that is C++ too, so that hosts in both languages make the same checks. */
#ifndef MORELLO_TESTS_ABI_HOST_CHECK_H
#define MORELLO_TESTS_ABI_HOST_CHECK_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "morello/morello.h"

static int failures = 0;

static void expect(int condition, const char *what, const char *when) {
  if (!condition) {
    printf("FAILED: %s (%s)\n", what, when);
    ++failures;
  }
}

/* Is `address` inside the library whose file name begins with `library`? */
static int is_from(const void *address, const char *library) {
  Dl_info info;
  if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL) return 0;
  const char *slash = strrchr(info.dli_fname, '/');
  const char *name = slash == NULL ? info.dli_fname : slash + 1;
  return strncmp(name, library, strlen(library)) == 0;
}

/* What the names resolve to, for this program and for everything it loads later. */
static void check_names(const char *when) {
  static const char *const libc_names[] = {"malloc",         "free",         "calloc",
                                           "realloc",        "memalign",     "aligned_alloc",
                                           "posix_memalign", "reallocarray", "malloc_usable_size"};
  static const char *const cxx_names[] = {"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm"};
  static const char *const foreign[] = {"mi_malloc", "mi_free", "mi_malloc_aligned"};
  for (size_t i = 0; i < sizeof libc_names / sizeof *libc_names; ++i) {
    expect(is_from(dlsym(RTLD_DEFAULT, libc_names[i]), "libc.so"), libc_names[i], when);
  }
  for (size_t i = 0; i < sizeof cxx_names / sizeof *cxx_names; ++i) {
    expect(is_from(dlsym(RTLD_DEFAULT, cxx_names[i]), "libstdc++.so"), cxx_names[i], when);
  }
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i) {
    expect(dlsym(RTLD_DEFAULT, foreign[i]) == NULL, foreign[i], when);
  }
}

/* Does libc's own bookkeeping see a block that the caller allocated by any means? */
static int libc_serves(size_t used_before, size_t bytes) {
  return mallinfo2().uordblks >= used_before + bytes;
}

static void check_malloc(const char *when) {
  const size_t bytes = 50000;
  const size_t before = mallinfo2().uordblks;
  void *block = malloc(bytes);
  expect(block != NULL && libc_serves(before, bytes), "malloc is served by libc", when);
  free(block);
  expect(mallinfo2().uordblks <= before, "free gives the block back to libc", when);
}

/* Everything that allocates inside the library: parse, search, code, run, threads. */
static void use_library(void) {
  static float a[6 * 7], b[7 * 8], c[6 * 8];
  void *const operands[] = {a, b, c};
  morello_context *context = NULL;
  morello_spec *spec = NULL;
  morello_kernel *kernel = NULL;
  morello_pool *pool = NULL;
  morello_error *error = NULL;
  for (int i = 0; i < 6 * 7; ++i) a[i] = 1;
  for (int i = 0; i < 7 * 8; ++i) b[i] = 2;
  expect(morello_context_create(NULL, &context, &error) == MORELLO_OK, "context", "use");
  expect(morello_spec_parse(context, "matmul f32[6,7] f32[7,8] -> f32[6,8]", &spec, &error) ==
             MORELLO_OK,
         "parse", "use");
  const morello_status status = morello_synthesize(context, spec, NULL, &kernel, &error);
  if (status == MORELLO_ISA_UNAVAILABLE) {
    printf("no kernel on this CPU: %s\n", morello_error_message(error));
    exit(77);
  }
  expect(status == MORELLO_OK, "synthesize", "use");
  expect(morello_pool_create(2, &pool, &error) == MORELLO_OK, "pool", "use");
  if (failures != 0) {
    if (error != NULL) printf("%s\n", morello_error_message(error));
    exit(1);
  }
  expect(morello_kernel_run(kernel, operands, NULL, morello_pool_executor(pool)) == MORELLO_OK,
         "run", "use");
  for (int i = 0; i < 6 * 8; ++i) expect(c[i] == 14, "product", "use");
  morello_pool_release(pool);
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_context_release(context);
}

#endif
