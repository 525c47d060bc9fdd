// SPDX-License-Identifier: MIT
// Graphs: what they compute, against an interpreter of their nodes; that heads are what their parts
// are; one printed form; and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "impl/evaluate.hh"
#include "spec/canonical.hh"
#include "spec/statement.hh"
#include "support/graph_reference.hh"
#include "support/random_graph.hh"
#include "support/random_windows.hh"
#include "support/reference.hh"
#include "support/scale.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("spec");

Statement parsed(std::string_view text) {
  INFO(text);
  const Result<Statement> s = parse(text);
  if (!s) FAIL(s.error().line << ":" << s.error().column << ": " << s.error().message);
  return *s;
}

Lowered lowered(std::string_view text) {
  INFO(text);
  const Result<Lowered> l = lower(parsed(text));
  if (!l) FAIL(l.error().message);
  return *l;
}

/// Numbers of moderate size, of both signs.
std::vector<char> random_memory(u64 bytes, Dtype dtype, Random& random) {
  std::vector<char> memory(bytes);
  const size_t size = size_of(dtype);
  for (size_t at = 0; at + size <= bytes; at += size) {
    const bool integer = is_integer(dtype);
    const double number = integer ? pick(random, 0, 4) : pick(random, 0, 4000) / 1000.0 - 2;
    const u32 bits = encoded(dtype, number);
    std::memcpy(memory.data() + at, &bits, size);
  }
  return memory;
}

/// "" if evaluate(lower(s)) is what the nodes mean.
std::string wrong(const Statement& s, u32 seed) {
  const Result<Lowered> l = lower(s);
  if (!l) return l.error().message;
  if (const std::string bad = not_canonical(l->spec); !bad.empty()) return bad;
  Random random(seed);
  std::vector<std::vector<char>> data(s.tensors.size());
  std::array<void*, kMaxOperands> pointers{};
  for (int o = 0; o < l->spec.operand_count; o++) {
    const size_t tensor = l->argument[o];
    data[tensor] = random_memory(l->bytes[o], s.tensors[tensor].dtype, random);
    pointers[o] = data[tensor].data();
  }
  const size_t first = s.tensors.size() - static_cast<size_t>(output_count(s));
  std::vector<Array> before;
  for (size_t t = first; t < s.tensors.size(); t++)
    before.push_back(array_of(s.tensors[t], data[t]));
  double greatest = 1;
  const std::vector<Array> expected = graph_results_of(s, data, &greatest);
  evaluate(l->spec, l->view, pointers.data());
  for (size_t o = 0; o < expected.size(); o++) {
    const Tensor& out = s.tensors[first + o];
    const Array found = array_of(out, data[first + o]);
    if (found.shape != expected[o].shape) return "another shape";
    const bool adds = output_of(s, static_cast<int>(o)).accumulate;
    const double allowed = greatest * (is_narrow_float(out.dtype) ? 0.01 : 1e-5);
    for (size_t i = 0; i < expected[o].at.size(); i++) {
      double x = expected[o].at[i] + (adds ? before[o].at[i] : 0), y = found.at[i];
      const double stored = decoded(out.dtype, encoded(out.dtype, x));
      if (is_integer(out.dtype) || std::isinf(stored)) x = stored;
      if (std::fabs(x - y) <= allowed || (std::isnan(x) && std::isnan(y)) || x == y) continue;
      return "element " + std::to_string(i) + " of output " + std::to_string(o) + " is " +
             std::to_string(y) + ", not " + std::to_string(x);
    }
  }
  return "";
}

