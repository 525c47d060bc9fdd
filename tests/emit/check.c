/* SPDX-License-Identifier: MIT
 * Links kernels that `morello emit` wrote, and nothing of morello: results against plain loops, and
 * unwinding from every instruction.
 *
 *     check            all results, by the best instruction set of this CPU
 *     check none       on a CPU that can run none of the kernels: calls say so, and write nothing
 *     check step       every call one instruction at a time, with a backtrace at each
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "kernels.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define GUARD 64

static int failures = 0;

static void fail(const char* what) {
  printf("FAILED: %s\n", what);
  failures++;
}

/* -- Calls, one instruction at a time where that is asked for */

typedef int (*any_function)(void*, void*, void*, void*, void*, void*, void*, void*, void*);

/* Calls function(arguments[0], .., arguments[8]) with known values in the registers that a callee
 * saves, and with the trap flag `flag` (0x100, or 0). */
int stepped(any_function function, void* const* arguments, long flag);
extern const char stepped_end[];
__asm__(
    ".text\n.globl stepped\n.type stepped, @function\nstepped:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
    "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
    "push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r13, 0\n"
    "push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r14, 0\n"
    "push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r15, 0\n"
    "push 64(%rsi)\n.cfi_adjust_cfa_offset 8\n"
    "push 56(%rsi)\n.cfi_adjust_cfa_offset 8\n"
    "push 48(%rsi)\n.cfi_adjust_cfa_offset 8\n"
    "mov %rdi, %rax\n"
    "mov %rsi, %r11\n"
    "mov %rdx, %r10\n"
    "mov $0x1003, %ebx\nmov $0x1006, %ebp\nmov $0x100c, %r12d\nmov $0x100d, %r13d\n"
    "mov $0x100e, %r14d\nmov $0x100f, %r15d\n"
    "mov (%r11), %rdi\nmov 8(%r11), %rsi\nmov 16(%r11), %rdx\nmov 24(%r11), %rcx\n"
    "mov 32(%r11), %r8\nmov 40(%r11), %r9\n"
    "pushfq\nor %r10, (%rsp)\npopfq\n"
    "call *%rax\n"
    "pushfq\nandq $~0x100, (%rsp)\npopfq\n"
    "add $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
    "pop %r15\n.cfi_adjust_cfa_offset -8\npop %r14\n.cfi_adjust_cfa_offset -8\n"
    "pop %r13\n.cfi_adjust_cfa_offset -8\npop %r12\n.cfi_adjust_cfa_offset -8\n"
    "pop %rbp\n.cfi_adjust_cfa_offset -8\npop %rbx\n.cfi_adjust_cfa_offset -8\n"
    "ret\n.cfi_endproc\n.globl stepped_end\nstepped_end:\n.size stepped, .-stepped\n");

static long flag = 0;
static long steps = 0, bad_steps = 0;

static int call(any_function function, void* const* arguments) {
  return stepped(function, arguments, flag);
}

