// SPDX-License-Identifier: MIT
// Fuzz target: any bytes as a Spec. What is parsed has one printed form, and can be lowered.
// meson.build says how to fuzz with it.
#include <cstdint>
#include <string_view>

#include "spec/canonical.hh"
#include "spec/statement.hh"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace morello;
  Result<Statement> parsed = parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed) {
    require(parsed.error().line >= 1 && parsed.error().column >= 1);
    return 0;
  }
  const std::string text = print(*parsed);
  Result<Statement> again = parse(text);
  require(again.ok() && *again == *parsed && print(*again) == text);
  Result<Lowered> lowered = lower(*parsed);
  require(lowered.ok() || lowered.error().status == MORELLO_UNSUPPORTED);
  if (!lowered) return 0;
  require(lower(*again)->spec == lowered->spec);
  require(not_canonical(lowered->spec).empty());
  return 0;
}
