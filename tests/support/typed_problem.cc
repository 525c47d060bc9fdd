// SPDX-License-Identifier: MIT
#include "typed_problem.hh"

#include <cmath>
#include <cstring>

#include "cost/held.hh"
#include "impl/evaluate.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

Dtype any_dtype(Random& random) {
  return kAllDtypes[pick(random, 0, static_cast<u32>(std::size(kAllDtypes)) - 1)];
}

/// Calls f(index, offset) for all elements of an operand.
template <class F>
void each_offset(const Spec& spec, int operand, const View& view, F f, i64 offset = 0,
                 int dim = 0) {
  while (dim < spec.rank && !has_dim(spec.operand[operand].dims, dim)) dim++;
  if (dim == spec.rank) return f(offset);
  for (u32 i = 0; i < spec.size[dim]; i++)
    each_offset(spec, operand, view, f, offset + view.dim[dim].at(i), dim + 1);
}

u32 any_bits(Dtype dtype, Random& random) {
  constexpr double kEdges[] = {
      0,        0.5,    1.5,        -0.5,       126.5,    127.5,    128,      -128.5,    -129,
      254.5,    255.5,  256,        65504,      65520,    -65519,   0x1p-24,  0x1.8p-25, 0x1p-25,
      0x1p-14,  0x1p31, -0x1p31,    0x1p31 - 1, 16777217, 0x1.01p0, 0x1.03p0, 0x1.81p0,  0x1p-133,
      0x1p-134, -1e-40, 0x1.fep127, 0x1.ffp127, 3e38,     INFINITY, NAN};
  switch (pick(random, 0, 3)) {
    case 0:
      return static_cast<u32>(random());
    case 1: {
      const double x = kEdges[pick(random, 0, static_cast<u32>(std::size(kEdges)) - 1)];
      return bits_of_number(dtype, chance(random, 50) ? x : -x);
    }
    default:
      return bits_of_number(dtype, std::uniform_real_distribution<double>(-300, 300)(random));
  }
}

u32 small_integer(Dtype dtype, Random& random) {
  const int x = static_cast<int>(pick(random, 1, 8));
  return bits_of_number(dtype, dtype != Dtype::kU8 && chance(random, 50) ? -x : x);
}

/// Operations that the Specs of random_tree.cc have not.
void draw_op(Stage& stage, Random& random) {
  if (!chance(random, 20)) return;
  if (is_unary(stage.op)) stage.op = chance(random, 50) ? Op::kSqrt : Op::kRecip;
  if (is_binary(stage.op) && stage.in[1] != kNoRef) stage.op = Op::kDiv;
}

}  // namespace

void draw_dtypes(Spec& spec, Random& random) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level != Level::kRegister) spec.operand[o].dtype = any_dtype(random);
  for (int s = 0; s < spec.stage_count; s++) {
    Stage& stage = spec.stage[s];
    if (s > 0) draw_op(stage, random);
    bool integers = true;
    for (Ref in : stage.in) {
      if (in == kNoRef || in == kConstant) continue;
      integers &=
          is_integer(is_value(in) ? spec.stage[stage_of(in)].dtype : spec.operand[in].dtype);
    }
    stage.dtype =
        integers && has_integers(stage.op) && chance(random, 80) ? Dtype::kI32 : Dtype::kF32;
    // A cast, which rounds.
    if ((stage.op == Op::kCopy || (s > 0 && is_unary(stage.op))) && chance(random, 15)) {
      stage.op = Op::kCopy;
      stage.dtype = chance(random, 50) ? Dtype::kBf16 : Dtype::kF16;
    }
    if (stage.op == Op::kFill)
      stage.constant = bits_of_number(stage.dtype, static_cast<int>(pick(random, 0, 600)) - 300);
  }
  const Stage& last = spec.stage[spec.stage_count - 1];
  if (accumulates(spec, last)) spec.out().dtype = last.dtype;
  if (spec.out().level == Level::kRegister) spec.out().dtype = computed_in(last.dtype);
  while (last.dtype == Dtype::kI32 && !is_integer(spec.out().dtype) &&
         spec.out().dtype != Dtype::kF32)
    spec.out().dtype = any_dtype(random);
}

void TypedProblem::fill(Random& random) {
  const bool exact = combines(spec);
  for (int o = 0; o < spec.operand_count; o++) {
    const Dtype dtype = spec.operand[o].dtype;
    data[o].assign(extent(spec, o, views[o]), '\x5a');
    each_offset(spec, o, views[o], [&](i64 at) {
      const u32 bits = exact ? small_integer(dtype, random) : any_bits(dtype, random);
      std::memcpy(data[o].data() + at * size_of(dtype), &bits, size_of(dtype));
    });
  }
}

size_t extent(const Spec& spec, int operand, const View& view) {
  i64 last = 0;
  for (int d = 0; d < spec.rank; d++)
    if (has_dim(spec.operand[operand].dims, d)) last += view.dim[d].at(spec.size[d] - 1);
  return static_cast<size_t>(last + 1) * size_of(spec.operand[operand].dtype);
}

TypedProblem random_typed_problem(Random& random, u32 max_size) {
  const Problem plain = random_problem(random, max_size);
  TypedProblem p{plain.spec, plain.views, {}};
  draw_dtypes(p.spec, random);
  p.fill(random);
  return p;
}

std::vector<char> evaluated(const TypedProblem& problem) {
  auto data = problem.data;
  std::array<void*, kMaxOperands> pointers{};
  for (int o = 0; o < problem.spec.operand_count; o++) pointers[o] = data[o].data();
  evaluate(problem.spec, problem.views, pointers.data());
  return data[problem.spec.out_index()];
}

std::string compare_bits(const TypedProblem& problem, const std::vector<char>& expected,
                         const void* got) {
  const int out = problem.spec.out_index();
  const Dtype dtype = problem.spec.out().dtype;
  std::string wrong;
  each_offset(problem.spec, out, problem.views[out], [&](i64 at) {
    const double e = load_number(dtype, expected.data(), at), g = load_number(dtype, got, at);
    if (!wrong.empty() || (std::isnan(e) && std::isnan(g))) return;
    if (e == g && std::signbit(e) == std::signbit(g)) return;
    wrong = "element at offset " + std::to_string(at) + " is " + std::to_string(g) + ", expected " +
            std::to_string(e);
  });
  return wrong;
}

}  // namespace morello::testing
