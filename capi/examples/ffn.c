/* SPDX-License-Identifier: MIT
 * The feed-forward block of a Gemma-2B layer in bf16, for a few tokens: weights are packed once
 * from a memory-mapped file, and the result, time and bandwidth stand beside those of plain loops.
 *
 *     cc -O2 ffn.c $(pkg-config --cflags --libs morello) -lm -o ffn && ./ffn --hidden 512
 *     ./ffn weights.bin
 *     ./ffn --tokens 8 weights.bin
 *
 * Without sizes they are the real ones, 2048 and 16384. The weights are synthetic: 201 MB, written
 * if there is no such file, and to a temporary one if none is named.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "morello/morello.h"

/* The file: a line of text, zeros to kHeader bytes, then gate, up and down, each dense row-major.
 */
enum { kGate, kUp, kDown, kMatrices, kHeader = 64, kMaxRounds = 1000 };

typedef struct {
  size_t tokens, width, hidden, rounds, threads;
  int silu;
  const char* path; /* NULL: a temporary file */
} options;

typedef struct {
  void* mapping; /* NULL: none */
  size_t bytes;
  const uint16_t* matrix[kMatrices];
} weights;

typedef struct {
  morello_kernel* kernel[kMatrices];
  uint16_t* packed[kMatrices];
  morello_pool* pool;
  float* gate;      /* tokens x hidden */
  uint16_t* hidden; /* likewise, bf16 */
} block;

static float from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* To the nearest, ties to even. There is no NaN here. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Element `index` of a sequence that looks random: uniform, with this standard deviation. */
static uint16_t synthetic(uint64_t index, double deviation) {
  uint64_t hash = (index + 1) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
  const double unit = (double)(hash >> 40) / (double)(1u << 24); /* 0 .. 1 */
  return to_bf16((float)((2 * unit - 1) * sqrt(3.0) * deviation));
}

/* As Gemma does: the form of GELU that has a tanh in it, which is this. */
static double activation(double x, int silu) {
  return x / (1 + exp(silu ? -x : -1.5957691216057308 * (x + 0.044715 * x * x * x)));
}

static float activation_f32(float x, int silu) {
  return x / (1 + expf(silu ? -x : -1.59576912f * (x + 0.044715f * x * x * x)));
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- The file ---- */

static int failed_file(const char* what, const char* path) {
  fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
  return EXIT_FAILURE;
}

static void header_of(const options* o, char header[kHeader]) {
  memset(header, 0, kHeader);
  snprintf(header, kHeader, "morello ffn bf16 %zu %zu\n", o->width, o->hidden);
}

static int write_weights(const options* o, int file) {
  FILE* stream = fdopen(dup(file), "wb");
  if (stream == NULL) return -1;
  char header[kHeader];
  header_of(o, header);
  int good = fwrite(header, kHeader, 1, stream) == 1;
  const size_t size = o->width * o->hidden;
  for (size_t i = 0; good && i < kMatrices * size; i++) {
    const size_t inputs = i / size == kDown ? o->hidden : o->width;
    const uint16_t value = synthetic(i, 1 / sqrt((double)inputs));
    good = fwrite(&value, sizeof value, 1, stream) == 1;
  }
  return fclose(stream) == 0 && good ? 0 : -1;
}

/* Opens the file, and writes it first if it is new. -1: could not, and said so. */
static int open_weights(const options* o) {
  char temporary[] = "/tmp/morello-ffn-XXXXXX";
  const char* path = o->path != NULL ? o->path : temporary;
  int file = o->path != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL, 0666) : mkstemp(temporary);
  if (file < 0 && o->path != NULL && errno == EEXIST) {
    file = open(path, O_RDONLY);
    if (file < 0) failed_file("cannot open", path);
    return file;
  }
  if (file < 0) {
    failed_file("cannot create", path);
    return -1;
  }
  const int written = write_weights(o, file);
  if (written != 0) failed_file("cannot write", path);
  if (written != 0 || o->path == NULL) unlink(path); /* what is open stays until it is closed */
  if (written == 0) return file;
  close(file);
  return -1;
}

