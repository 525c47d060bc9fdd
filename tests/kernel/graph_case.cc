// SPDX-License-Identifier: MIT
#include "graph_case.hh"

#include <cmath>
#include <cstring>

#include "../support/graph_reference.hh"
#include "../support/reference.hh"
#include "kernel_case.hh"

namespace morello::testing {
namespace {

constexpr u64 kMemoryBudget = 24 << 20;

/// Tame: what functions and quotients make of it stays near.
void fill_tame(Bytes& memory, Dtype dtype, Random& random) {
  const size_t size = size_of(dtype);
  for (size_t at = 0; at + size <= memory.size(); at += size) {
    const double x = is_integer(dtype) ? pick(random, 0, 4) : pick(random, 0, 4000) / 1000.0 - 2;
    const u32 bits = encoded(dtype, x);
    std::memcpy(memory.data() + at, &bits, size);
  }
}

/// Within 4 of 0, of so many binary digits after the point.
void fill_exact(Bytes& memory, Dtype dtype, u32 digits, Random& random) {
  const size_t size = size_of(dtype);
  for (size_t at = 0; at + size <= memory.size(); at += size) {
    const double x = is_integer(dtype)
                         ? pick(random, 0, 100)
                         : std::ldexp(pick(random, 0, 8u << digits), -static_cast<int>(digits)) - 4;
    const u32 bits = encoded(dtype, x);
    std::memcpy(memory.data() + at, &bits, size);
  }
}

struct Handles {
  ContextPtr context;
  SpecPtr spec;
  KernelPtr kernel;
};

morello_status synthesize(const std::string& text, morello_isa isa, u32 threads, Handles& h,
                          std::string& message) {
  morello_error* error = nullptr;
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  morello_status status = morello_context_create(nullptr, &context, &error);
  h.context.reset(context);
  if (status == MORELLO_OK) status = morello_spec_parse(context, text.c_str(), &spec, &error);
  h.spec.reset(spec);
  if (status == MORELLO_OK) {
    morello_options options;
    morello_options_init(&options, sizeof options);
    options.target = isa;
    options.threads = threads;
    options.memory_budget = kMemoryBudget;
    status = morello_synthesize(context, spec, &options, &kernel, &error);
    h.kernel.reset(kernel);
  }
  const ErrorPtr own(error);
  if (error) message = morello_error_message(error);
  return status;
}

}  // namespace

std::vector<i64> offsets_of(const Tensor& t) {
  std::vector<i64> all = {0};
  for (size_t axis = 0; axis < t.shape.size(); axis++) {
    std::vector<i64> finer;
    for (i64 at : all)
      for (i64 i = 0; i < t.shape[axis]; i++) finer.push_back(at + i * t.strides[axis]);
    all = std::move(finer);
  }
  return all;
}

std::string wrong(const Statement& s, morello_isa isa, u64 seed, u32 threads, bool& skipped,
                  Nearness nearness) {
  const std::string text = print(s);
  Handles h;
  std::string message;
  const morello_status status = synthesize(text, isa, threads, h, message);
  skipped = status == MORELLO_BUDGET_EXCEEDED;
  if (status != MORELLO_OK) return skipped ? "" : text + "\n" + message;
  Random random(static_cast<u32>(seed));
  const bool exact = nearness == Nearness::kExactSums || nearness == Nearness::kExactProducts;
  Trial trial;
  trial.operand_count = static_cast<int>(s.tensors.size());
  trial.dtype = s.tensors.back().dtype;
  for (size_t t = 0; t < s.tensors.size(); t++) {
    trial.data[t].resize(morello_kernel_operand_size(h.kernel.get(), static_cast<u32>(t)));
    if (exact)
      fill_exact(trial.data[t], s.tensors[t].dtype, nearness == Nearness::kExactSums ? 12 : 3,
                 random);
    else
      fill_tame(trial.data[t], s.tensors[t].dtype, random);
  }
  const int outputs = output_count(s), first = trial.operand_count - outputs;
  std::vector<Array> before;
  for (int i = 0; i < outputs; i++) {
    Bytes& memory = trial.data[static_cast<size_t>(first + i)];
    before.push_back(array_of(s.tensors[static_cast<size_t>(first + i)], memory));
    if (!output_of(s, i).accumulate) std::fill(memory.begin(), memory.end(), '\xff');
  }
  double greatest = 1;
  const std::vector<std::vector<char>> data(trial.data.begin(),
                                            trial.data.begin() + trial.operand_count);
  const std::vector<Array> results = graph_results_of(s, data, &greatest);
  for (int o = 0; o < outputs; o++) {
    const Tensor& out = s.tensors[static_cast<size_t>(first + o)];
    std::vector<Expected> expected;
    const std::vector<i64> offsets = offsets_of(out);
    for (size_t i = 0; i < offsets.size(); i++) {
      const auto at = static_cast<size_t>(o);
      Expected e{offsets[i],
                 results[at].at[i] + (output_of(s, o).accumulate ? before[at].at[i] : 0)};
      const bool narrow = is_narrow_float(out.dtype) || nearness == Nearness::kOfCasts;
      e.error = greatest * (narrow ? 0.01 : 1e-5);
      if (is_integer(out.dtype) || exact) e.error = 0;
      if (std::isnan(e.value)) e.error = 0;
      expected.push_back(e);
    }
    if (o + 1 == outputs)
      trial.expected = std::move(expected);
    else
      trial.earlier.push_back({first + o, out.dtype, std::move(expected)});
  }
  Call call;
  call.function = morello_kernel_function(h.kernel.get());
  call.scratch_bytes = morello_kernel_scratch_size(h.kernel.get());
  for (Guarded::Side side : {Guarded::Side::kEnd, Guarded::Side::kStart})
    if (std::string bad = run(trial, call, side); !bad.empty()) return text + "\n" + bad;
  return "";
}

}  // namespace morello::testing
