// SPDX-License-Identifier: MIT
// Every rule of the canonical form, by a small Spec that breaks it; and small cases of what is
// derived from Specs of the general form.
#include "spec/canonical.hh"

#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "../support/stages.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using namespace testing;

Operand operand(Dtype dtype, Access access, std::initializer_list<int> dims) {
  Operand x;
  x.dtype = dtype;
  x.level = Level::kMemory;
  x.access = access;
  for (int d : dims) x.dims = static_cast<DimMask>(x.dims | 1u << d);
  x.layout = layout_in_order(dims);
  x.contig = static_cast<u8>(dims.size());
  return x;
}

Stage stage(Op op, Dtype dtype, Ref first, Ref second, DimMask reduce, Ref out) {
  return {op, dtype, {first, second, kNoRef}, reduce, out};
}

/// 0, 1 = rows and columns of a sum of products in i32, and its relu: o3 += u8 x i8, o4 = relu of
/// what o2 holds.
Spec graph() {
  Spec s;
  s.rank = 3;
  s.size = {6, 40, 8};
  s.operand_count = 5;
  s.stage_count = 2;
  s.operand[0] = operand(Dtype::kU8, Access::kIn, {0, 2});
  s.operand[1] = operand(Dtype::kI8, Access::kIn, {2, 1});
  s.operand[2] = operand(Dtype::kBf16, Access::kIn, {0, 1});
  s.operand[3] = operand(Dtype::kI32, Access::kInOut, {1, 0});
  s.operand[4] = operand(Dtype::kF16, Access::kOut, {0, 1});
  s.stage[0] = stage(Op::kMulAdd, Dtype::kI32, 0, 1, 1 << 2, 3);
  s.stage[1] = stage(Op::kRelu, Dtype::kBf16, 2, kNoRef, 0, 4);
  return s;
}

/// o1 = max over d1 of o0[2 * d0 + d1]
Spec pooling() {
  Spec s;
  s.rank = 2;
  s.size = {10, 3};
  s.operand_count = 2;
  s.stage_count = 1;
  s.window[0] = {0, 1, 2, 1};
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {0});
  s.operand[0].dims = 3;
  s.operand[0].windows = 1;
  s.operand[0].contig = 0;
  s.operand[1] = operand(Dtype::kF32, Access::kOut, {0});
  s.stage[0] = stage(Op::kMax, Dtype::kF32, 0, kNoRef, 1 << 1, 1);
  return s;
}

/// o1 = o0, in panels of 16 columns.
Spec panels() {
  Spec s;
  s.rank = 2;
  s.size = {64, 10};
  s.operand_count = 2;
  s.stage_count = 1;
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {1, 0});
  s.operand[1] = operand(Dtype::kF32, Access::kOut, {0, 1});
  s.operand[1].layout.append(0, 16);
  forget_pitch(s.operand[1] = dense_operand(s, Dtype::kF32, Level::kMemory, Access::kOut, 3,
                                            s.operand[1].layout));
  s.stage[0] = stage(Op::kCopy, Dtype::kF32, 0, kNoRef, 0, 1);
  return s;
}

Spec filled() {
  Spec s;
  s.operand_count = s.stage_count = 1;
  s.operand[0] = operand(Dtype::kF16, Access::kOut, {});
  s.stage[0] = stage(Op::kFill, Dtype::kF16, kNoRef, kNoRef, 0, 0);
  s.stage[0].constant = 0x3c00;
  return s;
}

struct Break {
  std::string message;
  std::function<void(Spec&)> change;
};

void check_broken(const Spec& spec, const std::vector<Break>& all) {
  REQUIRE(not_canonical(spec) == "");
  for (const Break& b : all) {
    Spec broken = spec;
    b.change(broken);
    CHECK(not_canonical(broken) == b.message);
  }
}

TEST_SUITE_BEGIN("spec");

