// SPDX-License-Identifier: MIT
#include "disassemble.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "Zydis/Zydis.h"
#include "fmt/format.h"

namespace morello::tools {
namespace {

constexpr size_t kDataPerLine = 16;

/// Decoded with the offset from the start of the code as its address.
struct Instruction {
  ZydisDisassembledInstruction decoded;
  std::optional<size_t> target;  // of a jump, a call or a RIP-relative operand
  bool is_branch = false;        // the target is code for certain
  bool falls_through = true;
};

class Disassembler {
 public:
  Disassembler(const uint8_t* code, size_t size) : code_(code), size_(size) {}

  std::vector<Line> run() {
    // Every loop body that a thread pool gets the address of is also called directly, for callers
    // that have no pool.
    follow(0);
    return lines();
  }

 private:
  bool decode(size_t offset, Instruction* instruction) const {
    ZydisDisassembledInstruction& decoded = instruction->decoded;
    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, offset, code_ + offset,
                                            size_ - offset, &decoded))) {
      return false;
    }
    const ZydisInstructionCategory category = decoded.info.meta.category;
    instruction->is_branch = category == ZYDIS_CATEGORY_COND_BR ||
                             category == ZYDIS_CATEGORY_UNCOND_BR ||
                             category == ZYDIS_CATEGORY_CALL;
    instruction->falls_through =
        category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET;
    for (uint8_t i = 0; i < decoded.info.operand_count_visible; ++i) {
      const ZydisDecodedOperand& operand = decoded.operands[i];
      const bool relative = operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative;
      const bool rip =
          operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP;
      ZyanU64 address = 0;
      if ((relative || rip) &&
          ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded.info, &operand, offset, &address)) &&
          address < size_) {
        instruction->target = static_cast<size_t>(address);
        if (rip) instruction->is_branch = false;
      }
    }
    return true;
  }

  /// Decodes what can be reached from `start`.
  void follow(size_t start) {
    std::vector<size_t> open = {start};
    while (!open.empty()) {
      size_t offset = open.back();
      open.pop_back();
      while (offset < size_ && !instructions_.contains(offset)) {
        Instruction instruction;
        if (!decode(offset, &instruction)) break;
        if (instruction.target) {
          addresses_.insert(*instruction.target);
          if (instruction.is_branch) open.push_back(*instruction.target);
        }
        instructions_[offset] = instruction;
        if (!instruction.falls_through) break;
        offset += instruction.decoded.info.length;
      }
    }
  }

  std::string text_of(const Instruction& instruction,
                      const std::map<size_t, std::string>& labels) const {
    const std::string text = instruction.decoded.text;
    if (!instruction.target) return text;
    const std::string& label = labels.at(*instruction.target);
    if (instruction.is_branch) return text.substr(0, text.find(' ')) + " " + label;
    return text + "  ; " + label;
  }

  std::vector<Line> lines() const {
    std::map<size_t, std::string> labels;
    for (const size_t target : addresses_) labels[target] = fmt::format("L{}", labels.size());
    const auto label_at = [&](size_t offset) {
      const auto label = labels.find(offset);
      return label == labels.end() ? std::string() : label->second;
    };
    std::vector<Line> lines;
    for (size_t offset = 0; offset < size_;) {
      Line line = {offset, 0, label_at(offset), {}};
      if (const auto found = instructions_.find(offset); found != instructions_.end()) {
        line.length = found->second.decoded.info.length;
        line.text = text_of(found->second, labels);
      } else {
        line.length = data_length(offset);
        line.text = ".byte";
        for (size_t i = 0; i < line.length; ++i) {
          line.text += fmt::format(" {:02x}", code_[offset + i]);
        }
      }
      offset += line.length;
      lines.push_back(std::move(line));
    }
    return lines;
  }

  /// Bytes of data from `offset` to the next instruction, label or full line.
  size_t data_length(size_t offset) const {
    size_t end = std::min(offset + kDataPerLine, size_);
    if (const auto next = instructions_.upper_bound(offset); next != instructions_.end()) {
      end = std::min(end, next->first);
    }
    if (const auto next = addresses_.upper_bound(offset); next != addresses_.end()) {
      end = std::min(end, *next);
    }
    return end - offset;
  }

  const uint8_t* code_;
  size_t size_;
  std::map<size_t, Instruction> instructions_;
  std::set<size_t> addresses_;
};

}  // namespace

std::vector<Line> disassemble(const uint8_t* code, size_t size) {
  return Disassembler(code, size).run();
}

}  // namespace morello::tools
