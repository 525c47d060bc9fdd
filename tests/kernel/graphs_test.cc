// SPDX-License-Identifier: MIT
// Kernels of graphs that people write, and of random ones.
#include <doctest/doctest.h>

#include "../support/random_graph.hh"
#include "graph_case.hh"
#include "kernel_case.hh"
#include "rounds.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

TEST_CASE("graphs that people write") {
  const std::string texts[] = {
      "softmax f32[5,37] axis=1",
      "softmax f32[5,37] axis=0",
      "x = add f32[9] f32[9] + f32[9] + f32[9] + f32[9] + f32[9] + f32[9]; m = reduce_sum x axis=0 "
      "keep; sub x m",
      "log_softmax f32[3,4,19] axis=2",
      "logsumexp f32[9,65] axis=1",
      "layernorm f32[6,33] f32[33] f32[33] axis=1",
      "rmsnorm bf16[6,33] f32[33] axis=1 -> bf16[6,33]",
      "attention q f32[2,9,8] k f32[2,17,8] v f32[2,17,12] m f32[9,17]",
      "attention q bf16[2,9,8] k bf16[2,17,8] v bf16[2,17,12] -> bf16[2,9,12]",
      "attention q f32[2,19,8] k f32[2,19,8] v f32[2,19,12] causal",
      "attention q f32[40,8] k f32[57,8] v f32[57,12] m f32[40,57] causal offset=17",
      "attention q bf16[2,33,8] k bf16[2,33,8] v bf16[2,33,12] causal -> bf16[2,33,12]",
      "attention q f32[1,8] k f32[17,8] v f32[17,12] causal offset=5",
      "attention q f32[70,8] k f32[17,8] v f32[17,12] causal",
      "causal_mask f32[3,19,37] offset=3",
      "causal_mask f32[21,40]{0,1} -> softmax axis=1",
      "matmul f32[37,9] f32[9,33] -> causal_mask offset=1 -> f32[37,33]",
      "k = matmul x f32[20,4] f32[4,9]; v = matmul x f32[4,9]; attention q f32[20,9] k v causal",
      "matmul f32[7,19] f32[19,33] -> relu -> matmul f32[33,9] + f32[9]",
      "matmul f32[7,19] f32[19,33] -> matmul f32[33,9] -> matmul f32[9,21] += f32[7,21]",
      "g = matmul x f32[5,12] f32[12,31] -> silu; u = matmul x f32[12,31]; mul g u -> matmul "
      "f32[31,12]",
      "r = matmul f32[5,12] f32[12,20] + x f32[5,20]; rmsnorm r f32[20] axis=1",
      "square f32[6,50] -> reduce_sum axis=1",
      "square f32[6,50] -> reduce_sum axis=0",
      "c = mean x f32[6,50] axis=1 keep; sub x c -> square -> mean axis=1",
      "conv2d f32[1,3,9,11] f32[4,3,3,3] stride=2,1",
      "conv2d f32[1,9,11,4] f32[3,3,4,8] nhwc",
      "conv2d f32[1,4,9,9] f32[4,1,3,3] groups=4",
      "max_pool f32[2,3,8,8] window=2,2 stride=2,2",
      "avg_pool f32[1,9,9,5] window=3,3 stride=2,2 nhwc",
      "conv2d f32[1,3,9,11] f32[4,3,3,3] padding=1",
      "conv2d f32[2,3,9,11] f32[4,3,3,2] stride=2 padding=1,0,2,1 + f32[4,1,1] -> relu",
      "conv2d f32[1,9,11,4] f32[3,3,4,8] nhwc padding=1 stride=2",
      "conv2d bf16[1,4,9,9] bf16[4,1,3,3] groups=4 dilation=2 padding=2,1 -> bf16[1,4,9,7]",
      "conv2d u8[1,4,6,7] i8[5,4,3,3] padding=1",
      "conv2d f32[1,9,11,20] f32[3,3,1,20] groups=20 nhwc padding=1",
      "conv2d f32[1,19,1,1] f32[9,19,3,3] padding=1 + f32[9,1,1]",
      "conv2d f32[2,5,1,7] f32[9,5,3,3] padding=1",
      "conv2d bf16[1,1,2,24] bf16[5,3,24,17] nhwc padding=2,1 -> bf16[1,1,2,17]",
      "conv2d u8[1,5,3,9] i8[4,5,5,3] padding=1",
      "conv2d f32[1,9,11,20] f32[1,1,20,33] nhwc padding=1,2",
      "conv2d f32[1,20,9,11] f32[33,20,1,1] padding=1 stride=2 -> relu",
      "conv2d f32[1,3,19,17] f32[4,3,3,3] padding=3 stride=2 dilation=4",
      "conv2d f32[2,1,17,11] f32[2,1,3,2] stride=2,1 padding=0,0,0,1 dilation=3,1",
      "conv2d f32[1,4,17,19] f32[4,4,3,3] stride=1,2 padding=1,0,1,0 dilation=1,3",
      "conv2d bf16[1,9,11,13] bf16[3,2,1,13] groups=13 nhwc stride=2 padding=1 -> bf16[1,5,6,13]",
      "max_pool f32[2,3,9,8] window=3 stride=2 padding=1",
      "max_pool i8[2,8,9,3] window=3 stride=1,2 padding=1 nhwc",
      "avg_pool f32[1,3,9,9] window=3 padding=1,1,0,0",
      "avg_pool f32[1,1,1,33] window=3 padding=1 nhwc",
      "max_pool f32[2,3,4,9] window=7,1 padding=3,2",
      "max_pool i8[2,9,1,5] window=3 padding=2,1 nhwc",
      "matmul u8[5,40] i8[40,20] * 0.0078125 -> round -> clamp -7 7 -> i8[5,20]",
      "sub 1 f32[40] -> exp -> mul 0.5",
      "c = less x f32[5,37] 0; m = mul x 0.125; select c m x",
      "c = greater x f32[3,70] 0; e = exp x - 1; select c x e",
      "y = matmul f32[7,19] f32[19,33] + f32[33]; c = less y 0; m = mul y 0.25; select c m y",
      "c = less_equal a f32[7,40] b f32[40]; select c f32[7,1] -1 -> reduce_sum axis=1",
      "c = greater_equal f32[50] 0.5; select c 0 -3 -> f32[50]",
      "c = not_equal i32[50] i8[50]; select c 2 0 -> i32[50]",
      "m = select u8[9,17] s f32[9,17] -1000; softmax m axis=1",
      "a = add x f32[40] 3 -> clamp 0 6; mul x a / 6",
  };
  for (morello_isa isa : usable_isas())
    for (const std::string& text : texts) {
      bool skipped = false;
      const Statement s = *parse(text);
      REQUIRE(s.head == Statement::Head::kGraph);
      CHECK(wrong(s, isa, 1, 1, skipped) == "");
      CHECK_MESSAGE(!skipped, text);
    }
}

