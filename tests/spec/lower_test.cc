// SPDX-License-Identifier: MIT
// lower(): the canonical Spec visits exactly the addresses that the Statement names, is in
// canonical form, and equal problems become equal Specs. Also what the C builders can get wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"
#include "support/lowered.hh"
#include "support/random_statement.hh"
#include "support/scale.hh"
#include "support/stages.hh"

namespace morello {
namespace {

using testing::lowered;
using testing::stage_of_op;

Stage writing(Ref out, Stage stage) {
  stage.out = out;
  return stage;
}

using Head = Statement::Head;

/// The addresses of all operands at one point of the iteration space.
using Point = std::array<i64, kMaxOperands>;

/// The letters of the axes of each tensor, by the definition of each operation. Elementwise tensors
/// take the last letters of the result.
std::vector<std::string> letters_of(const Statement& s) {
  std::vector<std::string> letters;
  size_t rank = s.tensors.empty() ? 0 : s.tensors[0].shape.size();
  std::string result = std::string("stuvwxyz").substr(0, s.tensors.back().shape.size());
  if (s.head == Head::kMatmul) {
    std::string batch = std::string("abcdef").substr(0, rank - 2);
    letters = {batch + "mk", batch + "kn"};
    result = batch + "mn";
  } else if (s.head == Head::kEinsum) {
    size_t comma = s.subscripts.find(','), arrow = s.subscripts.find("->");
    letters = {s.subscripts.substr(0, comma), s.subscripts.substr(comma + 1, arrow - comma - 1)};
    result = s.subscripts.substr(arrow + 2);
  } else if (s.head == Head::kReduce) {
    letters = {std::string("abcdefgh").substr(0, rank)};
    result = letters[0];
    result.erase(s.axis, 1);
  } else if (s.head == Head::kTranspose) {
    letters = {std::string("abcdefgh").substr(0, rank)};
    for (size_t i = 0; i < rank; i++) result[i] = letters[0][s.permutation[i]];
  }
  for (size_t i = letters.size(); i < s.tensors.size(); i++)
    letters.push_back(result.substr(result.size() - s.tensors[i].shape.size()));
  return letters;
}

/// All points of the Statement, sorted.
std::vector<Point> points_of(const Statement& s) {
  std::vector<std::string> letters = letters_of(s);
  std::map<char, i64> size, index;
  for (size_t t = 0; t < letters.size(); t++)
    for (size_t axis = 0; axis < letters[t].size(); axis++) {
      i64& n = size[letters[t][axis]];
      n = std::max(n, s.tensors[t].shape[axis]);
      index[letters[t][axis]] = 0;
    }
  std::vector<Point> points;
  for (bool more = true; more;) {
    Point point{};
    for (size_t t = 0; t < letters.size(); t++) {
      const Tensor& tensor = s.tensors[t];
      bool free = tensor.kind == Tensor::Kind::kFree;
      std::vector<i64> strides = free ? row_major_strides(tensor.shape) : tensor.strides;
      for (size_t axis = 0; axis < letters[t].size(); axis++)
        if (tensor.shape[axis] > 1) point[t] += index[letters[t][axis]] * strides[axis];
    }
    points.push_back(point);
    more = false;
    for (auto& [letter, i] : index) {
      if (++i < size[letter]) {
        more = true;
        break;
      }
      i = 0;
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

std::vector<Point> points_of(const Lowered& l) {
  const Spec& spec = l.spec;
  std::vector<Point> points;
  for (u64 i = 0; i < volume(spec); i++) {
    Point point{};
    u64 rest = i;
    for (int d = 0; d < spec.rank; d++) {
      for (int o = 0; o < spec.operand_count; o++)
        if (has_dim(spec.operand[o].dims, d)) point[o] += l.view[o].dim[d].at(rest % spec.size[d]);
      rest /= spec.size[d];
    }
    points.push_back(point);
  }
  std::sort(points.begin(), points.end());
  return points;
}

void check_layout(const Spec& spec, const Operand& operand, const View& view) {
  REQUIRE(operand.level == Level::kMemory);
  REQUIRE_FALSE(operand.layout.packed());
  int rank = operand.layout.count();
  DimMask dims = 0;
  for (int i = 0; i < rank; i++) {
    u8 d = operand.layout.dim[i];
    REQUIRE(view.dim[d].stride[0] > 0);
    if (i > 0) REQUIRE(view.dim[d].stride[0] <= view.dim[operand.layout.dim[i - 1]].stride[0]);
    dims = static_cast<DimMask>(dims | 1u << d);
  }
  REQUIRE(dims == operand.dims);
  i64 run = 1;
  int contig = 0;
  while (contig < rank && view.dim[operand.layout.dim[rank - 1 - contig]].stride[0] == run)
    run *= spec.size[operand.layout.dim[rank - 1 - contig++]];
  REQUIRE(operand.contig == contig);
  const i64 apart =
      contig < rank ? 4 * view.dim[operand.layout.dim[rank - 1 - contig]].stride[0] : 0;
  REQUIRE(operand.far == (apart >= 3072 ? kPaged : apart >= 1024 ? kFar : 0));
}

/// No two dimensions that could be one; numbered as the comment of Spec says.
void check_canonical(const Lowered& l) {
  const Spec& spec = l.spec;
  REQUIRE(not_canonical(spec) == "");
  for (int d = 0; d < kMaxDims; d++) {
    if (d < spec.rank)
      REQUIRE(spec.size[d] >= 2);
    else
      REQUIRE(spec.size[d] == 0);
  }
  for (int o = 0; o < spec.operand_count; o++) check_layout(spec, spec.operand[o], l.view[o]);
  for (int a = 0; a < spec.rank; a++)
    for (int b = 0; b < spec.rank; b++) {
      bool one = a != b && has_dim(spec.out().dims, a) == has_dim(spec.out().dims, b);
      for (int o = 0; o < spec.operand_count; o++)
        one = one && l.view[o].dim[a].stride[0] == l.view[o].dim[b].stride[0] * spec.size[b];
      REQUIRE_FALSE(one);
    }
  int parallel = spec.out().layout.count();
  for (int d = 0; d < parallel; d++) REQUIRE(spec.out().layout.dim[d] == d);
  Spec fresh;
  for (int o = spec.operand_count; o < kMaxOperands; o++)
    REQUIRE(spec.operand[o] == fresh.operand[o]);
  for (int i = spec.stage_count; i < kMaxStages; i++) REQUIRE(spec.stage[i] == fresh.stage[i]);
  for (int i = 1; i < spec.stage_count; i++) REQUIRE(spec.stage[i].reduce == 0);
  REQUIRE(spec.reduced() == (spec.all_dims() & ~spec.out().dims));
}

/// Each input is read by one stage, and values flow from stage to stage.
void check_stages(const Statement& s, const Spec& spec) {
  std::array<int, kMaxOperands> uses{};
  for (int i = 0; i < spec.stage_count; i++) {
    const Stage& stage = spec.stage[i];
    for (Ref in : stage.in)
      if (is_operand(in)) uses[in]++;
    if (i > 0) REQUIRE(stage.in[0] == value_of(i - 1));
  }
  for (int o = 0; o < spec.out_index(); o++) REQUIRE(uses[o] == 1);
  REQUIRE(spec.out().access == (s.accumulate ? Access::kInOut : Access::kOut));
  bool combines =
      s.accumulate && s.steps.empty() && (spec.reduced() || spec.stage[0].op == Op::kMulAdd);
  REQUIRE(uses[spec.out_index()] == (s.accumulate && !combines));
}

Tensor dense(std::vector<i64> shape) {
  Tensor t;
  t.strides = row_major_strides(shape);
  t.shape = std::move(shape);
  return t;
}

}  // namespace

TEST_SUITE("spec") {
  TEST_CASE("lower: random statements visit the same addresses, in canonical form") {
    const u64 seed = 3;
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    testing::RandomStatementOptions options;
    options.free_layouts = true;
    options.max_flops = 4096;
    int most_steps = 0, most_operands = 0, most_axes = 0, most_dims = 0;
    for (int i = 0, n = testing::rounds(4000); i < n; i++) {
      Statement s = testing::random_statement(rng, options);
      INFO(print(s));
      Result<Lowered> l = lower(s);
      REQUIRE(l.ok());
      REQUIRE(points_of(*l) == points_of(s));
      check_canonical(*l);
      check_stages(s, l->spec);
      most_steps += l->spec.stage_count == kMaxStages;
      most_operands += l->spec.operand_count == kMaxOperands;
      most_axes += s.tensors.back().shape.size() == MORELLO_MAX_RANK;
      most_dims += l->spec.rank >= 7;
      for (size_t o = 0; o < s.tensors.size(); o++) {
        i64 last = 0;
        for (const Point& p : points_of(s)) last = std::max(last, p[o]);
        REQUIRE(l->bytes[o] == static_cast<u64>(last + 1) * 4);
      }
    }
    if (testing::rounds(100) < 100) return;  // too few to meet them
    CHECK(most_steps > 10);
    CHECK(most_operands > 3);
    CHECK(most_axes > 10);
    CHECK(most_dims > 3);
  }

  TEST_CASE("lower: the shape of each operation") {
    CHECK(
        describe(lowered("matmul f32[64,768] f32[768,30] + bias f32[30] -> relu").spec) ==
        "muladd+add+relu[64,30,/768] f32(d0,d2)@mem f32(d2,d1)@mem f32(d1)@mem => f32(d0,d1)@mem");
    CHECK(describe(lowered("matmul f32[2,3,4] f32[2,4,5]").spec) ==
          "muladd[2,3,5,/4] f32(d0,d1,d3)@mem f32(d0,d3,d2)@mem => f32(d0,d1,d2)@mem");
    CHECK(describe(lowered("reduce_max f32[2,3,4] axis=1 += f32[2,4]").spec) ==
          "max[2,4,/3] f32(d0,d2,d1)@mem += f32(d0,d1)@mem");
    CHECK(describe(lowered("transpose f32[2,3]").spec) ==
          "copy[3,2] f32(d1,d0)@mem => f32(d0,d1)@mem");
    CHECK(describe(lowered("broadcast f32[3] -> f32[2,3]").spec) ==
          "copy[2,3] f32(d1)@mem => f32(d0,d1)@mem");
    CHECK(describe(lowered("sub f32[2,1] f32[3]").spec) ==
          "sub[2,3] f32(d0)@mem f32(d1)@mem => f32(d0,d1)@mem");
    CHECK(describe(lowered("fill 2 -> f32[4,3]{strides=300,1}").spec) ==
          "fill=0x40000000[4,3] => f32(d0,d1) far1@mem");
    CHECK(lowered("fill 2 -> f32[4,3]{strides=256,1}").spec.out().far);  // kFarBytes exactly
    CHECK_FALSE(lowered("fill 2 -> f32[4,3]{strides=255,1}").spec.out().far);
    CHECK(lowered("fill 2 -> f32[4]").spec.stage[0].constant == std::bit_cast<u32>(2.0f));
    CHECK(describe(lowered("relu f32[1]").spec) == "relu[] f32()@mem => f32()@mem");
    CHECK(lowered("matmul f32[3,4] f32[4,5]{*}").spec.operand[1].free_layout);
    CHECK(lowered("matmul f32[3,4] f32[4,5]{*}").bytes[1] == 80);
  }

  TEST_CASE("one line says everything of a Spec of the general form") {
    Spec spec = lowered("matmul f32[4,6] f32[6,8] + f32[8] -> f32[4,8]").spec;
    spec.window[1] = {.outer = 0, .inner = 2, .step = 2, .dilation = 3};
    Operand &a = spec.operand[0], &b = spec.operand[1], &c = spec.operand[2];
    a.dtype = Dtype::kBf16;
    a.windows = 2;
    a.contig = 1;
    a.level = Level::kL1;
    b.layout.append(1, 16);
    b.free_layout = true;
    b.far = kFar;
    c.level = Level::kRegister;
    c.bank = Bank::kTile;
    c.far = kPaged;
    spec.out().access = Access::kInOut;
    const std::string rest =
        "[4,8,/6] w1=2*d0+3*d2 bf16(d0,d2) w1 near1@L1 f32(d2,d1,d1:16) far2 free@mem"
        " f32(d1) paged@reg tiles += f32(d0,d1)@mem";
    CHECK(describe(spec) == "muladd+add" + rest);
    spec.stage[1].dtype = Dtype::kI32;
    CHECK(describe(spec) == "muladd.f32(o0,o1) over d2; add.i32(s0,o2) -> o3" + rest);
  }

  TEST_CASE("lower: equal problems have equal Specs") {
    const std::string_view kEqual[][2] = {
        {"relu f32[4,8]", "relu f32[32]"},
        {"relu f32[4,8]{0,1} -> f32[4,8]{0,1}", "relu f32[32]"},
        {"relu f32[2,3,4]{strides=24,8,1} -> f32[2,3,4]", "relu f32[6,4]{strides=8,1}"},
        {"matmul f32[1,8] f32[8,4]", "einsum \"k,kn->n\" f32[8] f32[8,4]"},
        {"matmul f32[3,8] f32[8,4]", "einsum \"ab,bc->ac\" f32[3,8] f32[8,4]"},
        {"matmul f32[3,8]{0,1} f32[8,4]", "einsum \"km,kn->mn\" f32[8,3] f32[8,4]"},
        {"matmul f32[2,3,4] f32[2,4,5]{strides=0,5,1}", "matmul f32[6,4] f32[4,5]"},
        {"matmul f32[1,3,4] f32[1,4,5]", "matmul f32[3,4] f32[4,5]"},
        {"einsum \"mab,abn->mn\" f32[3,2,4] f32[2,4,5]", "matmul f32[3,8] f32[8,5]"},
        {"einsum \"mk,kn->nm\" f32[3,8] f32[8,4]", "matmul f32[3,8] f32[8,4] -> f32[3,4]{0,1}"},
        {"einsum \"m,n->mn\" f32[4] f32[5]", "mul f32[4,1] f32[5]"},
        {"matmul f32[4,1] f32[1,5]", "mul f32[4,1] f32[5]"},
        {"transpose f32[4,5]", "move f32[5,4]{0,1}"},
        {"transpose f32[1,5]", "move f32[5]"},
        {"transpose f32[4,5] -> f32[5,4]{0,1}", "move f32[20]"},
        {"move f32[3] -> relu", "relu f32[3]"},
        {"move f32[3] * f32[3]", "mul f32[3] f32[3]"},
        {"reduce_sum f32[4,1] axis=1", "move f32[4]"},
        {"reduce_sum f32[4,1] axis=1 += f32[4]", "move f32[4] += f32[4]"},
        {"reduce_sum f32[2,3,4] axis=0", "reduce_sum f32[2,12] axis=0"},
        {"broadcast f32[3] -> f32[4,3]", "move f32[1,3] -> f32[4,3]"},
        {"broadcast f32[3] -> f32[2,2,3]", "move f32[4,3]{strides=0,1} -> f32[4,3]"},
        {"move f32[1,3]{strides=77,1} -> f32[1,3]", "move f32[3]"},
        {"fill nan -> f32[2,3]", "fill -nan -> f32[6]"},
        {"relu f32[3]{*}", "relu f32[3]"},
    };
    for (const auto& pair : kEqual) {
      INFO(pair[0], " and ", pair[1]);
      Lowered a = lowered(pair[0]), b = lowered(pair[1]);
      INFO(describe(a.spec), " and ", describe(b.spec));
      CHECK(a.spec == b.spec);
      CHECK(hash_of(a.spec) == hash_of(b.spec));
    }
  }

  TEST_CASE("lower: different problems have different Specs") {
    const std::string_view kDifferent[][2] = {
        {"matmul f32[3,8] f32[8,4]", "matmul f32[4,8] f32[8,3]"},
        {"matmul f32[3,8] f32[8,4]", "matmul f32[3,8] f32[8,4] += f32[3,4]"},
        {"matmul f32[3,8] f32[8,4]", "matmul f32[3,8] f32[8,4]{0,1}"},
        {"matmul f32[3,8] f32[8,4]", "matmul f32[3,8] f32[8,4]{*}"},
        {"sub f32[3,1] f32[4]", "sub f32[4] f32[3,1]"},
        {"reduce_max f32[3,4] axis=0", "reduce_min f32[3,4] axis=0"},
        {"fill 0 -> f32[3]", "fill -0 -> f32[3]"},
        {"relu f32[6,4]{strides=5,1}", "relu f32[6,4]{strides=300,1}"},
    };
    for (const auto& pair : kDifferent) {
      INFO(pair[0], " and ", pair[1]);
      CHECK_FALSE(lowered(pair[0]).spec == lowered(pair[1]).spec);
    }
  }

  TEST_CASE("lower: NaNs to fill with are one") {
    Statement s = *parse("fill nan -> f32[6]");
    s.fill_value = std::bit_cast<float>(0xffc12345u);
    CHECK(lower(s)->spec == lowered("fill nan -> f32[2,3]").spec);
  }

  TEST_CASE("lower: accumulation without a reduced dimension") {
    Spec product = lowered("matmul f32[4,1] f32[1,5] += f32[4,5]").spec;
    CHECK(product.stage[0] == writing(2, stage_of_op(Op::kMulAdd, 0, 1)));
    CHECK(product.out().access == Access::kInOut);
    Spec greatest = lowered("reduce_max f32[4,1] axis=1 += f32[4]").spec;
    CHECK(greatest.stage[0] == writing(1, stage_of_op(Op::kMax, 1, 0)));
    Spec chain = lowered("relu f32[4] -> neg += f32[4]").spec;
    CHECK(chain.stage_count == 3);
    CHECK(chain.stage[2] == writing(1, stage_of_op(Op::kAdd, value_of(1), 1)));
  }

  TEST_CASE("lower: reduced dimensions that no operand has do not overflow") {
    Spec spec =
        lowered("einsum \"ab,cd->ac\" f32[3,65536]{strides=1,0} f32[2,65536]{strides=1,0}").spec;
    CHECK(spec.rank == 4);
    CHECK(spec.reduced() == 0b1100);
  }

  TEST_CASE("lower: Statements that no text makes") {
    Statement matmul = *parse("matmul f32[2,3] f32[3,4] + f32[4]");
    auto status = [](Statement s) {
      Result<Lowered> l = lower(s);
      return l.ok() ? MORELLO_OK : l.error().status;
    };
    auto changed = [&](auto change) {
      Statement s = matmul;
      change(s);
      return status(s);
    };
    CHECK(status(matmul) == MORELLO_OK);
    CHECK(status(Statement{}) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.tensors.pop_back(); }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.tensors.push_back(dense({1})); }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.head = static_cast<Head>(99); }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.op = Op::kRelu; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.axis = 1; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.fill_value = -0.0f; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.subscripts = "a"; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.permutation = {0}; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.steps[0].operand = 1; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.steps[0].operand = 99; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.steps[0].op = Op::kFill; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) { s.steps[0].op = Op::kRelu; }) == MORELLO_INVALID_ARGUMENT);
    CHECK(changed([](auto& s) {
            s.steps.resize(kMaxStages, {Op::kRelu, -1});
          }) == MORELLO_UNSUPPORTED);
    CHECK(changed([](auto& s) { s.tensors[0].shape = {2, 0}; }) == MORELLO_INVALID_SHAPE);
    CHECK(changed([](auto& s) { s.tensors[0].shape[0] = INT64_MIN; }) == MORELLO_INVALID_SHAPE);
    CHECK(changed([](auto& s) { s.tensors[0].shape[0] = INT64_MAX; }) == MORELLO_SIZE_OVERFLOW);
    CHECK(changed([](auto& s) { s.tensors[0].strides[0] = INT64_MAX; }) == MORELLO_SIZE_OVERFLOW);
    CHECK(changed([](auto& s) { s.tensors[0].strides[0] = INT64_MIN; }) == MORELLO_INVALID_LAYOUT);
    CHECK(changed([](auto& s) { s.tensors[0].strides.clear(); }) == MORELLO_INVALID_LAYOUT);
    CHECK(changed([](auto& s) { s.tensors[3].strides = {0, 1}; }) == MORELLO_INVALID_LAYOUT);
    CHECK(changed([](auto& s) {
            s.tensors[0] = dense({1, 1, 1, 1, 1, 1, 1, 1, 1});
          }) == MORELLO_UNSUPPORTED);
    CHECK(changed([](auto& s) { s.tensors[1].dtype = static_cast<Dtype>(0); }) ==
          MORELLO_UNKNOWN_DTYPE);
    CHECK(changed([](auto& s) { s.tensors[0].kind = Tensor::Kind::kFree; }) ==
          MORELLO_INVALID_ARGUMENT);

    Statement unary = *parse("relu f32[3]");
    unary.op = Op::kMulAdd;
    CHECK(status(unary) == MORELLO_INVALID_ARGUMENT);
    Statement reduce = *parse("reduce_sum f32[3] axis=0");
    reduce.axis = 7;
    CHECK(status(reduce) == MORELLO_INVALID_SHAPE);
    reduce = *parse("reduce_sum f32[3] axis=0");
    reduce.op = Op::kMul;
    CHECK(status(reduce) == MORELLO_INVALID_ARGUMENT);
    Statement transpose = *parse("transpose f32[3,4]");
    transpose.permutation = {1, 0xffffffff};
    CHECK(status(transpose) == MORELLO_INVALID_SHAPE);
  }
}

}  // namespace morello
