// SPDX-License-Identifier: MIT
// Kernels of fixed shapes: primes, 1, powers of two, and all around the sizes of registers and
// register tiles; every elementwise operation at the values where IEEE 754 is odd.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <variant>

#include "impl/impl.hh"
#include "impl/microkernel_id.hh"
#include "kernel_case.hh"
#include "rounds.hh"
#include "search/synthesize.hh"
#include "spec/op.hh"
#include "spec/statement.hh"
#include "support/concat.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

void check(const std::string& text, Values values = Values::kUniform) {
  for (morello_isa isa : usable_isas()) {
    std::string wrong;
    check_kernel({text, isa, 1, 1, values, 0}, false, wrong);
    REQUIRE(wrong == "");
  }
}

std::string f32(std::initializer_list<u32> shape) {
  std::string s;
  for (u32 size : shape) s += (s.empty() ? "f32[" : ",") + std::to_string(size);
  return s + ']';
}

std::string matmul(u32 m, u32 n, u32 k) { return "matmul " + f32({m, k}) + ' ' + f32({k, n}); }

TEST_CASE("one kernel") {
  const char* text = std::getenv("MORELLO_TEST_SPEC");
  if (!text) return;  // see rounds.hh
  const char* threads = std::getenv("MORELLO_TEST_THREADS");
  KernelRequest request{text, MORELLO_ISA_AVX2, 1, seeds(1)[0], Values::kUniform, 0};
  if (threads) request.threads = static_cast<u32>(std::atoi(threads));
  if (const char* values = std::getenv("MORELLO_TEST_VALUES"))
    request.values = static_cast<Values>(std::atoi(values));
  for (morello_isa isa : all_usable_isas()) {
    request.isa = isa;
    std::string wrong;
    check_kernel(request, true, wrong);
    CHECK(wrong == "");
  }
}

TEST_CASE("matmuls of small sizes") {
  constexpr u32 kSizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17};
  for (u32 m : kSizes)
    for (u32 n : kSizes)
      for (u32 k : kSizes) check(matmul(m, n, k) + " -> " + f32({m, n}));
}

TEST_CASE("matmuls around the sizes of register tiles") {
  for (u32 rows : {6, 8, 14})
    for (u32 columns : {16, 32, 48})
      for (int dm = -1; dm <= 1; dm++)
        for (int dn = -1; dn <= 1; dn++) {
          u32 m = rows + static_cast<u32>(dm), n = columns + static_cast<u32>(dn), k = 3 + m % 5;
          check(matmul(m, n, k) + (m % 2 ? " += " : " -> ") + f32({m, n}));
        }
}

/// Leaves of a microkernel in the program that is made for a Spec.
int leaves_of(const std::string& text, morello_isa isa, MicrokernelId id) {
  const Result<Statement> statement = parse(text);
  REQUIRE_MESSAGE(statement.ok(), text);
  const Target target = with_machine(*fixed_target(static_cast<Isa>(isa)), 0, 0, 1);
  const Result<ImplTree> tree = synthesize(lower(*statement)->spec, target, {}, nullptr);
  REQUIRE_MESSAGE(tree.ok(), text);
  return static_cast<int>(
      std::count_if(tree->nodes.begin(), tree->nodes.end(), [&](const ImplNode& n) {
        const auto* leaf = std::get_if<Select>(&n.kind);
        return leaf && leaf->microkernel == static_cast<u16>(id);
      }));
}