/// Are convolutions computed as they should be, on every target that this CPU has?
void check_convolutions(std::initializer_list<std::string> texts) {
  for (morello_isa isa : all_usable_isas())
    for (const std::string& text : texts) {
      bool skipped = false;
      const Statement s = *parse(text);
      const Dtype type = s.tensors[0].dtype;
      const bool exact = type == Dtype::kU8 || type == Dtype::kI8;
      CHECK(wrong(s, isa, 1, 1, skipped, exact ? Nearness::kExactProducts : Nearness::kOfOutput) ==
            "");
      CHECK_MESSAGE(!skipped, text);
    }
}

TEST_CASE("convolutions with padding, in bands of rows") {
  check_convolutions({"conv2d f32[1,41,40,8] f32[3,3,8,16] nhwc padding=1",
                      "conv2d f32[1,3,60,64] f32[8,3,5,5] padding=2 stride=2 + f32[8,1,1]",
                      "conv2d f32[1,70,61,3] f32[3,3,3,17] nhwc padding=0,1,2,1 stride=2",
                      "conv2d bf16[1,67,40,8] bf16[3,3,8,9] nhwc padding=1,0,2,1 -> relu",
                      "conv2d u8[1,8,71,62] i8[9,8,3,3] padding=1"});
}

TEST_CASE("convolutions along rows: channels that share lanes, in windows of any step") {
  check_convolutions({"conv2d bf16[1,16,12,35] bf16[24,16,3,3] -> f32[1,24,10,33]",
                      "conv2d bf16[1,19,9,37] bf16[13,19,3,2] + f32[13,1,1] -> relu",
                      "conv2d bf16[2,32,14,14] bf16[16,32,3,3] padding=1 -> bf16[2,16,14,14]",
                      "conv2d bf16[1,24,9,40] bf16[17,24,3,3] padding=1,0 += f32[1,17,9,38]",
                      "conv2d bf16[1,16,11,70] bf16[16,16,3,5] stride=2,1 -> f32[1,16,5,66]",
                      "conv2d bf16[1,16,12,50] bf16[16,16,3,3] stride=2 -> f32[1,16,5,24]",
                      "conv2d bf16[1,16,12,50] bf16[16,16,3,3] dilation=2 -> f32[1,16,8,46]",
                      "conv2d bf16[1,32,10,40] bf16[8,8,3,3] groups=4 -> f32[1,8,8,38]",
                      "conv2d f16[1,16,12,35] f16[24,16,3,3] -> f32[1,24,10,33]",
                      "conv2d u8[1,17,12,35] i8[24,17,3,3] -> i32[1,24,10,33]",
                      "conv2d i8[1,32,9,40] i8[16,32,2,3] padding=1 -> i32[1,16,10,40]"});
}