constexpr std::string_view kGraphs[] = {
    "mul x f32[7,5] x",
    "matmul f32[3,4] f32[4,5] * 0.125 -> relu",
    "matmul u8[3,4] i8[4,5] * 2 + 3",
    "matmul u8[3,4] i8[4,5] * 0.5 + f32[5] -> bf16[3,5]",
    "sub 1 f32[9]",
    "relu f32[9] -> max 0.5 -> min 1.5",
    "clamp f32[9] -1 1",
    "pow f32[4,3] 3",
    "y = pow x f32[9] 2; add x y",
    "s = square x f32[4,6]; reduce_sum s axis=1",
    "reduce_sum f32[4,6,5] axis=0,2",
    "mean f32[4,6,5] axis=1",
    "mean f32[4,6,5] axis=0,2 keep",
    "softmax f32[6,9] axis=1",
    "softmax f32[6,9,2] axis=0",
    "softmax f32[6,9,2] axis=1,2",
    "log_softmax f32[6,9] axis=1",
    "logsumexp f32[6,9] axis=1",
    "logsumexp f32[6,9] axis=0 keep",
    "layernorm f32[6,9] axis=1",
    "layernorm f32[6,9] f32[9] f32[9] axis=1 eps=0.001",
    "rmsnorm f32[6,9] f32[9] axis=1",
    "rmsnorm bf16[6,9] axis=1 eps=1e-6 -> bf16[6,9]",
    "attention f32[2,5,8] f32[2,7,8] f32[2,7,6]",
    "scaled_matmul f32[3,12] i8[12,5] f32[4,5]",
    "scaled_matmul bf16[3,12] i8[12,5]{0,1} bf16[4,1] -> bf16[3,5]",
    "scaled_matmul i8[2,3,12] i8[2,12,5] f32[1,4,5] f32[2,3,4] + f32[5] -> relu",
    "scaled_matmul u8[3,12] i8[12,5] f32[12,5]",
    "scaled_matmul f32[3,12] i8[12,5] f32[1,5]",
    "attention f32[2,5,8] f32[2,7,8] f32[2,7,6] f32[5,7] scale=0.5",
    "attention f32[2,3,5,8] f32[2,3,7,8]{strides=56,0,8,1} f32[2,3,7,6]{strides=42,0,6,1}",
    "attention f32[2,5,8] f32[2,5,8] f32[2,5,6] causal",
    "attention f32[2,5,8] f32[2,9,8] f32[2,9,6] f32[5,9] scale=0.5 causal offset=4",
    "attention f32[2,7,8] f32[2,5,8] f32[2,5,6] causal",
    "attention f32[1,8] f32[7,8] f32[7,6] causal offset=2",
    "causal_mask f32[2,5,7] offset=1",
    "causal_mask i32[5,7] * 0.5",
    "causal_mask bf16[5,1,7]",
    "causal_mask f32[7,5]{0,1} -> softmax axis=1",
    "s = matmul f32[2,5,4] f32[2,4,7] -> causal_mask; softmax s axis=2 -> matmul f32[2,7,3]",
    "s = causal_mask x f32[5,7] offset=2; m = reduce_max s axis=1; s, m",
    "s = matmul q f32[2,5,4] k f32[2,4,7] * 0.125; p = softmax s axis=2; matmul p v f32[2,7,3]",
    "t = matmul f32[3,4] f32[4,5]; matmul t f32[5,6]",
    "g = matmul x f32[3,4] f32[4,8] -> silu; u = matmul x f32[4,8]; h = mul g u; matmul h f32[8,4]",
    "r = matmul f32[3,4] f32[4,5] + y f32[3,5]; rmsnorm r f32[5] axis=1",
    "y = exp x f32[4]; z = relu w f32[4]; sub z y",
    "a f32[4]; b f32[4]; sub b a",
    "t = transpose x f32[4,6]; s = reduce_sum t axis=0; div t s -> f32[6,4]{0,1}",
    "r = reshape f32[4,6] shape=2,12; softmax r axis=1",
    "x f32[4,6]; r = reshape x shape=2,2,6; m = reduce_max r axis=1 keep; d = sub r m; reshape d "
    "shape=4,6",
    "m = matmul f32[3,4] f32[4,5] -> cast bf16; mul m m",
    "conv2d f32[2,3,7,6] f32[4,3,3,2]",
    "conv2d f32[2,3,9,8] f32[4,3,3,2] stride=2,1 dilation=1,2 + f32[4,1,1] -> relu",
    "conv2d f32[2,6,7,6] f32[4,3,3,3] groups=2",
    "conv2d f32[1,6,7,6] f32[6,1,3,3] groups=6",
    "conv2d f32[2,7,6,3] f32[3,2,3,4] nhwc",
    "conv2d f32[2,7,6,6] f32[3,2,3,4] nhwc groups=2 stride=2",
    "conv2d f32[1,7,6,6] f32[3,3,1,6] nhwc groups=6",
    "conv2d f32[1,3,5,5] f32[4,3,1,1]",
    "max_pool f32[2,3,8,6] window=2 stride=2",
    "conv2d f32[2,3,7,6] f32[4,3,3,2] padding=1",
    "conv2d f32[2,3,1,5] f32[4,3,3,3] padding=1",
    "conv2d f32[1,6,3,7] f32[6,1,3,3] groups=6 dilation=2,1 padding=1",
    "conv2d f32[2,6,5,6] f32[4,3,1,1] groups=2 padding=1,3,0,2 stride=2,3",
    "conv2d f32[1,3,9,8] f32[4,3,3,2] padding=4,3 stride=2,3 dilation=4,3",
    "w f32[4,3,1,1]; y = relu w; conv2d f32[1,3,4,4] y padding=1 -> relu -> mul 2",
    "conv2d f32[1,6,7,6] f32[6,1,3,3] groups=6 padding=2,1 dilation=1,2",
    "conv2d f32[2,7,6,3] f32[3,2,3,4] nhwc padding=1,0,2,3 stride=2 + f32[4] -> relu",
    "max_pool f32[2,3,8,6] window=3,2 stride=2 padding=1,0",
    "avg_pool f32[2,8,6,3] window=3 padding=0,0,1,1 nhwc",
    "max_pool f32[2,8,6,3] window=3,2 nhwc",
    "avg_pool f32[2,3,8,6] window=2,3 stride=2,1",
    "avg_pool f32[2,8,6,3] window=2 stride=2 nhwc dilation=2",
    "s = matmul f32[3,4] f32[4,5]; reduce_sum s axis=1 += f32[3]",
    "s = exp f32[3,4]; mul s 2 += f32[3,4]",
    "s = matmul f32[3,4]{*} f32[4,5]{*}; matmul s f32[5,2]{*}",
    "matmul f32[1,4] f32[4,1] -> softmax axis=1",
    "c = less x f32[4,6] 0; m = mul x 0.5; select c m x",
    "select u8[4,1] f32[6] 2 -> f32[4,6]",
    "greater f32[9] 0 -> select 3 -0.5",
    "equal i32[9] 3 -> select 0 -2",
    "c = not_equal i8[9] i32[9]; select c 1 0",
    "c = greater_equal 0 f32[9]; select f32[9] c f32[1]",
};

