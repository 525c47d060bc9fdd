/* SPDX-License-Identifier: MIT
 *
 * morello: synthesize fast kernels for tensor computations.
 *
 * An application describes a computation as a Spec, one line of text or a few calls:
 *
 *     matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]
 *
 * morello searches all programs that its rewrite rules can build for the Spec, takes the cheapest
 * under its cost model, emits machine code, and returns a kernel: an immutable object to call.
 *
 *     morello_context *ctx;  morello_spec *spec;  morello_kernel *kernel;
 *     morello_context_create(NULL, &ctx, NULL);
 *     morello_spec_parse(ctx, "matmul f32[4,8] f32[8,16] -> f32[4,16]", &spec, NULL);
 *     morello_synthesize(ctx, spec, NULL, &kernel, NULL);
 *     void *operands[] = {a, b, c};                 // inputs in the order of the Spec, then output
 *     morello_kernel_run(kernel, operands, NULL, NULL);
 *     morello_kernel_release(kernel);  morello_spec_release(spec);  morello_context_release(ctx);
 *
 * Conventions, for every function unless its comment says otherwise:
 *
 * - Status: fallible functions return a morello_status; 0 is success, errors are negative. On
 *   failure no out-parameter is touched, except `err`.
 * - Errors: `morello_error **err` may be NULL. On failure it receives a new error object that says
 *   what is wrong, where, and what would be valid; the caller releases it with
 *   morello_error_release(). Where there is no memory for the object it receives NULL, which the
 *   morello_error_ functions accept. On success it is not touched.
 * - Ownership: objects returned through out-parameters belong to the caller, who releases each once
 *   with its own `_release`. `_release(NULL)` does nothing. `_retain` adds an owner. Strings
 *   returned as `const char *` belong to the object they were asked of (or to the library, where
 *   there is no object), and live as long as it does.
 * - Lifetimes: Specs and kernels do not need the context, or one another, after they were made.
 * - Threads: functions that take a pointer to const may be called on one object from many threads
 *   at once, and neither wait for one another nor take a lock; only a graph, while it is built, and
 *   what is released are pointers to non-const, and need exclusive use of that object. retain
 *   and release are atomic. The library starts no thread except in morello_pool_create(), and for
 *   a search with search_threads above 1 and morello_precompute(), whose threads have ended when
 *   these return.
 * - Text output: functions `(..., char *buffer, size_t size)` return the length of the whole text
 *   without the terminating zero, like snprintf: call with (NULL, 0) to ask for it. With size > 0
 *   at most size-1 characters and a zero are written.
 * - Units: sizes of memory in bytes, tensor shapes and strides in elements, times in microseconds,
 *   costs in cycles of one core of the target's model.
 * - Since: what a comment does not give another version ("Since: 0.2.0") is there since 0.1.0.
 * - Documents: docs/ here and in messages is share/doc/morello of an installed library.
 * - Growing structs begin with `struct_size`: set by the matching `_init` call, which is given the
 *   caller's sizeof. Never change it.
 * - Fork: what a child process has of contexts, Specs, kernels and tables is as good as the
 *   parent's. Not so a pool, whose threads stay behind: in a child that was forked after it was
 *   created, running a kernel on it gives MORELLO_INVALID_ARGUMENT, releasing it is safe, and new
 *   ones can be created. A child that is forked inside of a loop body must not return from it.
 * - Stack: every call makes do with 96 KiB of its thread's stack (in a build with optimization and
 *   without sanitizers).
 * - Where memory or threads run out, a call does without or returns MORELLO_OUT_OF_MEMORY; it leaks
 *   nothing, files and objects that were there before are as they were, and the same call succeeds
 *   once there is memory again.
 * - The library never aborts, never prints, never changes process state (signal handlers, locale,
 *   floating-point control), and replaces no malloc, free, new or delete of the process.
 */
#ifndef MORELLO_MORELLO_H
#define MORELLO_MORELLO_H

#include <stddef.h>
#include <stdint.h>

#include "morello/version.h"

#if defined(MORELLO_STATIC)
#define MORELLO_API
#else
#define MORELLO_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Status and errors
 * ------------------------------------------------------------------------------------------- */

/** Pinned numbers: none is ever reused or renumbered. */
typedef enum morello_status {
  MORELLO_OK = 0,
  MORELLO_INVALID_ARGUMENT = -1,    /**< NULL for an object, bad option, bad struct_size */
  MORELLO_SYNTAX_ERROR = -2,        /**< Spec text cannot be parsed; see morello_error_column() */
  MORELLO_INVALID_SHAPE = -3,       /**< a size under 1, or shapes that do not fit one another */
  MORELLO_SIZE_OVERFLOW = -4,       /**< a tensor has more than 2^31-1 elements */
  MORELLO_UNKNOWN_DTYPE = -5,       /**< the element type is not a type the library knows */
  MORELLO_INVALID_LAYOUT = -6,      /**< strides or axis order do not fit the shape, or overlap */
  MORELLO_UNSUPPORTED = -7,         /**< well formed, but this version cannot compute it */
  MORELLO_NULL_OPERAND = -8,        /**< an operand pointer, or a needed scratch pointer, is NULL */
  MORELLO_OPERAND_TOO_SMALL = -9,   /**< an operand or scratch buffer has fewer bytes than needed */
  MORELLO_MISALIGNED = -10,         /**< an operand or scratch pointer is not aligned as needed */
  MORELLO_ISA_UNAVAILABLE = -11,    /**< CPU, system or ISA cap lack what the target needs */
  MORELLO_NO_IMPLEMENTATION = -12,  /**< proved: no program fits the target's limits */
  MORELLO_BUDGET_EXCEEDED = -13,    /**< time or memory budget ended the search before a result */
  MORELLO_EXEC_MEMORY_DENIED = -14, /**< the system refuses executable memory */
  MORELLO_OUT_OF_MEMORY = -15,
  MORELLO_INTERNAL = -16,           /**< a bug in morello: please report the message */
  MORELLO_IO_ERROR = -17,           /**< a file cannot be opened, read, locked or written */
  MORELLO_CORRUPT_TABLE = -18,      /**< no table, or damaged: nothing of it was used */
  MORELLO_INCOMPATIBLE_TABLE = -19, /**< a table of another format, target, cost model or actions */
  MORELLO_CANCELLED = -20,          /**< the caller cancelled the search */
  MORELLO_TABLE_TOO_LARGE = -21,    /**< loading it takes more memory than the context allows */
  MORELLO_CORRUPT_KERNEL = -22,     /**< no stored kernel, or damaged: nothing of it was used */
  MORELLO_INCOMPATIBLE_KERNEL = -23 /**< a stored kernel of another format or unknown target */
} morello_status;

typedef struct morello_error morello_error;

/** A short English name such as "MORELLO_SYNTAX_ERROR"; "unknown status" for other numbers. */
MORELLO_API const char *morello_status_string(morello_status status);
MORELLO_API morello_status morello_error_status(const morello_error *error);
/** One or two sentences: what is wrong, where, and what would be valid. UTF-8, no newline. */
MORELLO_API const char *morello_error_message(const morello_error *error);
/** 1-based line and column (in bytes) in Spec text; 0 where the error has no place in a text. */
MORELLO_API uint32_t morello_error_line(const morello_error *error);
MORELLO_API uint32_t morello_error_column(const morello_error *error);
MORELLO_API void morello_error_release(morello_error *error);

/* ---------------------------------------------------------------------------------------------
 * Versions and this machine
 * ------------------------------------------------------------------------------------------- */

/** MORELLO_VERSION of the loaded library (the macro is that of the header compiled with). */
MORELLO_API uint32_t morello_version(void);
MORELLO_API const char *morello_version_string(void);
MORELLO_API uint32_t morello_abi_version(void);
MORELLO_API uint32_t morello_cost_model_version(void);

