// SPDX-License-Identifier: MIT
// What gathers: any axis, any index, also what names no place; nothing outside is read.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "../support/random_graph.hh"
#include "graph_case.hh"
#include "kernel_case.hh"
#include "rounds.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

TEST_CASE("gathers that people write") {
  const std::string texts[] = {
      "gather f32[9,33] i32[7] axis=0",
      "gather f32[9,33] i32[7] axis=1",
      "gather f32[3,9,5] i32[2,4] axis=1 -> f32[3,2,4,5]",
      "gather f32[9,33] i32[] axis=0",
      "gather f32[5] i32[7] axis=0",
      "gather f32[1,33] i32[7] axis=0",
      "gather bf16[9,70] u8[7] axis=0 -> bf16[7,70]",
      "gather bf16[9,70] i8[7] axis=0 -> f32[7,70]",
      "gather f16[9,70] i32[3,2] axis=0 -> f32[3,2,70]",
      "gather u8[9,70] i32[7] axis=0 -> f32[7,70]",
      "gather i32[9,21] i32[7] axis=0",
      "gather i32[9,21] i32[7] axis=0 -> bf16[7,21]",
      "gather f32[9,33]{0,1} i32[7] axis=0",
      "gather f32[9,33]{strides=40,1} i32[7] axis=0 -> f32[7,33]{0,1}",
      "gather f32[9,33] i32[7]{strides=3} axis=0 += f32[7,33]",
      "gather_elements f32[5,7] i32[3,7] axis=0",
      "gather_elements f32[5,7] i32[5,1] axis=1",
      "gather_elements bf16[2,5,7] u8[2,5,3] axis=2 -> f32[2,5,3]",
      // Embeddings: a token's row and a position's, and the norm of their sum.
      "e = gather f32[40,33] i32[6] axis=0; p = add e f32[6,33]; layernorm p f32[33] f32[33] "
      "axis=1",
      "gather i8[40,33] i32[6] axis=0 * f32[33] -> bf16[6,33]",
      "e = gather f32[40,19] i32[6] axis=0; rmsnorm e f32[19] axis=1 -> matmul f32[19,35]",
      // By what is computed, from what is computed, twice from one input, and to several outputs.
      "i = add i32[6] 2; gather f32[9,17] i axis=0",
      "n = less i i32[6] 0; w = mul n 9 -> reshape shape=6,1; gather f32[9,17] i axis=0 + w",
      "t = exp f32[9,17]; gather t i32[6] axis=0",
      "x f32[9,17]; a = gather x i32[6] axis=0; b = gather x i32[6] axis=0; mul a b",
      "x f32[9,17]; r = relu x; g = gather r i32[6] axis=0; r, g",
      "x i32[1,5]; gather_elements x x axis=0",
      "x i32[1]; gather x x axis=0",
      "g = gather i32[9,70] i32[7] axis=0; s = add g 1; g -> f32[7,70], s -> i32[7,70]",
      "v = add i32[6] 2; g = gather i32[9] v axis=0; y = add g v; r = gather f32[50,4] y axis=0; "
      "w = reshape v shape=6,1; mul r w",
      "a = gather f32[9] i32[4,5] axis=0; gather a i32[2] axis=1",
      "c = conv2d f32[1,3,9,8] f32[4,3,3,3] padding=1; gather c i32[2] axis=1 -> relu",
      "m = causal_mask f32[9,9] -> softmax axis=1; gather m i32[4] axis=0",
      "gather m f32[8,12] i32[12,12] axis=1 -> softmax axis=2 -> f32[8,12,12]",
  };
  for (morello_isa isa : all_usable_isas())
    for (const std::string& text : texts) {
      const Result<Statement> s = parse(text);
      REQUIRE_MESSAGE(s.ok(), text << ": " << s.error().message);
      for (u32 threads : {1u, 2u}) {
        bool skipped = false;
        CHECK(wrong(*s, isa, 1, threads, skipped) == "");
        CHECK_MESSAGE(!skipped, text);
      }
    }
}