TEST_CASE("convolutions along short rows: results in a buffer whose rows are of channels") {
  check_convolutions(
      {"conv2d f32[1,5,9,11] f32[12,5,3,3] -> f32[1,12,7,9]",
       "conv2d f32[2,7,16,16] f32[8,7,5,5] stride=2 -> f32[2,8,6,6]",
       "conv2d f32[1,12,13,26] f32[20,12,1,1] stride=2 -> f32[1,20,7,13]",
       "conv2d f32[1,3,12,40] f32[33,3,3,3] padding=1 stride=2 + f32[33,1,1] -> relu",
       "conv2d f32[1,6,9,30] f32[17,6,2,3] dilation=2 -> bf16[1,17,7,26]",
       "conv2d f32[1,8,10,19] f32[16,4,3,3] groups=2 -> f32[1,16,8,17]",
       "conv2d bf16[1,9,8,13] bf16[21,9,3,3] -> bf16[1,21,6,11]",
       "conv2d f32[1,6,9,11] f32[12,6,3,3] += f32[1,12,7,9]"});
}

TEST_CASE("graphs with several outputs that people write") {
  const std::string texts[] = {
      "x f32[9,50]; m = mean x axis=1; k = reshape m shape=9,1; v = sub x k -> square -> mean "
      "axis=1; m, v",
      "x f32[9,50]; p = softmax x axis=1; l = logsumexp x axis=1; p, l",
      "s = matmul f32[5,2] f32[2,4] -> mean axis=1 -> exp; m = max s 0.25; m, s",
      "y = matmul f32[9,13] f32[13,20]; z = gelu y; y, z",
      "y = matmul f32[9,13] f32[13,20] + f32[20]; z = gelu y; z -> bf16[9,20], y -> f32[9,20]",
      "y = matmul bf16[9,13] bf16[13,20]; z = relu y; y -> bf16[9,20], z -> bf16[9,20]",
      "y = matmul bf16[9,13] bf16[13,20] -> cast bf16; z = relu y; y -> bf16[9,20], z -> "
      "bf16[9,20]",
      "x f32[9,50]; a = reduce_max x axis=1; b = reduce_sum x axis=1; a, b",
      "x f32[9,50]; a = reduce_max x axis=0; b = reduce_sum x axis=1; a, b",
      "x f32[7,33]; s = square x -> mean axis=1 keep -> add 1e-5 -> rsqrt; y = mul x s * f32[33]; "
      "y, s",
      "x f32[9,13]; a = matmul x f32[13,20]; b = matmul x f32[13,33]; a, b",
      "x f32[9,13]; a = matmul x f32[13,20]; b = matmul x f32[13,33]; c = matmul x f32[13,5] -> "
      "relu; a += f32[9,20], b -> f32[9,33]{0,1}, c -> f16[9,5]",
      "x u8[9,13]; a = matmul x i8[13,20]; b = mul a 0.25; a, b",
      "x f32[70]; y = exp x; c = move x; y, c",
      "x f32[70]; y = exp x; c = move y; y, c",
      "x f32[70]; y = exp x; c = move y; y -> bf16[70], c -> f32[70]",
      "x i8[70]; y = add x 3; c = move y; y -> bf16[70], c -> i32[70]",
      "a = relu f32[40]; b = exp f32[30]; a, b",
      "x f32[6,40]; s = reduce_sum x axis=1; d = reshape s shape=6,1; n = div x d; s += f32[6], n "
      "-> f32[6,40]",
      "q f32[2,9,8]; s = matmul q f32[2,8,17] * 0.125; m = softmax s axis=2; o = matmul m "
      "f32[2,17,12]; o, m",
  };
  for (morello_isa isa : usable_isas())
    for (const std::string& text : texts) {
      bool skipped = false;
      INFO(text);
      const Result<Statement> s = parse(text);
      REQUIRE_MESSAGE(s.ok(), s.error().message);
      REQUIRE(s->outputs.size() > 1);
      CHECK(wrong(*s, isa, 1, 1, skipped) == "");
      CHECK(wrong(*s, isa, 2, 2, skipped) == "");
      CHECK_MESSAGE(!skipped, text);
    }
}