/** What kernels are made for: each is a set of CPU features and a model of a machine. Numbers say
 *  nothing about an order, and none promises to include another. Used as a cap, one allows the
 *  features listed for it and no others. */
typedef enum morello_isa {
  /** The best one that this CPU and any cap allow; of those that would make the same kernel, the
   *  one that asks for least. */
  MORELLO_ISA_AUTO = 0,
  MORELLO_ISA_AVX2 = 1,        /**< AVX, AVX2, FMA, F16C, BMI1 and BMI2 */
  MORELLO_ISA_AVX512 = 2,      /**< those, and AVX-512 F, BW, VL and DQ */
  MORELLO_ISA_AVX2_VNNI = 3,   /**< those of AVX2, and AVX-VNNI */
  MORELLO_ISA_AVX512_VNNI = 4, /**< those of AVX512, and AVX512-VNNI */
  MORELLO_ISA_AVX512_BF16 = 5, /**< those of AVX512_VNNI, and AVX512-BF16 */
  MORELLO_ISA_AVX512_AMX = 6   /**< those of AVX512_BF16, and AMX-TILE, AMX-BF16 and AMX-INT8. The
                                    first call that makes or loads a kernel for it asks Linux for
                                    the tile registers, for the whole process */
} morello_isa;

/** Facts read from this machine. Fill with morello_cpu_info_get(). */
typedef struct morello_cpu_info {
  size_t struct_size;
  char name[64];       /**< brand string, zero terminated */
  int32_t isa;         /**< best usable morello_isa by CPUID, XGETBV and MORELLO_MAX_ISA; 0: none.
                            Others may be usable, whatever their numbers: see `usable_isas` */
  uint32_t processors; /**< logical processors this process may use */
  uint64_t l1_bytes;   /**< data cache sizes of one core; 0 where unknown */
  uint64_t l2_bytes;
  uint64_t l3_bytes;
  uint32_t jit;         /**< 1: memory can be made executable here; 0: refused by the system */
  uint32_t usable_isas; /**< bit 1 << n: kernels of morello_isa n can run here */
} morello_cpu_info;

/** @param info_size sizeof(morello_cpu_info) of the caller.
 *  The environment variable MORELLO_MAX_ISA ("avx2", "avx512_vnni", .., in any case; empty: as if
 *  unset) caps `isa` and `usable_isas`: kernels use no feature that this morello_isa does not list.
 *  @return MORELLO_INVALID_ARGUMENT if info is NULL, info_size is of no released version, or
 *  MORELLO_MAX_ISA has another value: morello_context_create() says so in words;
 *  MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_cpu_info_get(morello_cpu_info *info, size_t info_size);

/** A feature of CPUs, and how a program that does without this library finds it. */
typedef struct morello_cpu_feature {
  char name[32]; /**< such as "avx2", zero terminated */
  uint32_t leaf; /**< of CPUID; a CPU that does not know the leaf lacks the feature */
  uint32_t subleaf;
  uint32_t register_number; /**< 0: EAX, 1: EBX, 2: ECX, 3: EDX .. */
  uint32_t bit;             /**< .. in which this bit is set */
  uint64_t xcr0; /**< bits that must be set as well in XCR0, which XGETBV reads where CPUID
                      says OSXSAVE: the system saves these registers */
} morello_cpu_feature;
/** What kernels for a morello_isa need of a CPU: all of these. Writes the first `count` of them.
 *  @return how many there are; 0 if `isa` is AUTO or unknown. */
MORELLO_API size_t morello_isa_features(int32_t isa, morello_cpu_feature *features, size_t count);

/* ---------------------------------------------------------------------------------------------
 * Context
 * ------------------------------------------------------------------------------------------- */

typedef struct morello_context morello_context;

typedef enum morello_log_level {
  MORELLO_LOG_WARNING = 1, /**< something was not as it should be, and the call did without it */
  MORELLO_LOG_INFO = 2     /**< what became of a cache or a table */
} morello_log_level;
/** What calls have to say beside their status. `message` is one line without its end, valid during
 *  the call. Called by the thread that called the library, so by several at once if several use the
 *  context; must not throw, nor use the context. */
typedef void (*morello_log_fn)(void *user, int32_t level, const char *message);

typedef struct morello_context_options {
  size_t struct_size;
  int32_t max_isa;             /**< cap: kernels use no feature that this morello_isa does not list;
                                    default MORELLO_ISA_AUTO: no cap */
  uint32_t read_machine;       /**< 0 (default): search for the fixed, named machine model, so that
                                    results do not depend on where the search ran; 1: use this machine's
                                    cache sizes and processor count */
  uint64_t table_memory;       /**< most bytes that loading a table may take at any time, its file
                                    included; default 268435456 (256 MiB), which is also what 0 means.
                                    morello_table_load(), .._load_memory() and morello_precompute() refuse
                                    a larger one before they allocate it */
  const char *cache_directory; /**< where morello_synthesize() keeps kernels for the next process
                              (docs/stored-kernels.md); copied. It is made, for this user alone, if
                              its parent exists. Default NULL: that of the environment variable
                              MORELLO_CACHE_DIR, if it is set and not empty, else none; "": none */
  uint64_t cache_bytes; /**< most bytes of kernels in it; what was not used for longest goes first.
                              Default 268435456 (256 MiB), which is also what 0 means */
  morello_log_fn log;   /**< called by functions that make kernels. Default NULL */
  void *log_user;       /**< passed to `log` */
  const char *tools;    /**< who is told of kernels that can run: names with commas between them,
                           "gdb" (its JIT interface), "unwind" (the unwinder of the process), "map"
                           (/tmp/perf-PID.map), "jitdump" (jit-PID.dump); docs/tools.md. Default NULL:
                           those of the environment variable MORELLO_TOOLS, if it is set, else "gdb";
                           "": nobody */
} morello_context_options;

MORELLO_API void morello_context_options_init(morello_context_options *options,
                                              size_t options_size);

/** Creates a context: settings, plus the ISA cap read once from MORELLO_MAX_ISA (only what both
 *  caps allow is used; it, MORELLO_CACHE_DIR and MORELLO_TOOLS are ignored in set-user-id
 *  programs). It never
 *  changes: one is enough for a process, and any number of its threads may use it at once, its
 *  cache directory included.
 *  @param options NULL: defaults.
 *  @return MORELLO_INVALID_ARGUMENT (an option, or a value of MORELLO_MAX_ISA that is none: nobody
 *  who asked for less gets more; a name of no tool; a cache directory that others could write code
 * into), MORELLO_IO_ERROR (a cache directory that cannot be made or opened), MORELLO_OUT_OF_MEMORY.
 */
MORELLO_API morello_status morello_context_create(const morello_context_options *options,
                                                  morello_context **context, morello_error **err);
MORELLO_API void morello_context_release(morello_context *context);

/* ---------------------------------------------------------------------------------------------
 * Specs: what to compute
 * ------------------------------------------------------------------------------------------- */

#define MORELLO_MAX_RANK 8     /**< dimensions of one tensor */
#define MORELLO_MAX_OPERANDS 8 /**< tensors of one Spec, outputs included */

typedef struct morello_spec morello_spec;

/** Element types. Numbers are pinned. Each operand has its own. Floats are computed and summed in
 *  f32, integers in i32 modulo 2^32, a mixture in f32; operands are converted when they are loaded,
 *  and results when they are stored: to the nearest, ties to even, integers saturating.
 *  docs/numerics.md has every detail. A target that has no kernels for a combination refuses it in
 *  morello_synthesize(). */
typedef enum morello_dtype {
  MORELLO_F32 = 1,
  MORELLO_BF16 = 2,
  MORELLO_F16 = 3,
  MORELLO_I8 = 4,
  MORELLO_U8 = 5,
  MORELLO_I32 = 6
} morello_dtype;