TEST_CASE("not_canonical: dimensions and operands") {
  check_broken(
      graph(),
      {{"dimension 1 has a wrong size", [](Spec& s) { s.size[1] = 1; }},
       {"dimension 3 has a wrong size", [](Spec& s) { s.size[3] = 4; }},
       {"dimension 0 is not where the output has it",
        [](Spec& s) { std::swap(s.operand[4].layout.dim[0], s.operand[4].layout.dim[1]); }},
       {"has a dimension that nothing has", [](Spec& s) { s.size[s.rank++] = 3; }},
       {"has no such rank, or number of operands or stages", [](Spec& s) { s.rank = 9; }},
       {"has no such rank, or number of operands or stages", [](Spec& s) { s.stage_count = 0; }},
       {"has no such rank, or number of operands or stages", [](Spec& s) { s.operand_count = 9; }},
       {"unused operand 6 is not empty", [](Spec& s) { s.operand[6].contig = 1; }},
       {"operand 2 is read before operand 1",
        [](Spec& s) {
          std::swap(s.operand[1], s.operand[2]);
          s.stage[0].in[1] = 2, s.stage[1].in[0] = 1;
        }},
       {"operand 3 is read before operand 2",
        [](Spec& s) {
          std::swap(s.operand[2], s.operand[3]);
          s.stage[0].out = 2, s.stage[1].in[0] = 3;
        }},
       {"operand 0 has no known element type",
        [](Spec& s) { s.operand[0].dtype = static_cast<Dtype>(7); }},
       {"operand 1 has no such level", [](Spec& s) { s.operand[1].level = static_cast<Level>(4); }},
       {"operand 1 has no such access",
        [](Spec& s) { s.operand[1].access = static_cast<Access>(3); }},
       {"operand 1 has no such bank", [](Spec& s) { s.operand[1].bank = static_cast<Bank>(2); }},
       {"operand 1 has a bank in memory", [](Spec& s) { s.operand[1].bank = Bank::kTile; }},
       {"operand 1 has dimensions that there are not", [](Spec& s) { s.operand[1].dims |= 8; }},
       {"operand 1 has a run of more than all dimensions",
        [](Spec& s) { s.operand[1].contig = 3; }},
       {"operand 1 has no such alias", [](Spec& s) { s.operand[1].alias = kAliasCount; }},
       {"operand 1 has no such window's alias", [](Spec& s) { s.operand[1].alias = 4 | 5 << 4; }},
       {"operand 1 is free, but not in memory",
        [](Spec& s) { s.operand[1].free_layout = true, s.operand[1].level = Level::kL2; }},
       {"operand 4 is in registers, and remembers memory",
        [](Spec& s) { s.operand[4].level = Level::kRegister, s.operand[4].far = true; }},
       {"operand 4 is in registers, in parts",
        [](Spec& s) { s.operand[4].level = Level::kRegister, s.operand[4].contig = 1; }},
       {"operand 2 remembers more than its level needs",
        [](Spec& s) { s.operand[2].level = Level::kL1, s.operand[2].contig = 2; }}});
}

TEST_CASE("not_canonical: layouts") {
  auto layout = [](Spec& s) -> Layout& { return s.operand[1].layout; };
  check_broken(
      panels(),
      {{"operand 1 has blocks that hold all there is", [](Spec& s) { s.size[0] = 16; }},
       {"operand 1 has blocks of 1", [=](Spec& s) { layout(s).block[2] = 1; }},
       {"operand 1 has a dimension twice", [=](Spec& s) { layout(s).block[2] = 0; }},
       {"operand 1 has blocks that are slower than the whole",
        [=](Spec& s) { std::swap(layout(s).block[0], layout(s).block[2]); }},
       {"operand 1 has a layout of other dimensions", [=](Spec& s) { layout(s).dim[1] = 2; }},
       {"operand 1 has a layout that lacks dimensions", [=](Spec& s) { layout(s).erase(1); }},
       {"operand 1 has a layout with a gap", [=](Spec& s) { layout(s).block[4] = 2; }},
       {"operand 1 has a dimension in too many blocks",
        [=](Spec& s) { layout(s).append(0, 2), layout(s).append(0, 2); }},
       {"operand 1 is in registers, in blocks",
        [](Spec& s) { s.operand[1].level = Level::kRegister, s.operand[1].contig = 0; }}});
}

TEST_CASE("not_canonical: windows") {
  check_broken(
      pooling(),
      {{"window 1 is not used",
        [](Spec& s) {
          s.window[1] = {0, 1, 1, 1};
        }},
       {"window 0 is not used", [](Spec& s) { s.operand[0].windows = 0; }},
       {"window 0 is left out",
        [](Spec& s) {
          s.operand[0].windows = 2;
          s.window[1] = s.window[0], s.window[0] = {};
        }},
       {"window 0 has no two dimensions", [](Spec& s) { s.window[0].inner = 0; }},
       {"window 0 does not move", [](Spec& s) { s.window[0].dilation = 0; }},
       {"there are no such windows",
        [](Spec& s) {
          s.window[1] = {1, 0, 1, 1}, s.operand[0].windows = 7;
        }},
       {"two windows are the same",
        [](Spec& s) { s.window[1] = s.window[0], s.operand[0].windows = 3; }},
       {"operand 0 has windows over wrong dimensions", [](Spec& s) { s.operand[0].dims = 1; }},
       {"operand 1 is an output with windows", [](Spec& s) { s.operand[1].windows = 1; }},
       {"operand 0 has a window in blocks", [](Spec& s) { s.operand[0].layout.append(0, 2); }}});
}

