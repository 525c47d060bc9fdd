/* SPDX-License-Identifier: MIT
 * A program whose kernels were made when it was built: it needs no morello to run. CMakeLists.txt
 * and meson.build beside it show how; by hand it is
 *
 *     morello emit 'layer = matmul f32[8,64] f32[64,96]{*} + bias f32[96] -> relu -> f32[8,96]' \
 *         -o kernels.o --header kernels.h
 *     cc layer.c kernels.o -o layer && ./layer
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { ROWS = 8, INPUTS = 64, OUTPUTS = 96 };

static float in[ROWS * INPUTS], weights[INPUTS * OUTPUTS], bias[OUTPUTS], out[ROWS * OUTPUTS];

/* What the kernel computes, as a plain loop. */
static float expected(int row, int column) {
  float sum = bias[column];
  for (int i = 0; i < INPUTS; i++) sum += in[row * INPUTS + i] * weights[i * OUTPUTS + column];
  return sum < 0 ? 0 : sum;
}

int main(void) {
  for (int i = 0; i < ROWS * INPUTS; i++) in[i] = (float)(i % 13) / 8 - 0.5f;
  for (int i = 0; i < INPUTS * OUTPUTS; i++) weights[i] = (float)(i % 11) / 16 - 0.25f;
  for (int i = 0; i < OUTPUTS; i++) bias[i] = (float)i / 64;

  /* Weights are packed once. Sizes are constants of the header; scratch of none may be NULL. */
  float* packed = aligned_alloc(64, (LAYER_PACKED_B_BYTES + 63) / 64 * 64);
  void* scratch = NULL;
  if (LAYER_SCRATCH_BYTES + LAYER_PACK_B_SCRATCH_BYTES > 0)
    scratch = aligned_alloc(LAYER_SCRATCH_ALIGNMENT,
                            (LAYER_SCRATCH_BYTES + LAYER_PACK_B_SCRATCH_BYTES + 63) / 64 * 64);
  if (packed == NULL || layer_pack_b(weights, packed, scratch) != 0 ||
      layer(in, packed, bias, out, scratch) != 0) {
    fprintf(stderr, "no memory, or this CPU has neither AVX2 nor AVX-512\n");
    return 1;
  }
  float worst = 0;
  for (int row = 0; row < ROWS; row++)
    for (int column = 0; column < OUTPUTS; column++) {
      const float off = out[row * OUTPUTS + column] - expected(row, column);
      if (off > worst || -off > worst) worst = off < 0 ? -off : off;
    }
  printf("largest difference from a plain loop: %g\n", (double)worst);
  free(packed);
  free(scratch);
  return worst < 1e-4f ? 0 : 1;
}
