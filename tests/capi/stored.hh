// SPDX-License-Identifier: MIT
// Kernels as bytes and back through the C interface, and whether two of them are the same.
#ifndef MORELLO_TESTS_CAPI_STORED_HH
#define MORELLO_TESTS_CAPI_STORED_HH

#include <cstring>
#include <random>

#include "handles.hh"

namespace morello::testing {

inline std::string saved(const morello_kernel* kernel) {
  size_t length = 0;
  REQUIRE(morello_kernel_save_memory(kernel, nullptr, 0, &length, nullptr) == MORELLO_OK);
  std::string bytes(length, '\0');
  REQUIRE(morello_kernel_save_memory(kernel, bytes.data(), length, &length, nullptr) == MORELLO_OK);
  REQUIRE(length == bytes.size());
  return bytes;
}

inline KernelPtr loaded(const morello_context* context, const std::string& bytes) {
  return make<KernelPtr>([&](morello_kernel** k, morello_error** e) {
    return morello_kernel_load_memory(context, bytes.data(), bytes.size(), k, e);
  });
}

/// What can be asked of one code: its bytes, and its functions. "" if it has none.
inline std::string code_text(const morello_kernel* kernel, int32_t operand) {
  morello_code code;
  if (morello_kernel_code_get(kernel, operand, &code, sizeof code) != MORELLO_OK) return "?";
  if (code.size == 0) return "";
  std::string text(reinterpret_cast<const char*>(code.bytes), code.size);
  for (size_t value : {code.entry, code.alignment, code.scratch_size})
    text += " " + std::to_string(value);
  for (uint32_t i = 0; i < code.function_count; i++) {
    morello_code_function f;
    REQUIRE(morello_kernel_code_function_get(kernel, operand, i, &f, sizeof f) == MORELLO_OK);
    for (int64_t value : {int64_t{f.begin}, int64_t{f.end}, int64_t{f.kind}})
      text += " " + std::to_string(value);
    for (uint32_t s = 0; s < f.step_count; s++)
      for (int64_t value :
           {int64_t{f.steps[s].offset}, int64_t{f.steps[s].cfa}, int64_t{f.steps[s].saved}})
        text += " " + std::to_string(value);
  }
  return text;
}

/// All that a kernel says of itself, but for the search that found it.
inline void check_same(const morello_kernel* a, const morello_kernel* b) {
  CHECK(std::string(morello_kernel_name(a)) == morello_kernel_name(b));
  CHECK(std::string(morello_kernel_spec(a)) == morello_kernel_spec(b));
  CHECK(morello_kernel_isa(a) == morello_kernel_isa(b));
  CHECK(morello_kernel_cost(a) == morello_kernel_cost(b));
  CHECK(morello_kernel_scratch_size(a) == morello_kernel_scratch_size(b));
  REQUIRE(morello_kernel_operand_count(a) == morello_kernel_operand_count(b));
  CHECK(morello_kernel_output_count(a) == morello_kernel_output_count(b));
  CHECK(stats_of(a).lower_bound == stats_of(b).lower_bound);
  CHECK(stats_of(a).optimal == stats_of(b).optimal);
  CHECK(code_text(a, -1) == code_text(b, -1));
  for (uint32_t i = 0; i < morello_kernel_operand_count(a); i++) {
    CHECK(morello_kernel_operand_size(a, i) == morello_kernel_operand_size(b, i));
    CHECK(code_text(a, static_cast<int32_t>(i)) == code_text(b, static_cast<int32_t>(i)));
  }
}

/// Runs a kernel on random bytes, floats small enough to sum, packed by the kernel itself where it
/// packs: what is in all operands afterwards.
inline std::string run(const morello_spec* spec, const morello_kernel* kernel, uint32_t seed,
                       const morello_executor* executor = nullptr) {
  std::mt19937 random(seed);
  std::vector<std::vector<char>> memory;
  std::vector<void*> pointers;
  std::vector<size_t> sizes;
  for (uint32_t i = 0; i < morello_kernel_operand_count(kernel); i++) {
    morello_tensor tensor{};
    REQUIRE(morello_spec_operand(spec, i, &tensor) == MORELLO_OK);
    const bool free = tensor.layout == MORELLO_LAYOUT_FREE;
    size_t bytes = morello_kernel_operand_size(kernel, i);
    if (free) {
      bytes = tensor.dtype == MORELLO_F32 ? 4 : tensor.dtype == MORELLO_BF16 ? 2 : 1;
      for (uint32_t axis = 0; axis < tensor.rank; axis++)
        bytes *= static_cast<size_t>(tensor.shape[axis]);
    }
    std::vector<char> given(bytes);
    for (size_t at = 0; at < bytes; at++) {
      // The upper byte of a float of 2 or 4 bytes: a number from 2^-4 to 2^4, of either sign.
      const bool top =
          (tensor.dtype == MORELLO_F32 && at % 4 == 3) ||
          ((tensor.dtype == MORELLO_BF16 || tensor.dtype == MORELLO_F16) && at % 2 == 1);
      const uint32_t byte = random();
      given[at] = static_cast<char>(top ? 0x3e + byte % 3 + (byte & 0x80) : byte);
    }
    if (free) {
      std::vector<char> packed(morello_kernel_operand_size(kernel, i));
      REQUIRE(morello_kernel_pack(kernel, static_cast<int>(i), given.data(), packed.data()) ==
              MORELLO_OK);
      given = std::move(packed);
    }
    sizes.push_back(given.size());
    memory.push_back(std::move(given));
  }
  for (std::vector<char>& m : memory) pointers.push_back(m.data());
  REQUIRE(morello_kernel_run_checked(kernel, pointers.data(), sizes.data(),
                                     static_cast<uint32_t>(sizes.size()), nullptr, 0, executor,
                                     nullptr) == MORELLO_OK);
  std::string all;
  for (const std::vector<char>& m : memory) all.append(m.begin(), m.end());
  return all;
}

}  // namespace morello::testing

#endif