typedef enum morello_layout {
  MORELLO_LAYOUT_ROW_MAJOR = 0,
  MORELLO_LAYOUT_COLUMN_MAJOR = 1, /**< the last two axes swapped in memory; text: {..,0,1} */
  MORELLO_LAYOUT_STRIDED = 2,      /**< `strides` counts */
  MORELLO_LAYOUT_FREE = 3          /**< inputs only, the library chooses; morello_kernel_pack() */
} morello_layout;

/** One operand. Plain data: zero-fill it and set the first fields; unused entries must be 0. */
typedef struct morello_tensor {
  int32_t dtype;  /**< morello_dtype */
  int32_t layout; /**< morello_layout */
  uint32_t rank;  /**< 0 (a scalar) to MORELLO_MAX_RANK */
  uint32_t reserved0;
  int64_t shape[MORELLO_MAX_RANK];   /**< elements per axis, each at least 1 */
  int64_t strides[MORELLO_MAX_RANK]; /**< elements between neighbours; read if layout is STRIDED */
} morello_tensor;

/** Parses one Spec. docs/spec-language.md has the grammar. Text is UTF-8, zero terminated.
 *  @return MORELLO_SYNTAX_ERROR, MORELLO_INVALID_SHAPE, MORELLO_SIZE_OVERFLOW,
 *  MORELLO_UNKNOWN_DTYPE, MORELLO_INVALID_LAYOUT, MORELLO_UNSUPPORTED, with line and column. */
MORELLO_API morello_status morello_spec_parse(const morello_context *context, const char *text,
                                              morello_spec **spec, morello_error **err);

/** Scalar functions of one and two arguments, and reductions. Numbers are pinned. */
typedef enum morello_op {
  MORELLO_OP_RELU = 1, /**< x < 0 ? 0 : x (NaN stays NaN) */
  MORELLO_OP_NEG = 2,
  MORELLO_OP_ABS = 3,
  MORELLO_OP_SQRT = 4,
  MORELLO_OP_SQUARE = 5,
  MORELLO_OP_RECIP = 6, /**< 1 / x, correctly rounded */
  /* In f32, at most 2 units of the last place off (docs/numerics.md has more). */
  MORELLO_OP_EXP = 7,
  MORELLO_OP_EXP2 = 8,
  MORELLO_OP_LOG = 9, /**< natural */
  MORELLO_OP_TANH = 10,
  MORELLO_OP_SIGMOID = 11, /**< 1 / (1 + exp(-x)) */
  MORELLO_OP_ERF = 12,
  MORELLO_OP_GELU = 13,      /**< x / 2 * (1 + erf(x / sqrt(2))) */
  MORELLO_OP_GELU_TANH = 14, /**< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
  MORELLO_OP_SILU = 15,      /**< x * sigmoid(x) */
  MORELLO_OP_RSQRT = 24,     /**< 1 / sqrt(x) */
  /** Of radians, any finite number of them; of infinities NaN. @since 0.1 */
  MORELLO_OP_SIN = 35,
  MORELLO_OP_COS = 36,
  MORELLO_OP_FLOOR = 25,
  MORELLO_OP_CEIL = 26,
  MORELLO_OP_ROUND = 27, /**< to the nearest integer, ties to even */
  MORELLO_OP_ADD = 16,
  MORELLO_OP_SUB = 17,
  MORELLO_OP_MUL = 18,
  MORELLO_OP_DIV = 19,
  MORELLO_OP_MAX = 20,      /**< NaN if a or b is, and +0 is above -0; also a reduction */
  MORELLO_OP_MIN = 21,      /**< NaN if a or b is, and -0 is below +0; also a reduction */
  MORELLO_OP_FAST_MAX = 22, /**< a > b ? a : b, so a NaN in a gives b; also a reduction */
  MORELLO_OP_FAST_MIN = 23, /**< a < b ? a : b; also a reduction */
  /** 1 or 0. With a NaN 0, but for NOT_EQUAL. @since 0.1 */
  MORELLO_OP_LESS = 28,
  MORELLO_OP_LESS_EQUAL = 29,
  MORELLO_OP_GREATER = 30,
  MORELLO_OP_GREATER_EQUAL = 31,
  MORELLO_OP_EQUAL = 32,
  MORELLO_OP_NOT_EQUAL = 33,
  /** a != 0 ? b : c, of three inputs: in texts and graphs. @since 0.1 */
  MORELLO_OP_SELECT = 34
} morello_op;

/** Builders: the same Specs without text. Errors as morello_spec_parse(), without line and column.
 *  `accumulate` nonzero: the output is read and added to; zero: overwritten and never read. */

/** C[..,m,n] = A[..,m,k] * B[..,k,n]; leading axes are a batch and equal in all three. */
MORELLO_API morello_status morello_spec_matmul(const morello_context *context,
                                               const morello_tensor *a, const morello_tensor *b,
                                               const morello_tensor *out, int accumulate,
                                               morello_spec **spec, morello_error **err);
/** A general contraction with a letter for each axis, such as "bmk,bkn->bmn". */
MORELLO_API morello_status morello_spec_einsum(const morello_context *context,
                                               const char *subscripts, const morello_tensor *a,
                                               const morello_tensor *b, const morello_tensor *out,
                                               int accumulate, morello_spec **spec,
                                               morello_error **err);
/** out = op(in), elementwise, `op` a function of one argument. */
MORELLO_API morello_status morello_spec_unary(const morello_context *context, int32_t op,
                                              const morello_tensor *in, const morello_tensor *out,
                                              morello_spec **spec, morello_error **err);
/** out = op(a, b), `op` one of ADD .. MIN; a and b broadcast to the shape of out as in NumPy. */
MORELLO_API morello_status morello_spec_binary(const morello_context *context, int32_t op,
                                               const morello_tensor *a, const morello_tensor *b,
                                               const morello_tensor *out, morello_spec **spec,
                                               morello_error **err);
/** Reduces `axis` of `in` by ADD, MAX or MIN; out has the shape of in without that axis. */
MORELLO_API morello_status morello_spec_reduce(const morello_context *context, int32_t op,
                                               uint32_t axis, const morello_tensor *in,
                                               const morello_tensor *out, int accumulate,
                                               morello_spec **spec, morello_error **err);
/** Copies in to out. Same shape (layouts may differ: a relayout), or in broadcast to out. */
MORELLO_API morello_status morello_spec_move(const morello_context *context,
                                             const morello_tensor *in, const morello_tensor *out,
                                             morello_spec **spec, morello_error **err);
/** out[i0,i1,..] = in[..]: axis j of out is axis permutation[j] of in. */
MORELLO_API morello_status morello_spec_transpose(const morello_context *context,
                                                  const uint32_t *permutation,
                                                  const morello_tensor *in,
                                                  const morello_tensor *out, morello_spec **spec,
                                                  morello_error **err);
/** out = value everywhere, which must be a number that out can hold. */
MORELLO_API morello_status morello_spec_fill(const morello_context *context, float value,
                                             const morello_tensor *out, morello_spec **spec,
                                             morello_error **err);
/** A new Spec that applies one more elementwise step to the result of `spec`. `op` unary: `operand`
 *  is NULL. `op` binary: op(result, operand), operand broadcast to the result; it becomes the last
 *  input. `spec` itself is not changed. At most 15 steps. */
MORELLO_API morello_status morello_spec_append(const morello_context *context,
                                               const morello_spec *spec, int32_t op,
                                               const morello_tensor *operand,
                                               morello_spec **appended, morello_error **err);

/** A graph that is being built: inputs, constants and operations on them, which become one Spec. Of
 *  one thread at a time. */
typedef struct morello_graph morello_graph;
MORELLO_API morello_status morello_graph_create(const morello_context *context,
                                                morello_graph **graph, morello_error **err);
/** NULL is allowed. Specs that were made of it stay. */
MORELLO_API void morello_graph_release(morello_graph *graph);
/** The next input, which is operand 0, 1, .. of the Spec. *value receives the number that
 *  operations know it by. */