TEST_CASE("dot products: results that follow one another in memory, and such that do not") {
  int turn = 0;
  for (morello_isa isa : all_usable_isas()) {
    int found = 0;
    for (const auto& [a, b, sum] :
         {std::array{"f32", "f32", "f32"}, std::array{"bf16", "bf16", "f32"},
          std::array{"u8", "i8", "i32"}})
      for (const char* k : {"6", "37", "200"})
        for (const char* m : {"1", "2", "3"})
          for (const char* n : {"1", "2", "3", "4", "5", "7"}) {
            if (++turn % 3 != 0)
              continue;  // each takes a search; each size meets each of the others
            const std::string columns = n;
            const std::string out = sum + ('[' + std::string(m) + ',') + columns + ']';
            const std::string text = "matmul " + (a + ('[' + std::string(m))) + ',' + k + "] " + b +
                                     '[' + k + ',' + columns + "]{0,1}" +
                                     (turn % 2 ? " -> " : " += ") + out +
                                     (turn % 5 == 0   ? "{strides=9,1}"
                                      : turn % 5 == 1 ? "{0,1}"
                                                      : "");
            std::string wrong;
            check_kernel({text, isa, 1, static_cast<u64>(turn), Values::kUniform, 0}, false, wrong);
            CHECK_MESSAGE(wrong == "", wrong);
            found += leaves_of(text, isa, MicrokernelId::kDotProduct);
          }
    CHECK_MESSAGE(found > 20, found << " dot products");
  }
}

TEST_CASE("bytes of each depth, whose rows are made ready before the steps or in them") {
  int turn = 0;
  for (morello_isa isa : all_usable_isas())
    for (const auto& [a, b] : {std::array{"u8", "i8"}, std::array{"i8", "u8"},
                               std::array{"i8", "i8"}, std::array{"u8", "u8"}})
      for (u32 k : {1u,  2u,  3u,  4u,  5u,  7u,  8u,  15u,  16u,  17u,  31u,
                    32u, 33u, 50u, 63u, 64u, 65u, 95u, 128u, 146u, 4100u})
        for (u32 m : {1u, 2u, 7u})
          for (u32 n : {8u, 19u}) {
            if (++turn % 4 != 0) continue;  // each takes a search; all sizes meet
            const std::string text =
                concat({"matmul ", a, "[", m, ",", k, "]", turn % 8 ? "" : "{strides=5000,1}", " ",
                        b, "[", k, ",", n, "]{*} -> i32[", m, ",", n, "]"});
            std::string wrong;
            check_kernel({text, isa, 1, static_cast<u64>(turn),
                          turn % 3 ? Values::kExtreme : Values::kUniform, 0},
                         false, wrong);
            CHECK_MESSAGE(wrong == "", wrong);
          }
}

/// Runs it where this CPU can; for other targets there has to be code.
void check_on(const Target& target, const std::string& text) {
  const std::vector<morello_isa> usable = all_usable_isas();
  const morello_isa isa = static_cast<morello_isa>(target.number);
  std::string wrong;
  if (std::find(usable.begin(), usable.end(), isa) != usable.end())
    check_kernel({text, isa, 1, 1, Values::kUniform, 0}, false, wrong);
  else
    wrong = check_emission(text, isa);
  CHECK_MESSAGE(wrong == "", text, ": ", wrong);
}

TEST_CASE("rows of as many vectors as there are registers for, of every pair of types") {
  int turn = 0;
  for (const Target& target : fixed_targets())
    for (const auto& [a, b] :
         {std::array{"f32", "f32"}, std::array{"f32", "bf16"}, std::array{"bf16", "bf16"},
          std::array{"f32", "f16"}, std::array{"u8", "i8"}, std::array{"i8", "u8"},
          std::array{"i8", "i8"}, std::array{"i32", "i32"}})
      for (u32 vectors = target.vector_registers - 5; vectors < target.vector_registers; vectors++)
        for (u32 k : {2u, 5u, 64u})
          for (const char* layout : {"", "{*}"}) {
            if (++turn % 7 % 3 != 0) continue;  // each takes a search; all of them meet
            const u32 n = vectors * target.lanes(4) - (turn % 2 ? 0 : 3);
            check_on(target,
                     concat({"matmul ", a, "[1,", k, "] ", b, "[", k, ",", n, "]", layout}));
          }
}