TEST_CASE("graph: they compute what their nodes mean, and print as themselves") {
  for (std::string_view text : kGraphs) {
    const Statement s = parsed(text);
    const std::string printed = print(s);
    INFO(text << "\n" << printed);
    CHECK(wrong(s, 1) == "");
    const Statement again = parsed(printed);
    CHECK(again == s);
    CHECK(print(again) == printed);
  }
}

TEST_CASE("graph: random windows compute what they mean") {
  int good = 0;
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    const Result<Statement> s = parse(seed % 2 ? random_convolution(random) : random_pool(random));
    if (!s) continue;
    INFO("seed " << seed << ": " << print(*s));
    REQUIRE(wrong(*s, seed) == "");
    good++;
  }
  CHECK(good > 1500);
}

TEST_CASE("graph: heads are what their parts are, whatever order they are written in") {
  constexpr std::string_view kPairs[][2] = {
      {"softmax f32[6,9] axis=1",
       "m = reduce_fast_max x f32[6,9] axis=1 keep; e = sub x m -> exp; s = reduce_sum e axis=1 "
       "keep "
       "-> recip; mul e s"},
      {"log_softmax f32[6,9] axis=1",
       "x f32[6,9]; m = reduce_fast_max x axis=1 keep; d = sub x m; l = exp d -> reduce_sum axis=1 "
       "keep "
       "-> log; sub d l"},
      {"logsumexp f32[6,9] axis=1",
       "m = reduce_fast_max x f32[6,9] axis=1 keep; sub x m -> exp -> reduce_sum axis=1 keep -> "
       "log + m "
       "-> reshape shape=6"},
      {"mean f32[6,8] axis=1", "reduce_sum f32[6,8] axis=1 * 0.125"},
      {"rmsnorm f32[6,8] f32[8] axis=1 eps=0.5",
       "s = mul x f32[6,8] x; r = reduce_sum s axis=1 keep * 0.125 + 0.5 -> rsqrt; mul r x * "
       "f32[8]"},
      {"layernorm f32[6,8] f32[8] f32[8] axis=1 eps=0.5",
       "m = mean x f32[6,8] axis=1 keep; c = sub x m; v = square c -> mean axis=1 keep; r = add "
       "0.5 "
       "v -> rsqrt; mul c r * f32[8] + f32[8]"},
      {"attention f32[2,5,4] f32[2,7,4] f32[2,7,6] scale=0.5",
       "s = einsum \"bmd,bnd->bmn\" f32[2,5,4] f32[2,7,4] * 0.5; m = reduce_fast_max s axis=2 "
       "keep; "
       "e = sub s m -> exp; t = reduce_sum e axis=2 keep -> recip; matmul e f32[2,7,6] * t"},
      {"scaled_matmul f32[3,12] i8[12,5] f32[4,5]",
       "a = reshape f32[3,12] shape=3,4,3; b = reshape i8[12,5] shape=4,3,5; y = einsum "
       "\"mgk,gkn->gmn\" a b; reshape f32[4,5] shape=4,1,5 -> mul y -> reduce_sum axis=0"},
      {"scaled_matmul f32[3,12] i8[12,5] f32[1,5]", "matmul f32[3,12] i8[12,5] * f32[1,5]"},
      {"attention f32[2,5,4] f32[2,7,4] f32[2,7,6] scale=0.5 causal offset=2",
       "s = einsum \"bmd,bnd->bmn\" f32[2,5,4] f32[2,7,4] * 0.5 -> causal_mask offset=2; m = "
       "reduce_fast_max s axis=2 keep; e = sub s m -> exp; t = reduce_sum e axis=2 keep -> recip; "
       "matmul e f32[2,7,6] * t"},
      {"attention f32[1,4] f32[7,4] f32[7,6] scale=0.5 causal offset=6",
       "attention f32[1,4] f32[7,4] f32[7,6] scale=0.5"},
      {"causal_mask f32[5,7] offset=9 -> exp", "causal_mask f32[5,7] offset=6 -> exp"},
      {"clamp f32[9] -1 1", "max f32[9] -1 -> min 1"},
      {"pow f32[9] 4", "s = mul x f32[9] x; mul s s"},
      {"relu f32[9] * 4 * 0.5", "relu f32[9] * 1 * 2 - 0"},
      {"conv2d f32[1,5,5,3] f32[1,1,3,4] nhwc",
       "matmul f32[25,3] f32[3,4] -> reshape shape=1,5,5,4"},
      {"a = matmul x f32[3,4] f32[4,5]; b = matmul x f32[4,5]; add a b",
       "b = matmul x f32[3,4] z f32[4,5]; a = matmul x y f32[4,5]; add a b"},
      {"relu f32[4,6] -> exp * 2", "y = relu f32[24]; z = exp y; mul z 2"},
      {"matmul f32[3,4] f32[4,5] -> relu", "t = matmul f32[3,4] f32[4,5]; relu t"},
      {"s = reduce_sum f32[3,4] axis=1 keep; add s f32[3,5]",
       "s = reduce_sum a f32[3,4] axis=1 keep; add b f32[3,5] s"},
  };
  for (const auto& pair : kPairs) {
    INFO(pair[0] << "\n" << pair[1]);
    const Spec a = lowered(pair[0]).spec, b = lowered(pair[1]).spec;
    INFO(describe(a) << "\n" << describe(b));
    CHECK(a == b);
  }
}