MORELLO_API morello_status morello_graph_input(morello_graph *graph, const morello_tensor *tensor,
                                               uint32_t *value, morello_error **err);
/** A constant, rounded to f32 unless it is an integer of 32 bits. */
MORELLO_API morello_status morello_graph_constant(morello_graph *graph, double number,
                                                  uint32_t *value, morello_error **err);
/** The result of an operation of the Spec language on earlier values: its name, and what it is told
 *  besides its inputs, as in "matmul", "softmax axis=1", "conv2d stride=2,2" or "cast bf16".
 *  @return MORELLO_SYNTAX_ERROR, with the column in `operation`; MORELLO_INVALID_SHAPE,
 *      MORELLO_INVALID_ARGUMENT, MORELLO_UNSUPPORTED: then the graph is as it was. */
MORELLO_API morello_status morello_graph_apply(morello_graph *graph, const char *operation,
                                               const uint32_t *inputs, uint32_t input_count,
                                               uint32_t *value, morello_error **err);
/** The Spec that computes `value`, which all others must be needed for. `out` NULL: row-major, of
 *  the shape and element type that follow; `accumulate` as in `+=`. The graph can be used on.
 *  @return as morello_spec_parse(), without a line. */
MORELLO_API morello_status morello_graph_finish(const morello_graph *graph, uint32_t value,
                                                const morello_tensor *out, int accumulate,
                                                morello_spec **spec, morello_error **err);
/** The Spec that computes several values, each once, into outputs in this order: 1 to
 *  MORELLO_MAX_OPERANDS less the inputs. `outs` NULL: all outputs follow from their values, as does
 *  one whose entry is NULL. `accumulate`: an entry for each; NULL: all are overwritten.
 *  @return as morello_graph_finish(); MORELLO_INVALID_ARGUMENT also if a value is there twice. */
MORELLO_API morello_status morello_graph_finish_outputs(const morello_graph *graph,
                                                        const uint32_t *values,
                                                        const morello_tensor *const *outs,
                                                        const int *accumulate, uint32_t count,
                                                        morello_spec **spec, morello_error **err);

/** Writes the Spec in its one printed form; parsing that gives an equal Spec. */
MORELLO_API size_t morello_spec_print(const morello_spec *spec, char *buffer, size_t size);
/** 1 if both ask for the same computation on the same tensors, else 0. */
MORELLO_API int morello_spec_equal(const morello_spec *a, const morello_spec *b);
/** Equal Specs have equal hashes, on every machine and in every process. */
MORELLO_API uint64_t morello_spec_hash(const morello_spec *spec);
/** Number of operands: inputs in the order of the Spec, then outputs in that of its results. */
MORELLO_API uint32_t morello_spec_operand_count(const morello_spec *spec);
/** How many of them, the last ones, are outputs: 1, unless the Spec is a graph with several. */
MORELLO_API uint32_t morello_spec_output_count(const morello_spec *spec);
/** Describes operand `index`; strides are filled for every layout but FREE.
 *  @return MORELLO_INVALID_ARGUMENT if index is out of range; MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_spec_operand(const morello_spec *spec, uint32_t index,
                                                morello_tensor *tensor);
/** Sizes known only at run time: a Spec may have one, "?<=512" in its text, and each "?" is it. The
 *  bound, or 0 if the Spec has none. All else that is asked of such a Spec (shapes, operations,
 *  evaluation) is of that largest size. */
MORELLO_API int64_t morello_spec_largest_size(const morello_spec *spec);
/** The Spec of one size of it, without a run-time size.
 *  @return MORELLO_INVALID_ARGUMENT (no run-time size, or not 1 to its bound),
 *  MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_spec_at_size(const morello_spec *spec, int64_t size,
                                                morello_spec **fixed, morello_error **err);
/** Operations of one run, of floats or integers: 2 per multiply-add, 1 per other scalar operation;
 *  conversions do not count. */
MORELLO_API double morello_spec_flops(const morello_spec *spec);
/** Computes the Spec slowly, in double precision, on any machine: the reference to check kernels
 *  against. `operands` as for morello_kernel_run(), FREE layouts being row-major.
 *  @return MORELLO_NULL_OPERAND, MORELLO_MISALIGNED, MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_spec_evaluate(const morello_spec *spec, void *const *operands,
                                                 morello_error **err);
/** The same for `count` elements of the output alone (of several: the first), to check a large
 * result at some places: values[i] receives what morello_spec_evaluate() would write to the element
 * at elements[i] elements from the output's first. Nothing else is written; the output is read if
 * the Spec accumulates. `operands` as above.
 *  @return as above; MORELLO_INVALID_ARGUMENT if no element of the output has such an offset. */
MORELLO_API morello_status morello_spec_evaluate_at(const morello_spec *spec, void *const *operands,
                                                    const int64_t *elements, size_t count,
                                                    double *values, morello_error **err);
/** The same of output `output`, counted from 0.
 *  @return also MORELLO_INVALID_ARGUMENT if there is no such output. */
MORELLO_API morello_status morello_spec_evaluate_output_at(const morello_spec *spec,
                                                           uint32_t output, void *const *operands,
                                                           const int64_t *elements, size_t count,
                                                           double *values, morello_error **err);
MORELLO_API morello_spec *morello_spec_retain(const morello_spec *spec);
MORELLO_API void morello_spec_release(morello_spec *spec);

/* ---------------------------------------------------------------------------------------------
 * Synthesis
 * ------------------------------------------------------------------------------------------- */

typedef struct morello_kernel morello_kernel;
typedef struct morello_table morello_table;

/** Where a search is. Filled by the library. */
typedef struct morello_progress {
  size_t struct_size;
  uint64_t states;       /**< as in morello_search_stats */
  uint64_t previews;     /**< likewise */
  uint64_t bytes;        /**< memory of the search */
  uint64_t microseconds; /**< since the search began */
  double best_cost;      /**< cycles of the best program so far; infinity if there is none yet */
  double lower_bound;    /**< no program costs less, in cycles */
} morello_progress;

/** Called by the thread that searches, never by two at once; must not throw. `progress` is valid
 *  during the call only. */
typedef void (*morello_progress_fn)(void *user, const morello_progress *progress);

/** How long to search: names of values of morello_options.effort. */
typedef enum morello_effort {
  MORELLO_EFFORT_EXACT = 0,   /**< until the cheapest program is proven */
  MORELLO_EFFORT_QUICK = 2000 /**< some milliseconds: docs/search.md has how good programs are */
} morello_effort;

typedef struct morello_options {
  size_t struct_size;
  int32_t target;          /**< morello_isa; default MORELLO_ISA_AUTO. More than the CPU has can be
                                searched for, but not run: see `search_only` */
  uint32_t threads;        /**< most threads the kernel may use at once; default 1: sequential */
  uint64_t time_budget;    /**< microseconds of search; 0 (default): no limit. What was found is
                                then completed to a program, which takes up to 0.2 s more; it
                                is no worse than that of MORELLO_EFFORT_QUICK */
  uint64_t memory_budget;  /**< bytes of search memory; 0 (default): no limit */
  uint32_t search_only;    /**< nonzero: make no code. The kernel can be printed, but not run */
  uint32_t reserved0;      /**< must be 0 */
  uint32_t search_threads; /**< threads that search; default 1; 0: one per processor. The result
                                does not depend on it. Fewer if the system cannot start so many */
  uint32_t progress_interval;   /**< least milliseconds between calls of `progress`; default 100 */
  morello_progress_fn progress; /**< default NULL */
  void *progress_user;          /**< passed to `progress` */
  const int32_t *cancel; /**< read now and then, atomically: not 0 ends the search. Any thread may
                              set it. Default NULL */
  const morello_table *table; /**< asked before searching; borrowed for the call; default NULL */
  uint32_t strict_table; /**< 0 (default): a table of another target or number of threads covers
                              nothing; 1: it is an error, MORELLO_INCOMPATIBLE_TABLE */
  uint32_t code_only;    /**< nonzero: make code to be kept (morello_kernel_code_get()), for any
                              target, whatever the CPU has. The kernel cannot be run */
  uint64_t effort;       /**< most work of the search, in that of expanding a usual state (states,
                              actions and improvements are weighed as they take time), or a
                              morello_effort; default MORELLO_EFFORT_EXACT. With another one the
                              search has one thread, whatever `search_threads` says, and its result
                              is the same on every machine; more effort never finds a dearer
                              program. The least that is done takes some hundreds of expansions, of
                              large graphs thousands */
} morello_options;

