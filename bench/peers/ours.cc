// SPDX-License-Identifier: MIT
#include "ours.hh"

#include <memory>

#include "data.hh"
#include "fmt/format.h"
#include "handles.hh"

namespace morello::bench {
namespace {

/// What a kernel needs to run.
struct Ours {
  tools::KernelPtr kernel;
  tools::PoolPtr pool;
  std::unique_ptr<Bytes> scratch;
  const morello_executor* executor = nullptr;
};

std::string message(morello_error* error) {
  return tools::ErrorPtr(error) ? morello_error_message(error) : "refused";
}

tools::ContextPtr make_context(std::string* reason) {
  morello_context* context = nullptr;
  morello_error* error = nullptr;
  if (morello_context_create(nullptr, &context, &error) != MORELLO_OK) *reason = message(error);
  return tools::ContextPtr(context);
}

tools::SpecPtr parse(morello_context* context, const std::string& text, std::string* reason) {
  morello_spec* spec = nullptr;
  morello_error* error = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) {
    *reason = message(error);
  }
  return tools::SpecPtr(spec);
}

}  // namespace

Offer our_offer(const std::string& text, const Setting& setting) {
  const uint32_t threads = setting.threads;
  std::string reason;
  const tools::ContextPtr context = make_context(&reason);
  const tools::SpecPtr spec = context ? parse(context.get(), text, &reason) : nullptr;
  if (!spec) return refuse(reason);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.threads = threads;
  options.time_budget = static_cast<uint64_t>(setting.search_seconds * 1e6);
  morello_kernel* kernel = nullptr;
  morello_error* error = nullptr;
  if (morello_synthesize(context.get(), spec.get(), &options, &kernel, &error) != MORELLO_OK) {
    return refuse(message(error));
  }
  auto ours = std::make_shared<Ours>();
  ours->kernel.reset(kernel);
  if (const size_t bytes = morello_kernel_scratch_size(kernel); bytes != 0) {
    ours->scratch = std::make_unique<Bytes>(bytes);
  }
  if (threads > 1) {
    morello_pool* pool = nullptr;
    if (morello_pool_create(threads, &pool, &error) != MORELLO_OK) return refuse(message(error));
    ours->pool.reset(pool);
    ours->executor = morello_pool_executor(pool);
  }

  morello_search_stats stats = {};
  morello_kernel_stats_get(kernel, &stats, sizeof stats);
  Method method{fmt::format("{}, searched {:.1f} s{}", morello_kernel_name(kernel),
                            static_cast<double>(stats.search_microseconds) / 1e6,
                            stats.optimal != 0 ? "" : ", not to the end")};
  method.run = [ours, function = morello_kernel_function(kernel)](void* const* operands) {
    function(operands, ours->scratch ? ours->scratch->get() : nullptr, ours->executor);
  };
  for (uint32_t i = 0; i < morello_spec_operand_count(spec.get()); ++i) {
    morello_tensor tensor = {};
    morello_spec_operand(spec.get(), i, &tensor);
    if (tensor.layout != MORELLO_LAYOUT_FREE) continue;
    if (i != 1) return refuse("only operand 1 may be free here");
    method.packed_bytes = morello_kernel_operand_size(kernel, i);
    method.pack = [ours](const void* given, void* packed) {
      morello_kernel_pack(ours->kernel.get(), 1, given, packed);
    };
  }
  return {{method}, ""};
}

std::string in_full(const std::string& text) {
  std::string reason;
  const tools::ContextPtr context = make_context(&reason);
  const tools::SpecPtr spec = context ? parse(context.get(), text, &reason) : nullptr;
  if (!spec) return text;
  return tools::text_of(morello_spec_print, static_cast<const morello_spec*>(spec.get()));
}

Problem problem_of(const std::string& text) {
  Problem problem;
  std::string reason;
  const tools::ContextPtr context = make_context(&reason);
  const tools::SpecPtr spec = context ? parse(context.get(), text, &reason) : nullptr;
  if (!spec) return problem;
  for (uint32_t i = 0; i < morello_spec_operand_count(spec.get()); ++i) {
    morello_tensor tensor = {};
    morello_spec_operand(spec.get(), i, &tensor);
    if (size_of(tensor.dtype) == 0 || tensor.layout == MORELLO_LAYOUT_FREE) return {};
    problem.tensors.push_back(tensor);
  }
  return problem;
}

std::string evaluate(const std::string& text, void* const* operands) {
  std::string reason;
  const tools::ContextPtr context = make_context(&reason);
  const tools::SpecPtr spec = context ? parse(context.get(), text, &reason) : nullptr;
  if (!spec) return reason;
  morello_error* error = nullptr;
  if (morello_spec_evaluate(spec.get(), operands, &error) != MORELLO_OK) return message(error);
  return {};
}

}  // namespace morello::bench