TEST_CASE("an index that names no place names the nearest one") {
  constexpr i32 kLeast = std::numeric_limits<i32>::min(), kMost = std::numeric_limits<i32>::max();
  const std::vector<i32> index = {-1, 0, 1, 4, 5, 6, kLeast, kMost, kLeast + 1, kMost - 1, 1000};
  const std::vector<i64> places = {0, 0, 1, 4, 4, 4, 0, 4, 0, 4, 4};
  for (morello_isa isa : all_usable_isas()) {
    const std::string text = "gather f32[5,3] i32[11] axis=0";
    morello_context* context = nullptr;
    morello_spec* spec = nullptr;
    morello_kernel* kernel = nullptr;
    REQUIRE(morello_context_create(nullptr, &context, nullptr) == MORELLO_OK);
    const ContextPtr own_context(context);
    REQUIRE(morello_spec_parse(context, text.c_str(), &spec, nullptr) == MORELLO_OK);
    const SpecPtr own_spec(spec);
    morello_options options;
    morello_options_init(&options, sizeof options);
    options.target = isa;
    REQUIRE(morello_synthesize(context, spec, &options, &kernel, nullptr) == MORELLO_OK);
    const KernelPtr own_kernel(kernel);
    Trial trial;
    trial.operand_count = 3;
    trial.dtype = Dtype::kF32;
    trial.data[0].resize(5 * 3 * sizeof(float));
    trial.data[1].resize(index.size() * sizeof(i32));
    std::memcpy(trial.data[1].data(), index.data(), trial.data[1].size());
    trial.data[2].resize(index.size() * 3 * sizeof(float));
    for (size_t i = 0; i < 15; i++) {
      const float x = static_cast<float>(i);
      std::memcpy(trial.data[0].data() + i * sizeof x, &x, sizeof x);
    }
    for (size_t i = 0; i < index.size(); i++)
      for (i64 d = 0; d < 3; d++)
        trial.expected.push_back(
            {static_cast<i64>(i) * 3 + d, static_cast<double>(places[i] * 3 + d)});
    Call call;
    call.function = morello_kernel_function(kernel);
    call.scratch_bytes = morello_kernel_scratch_size(kernel);
    for (Guarded::Side side : {Guarded::Side::kEnd, Guarded::Side::kStart})
      CHECK(run(trial, call, side) == "");
  }
}

/// Sizes, types and layouts at random, also with steps behind it.
std::string random_gather(Random& random) {
  const auto size = [&] {
    return std::array<u32, 8>{1, 2, 3, 5, 8, 17, 33, 70}[pick(random, 0, 7)];
  };
  const auto shape_text = [](const char* type, const std::vector<u32>& shape) {
    std::string s = std::string(type) + '[';
    for (size_t i = 0; i < shape.size(); i++) s += (i ? "," : "") + std::to_string(shape[i]);
    return s + ']';
  };
  const char* types[] = {"f32", "f32", "bf16", "f16", "i8", "u8", "i32"};
  const char* indices[] = {"i32", "i32", "u8", "i8"};
  std::vector<u32> shape(pick(random, 1, 3));
  for (u32& n : shape) n = size();
  const u32 axis = pick(random, 0, static_cast<u32>(shape.size()) - 1);
  const bool by_elements = chance(random, 25);
  std::vector<u32> named = shape, result = shape;
  if (by_elements) {
    named[axis] = result[axis] = size();
  } else {
    named.resize(pick(random, 0, 2));
    for (u32& n : named) n = std::array<u32, 5>{1, 2, 3, 7, 12}[pick(random, 0, 4)];
    result.erase(result.begin() + axis);
    result.insert(result.begin() + axis, named.begin(), named.end());
  }
  std::string x = shape_text(types[pick(random, 0, 6)], shape);
  if (shape.size() == 2 && chance(random, 20)) x += "{0,1}";
  std::string text = by_elements ? "gather_elements " : "gather ";
  text +=
      x + ' ' + shape_text(indices[pick(random, 0, 3)], named) + " axis=" + std::to_string(axis);
  if (chance(random, 25)) text += " * 2";
  if (chance(random, 25)) text += " -> add " + shape_text("f32", result);
  return text + " -> " + shape_text(chance(random, 70) ? "f32" : "bf16", result);
}

TEST_CASE("random gathers") {
  for (morello_isa isa : all_usable_isas())
    for (u64 seed : seeds(60)) {
      set_note("random gathers", seed, isa);
      Random random(static_cast<u32>(seed));
      const std::string text = random_gather(random);
      const Result<Statement> s = parse(text);
      REQUIRE_MESSAGE(s.ok(), text << ": " << s.error().message);
      bool skipped = false;
      const std::string bad = wrong(*s, isa, seed, seed % 3 == 0 ? 2 : 1, skipped);
      REQUIRE_MESSAGE(bad == "", repeat_command("random gathers", seed, isa));
      CHECK_MESSAGE(!skipped, text);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