MORELLO_API void morello_options_init(morello_options *options, size_t options_size);

/** The morello_isa that MORELLO_ISA_AUTO would mean for `spec` on a CPU that can run the kernels of
 *  `usable_isas` alone (bit 1 << n, as in morello_cpu_info): one of them, or 0 if there is none. No
 *  cap counts. Taking away what it returns, and asking again, gives an order: for any other CPU,
 *  the first one of it that is usable. */
MORELLO_API int32_t morello_spec_isa(const morello_spec *spec, uint32_t usable_isas);

/** Finds the cheapest program for `spec` and makes a kernel of it. Deterministic: the same Spec,
 *  options and library version give the same program and the same code bytes. Only a search that a
 *  budget ends may differ: its kernel is of the best program found until then, which is not known
 *  to be the cheapest (morello_search_stats: optimal, lower_bound).
 *
 *  With a table that covers the Spec there is no search. Every decision of a table is checked
 *  before it is used: one that covers the Spec but has no program for it is as good as none (see
 *  morello_table_use).
 *
 *  With a cache directory, a kernel that an earlier call with the same Spec, target, threads and
 *  library build has left there is loaded, without search or emission (morello_search_stats:
 *  stored); any other is left there, unless it came from a table. Whatever is wrong with the
 *  directory or an entry, the kernel is made as if there were none, and the context's log is told.
 *  @param options NULL: the defaults.
 *  @return MORELLO_ISA_UNAVAILABLE, MORELLO_UNSUPPORTED, MORELLO_NO_IMPLEMENTATION,
 *  MORELLO_BUDGET_EXCEEDED (no program was found until then), MORELLO_CANCELLED,
 *  MORELLO_INCOMPATIBLE_TABLE (with strict_table: of another target than the kernel, or another
 *  number of threads),
 *  MORELLO_EXEC_MEMORY_DENIED, MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_synthesize(const morello_context *context,
                                              const morello_spec *spec,
                                              const morello_options *options,
                                              morello_kernel **kernel, morello_error **err);

/* ---------------------------------------------------------------------------------------------
 * Kernels
 * ------------------------------------------------------------------------------------------- */

/** How a parallel kernel gets its threads. Plain data, read-only to the library. */
typedef struct morello_executor {
  size_t struct_size;
  void *user; /**< passed to parallel_for */
  /** Calls fn(arg, i) once for each i in [0, count), on any threads, in any order, and returns when
   *  all calls have returned. Must not throw. */
  void (*parallel_for)(void *user, size_t count, void (*fn)(void *arg, size_t index), void *arg);
} morello_executor;

/** Runs the kernel. No allocation, lock or system call of its own if `scratch` is given.
 *  @param operands  one pointer per operand, in the order of the Spec, outputs last. Each must be
 *      aligned to its element size and hold morello_kernel_operand_size() bytes; nothing outside is
 *      read or written. Inputs may overlap one another; an output must share no element with an
 *      input or another output, not even in place, for a program may write it before it has read
 *      all. Elements of the one between elements of the other are fine.
 *  @param scratch   morello_kernel_scratch_size() bytes, used by this call alone, aligned to
 *      morello_kernel_scratch_alignment(); or NULL: the library allocates it for this call.
 *  @param executor  NULL: everything runs on the calling thread.
 *  @return MORELLO_NULL_OPERAND, MORELLO_MISALIGNED, MORELLO_OUT_OF_MEMORY,
 *  MORELLO_INVALID_ARGUMENT (kernel is NULL, or was made with search_only or code_only; executor is
 *  a pool of the process that this one was forked from). */
MORELLO_API morello_status morello_kernel_run(const morello_kernel *kernel, void *const *operands,
                                              void *scratch, const morello_executor *executor);
/** The same, after checking the size of every buffer: operand_bytes[i] is the size of operands[i].
 *  @return also MORELLO_OPERAND_TOO_SMALL, and MORELLO_INVALID_ARGUMENT if an output shares an
 *  element with another operand, with a message that names the operands. Where strides are so odd
 * that this cannot be told quickly, it is not refused. */
MORELLO_API morello_status morello_kernel_run_checked(
    const morello_kernel *kernel, void *const *operands, const size_t *operand_bytes,
    uint32_t operand_count, void *scratch, size_t scratch_bytes, const morello_executor *executor,
    morello_error **err);
/** The machine code itself, for callers that count nanoseconds: no argument is checked, and scratch
 *  may be NULL only if the scratch size is 0. NULL for search_only and code_only kernels. */
typedef void (*morello_kernel_fn)(void *const *operands, void *scratch,
                                  const morello_executor *executor);
MORELLO_API morello_kernel_fn morello_kernel_function(const morello_kernel *kernel);

/** Kernels of Specs with a run-time size ("?<=512"). morello_kernel_run() refuses them, and
 *  morello_kernel_function() has none. The bound, or 0 for other kernels. What is asked of operands
 *  and cost is of that largest size; scratch is enough for every size. */
MORELLO_API int64_t morello_kernel_largest_size(const morello_kernel *kernel);
/** As morello_kernel_run(), on operands that have the size `size`, 1 to the bound: rows beyond are
 *  neither read nor written, and need not be there.
 *  @return as morello_kernel_run(); MORELLO_INVALID_ARGUMENT also for another size, or a kernel
 *  without a run-time size. */
MORELLO_API morello_status morello_kernel_run_sized(const morello_kernel *kernel, int64_t size,
                                                    void *const *operands, void *scratch,
                                                    const morello_executor *executor);
/** As morello_kernel_run_checked(), of buffers for that size. */
MORELLO_API morello_status morello_kernel_run_sized_checked(
    const morello_kernel *kernel, int64_t size, void *const *operands, const size_t *operand_bytes,
    uint32_t operand_count, void *scratch, size_t scratch_bytes, const morello_executor *executor,
    morello_error **err);
/** As morello_kernel_function(): the machine code, which checks nothing, `size` included.
 *  */
typedef void (*morello_sized_kernel_fn)(void *const *operands, void *scratch,
                                        const morello_executor *executor, int64_t size);
MORELLO_API morello_sized_kernel_fn morello_kernel_sized_function(const morello_kernel *kernel);
/** Predicted cycles of one run of that size; 0 if the kernel has no such size. */
MORELLO_API double morello_kernel_sized_cost(const morello_kernel *kernel, int64_t size);

MORELLO_API uint32_t morello_kernel_operand_count(const morello_kernel *kernel);
/** How many of them, the last ones, are outputs. */
MORELLO_API uint32_t morello_kernel_output_count(const morello_kernel *kernel);
/** Bytes from the first to past the last element of an operand; for an operand whose layout was
 *  free, the size of its packed form. 0 if index is out of range. */