static int map_weights(const options* o, weights* w) {
  const char* name = o->path != NULL ? o->path : "a temporary file";
  const size_t size = o->width * o->hidden;
  const size_t bytes = kHeader + kMatrices * size * sizeof(uint16_t);
  const int file = open_weights(o);
  if (file < 0) return EXIT_FAILURE;
  struct stat about;
  void* mapping = MAP_FAILED;
  int result = EXIT_FAILURE;
  if (fstat(file, &about) != 0) {
    failed_file("cannot read", name);
  } else if ((uintmax_t)about.st_size != bytes) {
    fprintf(stderr, "%s has %jd bytes, not the %zu of weights of %zu x %zu: name a new file\n",
            name, (intmax_t)about.st_size, bytes, o->width, o->hidden);
  } else if ((mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED) {
    failed_file("cannot map", name);
  } else {
    char header[kHeader];
    header_of(o, header);
    w->mapping = mapping;
    w->bytes = bytes;
    for (size_t i = 0; i < kMatrices; i++)
      w->matrix[i] = (const uint16_t*)((const char*)mapping + kHeader) + i * size;
    if (memcmp(mapping, header, kHeader) == 0)
      result = EXIT_SUCCESS;
    else
      fprintf(stderr, "%s does not begin with \"%.*s\": name a new file\n", name,
              (int)strcspn(header, "\n"), header);
  }
  close(file);
  return result;
}

/* ---- The block as kernels ---- */

static int failed(const char* what, morello_error* err) {
  fprintf(stderr, "%s: %s: %s\n", what, morello_status_string(morello_error_status(err)),
          morello_error_message(err));
  morello_error_release(err);
  return EXIT_FAILURE;
}

static int make_kernel(morello_context* context, const char* text, size_t threads,
                       morello_kernel** kernel) {
  morello_spec* spec = NULL;
  morello_error* err = NULL;
  if (morello_spec_parse(context, text, &spec, &err) != MORELLO_OK) return failed(text, err);
  morello_options how;
  morello_options_init(&how, sizeof how);
  how.threads = (uint32_t)threads;
  const morello_status status = morello_synthesize(context, spec, &how, kernel, &err);
  morello_spec_release(spec);
  return status == MORELLO_OK ? EXIT_SUCCESS : failed(text, err);
}

/* The library has no gelu: the gate's kernel leaves f32, C applies it, and the kernel of `up`
 * multiplies by that before it rounds. {*}: weights as the kernels like them. */
static int make_kernels(const options* o, block* b) {
  const size_t m = o->tokens, w = o->width, h = o->hidden;
  char text[kMatrices][160];
  snprintf(text[kGate], sizeof text[0], "matmul bf16[%zu,%zu] bf16[%zu,%zu]{*} -> f32[%zu,%zu]", m,
           w, w, h, m, h);
  snprintf(text[kUp], sizeof text[0],
           "matmul bf16[%zu,%zu] bf16[%zu,%zu]{*} * f32[%zu,%zu] -> bf16[%zu,%zu]", m, w, w, h, m,
           h, m, h);
  snprintf(text[kDown], sizeof text[0], "matmul bf16[%zu,%zu] bf16[%zu,%zu]{*} -> f32[%zu,%zu]", m,
           h, h, w, m, w);
  morello_context* context = NULL;
  morello_error* err = NULL;
  if (morello_context_create(NULL, &context, &err) != MORELLO_OK) return failed("context", err);
  int result = EXIT_SUCCESS;
  for (int i = 0; i < kMatrices && result == EXIT_SUCCESS; i++)
    result = make_kernel(context, text[i], o->threads, &b->kernel[i]);
  morello_context_release(context);
  if (result == EXIT_SUCCESS && o->threads > 1 &&
      morello_pool_create((uint32_t)o->threads, &b->pool, &err) != MORELLO_OK)
    return failed("pool", err);
  return result;
}

static int pack_weights(const options* o, const weights* w, block* b) {
  b->gate = calloc(o->tokens * o->hidden, sizeof *b->gate);
  b->hidden = calloc(o->tokens * o->hidden, sizeof *b->hidden);
  int good = b->gate != NULL && b->hidden != NULL;
  for (int i = 0; i < kMatrices && good; i++) {
    void* packed = NULL;
    good = posix_memalign(&packed, 64, morello_kernel_operand_size(b->kernel[i], 1)) == 0;
    b->packed[i] = packed;
    good = good && morello_kernel_pack(b->kernel[i], 1, w->matrix[i], packed) == MORELLO_OK;
  }
  if (!good) fprintf(stderr, "packing weights: out of memory\n");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_block(const options* o, block* b, uint16_t* x, float* out) {
  const morello_executor* pool = b->pool != NULL ? morello_pool_executor(b->pool) : NULL;
  void* const gate[] = {x, b->packed[kGate], b->gate};
  void* const up[] = {x, b->packed[kUp], b->gate, b->hidden};
  void* const down[] = {b->hidden, b->packed[kDown], out};
  morello_status status = morello_kernel_run(b->kernel[kGate], gate, NULL, pool);
  for (size_t i = 0; i < o->tokens * o->hidden; i++)
    b->gate[i] = activation_f32(b->gate[i], o->silu);
  if (status == MORELLO_OK) status = morello_kernel_run(b->kernel[kUp], up, NULL, pool);
  if (status == MORELLO_OK) status = morello_kernel_run(b->kernel[kDown], down, NULL, pool);
  if (status != MORELLO_OK) fprintf(stderr, "kernel: %s\n", morello_status_string(status));
  return status == MORELLO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void release_block(block* b) {
  for (int i = 0; i < kMatrices; i++) {
    morello_kernel_release(b->kernel[i]);
    free(b->packed[i]);
  }
  morello_pool_release(b->pool);
  free(b->gate);
  free(b->hidden);
}

/* ---- The same in loops, on the file as it is ---- */

static void plain_matmul(size_t m, size_t k, size_t n, const uint16_t* a, const uint16_t* b,
                         float* c) {
  memset(c, 0, m * n * sizeof *c);
  for (size_t p = 0; p < k; p++)
    for (size_t i = 0; i < m; i++) {
      const float scale = from_bf16(a[i * k + p]);
      for (size_t j = 0; j < n; j++) c[i * n + j] += scale * from_bf16(b[p * n + j]);
    }
}

/* `wide` has room for two tensors of tokens x hidden, `hidden` for one. */
static void plain_block(const options* o, const weights* w, const uint16_t* x, float* wide,
                        uint16_t* hidden, float* out) {
  const size_t count = o->tokens * o->hidden;
  plain_matmul(o->tokens, o->width, o->hidden, x, w->matrix[kGate], wide);
  plain_matmul(o->tokens, o->width, o->hidden, x, w->matrix[kUp], wide + count);
  for (size_t i = 0; i < count; i++)
    hidden[i] = to_bf16(activation_f32(wide[i], o->silu) * wide[count + i]);
  plain_matmul(o->tokens, o->hidden, o->width, hidden, w->matrix[kDown], out);
}

static void exact_matmul(size_t m, size_t k, size_t n, const double* a, const uint16_t* b,
                         double* c) {
  memset(c, 0, m * n * sizeof *c);
  for (size_t p = 0; p < k; p++)
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * (double)from_bf16(b[p * n + j]);
}

/* In double precision, nothing rounded between. `wide` has room as above, and then for x. */
static void exact_block(const options* o, const weights* w, const uint16_t* x, double* wide,
                        double* out) {
  const size_t count = o->tokens * o->hidden;
  double* const exact_x = wide + 2 * count;
  for (size_t i = 0; i < o->tokens * o->width; i++) exact_x[i] = (double)from_bf16(x[i]);
  exact_matmul(o->tokens, o->width, o->hidden, exact_x, w->matrix[kGate], wide);
  exact_matmul(o->tokens, o->width, o->hidden, exact_x, w->matrix[kUp], wide + count);
  for (size_t i = 0; i < count; i++) wide[i] = activation(wide[i], o->silu) * wide[count + i];
  exact_matmul(o->tokens, o->hidden, o->width, wide, w->matrix[kDown], out);
}

/* The largest error, as a part of the largest value. */
static double worst_error(size_t count, const float* result, const double* exact) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    const double error = fabs((double)result[i] - exact[i]);
    if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
    largest = fmax(largest, fabs(exact[i]));
  }
  return worst / largest;
}

/* ---- Comparison ---- */

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* `times` of whole runs, which it sorts. */
static void print_row(const options* o, const char* name, double* times, double error) {
  qsort(times, o->rounds, sizeof *times, by_size);
  const double median = times[o->rounds / 2];
  const double bytes = (double)(kMatrices * o->width * o->hidden * sizeof(uint16_t));
  printf("%-12s %12.3f %12.3f %12.2f %14.1e\n", name, 1e3 * median / (double)o->tokens,
         1e3 * times[0] / (double)o->tokens, 1e-9 * bytes / median, error);
}

static int compare(const options* o, const weights* w, block* b) {
  const size_t inner = o->tokens * o->hidden, outer = o->tokens * o->width;
  uint16_t* x = malloc(outer * sizeof *x);
  uint16_t* hidden = malloc(inner * sizeof *hidden);
  float *wide = malloc(2 * inner * sizeof *wide), *out = malloc(2 * outer * sizeof *out);
  double* exact_wide = malloc((2 * inner + outer) * sizeof *exact_wide);
  double* exact = malloc(outer * sizeof *exact);
  int result = EXIT_FAILURE;
  if (x == NULL || hidden == NULL || wide == NULL || out == NULL || exact_wide == NULL ||
      exact == NULL) {
    fprintf(stderr, "activations: out of memory\n");
  } else {
    double kernel_times[kMaxRounds], plain_times[kMaxRounds];
    for (size_t i = 0; i < outer; i++) x[i] = synthetic(~(uint64_t)i, 1);
    result = run_block(o, b, x, out); /* first touch of everything */
    for (size_t round = 0; round < o->rounds && result == EXIT_SUCCESS; round++) {
      const double start = seconds();
      result = run_block(o, b, x, out);
      const double middle = seconds();
      plain_block(o, w, x, wide, hidden, out + outer);
      kernel_times[round] = middle - start;
      plain_times[round] = seconds() - middle;
    }
    if (result == EXIT_SUCCESS) {
      exact_block(o, w, x, exact_wide, exact);
      const double error = worst_error(outer, out, exact);
      const double plain_error = worst_error(outer, out + outer, exact);
      printf("%-12s %12s %12s %12s %14s\n", "", "ms/token", "best", "GB/s", "largest error");
      print_row(o, "morello", kernel_times, error);
      print_row(o, "plain loops", plain_times, plain_error);
      /* Nearly all of it is hidden values rounded to bf16, which both do: if they differ by as much
       * among one another, a term is missing. */
      for (size_t i = 0; i < outer; i++) exact[i] = (double)out[outer + i];
      const double difference = worst_error(outer, out, exact);
      if (!(isfinite(error) && difference <= plain_error / 2 + 1e-5)) {
        fprintf(stderr, "the result is wrong: it differs from the loops by %g\n", difference);
        result = EXIT_FAILURE;
      }
    }
  }
  free(x);
  free(hidden);
  free(wide);
  free(out);
  free(exact_wide);
  free(exact);
  return result;
}

/* ---- The command line ---- */

static int usage(const char* program) {
  fprintf(stderr,
          "usage: %s [--tokens N] [--width N] [--hidden N] [--rounds N] [--threads N] [--silu] "
          "[FILE]\n",
          program);
  return EXIT_FAILURE;
}

static int parse_number(const char* option, const char* text, size_t most, size_t* value) {
  char* end = NULL;
  errno = 0;
  const long long number = text != NULL ? strtoll(text, &end, 10) : 0;
  if (text == NULL || end == text || *end != 0 || errno != 0 || number < 1 ||
      (unsigned long long)number > most) {
    fprintf(stderr, "%s needs a number from 1 to %zu, not '%s'\n", option, most,
            text != NULL ? text : "");
    return EXIT_FAILURE;
  }
  *value = (size_t)number;
  return EXIT_SUCCESS;
}

static int parse_options(int argc, char** argv, options* o) {
  const struct {
    const char* name;
    size_t most;
    size_t* value;
  } numbers[] = {{"--tokens", 1024, &o->tokens},
                 {"--width", 1 << 20, &o->width},
                 {"--hidden", 1 << 20, &o->hidden},
                 {"--rounds", kMaxRounds, &o->rounds},
                 {"--threads", 1024, &o->threads}};
  const size_t count = sizeof numbers / sizeof numbers[0];
  for (int i = 1; i < argc; i++) {
    size_t n = 0;
    while (n < count && strcmp(argv[i], numbers[n].name) != 0) n++;
    if (n < count) {
      const char* text = i + 1 < argc ? argv[i + 1] : NULL;
      if (parse_number(argv[i++], text, numbers[n].most, numbers[n].value) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    } else if (strcmp(argv[i], "--silu") == 0) {
      o->silu = 1;
    } else if (argv[i][0] == '-' || o->path != NULL) {
      fprintf(stderr, "%s: there is no place for '%s'\n", argv[0], argv[i]);
      return usage(argv[0]);
    } else {
      o->path = argv[i];
    }
  }
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  options o = {.tokens = 1, .width = 2048, .hidden = 16384, .rounds = 9, .threads = 1};
  if (parse_options(argc, argv, &o) != EXIT_SUCCESS) return EXIT_FAILURE;
  block b = {0};
  weights w = {0};
  /* Kernels first: a size that cannot be is refused before a file is written. */
  const double start = seconds();
  int result = make_kernels(&o, &b);
  const double made = seconds();
  if (result == EXIT_SUCCESS) result = map_weights(&o, &w);
  const double mapped = seconds();
  if (result == EXIT_SUCCESS) result = pack_weights(&o, &w, &b);
  if (result == EXIT_SUCCESS) {
    printf(
        "%zu -> %zu (%s) -> %zu in bf16, tokens at once: %zu, threads: %zu, weights: %.1f MB\n"
        "kernels made in %.2f s, weights packed in %.2f s\n",
        o.width, o.hidden, o.silu ? "silu" : "gelu", o.width, o.tokens, o.threads,
        1e-6 * (double)w.bytes, made - start, seconds() - mapped);
    result = compare(&o, &w, &b);
  }
  release_block(&b);
  if (w.mapping != NULL) munmap(w.mapping, w.bytes);
  return result;
}
