/* SPDX-License-Identifier: MIT
 * The smallest program on an installed library; packages.py builds it as a stranger would. */
#include <morello/morello.h>
#include <stdio.h>

int main(void) {
  morello_context *context = NULL;
  morello_spec *spec = NULL;
  morello_error *error = NULL;
  if (morello_version() != MORELLO_VERSION || morello_abi_version() != MORELLO_ABI_VERSION) {
    return 2;
  }
  if (morello_context_create(NULL, &context, &error) != MORELLO_OK ||
      morello_spec_parse(context, "matmul f32[4,8] f32[8,16] -> f32[4,16]", &spec, &error) !=
          MORELLO_OK) {
    puts(morello_error_message(error));
    return 1;
  }
  printf("morello %s: %.0f operations\n", morello_version_string(), morello_spec_flops(spec));
  morello_spec_release(spec);
  morello_context_release(context);
  return 0;
}