TEST_CASE("sums of integers that are stored as floats, and copies into groups of neighbours") {
  for (const Target& target : fixed_targets())
    for (const char* text :
         {"matmul u8[32,32] u8[32,32] + i32[32] -> f32[32,32]",
          "matmul i8[9,16] i8[16,9] + i32[] -> f32[9,9]",
          "matmul i32[32,32] i32[32,32] -> square -> f32[32,32]",
          "matmul i8[7,100] i8[100,13] -> relu -> f32[7,13]",
          "x i32[5,3,33]{2,0,1}; q i32[5,33,33]{strides=2277,2,69}; t = matmul x q; equal t 2 -> "
          "f32[5,3,33]{strides=102,33,1}",
          "einsum \"mkl,lkn->mn\" f32[2,15,9]{2,0,1} i8[9,15,7] -> f32[2,7]{strides=16,2}"})
      check_on(target, text);
}

TEST_CASE("matmuls of larger sizes") {
  constexpr u32 kShapes[][3] = {{17, 47, 31},    {64, 64, 64},  {61, 67, 71},  {127, 113, 109},
                                {1, 512, 300},   {512, 1, 300}, {1, 1, 5000},  {300, 300, 1},
                                {128, 128, 128}, {33, 257, 96}, {2, 1023, 65}, {97, 16, 389}};
  for (const auto& s : kShapes) {
    check(matmul(s[0], s[1], s[2]) + " -> " + f32({s[0], s[1]}));
    std::string bias = " + bias " + f32({s[1]}) + " -> relu -> ";
    check(matmul(s[0], s[1], s[2]) + bias + f32({s[0], s[1]}));
  }
}

TEST_CASE("matmuls around the sizes of tile registers, of every pair of types that they take") {
  const auto isas = all_usable_isas();
  if (std::find(isas.begin(), isas.end(), MORELLO_ISA_AVX512_AMX) == isas.end()) {
    MESSAGE("skipped: no AMX here");
    return;
  }
  constexpr const char* kTypes[][3] = {{"bf16", "bf16", "f32"},
                                       {"i8", "i8", "i32"},
                                       {"i8", "u8", "i32"},
                                       {"u8", "i8", "i32"},
                                       {"u8", "u8", "i32"}};
  auto shape = [](const char* type, u32 rows, u32 columns) {
    return type + ('[' + std::to_string(rows)) + ',' + std::to_string(columns) + ']';
  };
  u32 turn = 0;
  for (const auto& [a, b, sum] : kTypes)
    for (u32 k : {1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 70, 95, 127, 130})
      for (u32 m : {1, 4, 15, 16, 17, 33})
        for (u32 n : {1, 7, 16, 17, 40}) {
          turn++;
          const u32 way = turn + turn / 30;  // not the same for each k
          const char* layout = std::array{"", "{0,1}", "{*}"}[way % 3];
          std::string wrong;
          check_kernel({"matmul " + shape(a, m, k) + ' ' + shape(b, k, n) + layout +
                            (way % 2 ? " -> " : " += ") + shape(sum, m, n),
                        MORELLO_ISA_AVX512_AMX, 1, turn,
                        turn % 7 == 0 ? Values::kExtreme : Values::kUniform, 0},
                       false, wrong);
          REQUIRE(wrong == "");
        }
}

TEST_CASE("tile registers: rows that begin inside of lines") {
  if (const auto isas = all_usable_isas();
      std::find(isas.begin(), isas.end(), MORELLO_ISA_AVX512_AMX) == isas.end()) {
    MESSAGE("skipped: no AMX here");
    return;
  }
  // Of these some are copied by lines, in one panel and in several.
  for (const char* text : {"matmul bf16[63,300] bf16[300,500]{*} -> f32[63,500]",
                           "matmul bf16[200,1000] bf16[1000,500] -> f32[200,500]",
                           "matmul i8[100,700] i8[700,500] -> i32[100,500]",
                           "matmul u8[40,1003] i8[1003,400] -> i32[40,400]",
                           "matmul bf16[40,1003] bf16[1003,400]{0,1} -> bf16[40,400]"}) {
    std::string wrong;
    check_kernel({text, MORELLO_ISA_AVX512_AMX, 1, 1, Values::kUniform, 0}, false, wrong);
    CHECK(wrong == "");
  }
}

