// SPDX-License-Identifier: MIT
// Factors that microkernels read from L2 in order, in the programs that searches find.
#include <doctest/doctest.h>

#include "cost/model.hh"
#include "search/synthesize.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

/// Bytes of the largest factor that a microkernel reads from L2 in one run; 0: there is none.
u64 largest_stream(std::string_view text, Isa isa) {
  const Result<Statement> s = parse(text);
  REQUIRE_MESSAGE(s.ok(), text);
  const Result<ImplTree> tree = synthesize(lower(*s)->spec, *fixed_target(isa), {}, nullptr);
  REQUIRE_MESSAGE(tree.ok(), text);
  u64 largest = 0;
  for (const ImplNode& node : tree->nodes) {
    if (!std::holds_alternative<Select>(node.kind) || !contraction_of(node.spec)) continue;
    for (Ref in : factors_of(node.spec)) {
      if (!is_operand(in)) continue;
      const Operand& x = node.spec.operand[in];
      if (x.level == Level::kL2 && is_dense(x) && x.layout.count() == 2)
        largest = std::max(largest, elements(node.spec, x) * size_of(x.dtype));
    }
  }
  return largest;
}

TEST_SUITE_BEGIN("search");

TEST_CASE("AVX2: panels of one line that take half of L1 and more stream from L2") {
  const u64 l1 = fixed_target(Isa::kAvx2)->at(Level::kL1).bytes;
  for (const char* text : {"matmul f32[898,394] f32[394,750]", "matmul f32[384,384] f32[384,384]",
                           "matmul f32[347,387] f32[387,301]"}) {
    INFO(std::string(text));
    const u64 bytes = largest_stream(text, Isa::kAvx2);
    CHECK(bytes >= l1 / 2);
    CHECK(bytes < l1);
  }
  // Of fewer steps, panels are in L1.
  CHECK(largest_stream("matmul f32[520,238] f32[238,749]", Isa::kAvx2) < l1 / 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
