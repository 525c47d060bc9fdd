// SPDX-License-Identifier: MIT
// What recipes become on a target that this CPU may lack: the same instructions as on the one whose
// results are tested, in the same registers, and none that the target has not.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "../support/leaf_code.hh"
#include "cost/recipe.hh"
#include "disassemble.hh"

namespace morello::testing {
namespace {

std::vector<Op> all_with_recipes() {
  std::vector<Op> all = {Op::kDecay};
  for (const Elementwise& e : kElementwise)
    if (class_of(e.op) == OpClass::kRecipe) all.push_back(e.op);
  return all;
}

/// The instructions of an operation on `count` numbers.
std::vector<std::string> code_of(Op op, MicrokernelId leaf, Isa isa, u32 count) {
  const std::vector<Dtype> types(static_cast<size_t>(elementwise_inputs(op)) + 1, Dtype::kF32);
  const Code code = leaf_code(*fixed_target(isa), leaf, op, types, count);
  std::vector<std::string> lines;
  for (const tools::Line& line : tools::disassemble(code.bytes.data(), code.bytes.size()))
    if (line.text.rfind(".byte", 0) != 0) lines.push_back(line.text);
  return lines;
}

std::string replaced(const std::string& text, const char* what, const char* by) {
  return std::regex_replace(text, std::regex(what), by);
}

/// Without what differs between the targets: addresses of constants, masks in registers of their
/// own, and a few names.
std::string plain(std::string text, Isa isa) {
  text = replaced(text, "  ; L.*", "");
  text = replaced(text, "\\[0x[0-9A-F]+\\]( *\\{1to[0-9]+\\})?", "constant");
  text = replaced(text, "[dq]word ptr constant", "constant");
  text = replaced(text, "^(vcmpps|vpcmpgtd) [a-z0-9]+", "$1 mask");
  if (isa == Isa::kAvx512) return replaced(text, " \\{k2\\}", "");
  text = replaced(replaced(text, "ymm", "zmm"), "xmm", "ymm");
  text = replaced(text, "^vroundps", "vrndscaleps");
  text = replaced(text, "^vmovaps(.*) constant", "vbroadcastss$1 constant");
  return replaced(text, "^vblendvps(.*), [a-z0-9]+$", "vblendmps$1");
}

bool is_arithmetic(const std::string& text) {
  return text[0] == 'v' && text.find("[r") == std::string::npos &&
         text.rfind("vzeroupper", 0) != 0 && text.rfind("vextract", 0) != 0 &&
         text.rfind("vinsert", 0) != 0 && text.rfind("vmovups", 0) != 0 &&
         text.rfind("vtestps", 0) != 0;  // is any lane rare?
}

TEST_SUITE_BEGIN("functions");

/// Lines that both have, in the same order.
size_t common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<size_t> above(b.size() + 1), row(b.size() + 1);
  for (const std::string& line : a) {
    for (size_t j = 0; j < b.size(); j++)
      row[j + 1] = line == b[j] ? above[j] + 1 : std::max(above[j + 1], row[j]);
    above = row;
  }
  return above.back();
}

/// Instructions of a recipe that need something, or nothing.
size_t instructions(const Recipe& recipe, Needs needs) {
  return static_cast<size_t>(
      std::count_if(recipe.code.begin(), recipe.code.begin() + recipe.length,
                    [&](const LaneInstruction& in) { return in.needs == needs; }));
}

TEST_CASE(
    "recipes become the same instructions for AVX2 and AVX-512, but for those of one of them") {
  for (Op op : all_with_recipes()) {
    CAPTURE(name_of(op));
    auto arithmetic = [&](Isa isa, u32 count) {
      std::vector<std::string> lines;
      for (const std::string& line : code_of(op, MicrokernelId::kMap, isa, count))
        if (is_arithmetic(line))
          lines.push_back(replaced(plain(line, isa), "^vpbroadcastq", "vbroadcastss"));
      return lines;
    };
    const auto narrow = arithmetic(Isa::kAvx2, 8), wide = arithmetic(Isa::kAvx512, 16);
    CHECK(narrow.size() >= 1);
    const Recipe& recipe = *recipe_of(op, Dtype::kF32);
    const size_t alike = common(narrow, wide);
    if (instructions(recipe, Needs::kMaskRegisters) == 0) {
      CHECK(instructions(recipe, Needs::kNoMaskRegisters) == 0);
      REQUIRE(narrow.size() == wide.size());
      for (size_t i = 0; i < wide.size(); i++) CHECK(narrow[i] == wide[i]);
    } else {
      CHECK(alike >= instructions(recipe, Needs::kNothing));
      CHECK(narrow.size() - alike <= instructions(recipe, Needs::kNoMaskRegisters));
      CHECK(wide.size() - alike <= instructions(recipe, Needs::kMaskRegisters));
    }
  }
}

TEST_CASE("code for AVX2 has no register of AVX-512, whatever its length") {
  for (Op op : all_with_recipes()) {
    for (MicrokernelId leaf : {MicrokernelId::kMap, MicrokernelId::kScalarMap})
      for (u32 count : {1u, 2u, 3u, 5u, 7u, 8u, 11u, 100u}) {
        for (const std::string& line : code_of(op, leaf, Isa::kAvx2, count))
          CHECK_MESSAGE(
              !std::regex_search(line, std::regex("zmm|\\bk[0-7]\\b|[xy]mm(1[6-9]|[23][0-9])|\\{")),
              line);
        const auto wide = code_of(op, leaf, Isa::kAvx512, count);
        CHECK(wide.back().find("ret") != std::string::npos);
      }
  }
}

TEST_CASE("registers that are left hold the constants of a function, each loaded once") {
  for (Op op : {Op::kExp, Op::kExp2, Op::kDecay}) {
    CAPTURE(name_of(op));
    std::vector<std::string> loaded;
    for (const std::string& line : code_of(op, MicrokernelId::kMap, Isa::kAvx512, 4096)) {
      std::smatch label;
      if (line[0] == 'v' && std::regex_search(line, label, std::regex("; (L[0-9]+)")))
        loaded.push_back(label[1]);
    }
    CHECK(loaded.size() >= 5);
    std::sort(loaded.begin(), loaded.end());
    CHECK(std::adjacent_find(loaded.begin(), loaded.end()) == loaded.end());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello::testing
