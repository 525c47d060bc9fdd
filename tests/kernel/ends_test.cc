// SPDX-License-Identifier: MIT
// Where operands lie in memory: at its end, where a masked load is right, but waits each time for
// what is not there; and in rows that begin inside of lines. Kernels have to be as fast as
// elsewhere.
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

#include "abi_call.hh"
#include "kernel_case.hh"
#include "rounds.hh"
#include "support/concat.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("kernel");

/// The least seconds of a run, of one operand at the end of its memory, and of none.
struct Seconds {
  double inside = 1e9, at_end = 1e9;
};

double seconds_of(const morello_kernel* kernel, void* const* operands) {
  constexpr int kRuns = 20;
  bool ran = true;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; i++)
    ran &= morello_kernel_run(kernel, operands, nullptr, nullptr) == MORELLO_OK;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  REQUIRE(ran);
  return time.count() / kRuns;
}

/// @param shift  bytes that operands inside begin behind a line, if their sizes are whole lines.
Seconds measure(const KernelCase& c, int moved, size_t shift = 0) {
  constexpr size_t kPage = 4096;
  std::vector<Guarded> memory;
  std::array<void*, kMaxOperands> inside{};
  for (int o = 0; o < c.trial().operand_count; o++) {
    const Bytes& bytes = c.trial().data[static_cast<size_t>(o)];
    memory.emplace_back(bytes.size() + kPage, Guarded::Side::kEnd);
    char* const data = static_cast<char*>(memory.back().data());
    std::memcpy(data + shift, bytes.data(), bytes.size());
    inside[static_cast<size_t>(o)] = data + shift;
  }
  std::array<void*, kMaxOperands> at_end = inside;
  void*& end = at_end[static_cast<size_t>(moved)];
  end = static_cast<char*>(end) - shift + kPage;
  std::memcpy(end, c.trial().data[static_cast<size_t>(moved)].data(),
              c.trial().data[static_cast<size_t>(moved)].size());
  Seconds least;
  for (int round = 0; round < 15; round++) {
    least.inside = std::min(least.inside, seconds_of(c.kernel(), inside.data()));
    least.at_end = std::min(least.at_end, seconds_of(c.kernel(), at_end.data()));
  }
  return least;
}

TEST_CASE("operands that end where memory ends are read as fast as others") {
  for (morello_isa isa : all_usable_isas())
    for (const char* text :
         {"matmul f32[256,15] f32[15,15] + bias f32[15] -> relu -> f32[256,15]",
          "matmul bf16[256,15] bf16[15,15] + bias f32[15] -> f32[256,15]",
          "matmul f32[256,9] f32[9,3] -> f32[256,3]", "matmul f32[256,3] f32[3,29] -> f32[256,29]",
          "matmul f32[256,13] f32[13,3]{0,1} -> f32[256,3]",
          "matmul u8[256,13] i8[13,3] -> i32[256,3]", "add f32[300,13] f32[13] -> f32[300,13]",
          "einsum \"bkv,kv->bv\" f32[100,7,13] f32[7,13]",
          "mul f32[300,29] f32[29] -> exp -> f32[300,29]",
          "add f32[300,143] f32[143] -> relu -> f32[300,143]"}) {
      KernelRequest request{text, isa, 1, 1, Values::kUniform, 0};
      INFO(repeat_command(request));
      KernelCase c(request);
      REQUIRE(c.wrong() == "");
      for (int o = 0; o + 1 < c.trial().operand_count; o++) {
        const Seconds s = measure(c, o);
        // Where each read waits, some take 4 to 120 times as long; some wait once.
        CHECK_MESSAGE(s.at_end < 2.5 * s.inside,
                      "operand " << o << ": " << s.at_end / s.inside << " times as long");
      }
    }
}

TEST_CASE("rows that begin inside of lines are computed nearly as fast as lines") {
  const auto seconds = [](const std::string& columns, morello_isa isa, size_t shift) {
    KernelRequest request{concat({"sub f32[24,", columns, "] f32[24,1] * f32[24,1] * f32[", columns,
                                  "] + f32[", columns, "] -> f32[24,", columns, "]"}),
                          isa,
                          1,
                          1,
                          Values::kUniform,
                          0};
    INFO(repeat_command(request));
    KernelCase c(request);
    REQUIRE(c.wrong() == "");
    return measure(c, 0, shift).inside;
  };
  for (morello_isa isa : all_usable_isas()) {
    // Two of them in turns took 3 times as long. Large blocks of malloc() begin 16 bytes behind
    // one.
    const double lines = seconds("1440", isa, 0);
    for (const double rows : {seconds("1431", isa, 0), seconds("1440", isa, 16)})
      CHECK_MESSAGE(rows < 2.2 * lines, isa_text(isa) << ": " << rows / lines << " times as long");
  }
}

TEST_CASE("rows of each odd number of elements, of each type, at the end of memory") {
  for (morello_isa isa : all_usable_isas())
    for (const char* type : {"f32", "bf16", "f16", "i8"})
      for (u32 n : {3u, 5u, 6u, 7u, 9u, 10u, 11u, 12u, 13u, 14u, 15u, 19u, 29u, 143u}) {
        // A row that is read by each row; the last row of a factor; the last column of one.
        const std::string size = std::to_string(n), out = type == std::string("i8") ? "i32" : "f32",
                          row = concat({type, "[", size, "]"}),
                          results = concat({"[5,", size, "]"});
        for (const std::string& text :
             {concat({"add f32[3,", size, "] ", row, " -> f32[3,", size, "]"}),
              concat({"matmul f32[5,3] f32[3,", size, "] + ", row, " -> f32", results}),
              concat({"matmul ", type, "[5,3] ", type, "[3,", size, "] -> ", out, results}),
              concat({"matmul ", type, "[3,", size, "] ", type, "[", size, ",2]{0,1} -> ", out,
                      "[3,2]"}),
              concat({"einsum \"bkv,kv->bv\" f32[3,4,", size, "] ", type, "[4,", size, "]"})}) {
          std::string wrong;
          check_kernel({text, isa, 1, n, Values::kUniform, 0}, false, wrong);
          CHECK_MESSAGE(wrong == "", wrong);
        }
      }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
