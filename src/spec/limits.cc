// SPDX-License-Identifier: MIT
#include "spec/limits.hh"

#include <algorithm>
#include <bit>

namespace morello {

u8 code_at_most(u64 lines) {
  if (lines < 4) return static_cast<u8>(lines);
  u32 exponent = static_cast<u32>(std::bit_width(lines)) - 3;  // lines >> exponent is 4..7
  return static_cast<u8>(4 * (exponent + 1) + ((lines >> exponent) - 4));
}

u8 code_at_least(u64 lines) {
  u8 code = code_at_most(lines);
  return lines_of_code(code) < lines ? static_cast<u8>(code + 1) : code;
}

Limits limits_of(const Target& target) {
  Limits l;
  l.at(Level::kRegister) = static_cast<u8>(target.vector_registers);
  // What streams past those that stay needs room as well, or least-recently-used evicts the wrong
  // ones.
  l.at(Level::kL1) = code_at_most(target.at(Level::kL1).bytes * 3 / 4 / kLineBytes);
  l.at(Level::kL2) = code_at_most(target.at(Level::kL2).bytes / 2 / kLineBytes);
  return l;
}

Limits max_of(const Limits& a, const Limits& b) {
  Limits m;
  for (size_t i = 0; i < m.use.size(); i++) m.use[i] = std::max(a.use[i], b.use[i]);
  return m;
}

bool subtract(Limits& limits, Level level, u64 amount) {
  if (level == Level::kMemory) return true;
  u8& have = limits.at(level);
  if (level == Level::kRegister) {
    if (amount > have) return false;
    have = static_cast<u8>(have - amount);
    return true;
  }
  u64 lines = lines_of_code(have);
  if (amount > lines) return false;
  have = code_at_most(lines - amount);
  return true;
}

Limits add(const Limits& peaks, Level level, u64 amount) {
  Limits sum = peaks;
  if (level == Level::kRegister)
    sum.at(level) = static_cast<u8>(std::min<u64>(255, peaks.at(level) + amount));
  else if (level != Level::kMemory)
    sum.at(level) = code_at_least(lines_of_code(peaks.at(level)) + amount);
  return sum;
}

}  // namespace morello