TEST_CASE("graph: exponentials of what is left below a greatest number are known as such") {
  const std::pair<std::string_view, bool> kTexts[] = {
      {"softmax f32[6,9] axis=1", true},
      {"softmax bf16[6,9] axis=0 -> f32[6,9]", true},
      {"logsumexp f32[6,9,2] axis=0,2", true},
      {"x f32[6,9]; m = reduce_max x axis=1 keep; sub x m -> exp", true},
      {"x f32[6,9]; s = mul x 2 -> relu; m = reduce_fast_max s axis=1 keep; sub s m -> exp", true},
      {"x i32[6,9]; m = reduce_max x axis=1 keep; sub x m -> exp", false},  // modulo 2^32
      {"x f32[6,9]; m = reduce_min x axis=1 keep; sub x m -> exp", false},
      {"x f32[6,9]; m = reduce_max x axis=1 keep; sub m x -> exp", false},
      {"x f32[6,9]; m = reduce_max x axis=1 keep; add x m -> exp", false},
      {"x f32[6,9]; m = reduce_max x axis=1 keep; sub x m -> exp2", false},
      {"x f32[6,9]; m = reduce_max x axis=1 keep; mul x 2 -> sub m -> exp", false},
      {"m = reduce_max x f32[6,9] axis=1 keep; sub f32[6,9] m -> exp", false},
      {"m = max x f32[6,9] y f32[6,9]; sub x m -> exp", false},
      {"sub f32[6,9] f32[6,1] -> exp", false},
  };
  for (const auto& known : kTexts) {
    INFO(known.first);
    const Spec spec = lowered(known.first).spec;
    bool decays = false;
    for (int s = 0; s < spec.stage_count; s++) decays |= spec.stage[s].op == Op::kDecay;
    CHECK(decays == known.second);
  }
}

