// SPDX-License-Identifier: MIT
// Machine code as text: instructions that can be reached from the start, with labels where jumps
// go; everything else is data.
#ifndef MORELLO_CAPI_TOOLS_DISASSEMBLE_HH
#define MORELLO_CAPI_TOOLS_DISASSEMBLE_HH

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace morello::tools {

struct Line {
  size_t offset = 0;  // from the start of the code
  size_t length = 0;
  std::string label;  // "L3" if jumps, calls or addresses lead here
  std::string text;   // the instruction, Intel syntax; or ".byte ..." for data
};

std::vector<Line> disassemble(const uint8_t* code, size_t size);

}  // namespace morello::tools

#endif