MORELLO_API size_t morello_kernel_operand_size(const morello_kernel *kernel, uint32_t index);
/** Bytes of scratch that one call needs, and their alignment (a power of two). */
MORELLO_API size_t morello_kernel_scratch_size(const morello_kernel *kernel);
MORELLO_API size_t morello_kernel_scratch_alignment(const morello_kernel *kernel);
/** Free layouts: writes operand `index` in the layout that the kernel expects. `src` is dense
 *  row-major; `dst` has morello_kernel_operand_size() bytes. Pack once, run often. Align `dst` to
 * 64 bytes: where memory is the limit, loads that straddle cache lines take up to twice as long.
 * For an operand whose layout was not free the packed form is the given layout.
 *  @return MORELLO_INVALID_ARGUMENT (index, search_only, code_only), MORELLO_NULL_OPERAND,
 *  MORELLO_MISALIGNED, MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_kernel_pack(const morello_kernel *kernel, uint32_t index,
                                               const void *src, void *dst);

/** The Impl tree: every decision, with cost and peak memory per node. Empty for loaded kernels. */
MORELLO_API size_t morello_kernel_print(const morello_kernel *kernel, char *buffer, size_t size);
/** The plan: loops, buffers and microkernels as emitted. Empty for search_only and loaded kernels.
 */
MORELLO_API size_t morello_kernel_print_plan(const morello_kernel *kernel, char *buffer,
                                             size_t size);
/** Where its predicted cycles go, as one JSON object (docs/tools.md): by node of the Impl tree, by
 *  resource, by operand, and what bounds them. Empty for loaded kernels. Not a stable format.
 *  @return the length; 0 also if there is no memory. */
MORELLO_API size_t morello_kernel_explain(const morello_kernel *kernel, char *buffer, size_t size);
/** A name such as "morello_matmul_m64n3072k768_avx2", used in dumps and profiles. */
MORELLO_API const char *morello_kernel_name(const morello_kernel *kernel);
/** What it computes, as morello_spec_print() writes it. */
MORELLO_API const char *morello_kernel_spec(const morello_kernel *kernel);
/** morello_isa that running the kernel needs. */
MORELLO_API int32_t morello_kernel_isa(const morello_kernel *kernel);
/** Predicted cycles of one run on the model of the target. */
MORELLO_API double morello_kernel_cost(const morello_kernel *kernel);
/** The bytes of the kernel's own code (position independent); *size is 0 for search_only kernels.
 *  More of it: morello_kernel_code_get(). */
MORELLO_API const uint8_t *morello_kernel_code(const morello_kernel *kernel, size_t *size);

/** Code of a kernel, for those who keep it: in an object file, for instance. It is position
 *  independent, without relocations, and never changes: a copy of its bytes, at an address that is
 *  aligned as needed, is called as a morello_kernel_fn and needs no library. Fill with
 *  morello_kernel_code_get(). */
typedef struct morello_code {
  size_t struct_size;
  const uint8_t *bytes; /**< the kernel's: they live as long as it does */
  size_t size;
  size_t alignment;        /**< of the first byte; a power of two */
  size_t entry;            /**< offset of the function to call */
  size_t scratch_size;     /**< bytes of scratch that one call needs, aligned like a kernel's */
  uint32_t function_count; /**< that it consists of; constants follow the last one */
  uint32_t reserved0;      /**< 0 */
} morello_code;
/** @param operand  -1: the kernel's own code. 0, 1, ..: what packs this operand (see
 *      morello_kernel_pack()). Its operands: the dense row-major tensor, and the packed one,
 *      all zeros before. `size` is 0 if there is none: the packed form is the given layout, or
 *      row-major where that was free.
 *  @param code_size sizeof(morello_code) of the caller.
 *  @return MORELLO_INVALID_ARGUMENT (NULL, operand, code_size, or a search_only kernel). */
MORELLO_API morello_status morello_kernel_code_get(const morello_kernel *kernel, int32_t operand,
                                                   morello_code *code, size_t code_size);

typedef enum morello_code_kind {
  MORELLO_CODE_ENTRY = 0,  /**< what is called from outside */
  MORELLO_CODE_TASK = 1,   /**< what an executor calls */
  MORELLO_CODE_ROUTINE = 2 /**< called by the others */
} morello_code_kind;

/** What tables for unwinding are made of: from `offset` on, up to the next step, the stack pointer
 *  of the caller (before it pushed the return address) is rsp + `cfa`. */
typedef struct morello_frame_step {
  uint32_t offset; /**< in the code */
  uint32_t cfa;
  int32_t saved; /**< DWARF number of the register that has just been pushed, and can be found there
                      until the function returns; -1: none */
} morello_frame_step;

/** One function of a code. Fill with morello_kernel_code_function_get(). */
typedef struct morello_code_function {
  size_t struct_size;
  uint32_t begin; /**< offsets in the code */
  uint32_t end;
  int32_t kind; /**< morello_code_kind */
  uint32_t step_count;
  const morello_frame_step *steps; /**< by offset; the kernel's: they live as long as it does */
} morello_code_function;
/** @param operand  as for morello_kernel_code_get()
 *  @param index    0 to function_count-1; functions are in the order of their addresses
 *  @param function_size sizeof(morello_code_function) of the caller.
 *  @return MORELLO_INVALID_ARGUMENT (NULL, operand, index, function_size, search_only kernel). */
MORELLO_API morello_status morello_kernel_code_function_get(const morello_kernel *kernel,
                                                            int32_t operand, uint32_t index,
                                                            morello_code_function *function,
                                                            size_t function_size);

/** What became of the options' table. */
typedef enum morello_table_use {
  MORELLO_TABLE_NONE = 0,        /**< there was none */
  MORELLO_TABLE_ANSWERED = 1,    /**< the program is the table's */
  MORELLO_TABLE_NOT_COVERED = 2, /**< it does not cover the Spec: a search found the program */
  MORELLO_TABLE_WRONG = 3,       /**< what it decides for the Spec is no program: likewise */
  MORELLO_TABLE_NEAR =
      4 /**< it does not cover the Spec, but what it decides for near sizes made the
             program, which is not proven: an effort or a budget ended the search */
} morello_table_use;

/** Why a table does not cover a Spec. */
typedef enum morello_table_reason {
  MORELLO_TABLE_REASON_NONE = 0,    /**< it does, or there is none */
  MORELLO_TABLE_REASON_SPEC = 1,    /**< no family of the table has the Spec */
  MORELLO_TABLE_REASON_TARGET = 2,  /**< it is for another target than the kernel */
  MORELLO_TABLE_REASON_THREADS = 3, /**< it is for another number of threads */
  MORELLO_TABLE_REASON_EFFORT = 4   /**< it was made with less effort than the kernel */
} morello_table_reason;

/** What the search did. Fill with morello_kernel_stats_get(). */
typedef struct morello_search_stats {
  size_t struct_size;
  uint64_t specs;     /**< distinct Specs met */
  uint64_t states;    /**< distinct (Spec, memory limits) pairs met */
  uint64_t expanded;  /**< states whose actions were listed */
  uint64_t previews;  /**< actions previewed */
  uint64_t memo_hits; /**< requests answered by a known state */
  uint64_t bytes;     /**< peak memory of the search */
  uint64_t search_microseconds;
  uint64_t codegen_microseconds; /**< plan and emission */
  uint64_t misfits;              /**< previews of actions that do not fit the limits */
  uint64_t advances;             /**< improvements of an action through its children */
  uint64_t borrowed;             /**< states that looser limits settled */
  uint64_t lookup_nanoseconds;   /**< asking the table */
  uint64_t search_nanoseconds;   /**< 0 if the table had it all */
  uint64_t plan_nanoseconds;     /**< from the program to loops, buffers and registers */
  uint64_t emit_nanoseconds;     /**< from these to executable memory */
  double lower_bound;            /**< cycles; no program costs less */
  uint32_t optimal;              /**< 1: proven; 0: a budget or the effort ended the search */
  int32_t table_use;             /**< morello_table_use */
  int32_t table_reason;          /**< morello_table_reason */
  uint32_t stored; /**< 1: the kernel was loaded, from a file, from memory or from the cache: counts
                        and times are 0; lower_bound and optimal are those of the search that once
                        found it */
  uint64_t effort; /**< morello_options.effort; 0 also for kernels that were loaded */
} morello_search_stats;
MORELLO_API morello_status morello_kernel_stats_get(const morello_kernel *kernel,
                                                    morello_search_stats *stats, size_t stats_size);

