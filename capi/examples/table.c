/* SPDX-License-Identifier: MIT
 * A table of programs for a family of matrix products, made once and then used instead of
 * searching.
 *
 *     cc table.c $(pkg-config --cflags --libs morello) -o table && ./table layers.mtab
 *
 * An application makes its table where it is built, ships the file, and only does what use() does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "morello/morello.h"

static int failed(const char* what, morello_error* err) {
  fprintf(stderr, "%s: %s: %s\n", what, morello_status_string(morello_error_status(err)),
          morello_error_message(err));
  morello_error_release(err);
  return EXIT_FAILURE;
}

/* Up to 16 rows at once. A file that has everything already is left as it is. */
static int make(morello_context* context, const char* path) {
  const char* const families[] = {"matmul f32[<=16,64] f32[64,256] + bias f32[256] -> relu"};
  morello_error* err = NULL;
  if (morello_precompute(context, families, 1, path, NULL, &err) != MORELLO_OK)
    return failed("precompute", err);
  return EXIT_SUCCESS;
}

static int use(morello_context* context, const char* path) {
  const char* text = "matmul f32[12,64] f32[64,256] + bias f32[256] -> relu -> f32[12,256]";
  morello_table* table = NULL;
  morello_spec* spec = NULL;
  morello_kernel* kernel = NULL;
  morello_error* err = NULL;
  if (morello_table_load(context, path, &table, &err) != MORELLO_OK) return failed("load", err);
  if (morello_spec_parse(context, text, &spec, &err) != MORELLO_OK) return failed("spec", err);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.table = table;
  if (morello_synthesize(context, spec, &options, &kernel, &err) != MORELLO_OK)
    return failed("synthesize", err);

  morello_search_stats stats = {0};
  morello_kernel_stats_get(kernel, &stats, sizeof stats);
  printf("%s: look-up %.1f us, search %.1f us, plan %.1f us, emission %.1f us\n",
         morello_kernel_name(kernel), 1e-3 * (double)stats.lookup_nanoseconds,
         1e-3 * (double)stats.search_nanoseconds, 1e-3 * (double)stats.plan_nanoseconds,
         1e-3 * (double)stats.emit_nanoseconds);
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_table_release(table);
  return stats.table_use == MORELLO_TABLE_ANSWERED ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE.mtab\n", argv[0]);
    return EXIT_FAILURE;
  }
  morello_context* context = NULL;
  morello_error* err = NULL;
  if (morello_context_create(NULL, &context, &err) != MORELLO_OK) return failed("context", err);
  int result = make(context, argv[1]);
  if (result == EXIT_SUCCESS) result = use(context, argv[1]);
  morello_context_release(context);
  return result;
}