/// Every pool of every width on every target; `shape` has a W where its width belongs. Averages,
/// which are cut as maxima are, only to `widest_average`.
void check_pools(std::initializer_list<u32> widths, u32 widest_average, std::string_view shape,
                 std::initializer_list<const char*> windows) {
  const size_t width_at = shape.find('W');
  for (morello_isa isa : usable_isas())
    for (u32 width : widths)
      for (const char* window : windows)
        for (const char* pool : {"max_pool f32", "avg_pool f32", "max_pool bf16", "max_pool i8"}) {
          if (pool[0] != 'm' && width > widest_average) continue;
          const std::string text = std::string(pool) + std::string(shape.substr(0, width_at)) +
                                   std::to_string(width) + std::string(shape.substr(width_at + 1)) +
                                   " " + window;
          bool skipped = false;
          CHECK(wrong(*parse(text), isa, 1, 1, skipped) == "");
          CHECK_MESSAGE(!skipped, text);
        }
}

TEST_CASE("pools whose windows step by two, of any width") {
  check_pools({5, 6, 9, 16, 19, 24, 33, 47}, 19, "[1,2,6,W]",
              {"window=2 stride=2", "window=3 stride=2", "window=4,5 stride=2"});
  check_pools({9, 16, 19, 24, 33, 47}, 19, "[1,2,6,W]", {"window=2,9 stride=2"});
}

TEST_CASE("pools whose windows step by three, of any width") {
  check_pools({5, 6, 9, 16, 20, 24, 33, 50, 100}, 50, "[1,2,6,W]", {"window=3 stride=3"});
  check_pools(
      {10, 35, 47}, 19, "[1,2,6,W]",
      {"window=2,3 stride=2,3 padding=0,1", "window=3,2 stride=3", "window=3 stride=3 padding=1"});
}

/// Rows that several windows have are combined once.
TEST_CASE("pools whose windows overlap, of any width") {
  for (std::string_view shape : {"[1,2,13,W]", "[1,13,9,W] nhwc"})
    check_pools({8, 9, 16, 19, 24, 41}, 19, shape,
                {"window=3", "window=2", "window=2,5", "window=5,1", "window=8,3",
                 "window=3,2 stride=1,2", "window=4 stride=2,1"});
}

TEST_CASE("pools with padding, of any width") {
  for (std::string_view shape : {"[1,2,7,W]", "[1,7,W,5] nhwc"})
    check_pools(
        {5, 9, 16, 19, 33}, 9, shape,
        {"window=3 padding=1", "window=3 stride=2 padding=1", "window=5 stride=1,3 padding=2",
         "window=2,3 stride=2,1 dilation=2,1 padding=0,1", "window=3 stride=2 padding=2,0,1,3"});
}

