// SPDX-License-Identifier: MIT
#include "compiler/build_kernel.hh"

#include <doctest/doctest.h>

namespace morello {
namespace {

Statement statement_of(const std::string& text) {
  Result<Statement> statement = parse(text);
  REQUIRE(statement.ok());
  return std::move(*statement);
}

std::string name_of_text(const std::string& text) {
  return kernel_name(statement_of(text), *fixed_target(Isa::kAvx2));
}

Result<BuiltKernel> build(const std::string& text, const Target& target, BuildOutput output) {
  const Statement statement = statement_of(text);
  const Result<Lowered> lowered = lower(statement);
  REQUIRE(lowered.ok());
  return build_kernel(statement, *lowered, target, SearchOptions{}, nullptr, output);
}

}  // namespace

TEST_SUITE_BEGIN("compiler");

TEST_CASE("kernels are named by what they do") {
  CHECK(name_of_text("matmul f32[64,768] f32[768,3072] -> f32[64,3072]") ==
        "morello_matmul_m64n3072k768_avx2");
  CHECK(name_of_text("matmul f32[2,6,4,8] f32[2,6,8,16] -> f32[2,6,4,16]") ==
        "morello_matmul_b12m4n16k8_avx2");
  CHECK(name_of_text("matmul f32[4,8] f32[8,16] + f32[16] -> relu -> f32[4,16]") ==
        "morello_matmul_m4n16k8_add_relu_avx2");
  CHECK(name_of_text("einsum \"bmk,bkn->bmn\" f32[2,4,8] f32[2,8,16] -> f32[2,4,16]") ==
        "morello_einsum_bmk_bkn_bmn_b2m4k8n16_avx2");
  CHECK(name_of_text("relu f32[64,768] -> f32[64,768]") == "morello_relu_64x768_avx2");
  CHECK(name_of_text("neg f32[] -> f32[]") == "morello_neg_scalar_avx2");
  CHECK(name_of_text("reduce_max f32[64,1024] axis=1 -> f32[64]") ==
        "morello_reduce_max_axis1_64x1024_avx2");
  CHECK(name_of_text("transpose f32[3,5] -> f32[5,3]") == "morello_transpose_5x3_avx2");
  CHECK(name_of_text("move f32[3,5] -> f32[3,5]{0,1}") == "morello_move_3x5_avx2");
  CHECK(name_of_text("fill 0 -> f32[3]") == "morello_fill_3_avx2");
}

TEST_CASE("a target that no program fits") {
  Target tiny = *fixed_target(Isa::kAvx2);
  tiny.vector_registers = 1;
  const Result<BuiltKernel> built = build("relu f32[2] -> f32[2]", tiny, BuildOutput::kProgram);
  REQUIRE(!built.ok());
  CHECK(built.error().status == MORELLO_NO_IMPLEMENTATION);
  CHECK(built.error().message.starts_with("\"relu f32[2] -> f32[2]\": no program for relu"));
}

TEST_CASE("a kernel that is only searched for has text and sizes, and no program") {
  const Result<BuiltKernel> built = build("matmul f32[4,8] f32[8,17]{*} -> f32[4,17]",
                                          *fixed_target(Isa::kAvx512), BuildOutput::kProgram);
  REQUIRE(built.ok());
  CHECK(!built->kernel.executable);
  CHECK(built->kernel.target == MORELLO_ISA_AVX512);
  CHECK(!built->report.impl_text.empty());
  CHECK(built->report.plan_text.empty());
  CHECK(built->kernel.estimate.cost > 0);
  REQUIRE(built->kernel.operands.size() == 3);
  CHECK(built->kernel.operands[0].bytes == 4 * 8 * 4);
  CHECK(built->kernel.operands[1].bytes >= 8 * 17 * 4);
  CHECK(!built->kernel.operands[1].pack);
  CHECK(built->kernel.operands[2].alignment == 4);
}

TEST_CASE("free layouts have a program that packs") {
  const Result<BuiltKernel> built = build("matmul f32[4,8] f32[8,17]{*} -> f32[4,17]",
                                          *fixed_target(Isa::kAvx2), BuildOutput::kExecutable);
  REQUIRE(built.ok());
  REQUIRE(built->kernel.executable);
  CHECK(!built->kernel.operands[0].pack);
  CHECK(built->kernel.operands[1].pack);
  CHECK(!built->kernel.operands[2].pack);
}

TEST_CASE("weights of one shape are packed by one program, which is found once") {
  const char* const text =
      "g = matmul x f32[4,8] f32[8,17]{*} -> silu; u = matmul x f32[8,17]{*}; mul g u";
  const Target& target = *fixed_target(Isa::kAvx2);
  const Result<BuiltKernel> alone = build(text, target, BuildOutput::kProgram);
  const Result<BuiltKernel> packed = build(text, target, BuildOutput::kCode);
  REQUIRE((alone.ok() && packed.ok()));
  const std::vector<PackMove> moves = pack_moves(packed->report.tree);
  REQUIRE(moves.size() == 2);
  REQUIRE(moves[0].spec == moves[1].spec);
  SearchStats one;
  REQUIRE(synthesize(moves[0].spec, target, SearchOptions{}, &one).ok());
  CHECK(packed->report.solving.search.expanded ==
        alone->report.solving.search.expanded + one.expanded);
}

TEST_SUITE_END();

}  // namespace morello