/// o1 = o0 where d1 < d0 + 2, else -inf.
Spec triangle() {
  Spec s;
  s.rank = 2;
  s.size = {6, 8};
  s.operand_count = 2;
  s.stage_count = 1;
  s.diagonal = {0, 1, 0, 2};
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {0, 1});
  s.operand[1] = operand(Dtype::kF32, Access::kOut, {0, 1});
  s.stage[0] = stage(Op::kKeep, Dtype::kF32, 0, kNoRef, 0, 1);
  return s;
}

TEST_CASE("not_canonical: the diagonal") {
  check_broken(
      triangle(),
      {{"the diagonal keeps everything", [](Spec& s) { s.diagonal.kept = 8; }},
       {"the diagonal has no two dimensions", [](Spec& s) { s.diagonal.column = 0; }},
       {"the diagonal has no two dimensions", [](Spec& s) { s.diagonal.column = 2; }},
       {"the diagonal has no two dimensions", [](Spec& s) { s.diagonal.row = 2; }},
       {"the diagonal has no two dimensions", [](Spec& s) { s.diagonal.reserved = 1; }},
       {"there is no diagonal, but something of one", [](Spec& s) { s.diagonal.kept = 0; }},
       {"a diagonal without a stage that keeps, or the reverse", [](Spec& s) { s.diagonal = {}; }},
       {"a diagonal without a stage that keeps, or the reverse",
        [](Spec& s) { s.stage[0].op = Op::kCopy; }},
       {"stage 0 keeps no f32", [](Spec& s) { s.stage[0].dtype = Dtype::kBf16; }},
       {"stage 0 lacks a dimension of the diagonal",
        [](Spec& s) { s.operand[0] = operand(Dtype::kF32, Access::kIn, {1}); }},
       {"stage 0 has too many inputs", [](Spec& s) { s.stage[0].in[1] = 0; }},
       {"stage 0 has no such operation, or must not reduce",
        [](Spec& s) { s.stage[0].reduce = 1; }}});
  Spec row = triangle();
  row.diagonal.row = kNoDim;
  CHECK(not_canonical(row) == "");
}

TEST_CASE("not_canonical: stages") {
  check_broken(
      graph(),
      {{"stage 0 has no such operation, or must not reduce",
        [](Spec& s) { s.stage[0].op = static_cast<Op>(99); }},
       {"stage 1 has no such operation, or must not reduce",
        [](Spec& s) { s.stage[1].reduce = 1; }},
       {"stage 1 has a reserved byte set", [](Spec& s) { s.stage[1].reserved = 1; }},
       {"stage 1 has no known element type",
        [](Spec& s) { s.stage[1].dtype = static_cast<Dtype>(0); }},
       {"stage 1 has too many inputs", [](Spec& s) { s.stage[1].in[1] = 2; }},
       {"stage 1 reads the value of no earlier stage", [](Spec& s) { s.stage[1].in[0] = 0x14; }},
       {"stage 1 reads the value of no earlier stage", [](Spec& s) { s.stage[1].in[0] = 0x11; }},
       {"stage 1 reads no operand", [](Spec& s) { s.stage[1].in[0] = 5; }},
       {"stage 0 reduces dimensions that there are not", [](Spec& s) { s.stage[0].reduce = 12; }},
       {"stage 0 is not computed in i32", [](Spec& s) { s.stage[0].dtype = Dtype::kI8; }},
       {"stage 1 has no integers",
        [](Spec& s) { s.stage[1].op = Op::kSqrt, s.stage[1].dtype = Dtype::kI32; }},
       {"stage 1 computes floats in integers", [](Spec& s) { s.stage[1].dtype = Dtype::kI32; }},
       {"stage 0 sums in a narrow element type", [](Spec& s) { s.stage[0].dtype = Dtype::kBf16; }},
       {"stage 1 writes no output", [](Spec& s) { s.stage[1].out = 2; }},
       {"stage 1 writes an output that lacks dimensions",
        [](Spec& s) { s.operand[4] = operand(Dtype::kF16, Access::kOut, {0}); }},
       {"stage 0 adds to an output of another element type",
        [](Spec& s) { s.operand[3].dtype = Dtype::kF32; }},
       {"stage 0 adds to an output, and is read by another stage",
        [](Spec& s) { s.stage[1].in[0] = value_of(0); }},
       {"unused stage 5 is not empty", [](Spec& s) { s.stage[5].op = Op::kAdd; }},
       {"the value of stage 1 is not used", [](Spec& s) { s.stage[1].out = kNoRef; }},
       {"stages 0 and 1 are the same", [](Spec& s) { s.stage[1] = s.stage[0]; }},
       {"stage 1 has a constant that it does not read", [](Spec& s) { s.stage[1].constant = 1; }},
       {"output 4 is read, but not kInOut", [](Spec& s) { s.stage[1].in[0] = 4; }},
       {"no stage reads operand 2",
        [](Spec& s) { s.stage[1].op = Op::kFill, s.stage[1].in[0] = kNoRef; }},
       {"output 3 has 2 writers",
        [](Spec& s) { s.stage[1].out = 3, s.operand[3].access = Access::kOut; }}});
  check_broken(filled(), {{"stage 0 has a constant with more bits than its element type",
                           [](Spec& s) { s.stage[0].constant = 0x10000; }}});
}

