// SPDX-License-Identifier: MIT
// Scenarios: the library's first calls in a process, and the functions that must not allocate.
#include "world.hh"

namespace morello::testing {
namespace {

constexpr const char* kMatmul = "matmul f32[4,5] f32[5,6] + f32[6] -> relu -> f32[4,6]";

/// All that a program needs, from nothing. Whatever is made is released again.
morello_status first_use(morello_error** e) {
  morello_context* c = nullptr;
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  static float a[20], b[30], bias[6], out[24];
  void* operands[] = {a, b, bias, out};
  morello_status status = morello_context_create(nullptr, &c, e);
  if (status == MORELLO_OK) status = morello_spec_parse(c, kMatmul, &spec, e);
  if (status == MORELLO_OK) status = morello_synthesize(c, spec, nullptr, &kernel, e);
  if (status == MORELLO_OK) status = morello_kernel_run(kernel, operands, nullptr, nullptr);
  morello_kernel_release(kernel);
  morello_spec_release(spec);
  morello_context_release(c);
  return status;
}

/// Every function that says something of an object and allocates nothing for it.
morello_status accessors(morello_error**) {
  static const morello_spec* const spec = spec_of(kMatmul);
  static const morello_kernel* const kernel = kernel_of(kMatmul);
  static const morello_table* const table = table_of({"relu f32[<=4]"});
  static char text[2000];
  morello_options options;
  morello_options_init(&options, sizeof options);
  morello_context_options context_options;
  morello_context_options_init(&context_options, sizeof context_options);
  morello_precompute_options precompute_options;
  morello_precompute_options_init(&precompute_options, sizeof precompute_options);
  morello_tensor tensor;
  morello_search_stats stats;
  size_t size = 0;
  morello_code code;
  morello_code_function function;
  const bool good =
      morello_version() != 0 && morello_version_string() != nullptr &&
      morello_cost_model_version() != 0 && morello_abi_version() == MORELLO_ABI_VERSION &&
      morello_status_string(MORELLO_OK) != nullptr &&
      morello_error_status(nullptr) == MORELLO_OUT_OF_MEMORY &&
      morello_error_message(nullptr) != nullptr && morello_error_line(nullptr) == 0 &&
      morello_error_column(nullptr) == 0 && morello_spec_print(spec, text, sizeof text) > 0 &&
      morello_spec_equal(spec, spec) == 1 && morello_spec_hash(spec) != 0 &&
      morello_spec_operand_count(spec) == 4 && morello_spec_output_count(spec) == 1 &&
      morello_spec_operand(spec, 9, &tensor) == MORELLO_INVALID_ARGUMENT &&
      morello_spec_flops(spec) > 0 && morello_kernel_function(kernel) != nullptr &&
      morello_kernel_operand_count(kernel) == 4 && morello_kernel_operand_size(kernel, 0) == 80 &&
      morello_kernel_output_count(kernel) == 1 && morello_kernel_scratch_size(kernel) < 1000 &&
      morello_kernel_scratch_alignment(kernel) > 0 &&
      morello_kernel_print(kernel, text, sizeof text) > 0 &&
      morello_kernel_print_plan(kernel, text, sizeof text) > 0 &&
      morello_kernel_name(kernel) != nullptr && morello_kernel_spec(kernel) != nullptr &&
      morello_kernel_isa(kernel) != 0 && morello_kernel_cost(kernel) > 0 &&
      morello_kernel_code(kernel, &size) != nullptr && size > 0 &&
      morello_kernel_code_get(kernel, -1, &code, sizeof code) == MORELLO_OK &&
      morello_kernel_code_function_get(kernel, -1, 0, &function, sizeof function) == MORELLO_OK &&
      morello_isa_features(MORELLO_ISA_AVX2, nullptr, 0) > 0 &&
      morello_spec_isa(spec, 1u << MORELLO_ISA_AVX2) == MORELLO_ISA_AVX2 &&
      morello_kernel_stats_get(kernel, &stats, sizeof stats) == MORELLO_OK &&
      morello_table_family(table, 0) != nullptr && morello_table_family(table, 9) == nullptr;
  morello_error_release(nullptr);
  morello_spec_release(morello_spec_retain(spec));
  morello_kernel_release(morello_kernel_retain(kernel));
  morello_table_release(morello_table_retain(table));
  return good ? MORELLO_OK : MORELLO_INTERNAL;
}

}  // namespace

std::vector<Scenario> cold_scenarios() {
  Scenario s;
  s.name = "the first calls of a process";
  s.functions = {"morello_context_create", "morello_spec_parse", "morello_synthesize",
                 "morello_kernel_run"};
  s.call = first_use;
  s.warms_up = true;
  return {s};
}

std::vector<Scenario> plain_scenarios() {
  need(accessors(nullptr) == MORELLO_OK, "what these functions say");
  Scenario plain;
  plain.name = "functions that must not allocate";
  plain.functions = {"morello_version",
                     "morello_version_string",
                     "morello_cost_model_version",
                     "morello_abi_version",
                     "morello_status_string",
                     "morello_error_status",
                     "morello_error_message",
                     "morello_error_line",
                     "morello_error_column",
                     "morello_error_release",
                     "morello_options_init",
                     "morello_context_options_init",
                     "morello_precompute_options_init",
                     "morello_spec_print",
                     "morello_spec_equal",
                     "morello_spec_hash",
                     "morello_spec_operand_count",
                     "morello_spec_output_count",
                     "morello_spec_flops",
                     "morello_spec_retain",
                     "morello_spec_release",
                     "morello_kernel_function",
                     "morello_kernel_operand_count",
                     "morello_kernel_output_count",
                     "morello_kernel_operand_size",
                     "morello_kernel_scratch_size",
                     "morello_kernel_scratch_alignment",
                     "morello_kernel_print",
                     "morello_kernel_print_plan",
                     "morello_kernel_name",
                     "morello_kernel_spec",
                     "morello_kernel_isa",
                     "morello_kernel_cost",
                     "morello_kernel_code",
                     "morello_kernel_code_get",
                     "morello_kernel_code_function_get",
                     "morello_isa_features",
                     "morello_spec_isa",
                     "morello_kernel_stats_get",
                     "morello_kernel_retain",
                     "morello_kernel_release",
                     "morello_table_family",
                     "morello_table_retain",
                     "morello_table_release"};
  plain.call = accessors;
  plain.allocates = false;

  Scenario cpu;
  cpu.name = "morello_cpu_info_get";
  cpu.functions = {"morello_cpu_info_get"};
  cpu.call = [](morello_error**) {
    morello_cpu_info info;
    return morello_cpu_info_get(&info, sizeof info);
  };
  Scenario operand;
  operand.name = "morello_spec_operand";
  operand.functions = {"morello_spec_operand"};
  operand.call = [](morello_error**) {
    morello_tensor tensor;
    static const morello_spec* const spec = spec_of(kMatmul);
    return morello_spec_operand(spec, 1, &tensor);
  };
  need(operand.call(nullptr) == MORELLO_OK, "an operand");
  return {plain, cpu, operand};
}

}  // namespace morello::testing
