// SPDX-License-Identifier: MIT
// Element types through the C interface: builders, what run and run_checked ask of operands whose
// elements differ in size, and the reference.
#include <array>
#include <cstddef>

#include "handles.hh"

namespace morello::testing {
namespace {

morello_tensor tensor(morello_dtype dtype, std::initializer_list<int64_t> shape) {
  morello_tensor t{};
  t.dtype = dtype;
  for (int64_t size : shape) t.shape[t.rank++] = size;
  return t;
}

/// What `build` makes, which is told where to put it.
template <class Build>
SpecPtr built(Build build) {
  morello_spec* spec = nullptr;
  REQUIRE(build(&spec) == MORELLO_OK);
  return SpecPtr(spec);
}

std::string text_of(const SpecPtr& spec) {
  return testing::text_of(morello_spec_print, spec.get());
}

/// u8 x i8 -> bf16, with scales in f32: three sizes of elements.
struct Product {
  ContextPtr context = make_context();
  SpecPtr spec;
  KernelPtr kernel;
  alignas(64) std::array<uint8_t, 256> memory{};
  static constexpr size_t kBytes[] = {2 * 3, 3 * 4, 4 * 4, 2 * 4 * 2};

  Product() {
    spec = parse_spec(context.get(), "matmul u8[2,3] i8[3,4] * f32[4] -> bf16[2,4]");
    morello_options options = default_options();
    kernel = synthesize(context.get(), spec.get(), &options);
  }
  /// Operands at these bytes of the memory.
  morello_status run(std::array<size_t, 4> at, std::string* message = nullptr) {
    std::array<void*, 4> operands{};
    for (size_t i = 0; i < at.size(); i++) operands[i] = memory.data() + at[i];
    if (message == nullptr)
      return morello_kernel_run(kernel.get(), operands.data(), nullptr, nullptr);
    morello_error* err = nullptr;
    const morello_status status = morello_kernel_run_checked(kernel.get(), operands.data(), kBytes,
                                                             4, nullptr, 0, nullptr, &err);
    const ErrorPtr own(err);
    if (err != nullptr) *message = morello_error_message(err);
    return status;
  }
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("builders take every element type, each operand its own") {
  const ContextPtr owner = make_context();
  morello_context* context = owner.get();
  const morello_tensor a = tensor(MORELLO_U8, {2, 3}), b = tensor(MORELLO_I8, {3, 4}),
                       bias = tensor(MORELLO_I32, {1, 4}), scale = tensor(MORELLO_F32, {1, 4}),
                       zero = tensor(MORELLO_F32, {}), out = tensor(MORELLO_U8, {2, 4});
  SpecPtr spec =
      built([&](auto s) { return morello_spec_matmul(context, &a, &b, &out, 0, s, nullptr); });
  const std::pair<morello_op, const morello_tensor*> steps[] = {
      {MORELLO_OP_ADD, &bias}, {MORELLO_OP_MUL, &scale}, {MORELLO_OP_ADD, &zero}};
  for (const auto& step : steps)
    spec = built([&](auto s) {
      return morello_spec_append(context, spec.get(), step.first, step.second, s, nullptr);
    });
  CHECK(text_of(spec) == "matmul u8[2,3] i8[3,4] + i32[1,4] * f32[1,4] + f32[] -> u8[2,4]");
  morello_tensor told{};
  REQUIRE(morello_spec_operand(spec.get(), 2, &told) == MORELLO_OK);
  CHECK(told.dtype == MORELLO_I32);

  const morello_tensor half = tensor(MORELLO_F16, {5}), brain = tensor(MORELLO_BF16, {5});
  spec = built([&](auto s) { return morello_spec_move(context, &half, &brain, s, nullptr); });
  CHECK(text_of(spec) == "move f16[5] -> bf16[5]");
  spec = built([&](auto s) { return morello_spec_fill(context, 255, &out, s, nullptr); });
  CHECK(text_of(spec) == "fill 255 -> u8[2,4]");
  morello_error* err = nullptr;
  morello_spec* made = nullptr;
  CHECK(morello_spec_fill(context, 256, &out, &made, &err) == MORELLO_INVALID_ARGUMENT);
  const ErrorPtr own(err);
  CHECK(contains(morello_error_message(err), "256 is none of u8"));
}

TEST_CASE("a quantized product is what its text says, in the reference and in the kernel") {
  const ContextPtr context = make_context();
  const SpecPtr spec =
      parse_spec(context.get(), "matmul u8[1,3] i8[3,2] + i32[1,2] * f32[1,2] + f32[] -> u8[1,2]");
  CHECK(morello_spec_flops(spec.get()) == 2 * 6 + 3 * 2);
  const uint8_t a[] = {255, 2, 7};
  const int8_t b[] = {1, -128, 3, 4, -5, 100};
  const int32_t bias[] = {-9, 40000};
  const float scale[] = {0.0625f, 0.5f}, zero = 128;
  // 226 - 9 = 217, 13.5625 + 128; -31932 + 40000 = 8068, past 255.
  const int64_t elements[] = {0, 1};
  double values[2];
  uint8_t out[2] = {};
  void* operands[] = {const_cast<uint8_t*>(a),    const_cast<int8_t*>(b),
                      const_cast<int32_t*>(bias), const_cast<float*>(scale),
                      const_cast<float*>(&zero),  out};
  REQUIRE(morello_spec_evaluate_at(spec.get(), operands, elements, 2, values, nullptr) ==
          MORELLO_OK);
  CHECK(values[0] == 142);
  CHECK(values[1] == 255);
  REQUIRE(morello_spec_evaluate(spec.get(), operands, nullptr) == MORELLO_OK);
  CHECK(std::to_integer<int>(std::byte{out[0]}) == 142);
  CHECK(std::to_integer<int>(std::byte{out[1]}) == 255);
  out[0] = out[1] = 0;
  morello_options options = default_options();
  const KernelPtr kernel = synthesize(context.get(), spec.get(), &options);
  REQUIRE(morello_kernel_run(kernel.get(), operands, nullptr, nullptr) == MORELLO_OK);
  CHECK(std::to_integer<int>(std::byte{out[0]}) == 142);
  CHECK(std::to_integer<int>(std::byte{out[1]}) == 255);
}

TEST_CASE("operands are aligned to the size of their own elements") {
  Product p;
  for (uint32_t i = 0; i < 4; i++)
    CHECK(morello_kernel_operand_size(p.kernel.get(), i) == Product::kBytes[i]);
  CHECK(p.run({1, 17, 32, 64}) == MORELLO_OK);  // bytes may be anywhere
  CHECK(p.run({0, 16, 34, 64}) == MORELLO_MISALIGNED);
  CHECK(p.run({0, 16, 32, 66}) == MORELLO_OK);
  CHECK(p.run({0, 16, 32, 65}) == MORELLO_MISALIGNED);
  std::string message;
  CHECK(p.run({0, 16, 32, 65}, &message) == MORELLO_MISALIGNED);
  CHECK(contains(message, "operand 3 (the output)"));
  CHECK(contains(message, "2 bytes"));
  CHECK(p.run({0, 16, 33, 64}, &message) == MORELLO_MISALIGNED);
  CHECK(contains(message, "operand 2 (input 2) is 1 bytes past a multiple of 4"));
}

TEST_CASE("operands of different element sizes that share a byte are found, neighbours are not") {
  Product p;
  std::string message;
  CHECK(p.run({64 + 16, 80 + 16, 32, 64}, &message) == MORELLO_OK);  // just behind the output
  CHECK(p.run({64 + 15, 80 + 16, 32, 64}, &message) == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(message, "operand 3 (the output) shares memory with operand 0 (input 0)"));
  CHECK(p.run({0, 64 - 12, 32, 64}, &message) == MORELLO_OK);
  CHECK(p.run({0, 64 - 11, 32, 64}, &message) == MORELLO_INVALID_ARGUMENT);
  CHECK(p.run({0, 16, 76, 64}, &message) == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(message, "operand 2 (input 2)"));
}

TEST_SUITE_END();

}  // namespace morello::testing