TEST_CASE("casts in the midst of graphs") {
  const std::pair<const char*, Nearness> cases[] = {
      {"cast f32[32] f16 -> f32[32]", Nearness::kExactSums},
      {"cast f32[37] bf16 -> f32[37]", Nearness::kExactSums},
      {"cast f32[] bf16 -> mul 3 -> f32[]", Nearness::kExactSums},
      {"mul f32[32] 2 -> cast bf16 -> mul 3", Nearness::kExactSums},
      {"add f32[5,7] f32[7] -> cast f16 -> add f32[5,7] -> cast bf16 -> sub f32[5,1] -> f32[5,7]",
       Nearness::kExactSums},
      {"cast i32[67] f16 -> add f32[67] -> cast bf16 -> i8[67]", Nearness::kExactSums},
      {"mul i8[67] i8[67] -> cast bf16 -> add 1 -> f32[67]", Nearness::kExactSums},
      {"transpose f32[17,33] -> cast bf16 -> f32[33,17]", Nearness::kExactSums},
      {"cast bf16[37] f16 -> bf16[37]", Nearness::kExactSums},
      {"cast f16[3,70] bf16 -> f16[3,70]", Nearness::kExactSums},
      {"mul f32[70] 3 -> cast f16 += f32[70]", Nearness::kExactSums},
      {"matmul f32[7,19] f32[19,33] -> cast bf16 -> matmul f32[33,9]", Nearness::kExactProducts},
      {"matmul bf16[7,19] bf16[19,33] -> cast bf16 -> matmul bf16[33,9] -> f32[7,9]",
       Nearness::kExactProducts},
      {"cast f32[7,19] f16 -> matmul f32[19,33] -> f32[7,33]", Nearness::kOfCasts},
      {"matmul f32[7,19] f32[19,33] -> cast f16 -> add f32[33] -> f32[7,33]",
       Nearness::kExactProducts},
      {"matmul f32[7,19] f32[19,33] -> cast bf16 += f32[7,33]", Nearness::kExactProducts},
      {"matmul i8[7,19] i8[19,33] -> cast bf16 -> mul 0.5 -> f32[7,33]", Nearness::kExactProducts},
      {"reduce_sum f32[9,21] axis=1 -> cast bf16 -> mul 3 -> f32[9]", Nearness::kExactSums},
      {"reduce_sum f32[9,21] axis=0 -> cast f16 -> f32[21]", Nearness::kExactSums},
      {"c = cast f32[9,67] bf16; reduce_max c axis=1 keep -> sub c -> f32[9,67]",
       Nearness::kExactSums},
      {"cast f32[9,67] f16 -> reduce_sum axis=1", Nearness::kExactSums},
      {"m = mul f32[9,67] 3 -> cast bf16; reduce_sum m axis=1 keep -> max m -> f32[9,67]",
       Nearness::kExactSums},
      {"cast x f32[5,37] bf16 -> softmax axis=1 -> f32[5,37]", Nearness::kOfCasts},
      {"softmax f32[5,37] axis=1 -> cast bf16 -> matmul f32[37,9]", Nearness::kOfCasts},
      {"s = matmul f32[5,8] f32[8,19] -> cast bf16 -> mul 0.25; softmax s axis=1 -> cast bf16 -> "
       "matmul f32[19,12]",
       Nearness::kOfCasts},
      {"exp f32[70] -> cast bf16 -> log -> f32[70]", Nearness::kOfCasts},
      {"rmsnorm f32[6,33] f32[33] axis=1 -> cast f16 -> add f32[6,33]", Nearness::kOfCasts},
  };
  for (morello_isa isa : all_usable_isas())
    for (const auto& c : cases) {
      bool skipped = false;
      CHECK(wrong(*parse(c.first), isa, 1, 1, skipped, c.second) == "");
      CHECK_MESSAGE(!skipped, c.first);
    }
}

/// One of a list.
template <class T, size_t N>
T any(Random& random, const T (&list)[N]) {
  return list[pick(random, 0, N - 1)];
}

std::string tensor(const char* type, const std::vector<u32>& shape, const char* layout = "") {
  std::string s = std::string(type) + '[';
  for (size_t i = 0; i < shape.size(); i++) s += (i ? "," : "") + std::to_string(shape[i]);
  return s + ']' + layout;
}