TEST_CASE("a sum that is written to all elements along what it reduces is not split") {
  Spec s;  // o1[d0] += sum over d0 of o0[d0]
  s.rank = 1;
  s.size[0] = 8;
  s.operand_count = 2;
  s.stage_count = 1;
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {0});
  s.operand[1] = operand(Dtype::kF32, Access::kInOut, {0});
  s.stage[0] = stage(Op::kAdd, Dtype::kF32, 0, kNoRef, 1, 1);
  REQUIRE(not_canonical(s) == "");
  CHECK(fold_dims(s) == 0);
  CHECK(parallel_dims(s) == 0);
  s.operand[1] = operand(Dtype::kF32, Access::kInOut, {});
  CHECK(fold_dims(s) == 1);
}

TEST_CASE("a tile of one panel has its dimensions in order") {
  Binding binding;
  const Spec child = tile(panels(), 0, 16, &binding);
  CHECK(not_canonical(child) == "");
  CHECK(describe(child) == "copy[10,16] f32(d0,d1) near1@mem => f32(d0,d1)@mem");
  CHECK(binding.dim[0] == 1);
  CHECK(binding.dim[1] == 0);
}

TEST_CASE("a window that no operand has is gone, whether or not dimensions are") {
  Spec s = pooling();
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {0, 1});
  drop_unit_dims(s, nullptr);
  CHECK(not_canonical(s) == "");
  CHECK(!s.window[0].used());
}

TEST_CASE("what is known of a panel's pitch is what its level needs, in tiles as well") {
  Spec s;
  s.rank = 2;
  s.size = {6, 8};
  s.operand_count = 2;
  s.stage_count = 1;
  s.operand[0] = operand(Dtype::kF32, Access::kIn, {0, 1});
  s.operand[1] = operand(Dtype::kF32, Access::kOut, {0});
  s.operand[1].layout.append(0, 3);
  s.operand[1].layout.append(1);
  s.operand[1].layout.append(1, 2);
  s.operand[1].dims = 3;
  s.operand[1].contig = 3;
  s.stage[0] = stage(Op::kCopy, Dtype::kF32, 0, kNoRef, 0, 1);
  REQUIRE(not_canonical(s) == "");
  CHECK(not_canonical(tile(s, 0, 3, nullptr)) == "");
}

TEST_CASE("copies are computed in i32 between integers, and in f32 otherwise") {
  Spec s = graph();
  Operand to = s.operand[4];
  REQUIRE(to.dtype == Dtype::kF16);
  to.dtype = Dtype::kI32;
  to.level = Level::kL1;
  auto computed_out = [&] { return move_spec(s, 4, to, /*in=*/false, nullptr).stage[0].dtype; };
  CHECK(computed_out() == Dtype::kF32);  // i32 -> f32 -> f16
  s.operand[4].dtype = Dtype::kI8;
  CHECK(computed_out() == Dtype::kI32);
  CHECK(move_spec(s, 2, to, /*in=*/true, nullptr).stage[0].dtype == Dtype::kF32);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
