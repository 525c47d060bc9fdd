/* SPDX-License-Identifier: MIT
 * Links kernels that `morello emit --threads 3` wrote, and brings the threads: the same results
 * with them, on one thread in another order, and with none; a second such header in one program.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"
#include "threads2.h"

static int failures = 0;

static void fail(const char* what) {
  printf("FAILED: %s\n", what);
  failures++;
}

struct job {
  void (*fn)(void*, size_t);
  void* arg;
  size_t index;
};

static void* run(void* job) {
  struct job* j = job;
  j->fn(j->arg, j->index);
  return NULL;
}

/* What `user` is. */
struct brought {
  size_t calls, most;
};

static void count(struct brought* b, size_t tasks) {
  b->calls++;
  if (tasks > b->most) b->most = tasks;
}

static void on_threads(void* user, size_t tasks, void (*fn)(void*, size_t), void* arg) {
  pthread_t threads[8];
  struct job jobs[8];
  count(user, tasks);
  if (tasks > 8) abort();
  for (size_t i = 0; i < tasks; i++) {
    struct job job = {fn, arg, i};
    jobs[i] = job;
    if (pthread_create(&threads[i], NULL, run, &jobs[i]) != 0) abort();
  }
  for (size_t i = 0; i < tasks; i++) pthread_join(threads[i], NULL);
}

static void backwards(void* user, size_t tasks, void (*fn)(void*, size_t), void* arg) {
  count(user, tasks);
  while (tasks-- > 0) fn(arg, tasks);
}

static float* floats(size_t n) {
  float* x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = (float)(i * 37 % 11) - 5;
  return x;
}

static void* scratch_of(size_t bytes) {
  return bytes == 0 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* Fails unless `out` is as `wanted`, and fewer threads than asked for were enough. */
static void judge(const char* name, const float* out, const float* wanted, size_t n,
                  morello_parallel_for by, const struct brought* b, size_t most) {
  if (memcmp(out, wanted, n * sizeof *out) != 0) fail(name);
  if (by != NULL && (b->calls == 0 || b->most < 2 || b->most > most)) fail("threads"), fail(name);
}

static void check(morello_parallel_for by) {
  enum { M = 96, K = 64, N = 80, LONG = 60000, ROWS = ROWS_LARGEST_SIZE };
  float *a = floats(M * K), *b = floats(K * N), *out = floats(M * N), *wanted = floats(M * N);
  for (size_t m = 0; m < M; m++)
    for (size_t n = 0; n < N; n++) {
      float sum = 0;
      for (size_t k = 0; k < K; k++) sum += a[m * K + k] * b[k * N + n];
      wanted[m * N + n] = sum;
    }
  struct brought brought = {0, 0};
  void* scratch = scratch_of(PRODUCT_SCRATCH_BYTES);
  if (product(a, b, out, scratch, by, &brought) != 0) fail("product");
  judge("product", out, wanted, M * N, by, &brought, PRODUCT_THREADS);
  free(scratch);

  scratch = scratch_of(ROWS_SCRATCH_BYTES);
  memset(out, 0, M * N * sizeof *out);
  memset(&brought, 0, sizeof brought);
  if (rows(a, b, out, ROWS, scratch, by, &brought) != 0) fail("rows");
  judge("rows", out, wanted, ROWS * N, by, &brought, ROWS_THREADS);
  if (rows(a, b, out, ROWS + 1, scratch, by, &brought) != -2) fail("rows: size");
  free(scratch);

  /* The last operand, scratch, and what brings threads come on the stack. */
  float* in[7];
  float *all = floats(LONG), *right = floats(LONG);
  for (size_t i = 0; i < 7; i++) in[i] = floats(LONG);
  for (size_t n = 0; n < LONG; n++) {
    for (size_t i = 0; i < 7; i++) in[i][n] += (float)i;
    right[n] = in[0][n] + in[1][n] - in[2][n] + in[3][n] - in[4][n] + in[5][n] - in[6][n];
  }
  scratch = scratch_of(MANY_SCRATCH_BYTES);
  memset(&brought, 0, sizeof brought);
  if (many(in[0], in[1], in[2], in[3], in[4], in[5], in[6], all, scratch, by, &brought) != 0)
    fail("many");
  judge("many", all, right, LONG, by, &brought, MANY_THREADS);
}

int main(void) {
  check(on_threads);
  check(backwards);
  check(NULL);
  printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