TEST_CASE(
    "graph: random ones compute what their nodes mean, in any order, and print as themselves") {
  size_t stages = 0, operands = 0;
  const u32 last = static_cast<u32>(testing::rounds(3000));
  for (u32 seed = 1; seed <= last; seed++) {
    Random random(seed);
    const Statement s = random_graph(random, static_cast<int>(seed % 10));
    const std::string printed = print(s);
    INFO("seed " << seed << ": " << printed);
    REQUIRE(wrong(s, seed) == "");
    const Result<Lowered> l = lower(s), other = lower(reordered(s, random));
    REQUIRE(other.ok());
    INFO(describe(l->spec) << "\n" << describe(other->spec));
    REQUIRE(l->spec == other->spec);
    REQUIRE(l->argument == other->argument);
    const Result<Statement> again = parse(printed);
    REQUIRE_MESSAGE(again.ok(), again.error().message);
    REQUIRE(lower(*again)->spec == l->spec);
    REQUIRE((again->head != Statement::Head::kGraph || *again == s));
    stages += l->spec.stage_count;
    operands += l->spec.operand_count;
  }
  CHECK(stages > last * 4);
  CHECK(operands > last * 2);
}

TEST_CASE("graph: several outputs print as themselves, and compute what their nodes mean") {
  const std::pair<const char*, const char*> kTexts[] = {
      {"y = exp x f32[4,5]; s = reduce_sum y axis=1; y, s",
       "v0 = exp f32[4,5]; v1 = reduce_sum v0 axis=1; v0 -> f32[4,5], v1 -> f32[4]"},
      {"y = exp x f32[4,5]; s = reduce_sum y axis=1; s -> bf16[4], y += f32[4,5]{0,1}",
       "v0 = exp f32[4,5]; v1 = reduce_sum v0 axis=1; v1 -> bf16[4], v0 += f32[4,5]{0,1}"},
      {"a = relu f32[4]; b = exp f32[3] * 2; a, b",
       "v0 = relu f32[4]; v2 = exp f32[3] * 2; v0 -> f32[4], v2 -> f32[3]"},
      {"w f32[4]; x f32[4]; a = sub x w -> relu; b = exp a -> neg; b, a",
       "x0 f32[4]; x1 f32[4]; v1 = sub x1 x0 -> relu; v3 = exp v1 -> neg; v3 -> f32[4], v1 -> "
       "f32[4]"},
      {"x f32[4]; a = exp x; b = move a; c = move x; a, b, c",
       "v0 = exp x0 f32[4]; v1 = move v0; v2 = move x0; v0 -> f32[4], v1 -> f32[4], v2 -> f32[4]"},
      {"y = softmax f32[4,5] axis=1; y", "softmax f32[4,5] axis=1 -> f32[4,5]"},
      {"y = softmax f32[4,5] axis=1; y += f32[4,5]", "softmax f32[4,5] axis=1 += f32[4,5]"},
      {"m = reduce_max x f32[4,5] axis=1; s = exp x; m += f32[4], s -> f32[4,5]",
       "v0 = reduce_max x0 f32[4,5] axis=1; v1 = exp x0; v0 += f32[4], v1 -> f32[4,5]"},
  };
  for (const auto& pair : kTexts) {
    const std::string text = pair.first, printed = pair.second;
    INFO(text);
    const Statement s = parsed(text);
    CHECK(print(s) == printed);
    CHECK(parsed(printed) == s);
    if (text.find("m += ") == std::string::npos) CHECK(wrong(s, 1) == "");
  }
}

TEST_CASE("graph: outputs are operands in the order of the stages that write them") {
  const auto one = lowered("y = exp x f32[4,5]; s = reduce_sum y axis=1; y, s");
  const auto two = lowered("y = exp x f32[4,5]; s = reduce_sum y axis=1; s, y");
  CHECK(one.spec == two.spec);
  CHECK(one.argument[1] == 1);
  CHECK(two.argument[1] == 2);
  CHECK(one.spec.operand_count == 3);
  // A value of several outputs is stored where one has its type; others are copies.
  const Spec copies = lowered("y = exp f32[9]; z = move y; y -> bf16[9], z -> f32[9]").spec;
  CHECK(copies.stage_count == 2);
  CHECK(copies.operand[copies.stage[0].out].dtype == Dtype::kF32);
  // What an output reads is stored once.
  CHECK(lowered("y = matmul f32[4,5] f32[5,6]; z = relu y; y, z").spec.stage_count == 2);
  CHECK(lowered("y = exp f32[9] -> cast bf16; z = neg y; y -> bf16[9], z -> f32[9]")
            .spec.stage_count == 3);
  CHECK(lowered("y = exp x f32[9]; z = cast y bf16; z -> bf16[9], y -> f32[9]").spec.stage_count ==
        2);
}