struct walk {
  int frames;
  int found;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* user) {
  static const int kSaved[] = {3, 6, 12, 13, 14, 15};
  struct walk* walk = user;
  const char* ip = (const char*)_Unwind_GetIP(context);
  int right = ip > (const char*)stepped && ip < stepped_end;
  for (size_t i = 0; right && i < COUNT(kSaved); i++)
    right = _Unwind_GetGR(context, kSaved[i]) == (_Unwind_Word)(0x1000 + kSaved[i]);
  walk->found |= right;
  return walk->found || ++walk->frames > 30 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void on_trap(int number, siginfo_t* info, void* context) {
  const char* at = (const char*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  (void)number, (void)info;
  if (at >= (const char*)stepped && at < stepped_end) return;
  struct walk walk = {0, 0};
  _Unwind_Backtrace(visit, &walk);
  steps++;
  if (!walk.found && bad_steps++ < 5) printf("no way back from %p\n", (const void*)at);
}

/* -- Plain loops. Values are small whole numbers: every sum is exact. */

static float value(size_t i) { return (float)((i * 7 + i / 3) % 5) - 2; }

static void* block(size_t bytes) {
  char* memory = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
  memset(memory, 0x5a, bytes + GUARD);
  return memory;
}

static void check_guard(const void* memory, size_t bytes, const char* what) {
  for (size_t i = 0; i < GUARD; i++)
    if (((const char*)memory)[bytes + i] != 0x5a) {
      fail(what);
      return;
    }
}

static float* floats(size_t count) {
  float* memory = block(count * sizeof(float));
  for (size_t i = 0; i < count; i++) memory[i] = value(i);
  return memory;
}

static uint16_t to_bf16(float x) { /* of numbers that bf16 has */
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static uint16_t* halves(size_t count) {
  uint16_t* memory = block(count * sizeof(uint16_t));
  for (size_t i = 0; i < count; i++) memory[i] = to_bf16(value(i));
  return memory;
}

/* The sum over k < ks of a[m,k] * b[k,n], where n < ns. */
static float sum(size_t m, size_t n, size_t ks, size_t ns) {
  float total = 0;
  for (size_t i = 0; i < ks; i++) total += value(m * ks + i) * value(i * ns + n);
  return total;
}

static int expected_status = 0;

static void check(const char* name, any_function function, void* const* arguments, float* out,
                  size_t count, const float* wanted) {
  if (call(function, arguments) != expected_status) fail(name);
  for (size_t i = 0; i < count; i++)
    if (out[i] != wanted[i]) {
      printf("%s[%zu] is %g, not %g\n", name, i, (double)out[i], (double)wanted[i]);
      fail(name);
      break;
    }
  check_guard(out, count * sizeof(float), name);
}

static void* scratch_of(size_t bytes) { return bytes == 0 ? NULL : block(bytes); }

static void check_matmul(const char* name, any_function function, size_t scratch_bytes, size_t ms,
                         size_t ks, size_t ns) {
  float *a = floats(ms * ks), *b = floats(ks * ns), *out = floats(ms * ns);
  float* wanted = floats(ms * ns);
  for (size_t m = 0; expected_status == 0 && m < ms; m++)
    for (size_t n = 0; n < ns; n++) wanted[m * ns + n] = sum(m, n, ks, ns);
  void* arguments[9] = {a, b, out, scratch_of(scratch_bytes)};
  check(name, function, arguments, out, ms * ns, wanted);
}

static void check_bias(void) {
  enum { M = 5, K = 64, N = 33 };
  float *a = floats(M * K), *b = floats(K * N), *bias = floats(N), *out = floats(M * N);
  float wanted[M * N];
  for (size_t m = 0; m < M; m++)
    for (size_t n = 0; n < N; n++) {
      const float x = sum(m, n, K, N) + value(n);
      wanted[m * N + n] = x < 0 ? 0 : x;
    }
  void* arguments[9] = {a, b, bias, out, scratch_of(LAYER_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("layer", (any_function)layer, arguments, out, M * N, wanted);
}

static void check_bf16(void) {
  enum { M = 9, K = 40, N = 24 };
  uint16_t *a = halves(M * K), *b = halves(K * N);
  float *out = floats(M * N), wanted[M * N];
  for (size_t m = 0; m < M; m++)
    for (size_t n = 0; n < N; n++) wanted[m * N + n] = value(m * N + n) + sum(m, n, K, N);
  void* arguments[9] = {a, b, out, scratch_of(HALF_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("half", (any_function)half, arguments, out, M * N, wanted);
}

static void check_packed(void) {
  enum { M = 4, K = 30, N = 50 };
  float *a = floats(M * K), *b = floats(K * N), *out = floats(M * N), wanted[M * N];
  void* packed = block(LOOSE_PACKED_B_BYTES);
  void* pack_arguments[9] = {b, packed, scratch_of(LOOSE_PACK_B_SCRATCH_BYTES)};
  if (call((any_function)loose_pack_b, pack_arguments) != expected_status) fail("loose_pack_b");
  check_guard(packed, LOOSE_PACKED_B_BYTES, "loose_pack_b");
  for (size_t m = 0; m < M; m++)
    for (size_t n = 0; n < N; n++) wanted[m * N + n] = sum(m, n, K, N);
  void* arguments[9] = {a, packed, out, scratch_of(LOOSE_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("loose", (any_function)loose, arguments, out, M * N, wanted);
}

/* A layout that is free, but has nothing to choose. */
static void check_column(void) {
  enum { M = 3, K = 20 };
  float *a = floats(M * K), *b = floats(K), *out = floats(M), wanted[M];
  void* packed = block(COLUMN_PACKED_B_BYTES);
  void* pack_arguments[9] = {b, packed, scratch_of(COLUMN_PACK_B_SCRATCH_BYTES)};
  if (call((any_function)column_pack_b, pack_arguments) != expected_status) fail("column_pack_b");
  check_guard(packed, COLUMN_PACKED_B_BYTES, "column_pack_b");
  for (size_t m = 0; m < M; m++) wanted[m] = sum(m, 0, K, 1);
  void* arguments[9] = {a, packed, out, scratch_of(COLUMN_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("column", (any_function)column, arguments, out, M, wanted);
}

static void check_scratch(void) {
  enum { M = 9, K = 7, N = 33 };
  float *a = floats(M * K), *b = floats(K * N), *out = floats(M * N), wanted[M * N];
  if (TURNED_SCRATCH_BYTES == 0) fail("turned needs no scratch: take another Spec");
  void* scratch = block(TURNED_SCRATCH_BYTES);
  for (size_t m = 0; m < M; m++)
    for (size_t n = 0; n < N; n++) wanted[n * M + m] = sum(m, n, K, N);
  void* arguments[9] = {a, b, out, scratch};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("turned", (any_function)turned, arguments, out, M * N, wanted);
  check_guard(scratch, TURNED_SCRATCH_BYTES, "scratch of turned");
}

/* As many operands as there are: some come on the stack. */
static void check_many(void) {
  enum { N = 21 };
  float *in[7], *out = floats(N), wanted[N];
  void* arguments[9];
  for (size_t i = 0; i < COUNT(in); i++) arguments[i] = in[i] = floats(N);
  for (size_t i = 0; i < COUNT(in); i++)
    for (size_t n = 0; n < N; n++) in[i][n] += (float)i;
  for (size_t n = 0; n < N; n++) {
    wanted[n] = 0;
    for (size_t i = 0; i < COUNT(in); i++) wanted[n] += in[i][n] * (i % 2 == 0 ? 1 : -1);
  }
  arguments[7] = out;
  arguments[8] = scratch_of(MANY_SCRATCH_BYTES);
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("many", (any_function)many, arguments, out, N, wanted);
}

static void check_fill(void) {
  enum { N = 15 };
  float *out = floats(N), wanted[N];
  for (size_t n = 0; n < N; n++) wanted[n] = 2.5f;
  void* arguments[9] = {out, scratch_of(FILLED_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("filled", (any_function)filled, arguments, out, N, wanted);
}

/* Two outputs, of which the second one is added to. */
static void check_outputs(void) {
  enum { N = 21 };
  float *in = floats(N), *greatest = floats(1), *out = floats(N), wanted[N], most = value(0);
  for (size_t n = 0; n < N && expected_status == 0; n++)
    if (n == 0 || -value(n) > most) most = -value(n);
  for (size_t n = 0; n < N; n++) wanted[n] = value(n) - value(n);
  void* arguments[9] = {in, greatest, out, scratch_of(BOTH_SCRATCH_BYTES)};
  if (expected_status != 0) memcpy(wanted, out, sizeof wanted);
  check("both", (any_function)both, arguments, out, N, wanted);
  if (greatest[0] != most) fail("both: the greatest");
  check_guard(greatest, sizeof(float), "both: the greatest");
}

/* -- Run-time sizes: each, and those that there are not */

static void check_sizes(const char* name, any_function function, size_t operands, int64_t largest,
                        void* const* arguments) {
  static const int64_t kNone[] = {0, -1, INT64_MIN, INT64_MAX, (int64_t)1 << 32};
  void* changed[10];
  memcpy(changed, arguments, sizeof changed[0] * 9);
  for (size_t i = 0; i <= COUNT(kNone); i++) {
    changed[operands] = (void*)(intptr_t)(i < COUNT(kNone) ? kNone[i] : largest + 1);
    if (call(function, changed) != (expected_status == 0 ? -2 : expected_status)) fail(name);
  }
}

/* Every size, but fewer where each instruction is looked at. */
static size_t next_size(size_t size) { return size + (flag != 0 ? 6 : 1); }

static void check_rows(void) {
  enum { K = 20, N = 33 };
  void* scratch = scratch_of(ROWS_SCRATCH_BYTES);
  for (size_t m = 1; m <= ROWS_LARGEST_SIZE; m = next_size(m)) {
    float *a = floats(m * K), *b = floats(K * N), *out = floats(m * N), *wanted = floats(m * N);
    for (size_t i = 0; expected_status == 0 && i < m * N; i++) wanted[i] = sum(i / N, i % N, K, N);
    void* arguments[9] = {a, b, out, (void*)m, scratch};
    check("rows", (any_function)rows, arguments, out, m * N, wanted);
    if (m == 1) check_sizes("rows", (any_function)rows, 3, ROWS_LARGEST_SIZE, arguments);
    void* all[] = {a, b, out, wanted};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
  }
}

static void check_tokens(void) {
  enum { K = 30, N = 50 };
  float *b = floats(K * N), *bias = floats(N);
  void *packed = block(TOKENS_PACKED_B_BYTES), *scratch = scratch_of(TOKENS_SCRATCH_BYTES);
  void* pack_arguments[9] = {b, packed, scratch_of(TOKENS_PACK_B_SCRATCH_BYTES)};
  if (call((any_function)tokens_pack_b, pack_arguments) != expected_status) fail("tokens_pack_b");
  for (size_t m = 1; m <= TOKENS_LARGEST_SIZE; m = next_size(m)) {
    float *a = floats(m * K), *out = floats(m * N), *wanted = floats(m * N);
    for (size_t i = 0; expected_status == 0 && i < m * N; i++) {
      const float x = sum(i / N, i % N, K, N) + value(i % N);
      wanted[i] = x < 0 ? 0 : x;
    }
    void* arguments[9] = {a, packed, bias, out, (void*)m, scratch};
    check("tokens", (any_function)tokens, arguments, out, m * N, wanted);
    if (m == 1) check_sizes("tokens", (any_function)tokens, 4, TOKENS_LARGEST_SIZE, arguments);
  }
}

/* Rows that are further apart than they are long. */
static void check_apart(void) {
  enum { N = 6, FROM = 8 };
  for (size_t m = 1; m <= APART_LARGEST_SIZE; m++) {
    float *a = floats((m - 1) * FROM + N), *out = floats(m * N), *wanted = floats(m * N);
    for (size_t i = 0; expected_status == 0 && i < m * N; i++) {
      const float x = value(i / N * FROM + i % N);
      wanted[i] = x < 0 ? 0 : x;
    }
    void* arguments[9] = {a, out, (void*)m, scratch_of(APART_SCRATCH_BYTES)};
    check("apart", (any_function)apart, arguments, out, m * N, wanted);
  }
}

/* Size and scratch come on the stack. */
static void check_loads(void) {
  for (int64_t n = 0; n <= LOADS_LARGEST_SIZE + 1; n++) {
    const int is_size = n >= 1 && n <= LOADS_LARGEST_SIZE;
    float *in[7], *out = floats((size_t)n);
    for (size_t i = 0; i < COUNT(in); i++) {
      in[i] = floats((size_t)n);
      for (size_t k = 0; k < (size_t)n; k++) in[i][k] += (float)i;
    }
    const int status = loads(in[0], in[1], in[2], in[3], in[4], in[5], in[6], out, n,
                             scratch_of(LOADS_SCRATCH_BYTES));
    if (status != (expected_status == 0 && !is_size ? -2 : expected_status)) fail("loads");
    for (size_t k = 0; k < (size_t)n; k++) {
      float wanted = is_size && expected_status == 0 ? 0 : value(k);
      for (size_t i = 0; is_size && expected_status == 0 && i < COUNT(in); i++)
        wanted += in[i][k] * (i % 2 == 0 ? 1 : -1);
      if (out[k] != wanted) fail("loads");
    }
    check_guard(out, (size_t)n * sizeof(float), "loads");
  }
}

static void check_all(void) {
  check_matmul("odd", (any_function)odd, ODD_SCRATCH_BYTES, 17, 31, 47);
  check_matmul("parts", (any_function)parts, PARTS_SCRATCH_BYTES, 33, 65, 70);
  check_bias();
  check_bf16();
  check_packed();
  check_column();
  check_scratch();
  check_many();
  check_fill();
  check_outputs();
  check_rows();
  check_tokens();
  check_apart();
  check_loads();
}

/* The first calls of a process are at once. */
static pthread_barrier_t start;

static void* thread(void* unused) {
  pthread_barrier_wait(&start);
  check_all();
  return unused;
}

static void check_threads(void) {
  pthread_t threads[4];
  pthread_barrier_init(&start, NULL, COUNT(threads));
  for (size_t i = 0; i < COUNT(threads); i++) pthread_create(&threads[i], NULL, thread, NULL);
  for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "none") == 0) expected_status = -1;
  if (strcmp(mode, "step") == 0) {
    struct sigaction action;
    struct walk warm = {0, 0};
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    _Unwind_Backtrace(visit, &warm); /* loads what it needs */
    flag = 0x100;
    check_all();
    printf("%ld instructions, %ld without a way back\n", steps, bad_steps);
    if (steps < 1000 || bad_steps != 0) fail("unwinding");
  } else {
    check_threads();
  }
  printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