/* Stored kernels: code, and all that running, checking and packing take. libmorello-runtime, a
 * library of under 100 KB with a part of these functions, loads and runs them as well.
 *
 * Loading one means trusting it like a shared library: it is machine code, which will run. What is
 * checked (checksums, versions, every number) finds damage and mix-ups, and no malice: load files
 * only from where you would load a library. docs/stored-kernels.md says more. */

/** Writes a kernel to a file, which is replaced as a whole or not at all, if it is a regular one or
 *  a symbolic link. The same kernel gives the same bytes.
 *  @param kernel  one with code, to be run or not (code_only): also for a CPU that this is not.
 *  @return MORELLO_IO_ERROR, MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT (search_only). */
MORELLO_API morello_status morello_kernel_save(const morello_kernel *kernel, const char *path,
                                               morello_error **err);
/** The bytes of such a file: the first `size` of them.
 *  @param buffer  NULL if size is 0
 *  @param length  receives how many there are.
 *  @return MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_kernel_save_memory(const morello_kernel *kernel, void *buffer,
                                                      size_t size, size_t *length,
                                                      morello_error **err);
/** Loads a kernel from a file that morello_kernel_save() wrote, here or elsewhere, to be run: there
 *  is no search, and no code is made. It is the kernel that was saved, bit for bit, but for what
 *  morello_kernel_print(), .._print_plan() and .._stats() say.
 *  @param context  its ISA cap counts.
 *  @return MORELLO_IO_ERROR, MORELLO_CORRUPT_KERNEL, MORELLO_INCOMPATIBLE_KERNEL (format version or
 *  target; the message names them), MORELLO_ISA_UNAVAILABLE (CPU, system or cap lack what the code
 *  needs; the message says what), MORELLO_EXEC_MEMORY_DENIED, MORELLO_OUT_OF_MEMORY,
 *  MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_kernel_load(const morello_context *context, const char *path,
                                               morello_kernel **kernel, morello_error **err);
/** The same from the bytes of a file, which are not needed afterwards.
 *  @return as morello_kernel_load(), but for MORELLO_IO_ERROR. */
MORELLO_API morello_status morello_kernel_load_memory(const morello_context *context,
                                                      const void *data, size_t size,
                                                      morello_kernel **kernel, morello_error **err);

MORELLO_API morello_kernel *morello_kernel_retain(const morello_kernel *kernel);
MORELLO_API void morello_kernel_release(morello_kernel *kernel);

/* ---------------------------------------------------------------------------------------------
 * Tables: what searches found, to ship with an application
 * ------------------------------------------------------------------------------------------- */

/* A table is immutable. It has one part, or several: each is for one target, one number of threads
 * and one effort, and covers a set of Specs. A synthesis asks a part that is for its target and
 * threads, and of no less effort: an exact one first.
 * Files of tables are untrusted data: whatever their bytes are, loading them takes no more memory
 * than morello_context_options.table_memory and time in proportion to what they decompress to
 * (times its logarithm), and decisions are checked before use. */

/** Reads a table from a file.
 *  @return MORELLO_IO_ERROR, MORELLO_CORRUPT_TABLE, MORELLO_INCOMPATIBLE_TABLE (format version,
 *  target, cost model or actions are not those of this library and context; the message names
 *  them), MORELLO_TABLE_TOO_LARGE (the message says what the limit is and how to raise it),
 *  MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_table_load(const morello_context *context, const char *path,
                                              morello_table **table, morello_error **err);
/** The same from the bytes of a file, which are not needed afterwards.
 *  @return as morello_table_load(), but for MORELLO_IO_ERROR. */
MORELLO_API morello_status morello_table_load_memory(const morello_context *context,
                                                     const void *data, size_t size,
                                                     morello_table **table, morello_error **err);
/** Writes a table to a file, which is replaced as a whole or not at all, and keeps its permissions
 *  and, as far as permitted, its owner. Writers take turns: beside the file they keep one named
 * like it with ".lock" behind, which stays.
 *  @return MORELLO_IO_ERROR, MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_table_save(const morello_table *table, const char *path,
                                              morello_error **err);
/** The bytes of such a file: the first `size` of them. Equal tables give equal bytes.
 *  @param buffer  NULL if size is 0
 *  @param length  receives how many there are.
 *  @return MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_table_save_memory(const morello_table *table, void *buffer,
                                                     size_t size, size_t *length,
                                                     morello_error **err);
/** A new table that covers what either covers; neither is changed. It has the parts of both; of one
 *  target, number of threads and effort they become one. Follows every program that such parts
 * promise: at most 4,194,304 pairs of Specs and memory limits each, about 0.5 KiB a pair.
 *  @return MORELLO_INCOMPATIBLE_TABLE (of different machine models),
 *  MORELLO_CORRUPT_TABLE (a covered Spec has no program, or two that contradict each other),
 *  MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_table_merge(const morello_table *a, const morello_table *b,
                                               morello_table **merged, morello_error **err);

/** Facts about a table. Fill with morello_table_info_get(). */
typedef struct morello_table_info {
  size_t struct_size;
  int32_t target;    /**< morello_isa of its kernels; of several parts, that of the first */
  uint32_t threads;  /**< morello_options.threads of its kernels; likewise */
  char machine[64];  /**< machine model, zero terminated; "host" for read_machine contexts */
  uint64_t families; /**< see morello_table_family() */
  uint64_t points;   /**< Specs that are covered; 2^64-1 if there are more */
  uint64_t groups;   /**< kinds of Specs that it has decisions for */
  uint64_t boxes;    /**< of decisions */
  uint64_t bytes;    /**< in memory */
  uint64_t parts;    /**< see morello_table_part(); counts are of all parts */
  uint64_t effort;   /**< morello_precompute_options.effort; of several parts, that of the first */
} morello_table_info;
/** @return MORELLO_INVALID_ARGUMENT if a pointer is NULL or info_size is of no released version;
 *  MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_table_info_get(const morello_table *table,
                                                  morello_table_info *info, size_t info_size);
/** A part of a table as a table of its own. Parts are ascending by target name, threads, effort.
 *  @param part  receives a new table; release with morello_table_release().
 *  @return MORELLO_INVALID_ARGUMENT (there is no such part), MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_table_part(const morello_table *table, uint64_t index,
                                              morello_table **part, morello_error **err);
/** What the table was asked to cover, as text; NULL if index is out of range. */
MORELLO_API const char *morello_table_family(const morello_table *table, uint64_t index);
/** 1 if a kernel for `spec`, of the target, threads and effort of some part, needs no search, else
 * 0; 0 also if there is no memory to look it up. With a run-time size: of all pieces that it is
 * made of.
 */
MORELLO_API int morello_table_covers(const morello_table *table, const morello_spec *spec);
/** Why a table does not cover a Spec, a line for each part: "avx2, 1 thread: m = 50 is not on the
 *  ladder of sizes; 48 and 64 are covered". What is nearest is said. "" if some part covers it. Not
 *  a stable format.
 *  @return the length; 0 also if a pointer is NULL or there is no memory. */
MORELLO_API size_t morello_table_miss(const morello_table *table, const morello_spec *spec,
                                      char *buffer, size_t size);
