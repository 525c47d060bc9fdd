/* SPDX-License-Identifier: MIT
 * A program that runs a kernel which was stored where it was built: with libmorello-runtime, which
 * can do no more than that and is small.
 *
 *     morello synth --save layer.mkrn 'matmul f32[8,64] f32[64,96]{*} -> f32[8,96]'
 *     cc stored.c $(pkg-config --cflags --libs morello-runtime) -lm -o run && ./run layer.mkrn
 *
 * A stored kernel is machine code: load no file that you would not load as a library.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "morello/morello.h"

enum { M = 8, K = 64, N = 96 };

static float a[M * K], b[K * N], c[M * N];

static int failed(const char* what, morello_error* err) {
  fprintf(stderr, "%s: %s: %s\n", what, morello_status_string(morello_error_status(err)),
          morello_error_message(err));
  morello_error_release(err);
  return EXIT_FAILURE;
}

/* How far the result is from that of plain loops, at most. */
static double error_of_result(void) {
  double worst = 0;
  for (int m = 0; m < M; m++) {
    for (int n = 0; n < N; n++) {
      double sum = 0;
      for (int k = 0; k < K; k++) sum += (double)a[m * K + k] * b[k * N + n];
      worst = fmax(worst, fabs(sum - c[m * N + n]));
    }
  }
  return worst;
}

static int run(const morello_kernel* kernel) {
  /* The file says what it is for; its second operand has a layout of its own. */
  if (morello_kernel_operand_count(kernel) != 3 ||
      morello_kernel_operand_size(kernel, 0) != sizeof a ||
      morello_kernel_operand_size(kernel, 2) != sizeof c) {
    fprintf(stderr, "this is %s\n", morello_kernel_spec(kernel));
    return EXIT_FAILURE;
  }
  const size_t packed_size = morello_kernel_operand_size(kernel, 1);
  void* packed = aligned_alloc(64, (packed_size + 63) / 64 * 64);
  if (packed == NULL) return EXIT_FAILURE;
  int result = EXIT_FAILURE;
  void* operands[] = {a, packed, c};
  const size_t sizes[] = {sizeof a, packed_size, sizeof c};
  morello_error* err = NULL;
  if (morello_kernel_pack(kernel, 1, b, packed) == MORELLO_OK) {
    if (morello_kernel_run_checked(kernel, operands, sizes, 3, NULL, 0, NULL, &err) == MORELLO_OK) {
      const double worst = error_of_result();
      printf("%s: error at most %.2g\n", morello_kernel_name(kernel), worst);
      result = worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
    } else {
      failed("run", err);
    }
  }
  free(packed);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE.mkrn\n", argv[0]);
    return EXIT_FAILURE;
  }
  for (int i = 0; i < M * K; i++) a[i] = (float)(i % 13) / 13;
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7) / 7 - 0.5f;
  morello_context* context = NULL;
  morello_kernel* kernel = NULL;
  morello_error* err = NULL;
  if (morello_context_create(NULL, &context, &err) != MORELLO_OK) return failed("context", err);
  if (morello_kernel_load(context, argv[1], &kernel, &err) != MORELLO_OK)
    return failed("load", err);
  const int result = run(kernel);
  morello_kernel_release(kernel);
  morello_context_release(context);
  return result;
}
