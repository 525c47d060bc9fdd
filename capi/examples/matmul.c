/* SPDX-License-Identifier: MIT
 * A matrix product with bias and ReLU, from one line of text to a result, in C11.
 *
 *     cc matmul.c $(pkg-config --cflags --libs morello) -o matmul && ./matmul
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "morello/morello.h"

enum { kM = 64, kK = 768, kN = 3072 };

/* Prints what went wrong, and where in the text if it was the text. */
static int failed(const char* what, morello_error* err) {
  fprintf(stderr, "%s: %s: %s", what, morello_status_string(morello_error_status(err)),
          morello_error_message(err));
  if (morello_error_line(err) != 0)
    fprintf(stderr, " (line %u, column %u)", morello_error_line(err), morello_error_column(err));
  fputc('\n', stderr);
  morello_error_release(err);
  return EXIT_FAILURE;
}

static float* random_floats(size_t count) {
  float* values = malloc(count * sizeof *values);
  for (size_t i = 0; values != NULL && i < count; i++)
    values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  return values;
}

/* The largest difference between the kernel's result and the slow, exact reference. */
static float check(const morello_spec* spec, void* const* operands, const float* result) {
  float* expected = malloc(sizeof(float) * kM * kN);
  if (expected == NULL) return FLT_MAX;
  void* const reference[] = {operands[0], operands[1], operands[2], expected};
  float worst = FLT_MAX;
  if (morello_spec_evaluate(spec, reference, NULL) == MORELLO_OK) {
    worst = 0;
    for (size_t i = 0; i < (size_t)kM * kN; i++) {
      float error = result[i] - expected[i];
      if (error < 0) error = -error;
      if (!(error < worst)) worst = error == error ? error : FLT_MAX; /* NaN: as wrong as can be */
    }
  }
  free(expected);
  return worst;
}

int main(void) {
  const char* text = "matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]";
  morello_context* context = NULL;
  morello_spec* spec = NULL;
  morello_kernel* kernel = NULL;
  morello_error* err = NULL;
  if (morello_context_create(NULL, &context, &err) != MORELLO_OK) return failed("context", err);
  if (morello_spec_parse(context, text, &spec, &err) != MORELLO_OK) return failed("spec", err);
  if (morello_synthesize(context, spec, NULL, &kernel, &err) != MORELLO_OK)
    return failed("synthesize", err);

  float *a = random_floats((size_t)kM * kK), *b = random_floats((size_t)kK * kN);
  float *bias = random_floats(kN), *out = random_floats((size_t)kM * kN);
  if (a == NULL || b == NULL || bias == NULL || out == NULL) return EXIT_FAILURE;
  void* const operands[] = {a, b, bias, out}; /* inputs in the order of the Spec, then the output */
  if (morello_kernel_run(kernel, operands, NULL, NULL) != MORELLO_OK) return EXIT_FAILURE;

  const float worst = check(spec, operands, out);
  printf("%s: out[0] = %g, largest error %g\n", morello_kernel_name(kernel), (double)out[0],
         (double)worst);
  free(a);
  free(b);
  free(bias);
  free(out);
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_context_release(context);
  return worst < 1e-3f ? EXIT_SUCCESS : EXIT_FAILURE;
}