/** Of a family, a Spec in which sizes may be bounds (docs/spec-language.md), how many members there
 *  are, and how many of them the table covers (which looks up each). Either pointer may be NULL.
 *  With a run-time size: pieces, in the part that covers most of them; where it lacks some, how
 *  many there are besides the largest size and the ladder is not known, and none of these counts.
 *  @return as morello_spec_parse(), with line and column; MORELLO_UNSUPPORTED also if it has more
 *  than 2^24 members to look up; MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_table_coverage(const morello_table *table, const char *family,
                                                  uint64_t *members, uint64_t *covered,
                                                  morello_error **err);

/** What morello_table_verify() found. */
typedef struct morello_table_verification {
  size_t struct_size;
  uint64_t promised; /**< Specs that the table covers */
  uint64_t pairs; /**< of Specs and memory limits that their kernels decide; 0: some is missing */
  uint64_t searched; /**< covered Specs that were searched for */
  uint64_t
      failures; /**< 1 if decisions are missing or illegal, and each Spec with another kernel */
  char failure[512]; /**< the first one, zero terminated; "" without any */
} morello_table_verification;
/** Checks every decision that covered Specs need, and searches again for `points` of them, chosen
 *  by `seed` (all, if there are no more), to compare. Takes as long as these searches.
 *  @param found_size sizeof(morello_table_verification) of the caller.
 *  @return MORELLO_OK also if there are failures; MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT.
 */
MORELLO_API morello_status morello_table_verify(const morello_table *table, uint64_t points,
                                                uint64_t seed, morello_table_verification *found,
                                                size_t found_size, morello_error **err);
/** The whole table for people, or with `json` nonzero as one JSON object: groups, numbered from 0,
 *  and their boxes, with the range along each axis and the decision in words. Not a stable format.
 *  @return the length; 0 if table is NULL or there is no memory. */
MORELLO_API size_t morello_table_dump(const morello_table *table, int json, char *buffer,
                                      size_t size);
/** Draws boxes of one group as an SVG document, coloured by decision: those that lie at one place
 * of the axes that are not drawn, the place where most meet. At most 4,096, the largest.
 *  @param group its number in a dump; -1: the one with the most boxes.
 *  @param x,y axes by their names in a dump; NULL: the widest ones.
 *  @param length receives the length of the whole text, like the result of other text functions.
 *  @return MORELLO_INVALID_ARGUMENT (no such group or axis), MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_table_plot(const morello_table *table, int64_t group,
                                              const char *x, const char *y, char *buffer,
                                              size_t size, size_t *length, morello_error **err);

/** Where a precompute is. Filled by the library. */
typedef struct morello_precompute_progress {
  size_t struct_size;
  uint64_t members; /**< of this part of the families; grows while run-time sizes are solved */
  uint64_t done;    /**< of them, solved, or found in the file */
  uint64_t found;   /**< of them, found in the file */
  uint64_t without_program; /**< of them, those that fit no program into the target's limits */
  uint64_t saved;           /**< solved, and in the file by now */
  uint64_t pairs;           /**< that the file's programs consist of, as of the last save */
  uint64_t boxes;           /**< of decisions in the file, likewise */
  uint64_t bytes;           /**< memory of the search */
  uint64_t microseconds;    /**< since the call began */
  uint64_t remaining;       /**< microseconds, an estimate; 0: none yet, or done */
} morello_precompute_progress;
typedef void (*morello_precompute_progress_fn)(void *user,
                                               const morello_precompute_progress *progress);

typedef struct morello_precompute_options {
  size_t struct_size;
  int32_t target;             /**< morello_isa, whatever the CPU has; default MORELLO_ISA_AUTO */
  uint32_t threads;           /**< morello_options.threads of the kernels; default 1 */
  uint32_t workers;           /**< threads that solve; default 0: one per processor. Fewer if the
                                   system cannot start so many */
  uint32_t part;              /**< solve this one, counted from 0, .. */
  uint32_t parts;             /**< .. of so many parts of about the same work; default 1 */
  uint32_t save_interval;     /**< least milliseconds between saves; default 2000 */
  uint32_t progress_interval; /**< milliseconds between calls of `progress`, about; default 100 */
  uint32_t effort;            /**< MORELLO_EFFORT_EXACT (default), or MORELLO_EFFORT_QUICK: the
                                   cheapest programs of a narrower space, which are found sooner.
                                   They answer a synthesis of that effort or less, and no other */
  uint64_t memory_budget; /**< bytes, about: a search that outgrows it begins anew, which costs time
                               but no result; default 4 GiB */
  morello_precompute_progress_fn progress; /**< called by the calling thread, at the end as well;
                                       must not throw. Default NULL */
  void *progress_user;                     /**< passed to `progress` */
  const int32_t *cancel; /**< read now and then, atomically: not 0 ends the call, and what is solved
                              is saved. Any thread may set it. Default NULL */
} morello_precompute_options;
MORELLO_API void morello_precompute_options_init(morello_precompute_options *options,
                                                 size_t options_size);

/** Solves all members of families that the table file at `path` does not cover yet, and adds them.
 *  The file is made if there is none, and replaced as a whole every few seconds: at any moment it
 *  is a valid table, and a later call goes on where one was interrupted or killed. Processes may
 *  share a file. In the end its bytes are the same for any number of workers, parts and calls.
 *  @param families  `family_count` texts: Specs in which sizes may be bounds such as <=512
 *  (docs/spec-language.md), 2^24 members at most; or Specs with a run-time size, whose members are
 *  the pieces that a kernel for exactly this Spec is made of, and all that their choice looks at.
 *  @return as morello_spec_parse(), with line and column, and of several families "families[1]: "
 *  before the message; MORELLO_CANCELLED, MORELLO_IO_ERROR, MORELLO_CORRUPT_TABLE,
 *  MORELLO_INCOMPATIBLE_TABLE and MORELLO_TABLE_TOO_LARGE (an existing file, which is left alone),
 *  MORELLO_ISA_UNAVAILABLE,
 *  MORELLO_OUT_OF_MEMORY, MORELLO_INVALID_ARGUMENT. */
MORELLO_API morello_status morello_precompute(const morello_context *context,
                                              const char *const *families, size_t family_count,
                                              const char *path,
                                              const morello_precompute_options *options,
                                              morello_error **err);
/** The same without a file: a new table of all members, and of what `known` covers, which is not
 *  changed. Its bytes (morello_table_save_memory()) are those that the file would have.
 *  @param known    of the options' target and threads; NULL: nothing is known.
 *  @param options  as for morello_precompute(). With `parts` above 1 the table has one part, as
 *      morello_table_merge() takes them.
 *  @return as morello_precompute(), but for MORELLO_IO_ERROR; MORELLO_INCOMPATIBLE_TABLE and
 *  MORELLO_CORRUPT_TABLE are about `known`. Nothing is kept of a call that is cancelled. */
MORELLO_API morello_status morello_precompute_table(const morello_context *context,
                                                    const char *const *families,
                                                    size_t family_count, const morello_table *known,
                                                    const morello_precompute_options *options,
                                                    morello_table **table, morello_error **err);

MORELLO_API morello_table *morello_table_retain(const morello_table *table);
MORELLO_API void morello_table_release(morello_table *table);

/* ---------------------------------------------------------------------------------------------
 * A small thread pool, for programs that have none
 * ------------------------------------------------------------------------------------------- */

typedef struct morello_pool morello_pool;

/** Starts `threads`-1 worker threads (0: one per processor); a kernel's caller is the last one.
 *  Several threads may run kernels on one pool; their loops take turns. A worker without one looks
 *  for the next for some 50 microseconds, and then sleeps.
 *  @return MORELLO_INVALID_ARGUMENT (over 1024), MORELLO_OUT_OF_MEMORY. */
MORELLO_API morello_status morello_pool_create(uint32_t threads, morello_pool **pool,
                                               morello_error **err);
/** The pool as an executor; lives as long as the pool. In a forked child its parallel_for runs
 *  everything on the calling thread. */
MORELLO_API const morello_executor *morello_pool_executor(const morello_pool *pool);
/** Waits for the workers to end, if they are in this process (see "Fork" above). No kernel may be
 *  running on the pool. */
MORELLO_API void morello_pool_release(morello_pool *pool);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MORELLO_MORELLO_H */