TEST_CASE("tile registers: sums over windows, and over other dimensions besides the depth") {
  if (const auto isas = all_usable_isas();
      std::find(isas.begin(), isas.end(), MORELLO_ISA_AVX512_AMX) == isas.end()) {
    MESSAGE("skipped: no AMX here");
    return;
  }
  u32 turn = 0;
  // Whole and odd depths, of which each point has a last group of its own; loops along the depth,
  // between which pointers go back; windows that step; more points than are taken at once.
  for (const char* text :
       {"conv2d bf16[1,20,20,64] bf16[3,3,64,32] nhwc -> f32[1,18,18,32]",
        "conv2d bf16[1,12,19,33] bf16[2,3,33,20] nhwc -> f32[1,11,17,20]",
        "conv2d bf16[1,12,35,160] bf16[1,2,160,40] nhwc stride=1,2 -> f32[1,12,17,40]",
        "conv2d bf16[1,9,20,31] bf16[3,3,31,16] nhwc -> bf16[1,7,18,16]",
        "conv2d bf16[1,20,20,32] bf16[5,5,32,16]{*} nhwc -> f32[1,16,16,16]",
        "conv2d u8[1,12,20,67] i8[3,3,67,24] nhwc -> i32[1,10,18,24]",
        "conv2d i8[1,12,20,64] i8[3,2,64,24] nhwc += i32[1,10,19,24]",
        "einsum \"pmqk,pqkn->mn\" bf16[3,20,2,70] bf16[3,2,70,24] -> f32[20,24]",
        "einsum \"pmqk,pqkn->mn\" i8[2,33,3,300] i8[2,3,300,17] -> i32[33,17]"}) {
    std::string wrong;
    check_kernel({text, MORELLO_ISA_AVX512_AMX, 1, ++turn, Values::kUniform, 0}, false, wrong);
    CHECK(wrong == "");
  }
}

std::string tensor(const char* type, std::initializer_list<u32> sizes) {
  std::string text = std::string(type) + '[';
  for (u32 size : sizes) text += std::to_string(size) + ',';
  text.back() = ']';
  return text;
}

TEST_CASE("products whose factors both have the vectors: depthwise windows, batches in lanes") {
  u32 turn = 0;
  const auto check = [&](morello_isa isa, const std::string& text) {
    std::string wrong;
    check_kernel({text, isa, 1, ++turn, turn % 5 == 0 ? Values::kExtreme : Values::kUniform, 0},
                 false, wrong);
    REQUIRE(wrong == "");
  };
  for (morello_isa isa : usable_isas())
    for (u32 c = 1; c <= 37; c++) {
      const char* type = std::array{"f32", "bf16", "f16"}[c % 3];
      const char* other = c % 4 == 1 ? "f32" : type;
      const char* way = c % 2 ? " -> " : " += ";
      const u32 h = 3 + c % 4, w = 4 + c % 7, kh = 1 + c % 3, kw = 1 + c % 4, m = 1 + c % 5;
      const std::string conv = "conv2d " + tensor(type, {1, h, w, c}) + ' ' +
                               tensor(other, {kh, kw, 1, c}) + " groups=" + std::to_string(c) +
                               " nhwc";
      check(isa, conv + way + tensor("f32", {1, h - kh + 1, w - kw + 1, c}));
      check(isa, "einsum \"mkv,kv->mv\" " + tensor(type, {m, 1 + c, c}) + ' ' +
                     tensor(other, {1 + c, c}) + way + tensor("f32", {m, c}));
      check(isa, "einsum \"mkv,mkv->mv\" " + tensor(type, {m, 40 - c, c}) + ' ' +
                     tensor(other, {m, 40 - c, c}) + " -> " + tensor("f32", {m, c}));
    }
}

