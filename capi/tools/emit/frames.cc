// SPDX-License-Identifier: MIT
#include "emit/frames.hh"

namespace morello::tools {
namespace {

// DWARF's numbers and opcodes, and the encoding of pointers in .eh_frame.
constexpr uint8_t kRsp = 7, kReturnAddress = 16;
constexpr uint8_t kAdvance1 = 0x02, kAdvance2 = 0x03, kAdvance4 = 0x04, kDefCfa = 0x0c,
                  kDefCfaOffset = 0x0e, kAdvance = 0x40, kOffset = 0x80;
constexpr uint8_t kPcRelative4 = 0x1b;
constexpr uint32_t kSlot = 8;  // registers are saved at multiples of it below the CFA

void put(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to += static_cast<char>(value >> 8 * i);
}

void put_uleb(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

/// Adds an entry with its length before it; DW_CFA_nop is 0.
void add_entry(std::string& to, std::string entry) {
  while (entry.size() % 8 != 4) entry += '\0';
  put(to, entry.size(), 4);
  to += entry;
}

std::string common_entry() {
  std::string entry;
  put(entry, 0, 4);  // it is one that others refer to
  entry += '\1';     // version
  entry.append("zR", 3);
  put_uleb(entry, 1);                                           // addresses in bytes
  entry += static_cast<char>(-static_cast<int>(kSlot) & 0x7f);  // offsets of registers, as SLEB128
  put_uleb(entry, kReturnAddress);
  put_uleb(entry, 1);  // bytes of what "R" stands for
  entry += static_cast<char>(kPcRelative4);
  entry += static_cast<char>(kDefCfa);
  put_uleb(entry, kRsp);
  put_uleb(entry, kSlot);
  entry += static_cast<char>(kOffset | kReturnAddress);
  put_uleb(entry, 1);
  return entry;
}

void add_advance(std::string& to, uint64_t bytes) {
  if (bytes < 0x40) {
    to += static_cast<char>(kAdvance | bytes);
  } else {
    const int width = bytes < 0x100 ? 1 : bytes < 0x10000 ? 2 : 4;
    to += static_cast<char>(width == 1 ? kAdvance1 : width == 2 ? kAdvance2 : kAdvance4);
    put(to, bytes, width);
  }
}

std::string instructions_of(const Frame& frame) {
  std::string code;
  uint64_t at = frame.begin;
  uint32_t cfa = kSlot;
  for (const morello_frame_step& step : frame.steps) {
    if (step.cfa == cfa) continue;
    add_advance(code, step.offset - at);
    at = step.offset;
    cfa = step.cfa;
    code += static_cast<char>(kDefCfaOffset);
    put_uleb(code, cfa);
    if (step.saved < 0) continue;
    code += static_cast<char>(kOffset | step.saved);
    put_uleb(code, cfa / kSlot);
  }
  return code;
}

}  // namespace

FrameTable make_frame_table(const std::vector<Section>& sections) {
  FrameTable table;
  add_entry(table.bytes, common_entry());
  for (size_t s = 0; s < sections.size(); s++) {
    for (const Frame& frame : sections[s].frames) {
      const uint64_t start = table.bytes.size();
      std::string entry;
      put(entry, start + 4, 4);  // back to the common entry
      table.places.push_back({start + 8, s, static_cast<int64_t>(frame.begin)});
      put(entry, 0, 4);
      put(entry, frame.end - frame.begin, 4);
      put_uleb(entry, 0);
      entry += instructions_of(frame);
      add_entry(table.bytes, std::move(entry));
    }
  }
  return table;
}

}  // namespace morello::tools