TEST_CASE("graph: what is wrong is said where it is") {
  struct Case {
    std::string text;
    Status status;
    u32 line, column;
    std::string_view message;  // a part of it
  };
  std::string exps;
  for (int i = 0; i < 17; i++) exps += " -> exp -> neg";
  const Case kCases[] = {
      {"y = relu f32[4]; relu z", MORELLO_SYNTAX_ERROR, 1, 23, "names are y"},
      {"y = relu f32[4];\nz = relu y; add z w", MORELLO_SYNTAX_ERROR, 2, 19, "names are y, z"},
      {"y = add f32[4] z; z = exp y; add y z", MORELLO_SYNTAX_ERROR, 1, 16,
       "used before it is defined, at 1:19; a graph has no cycles"},
      {"y = add f32[4] y; relu y", MORELLO_SYNTAX_ERROR, 1, 16, "neither a tensor"},
      {"y = relu f32[4]; z = exp y; neg y", MORELLO_SYNTAX_ERROR, 1, 18, "'z' is not used"},
      {"x f32[4]; w f32[4]; relu x -> exp", MORELLO_INVALID_ARGUMENT, 1, 13, "input 1 is not used"},
      {"y f32[4]; y f32[4]; neg y", MORELLO_SYNTAX_ERROR, 1, 11, "is a name already, given at 1:1"},
      {"y = relu f32[4]; y = exp y; neg y", MORELLO_SYNTAX_ERROR, 1, 18, "is a name already"},
      {"y = relu f32[4]", MORELLO_SYNTAX_ERROR, 1, 1, "the last statement is the result"},
      {"relu f32[4]; exp f32[4]", MORELLO_SYNTAX_ERROR, 1, 12, "has no name"},
      {"y = relu f32[4] -> f32[4]; exp y", MORELLO_SYNTAX_ERROR, 1, 17,
       "only the result, the last statement, has an output"},
      {"f32 = relu f32[4]; exp f32[4]", MORELLO_SYNTAX_ERROR, 1, 1, "cannot be a name"},
      {"y = relu f32[4];", MORELLO_SYNTAX_ERROR, 1, 17, "expected an operation"},
      {"y = relu f32[3,4]; add y f32[5]", MORELLO_INVALID_SHAPE, 1, 30, "must be that, or 1"},
      {"y = relu f32[3,4]; sub 1 y * f32[5]", MORELLO_INVALID_SHAPE, 1, 30, "or one of them 1"},
      {"y = relu f32[3,4]; matmul y f32[5,4]", MORELLO_INVALID_SHAPE, 1, 29, "must be equal"},
      {"y = relu f32[3,4];\nsoftmax y axis=2", MORELLO_INVALID_SHAPE, 2, 11, "there is no axis 2"},
      {"softmax f32[3,4] axis=0,0", MORELLO_INVALID_SHAPE, 1, 18, "twice"},
      {"softmax f32[3,4]", MORELLO_SYNTAX_ERROR, 1, 17, "expected axis="},
      {"softmax f32[3,4] axis=0 axis=1", MORELLO_SYNTAX_ERROR, 1, 25, "axis is there twice"},
      {"conv2d f32[1,3,9,9] f32[4,3,3,3] pad=1", MORELLO_SYNTAX_ERROR, 1, 34,
       "conv2d has no parameter 'pad'; it has stride=, dilation=, padding=, groups=, nhwc"},
      {"y = relu f32[4] axis=1; neg y", MORELLO_SYNTAX_ERROR, 1, 17,
       "relu has no parameter 'axis'"},
      {"Softmax f32[3,4] axis=1", MORELLO_SYNTAX_ERROR, 1, 1, "did you mean 'softmax'?"},
      {"y = layer_norm f32[3,4] axis=1; neg y", MORELLO_SYNTAX_ERROR, 1, 5, "mean 'layernorm'?"},
      {"softmax f32[3,4] axis=1 -> f32[3,5]", MORELLO_INVALID_SHAPE, 1, 34,
       "that of the result has size 4"},
      {"pow f32[3] 5", MORELLO_UNSUPPORTED, 1, 12, "valid are 0.5, -0.5, -1, 1, 2, 3 and 4"},
      {"pow f32[3] f32[3]", MORELLO_UNSUPPORTED, 1, 12, "no number"},
      {"cast f32[3] i8", MORELLO_UNSUPPORTED, 1, 1, "f32, bf16 or f16 only"},
      {"matmul f32[3,4] 2", MORELLO_INVALID_ARGUMENT, 1, 17, "has to be a tensor or a value"},
      {"y = relu f32[3] * 1e99; neg y", MORELLO_SYNTAX_ERROR, 1, 19, "out of the range of f32"},
      {"exp 2 * f32[3]", MORELLO_UNSUPPORTED, 1, 5, "write the number that it is"},
      {"x f32[4,4]; matmul x x", MORELLO_UNSUPPORTED, 1, 3, "two axes at once"},
      {"y = relu f32[4,4]; t = transpose y; matmul y y -> add t", MORELLO_UNSUPPORTED, 1, 10,
       "two axes at once"},
      {"conv2d f32[1,3,5,5] f32[4,3,7,3]", MORELLO_INVALID_SHAPE, 1, 1,
       "a window of 7 elements, 1 apart, does not fit in axis 2 of the input, which has size 5"},
      {"conv2d f32[1,3,5,5] f32[4,3,3,3] padding=1,1,1", MORELLO_INVALID_SHAPE, 1, 34,
       "is one width"},
      {"conv2d f32[1,3,5,5] f32[4,3,3,3] padding=-1", MORELLO_INVALID_SHAPE, 1, 34, "at least 0"},
      {"conv2d f32[1,3,5,5] f32[4,3,3,3] padding=70000", MORELLO_INVALID_SHAPE, 1, 34, "65535"},
      {"conv2d f32[1,3,2,5] f32[4,3,2,2] padding=3,0,0,0 stride=9", MORELLO_UNSUPPORTED, 1, 1,
       "axis 2 lie in its padding"},
      {"max_pool f32[1,3,2,5] window=1 padding=1 stride=9", MORELLO_UNSUPPORTED, 1, 1,
       "axis 2 lie in its padding"},
      {"max_pool f32[1,3,1,5] window=1 padding=7,0,0,0 stride=4", MORELLO_UNSUPPORTED, 1, 1,
       "valid are those that have an element"},
      {"conv2d f32[1,3,19,9] f32[4,3,3,3] padding=1 stride=2 dilation=3", MORELLO_UNSUPPORTED, 1, 1,
       "one divides the other"},
      {"conv2d f32[1,3,1,6] f32[4,3,3,3] padding=2", MORELLO_UNSUPPORTED, 1, 1,
       "3 windows have one element inside"},
      {"max_pool f32[1,3,1,6] window=1 padding=1", MORELLO_UNSUPPORTED, 1, 1,
       "valid is one window"},
      {"max_pool f32[1,1,65536,1] window=1 padding=1,0", MORELLO_UNSUPPORTED, 1, 1, "65535"},
      {"w f32[4,3,3,3]; y = relu w; conv2d f32[1,3,1,5] w padding=1 + y", MORELLO_UNSUPPORTED, 1,
       49, "padding leaves 1 of 3 along axis 2"},
      {"conv2d f32[1,3,5,5] f32[4,3,9,3] padding=1", MORELLO_INVALID_SHAPE, 1, 1, "padding of 2"},
      {"conv2d f32[1,3,5,5] f32[4,2,3,3]", MORELLO_INVALID_SHAPE, 1, 21, "it must be 3"},
      {"conv2d f32[1,3,5,5] f32[4,1,3,3] groups=2", MORELLO_INVALID_SHAPE, 1, 1, "do not divide"},
      {"y = relu f32[1,3,5,5]; conv2d y f32[4,3,3,3]", MORELLO_UNSUPPORTED, 1, 31, "over a value"},
      {"max_pool x f32[1,3,6,6] window=2 + x", MORELLO_UNSUPPORTED, 1, 10, "pass it as two inputs"},
      {"attention f32[5,4] f32[7,4] f32[2,7,6]", MORELLO_INVALID_SHAPE, 1, 29, "same leading axes"},
      {"scaled_matmul f32[3,12] i8[12,5] f32[5,5]", MORELLO_INVALID_SHAPE, 1, 34, "5 groups"},
      {"scaled_matmul f32[3,12] i8[12,5] f32[4,6]", MORELLO_INVALID_SHAPE, 1, 34, "has size 6"},
      {"scaled_matmul f32[3,12] i8[9,5] f32[4,5]", MORELLO_INVALID_SHAPE, 1, 25, "not 12"},
      {"scaled_matmul f32[3,12] i8[12,5] f32[4,5] f32[3,3]", MORELLO_INVALID_SHAPE, 1, 43, "not 4"},
      {"scaled_matmul f32[3,12] i8[12,5]", MORELLO_SYNTAX_ERROR, 0, 0, ""},
      {"attention f32[5,4] f32[7,4] f32[7,6] offset=2", MORELLO_INVALID_ARGUMENT, 1, 38,
       "write causal as well"},
      {"attention f32[5,4] f32[7,4] f32[7,6] scale=0.5 causal offset=-1", MORELLO_UNSUPPORTED, 1,
       55, "valid are 0 and more"},
      {"layernorm f32[4,8] axis=1 eps=-1", MORELLO_INVALID_ARGUMENT, 1, 27,
       "eps is -1; valid are finite numbers from 0"},
      {"x = relu f32[4,8]; rmsnorm x axis=1 eps=inf", MORELLO_INVALID_ARGUMENT, 1, 37,
       "eps is inf"},
      {"causal_mask f32[7]", MORELLO_INVALID_SHAPE, 1, 13, "rows and columns"},
      {"causal_mask f32[4,4]{strides=0,1} -> f32[4,4]", MORELLO_UNSUPPORTED, 1, 1, "stride 0"},
      {"a = causal_mask x f32[4,4]; b = causal_mask x offset=1; add a b", MORELLO_UNSUPPORTED, 1,
       33, "one causal mask"},
      {"layernorm f32[6,9] f32[4,6,9] axis=1", MORELLO_INVALID_SHAPE, 1, 20, "at most the axes"},
      {"reshape f32[4,6] shape=5,5", MORELLO_INVALID_SHAPE, 1, 18, "25 elements"},
      {"x f32[4,6]; r = reshape x shape=6,4; t = reshape r shape=24; s = reshape x shape=8,3; u = "
       "reshape s shape=24; add t u",
       MORELLO_UNSUPPORTED, 1, 27, "do not nest"},
      {"relu f32[4] * 2" + exps, MORELLO_UNSUPPORTED, 0, 0, "36 scalar operations"},
      {"y = exp f32[4]; z = neg y; y, z, y", MORELLO_INVALID_ARGUMENT, 1, 34,
       "'y' is an output already"},
      {"x f32[4]; y = exp x; y, x", MORELLO_INVALID_ARGUMENT, 1, 25,
       "'x' is an input as it is; outputs are values: write 'y = move x'"},
      {"y = exp f32[4]; z = neg y; y, w", MORELLO_SYNTAX_ERROR, 1, 31, "names are y, z"},
      {"y = exp f32[4]; z = neg y; y -> f32[4], z", MORELLO_SYNTAX_ERROR, 1, 41,
       "either all results have outputs"},
      {"y = exp f32[4]; z = neg y; y, z -> f32[4]", MORELLO_SYNTAX_ERROR, 1, 33,
       "either all results have outputs"},
      {"y = exp f32[4]; z = neg y; y, z; neg z", MORELLO_SYNTAX_ERROR, 1, 32,
       "the end of the Spec"},
      {"y = exp f32[4]; z = neg y; y, ", MORELLO_SYNTAX_ERROR, 1, 31, "the name of a value"},
      {"y = exp f32[4]; z = neg y; y -> relu, z", MORELLO_SYNTAX_ERROR, 1, 33, "a tensor"},
      {"y = exp f32[4]; z = neg y; w = abs y; y, z", MORELLO_SYNTAX_ERROR, 1, 28,
       "'w' is not used"},
      {"y = exp f32[4]; z = neg y; y -> f32[4], z -> f32[5]", MORELLO_INVALID_SHAPE, 1, 50,
       "axis 0 of output 1 has size 5, but that of the result has size 4"},
      {"y = exp f32[4]; z = neg y; y -> f32[4]{*}, z -> f32[4]", MORELLO_INVALID_LAYOUT, 1, 39,
       "the layout of output 0 is free"},
      {"y = exp f32[4]; z = neg y;\ny -> f32[4], z -> f32[4]{strides=0}", MORELLO_INVALID_LAYOUT, 2,
       34, "axis 0 of output 1 has stride 0"},
      {"y = exp f32[4]; z = neg y", MORELLO_SYNTAX_ERROR, 1, 17, "it may name several"},
      {"a = exp f32[4]; b = exp f32[4]; c = exp f32[4]; d = exp f32[4]; e = exp f32[4]; a, b, c, "
       "d, e",
       MORELLO_UNSUPPORTED, 0, 0, "10 tensors, outputs included"},
      {"add f32[3] 1 + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3] + f32[3]",
       MORELLO_UNSUPPORTED, 0, 0, "9 tensors"},
  };
  for (const Case& c : kCases) {
    INFO(c.text);
    const Result<Statement> s = parse(c.text);
    REQUIRE_FALSE(s.ok());
    INFO(s.error().message);
    CHECK(s.error().status == c.status);
    if (c.line) CHECK(s.error().line == c.line);
    if (c.column) CHECK(s.error().column == c.column);
    CHECK(s.error().message.find(c.message) != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