/// Groups of any size and number, weights by rows or by columns, scales of one factor or both, odd
/// widths.
std::string random_scaled_matmul(Random& random, bool integers) {
  const u32 group = any(random, {1u, 2u, 3u, 5u, 8u, 12u, 16u, 32u, 33u, 64u});
  const u32 groups = any(random, {1u, 2u, 3u, 4u, 7u}), k = group * groups;
  const u32 m = any(random, {1u, 1u, 2u, 6u, 9u, 17u});
  const u32 n = any(random, {1u, 2u, 5u, 8u, 16u, 33u, 64u, 70u, 130u});
  const char* a = integers ? any(random, {"i8", "u8"}) : any(random, {"f32", "bf16", "f16"});
  const char* b = integers ? "i8" : any(random, {"i8", "i8", "u8", "bf16", "f32"});
  const char* scale = any(random, {"f32", "f32", "bf16", "f16"});
  const bool batch = chance(random, 20);
  const char* order = !chance(random, 30) ? "" : batch ? "{1,2,0}" : "{0,1}";
  auto shaped = [&](const char* type, u32 x, u32 y, const char* layout) {
    return batch ? tensor(type, {2, x, y}, layout) : tensor(type, {x, y}, layout);
  };
  std::string text = "scaled_matmul " + shaped(a, m, k, "") + ' ' + shaped(b, k, n, order) + ' ';
  text += shaped(scale, groups, chance(random, 10) ? 1 : n, order);
  if (chance(random, 25)) text += ' ' + shaped(scale, m, groups, "");
  if (chance(random, 25)) text += " -> relu";
  if (chance(random, 20)) return text + " += " + shaped("f32", m, n, "");
  return text + " -> " + shaped(any(random, {"f32", "f32", "bf16"}), m, n, "");
}

TEST_CASE("products of groups with scales of their own") {
  for (morello_isa isa : all_usable_isas())
    for (u64 seed : seeds(60)) {
      set_note("products of groups with scales of their own", seed, isa);
      Random random(static_cast<u32>(seed));
      const std::string text = random_scaled_matmul(random, seed % 4 == 0);
      const Result<Statement> s = parse(text);
      REQUIRE_MESSAGE(s.ok(), text << ": " << s.error().message);
      bool skipped = false;
      const std::string bad = wrong(*s, isa, seed, seed % 5 == 0 ? 2 : 1, skipped);
      REQUIRE_MESSAGE(bad == "",
                      repeat_command("products of groups with scales of their own", seed, isa));
      CHECK_MESSAGE(!skipped, text);
    }
}

TEST_CASE("sums of groups with scales are exact where their numbers are") {
  for (morello_isa isa : all_usable_isas())
    for (const char* text : {
             "scaled_matmul f32[3,96] i8[96,70] f32[3,70]",
             "scaled_matmul bf16[1,64] i8[64,130]{0,1} f32[2,130]{0,1}",
             "scaled_matmul i8[5,64] i8[64,33] f32[4,33]",
             "scaled_matmul u8[1,36] i8[36,40] f32[3,40]",
             "x f32[6,40]; y = add x 1; scaled_matmul y i8[40,20] f32[5,20] += f32[6,20]",
         }) {
      bool skipped = false;
      CHECK(wrong(*parse(text), isa, 1, 1, skipped, Nearness::kExactProducts) == "");
      CHECK_MESSAGE(!skipped, std::string(text));
    }
}

TEST_CASE("random graphs") {
  for (morello_isa isa : usable_isas()) {
    size_t skipped = 0;
    const std::vector<u64> all = seeds(150);
    for (u64 seed : all) {
      set_note("random graphs", seed, isa);
      Random random(static_cast<u32>(seed));
      const Statement s = random_graph(random, static_cast<int>(seed % 10));
      bool too_large = false;
      const std::string bad = wrong(s, isa, seed, seed % 3 == 0 ? 2 : 1, too_large);
      skipped += too_large;
      REQUIRE_MESSAGE(bad == "", repeat_command("random graphs", seed, isa));
    }
    CHECK_MESSAGE(5 * skipped <= all.size(), skipped << " of " << all.size() << " were skipped");
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