TEST_CASE("products along windows: places next to each other, and two apart") {
  u32 turn = 0;
  for (morello_isa isa : all_usable_isas()) {
    int found = 0;
    for (u32 columns = 1; columns <= 35; columns++) {
      const char* type = std::array{"f32", "bf16", "f16"}[columns % 3];
      const char* other = columns % 4 == 1 ? "f32" : type;
      for (u32 stride : {1u, 2u}) {
        const u32 rows = 1 + turn % 6, kh = 1 + turn % 5, kw = 1 + turn % 7;
        const u32 h = (rows - 1) * stride + kh, w = (columns - 1) * stride + kw;
        const std::string text =
            "conv2d " + tensor(type, {1, 2, h, w}) + ' ' + tensor(other, {2, 1, kh, kw}) +
            " groups=2 stride=" + std::to_string(stride) + (turn % 2 ? " -> " : " += ") +
            tensor("f32", {1, 2, rows, columns});
        std::string wrong;
        check_kernel({text, isa, 1, turn, turn % 5 == 0 ? Values::kExtreme : Values::kUniform, 0},
                     false, wrong);
        REQUIRE(wrong == "");
        found += leaves_of(text, isa, MicrokernelId::kWindowProduct) > 0;
        turn++;
      }
    }
    CHECK_MESSAGE(found > 35, found << " of 70 programs have them");
  }
}

TEST_CASE("elementwise operations of every length, at special values") {
  for (int inputs : {1, 2, 3}) {
    std::vector<std::string> ops;
    for (const Elementwise& e : kElementwise)
      if (e.inputs == inputs) ops.emplace_back(e.name);
    for (u32 n = 1; n <= 70; n++) {
      std::string x = f32({n}), all;
      for (int i = 0; i < inputs; i++) all += ' ' + x;
      check(ops[n % ops.size()] + all + " -> " + x, Values::kSpecial);
    }
    for (const std::string& op : ops) {
      std::string x = f32({5, 37}), row = f32({37}), column = f32({5, 1});
      if (inputs == 1) check(op + ' ' + x + " -> " + x, Values::kSpecial);
      if (inputs == 2) check(op + ' ' + x + ' ' + row + " -> " + x, Values::kSpecial);
      if (inputs == 2) check(op + ' ' + column + ' ' + x + " -> " + x, Values::kSpecial);
      if (inputs == 3)
        check(op + ' ' + row + ' ' + column + ' ' + x + " -> " + x, Values::kSpecial);
      if (inputs == 3) check(op + ' ' + x + ' ' + row + ' ' + row + " -> " + x, Values::kSpecial);
    }
  }
}

TEST_CASE("sums of elements that are repeated by a stride of 0") {
  check("reduce_sum f32[10,2]{strides=1,0} axis=1 - f32[10] -> f32[10]");
  check("reduce_sum f32[40,9]{strides=0,0} axis=1 -> relu -> f32[40]");
  check("matmul f32[6,5]{strides=1,0} f32[5,33]{strides=0,1} + bias f32[33] -> f32[6,33]");
  check("matmul f32[17,64]{strides=0,1} f32[64,16]{strides=1,0} += f32[17,16]");
}

TEST_CASE("chains of as many steps and operands as there may be, in every kind of loop") {
  const std::string x = "f32[5,37]", row = "f32[37]", column = "f32[5,1]";
  for (const char* out : {"f32[5,37]", "f32[5,37]{0,1}", "f32[5,37]{strides=40,1}"})
    check("neg " + x + " + " + row + " * " + x + " - " + column + " -> max " + row + " -> min " +
          x + " + " + column + " -> abs -> " + out);
  check(
      "add f32[3,300] f32[300] * f32[3,1] - f32[300] -> max f32[] / f32[3,300] + f32[300] "
      "-> relu -> f32[3,300]");
}

TEST_CASE("reductions, transposes and copies around the sizes of registers") {
  for (u32 a : {1, 2, 7, 8, 9, 16, 17, 33})
    for (u32 b : {1, 3, 8, 15, 16, 17, 31, 64, 65}) {
      std::string x = f32({a, b}), turned = f32({b, a});
      constexpr const char* kOps[] = {"sum", "max", "min"};
      std::string op = kOps[(a + b) % 3];
      check("reduce_" + op + ' ' + x + " axis=0 -> " + f32({b}));
      check("reduce_" + op + ' ' + x + " axis=1 -> " + f32({a}));
      check("transpose " + x + " -> " + turned, Values::kSpecial);
      check("move " + x + "{0,1} -> " + x, Values::kSpecial);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
