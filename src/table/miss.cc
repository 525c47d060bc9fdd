// SPDX-License-Identifier: MIT
#include "table/miss.hh"

#include <algorithm>

#include "spec/ladder.hh"
#include "spec/names.hh"
#include "table/promise.hh"
#include "table/walk.hh"
#include "table/words.hh"

namespace morello {
namespace {

using Reasons = std::vector<std::string>;

std::string joined(const Reasons& reasons) {
  std::string all;
  for (const std::string& reason : reasons) all += (all.empty() ? "" : "; ") + reason;
  return all;
}

std::string number(u64 n) { return std::to_string(n); }

/// The nearest sizes on both sides that a range has: only those on the ladder.
std::string neighbours(u32 size, u32 lo, u32 hi) {
  u32 below = 0, above = 0;
  for (u32 s : kLadder) {
    if (s < lo || s > hi) continue;
    if (s < size) below = s;
    if (s > size && above == 0) above = s;
  }
  if (below == 0 || above == 0) return number(std::max(below, above)) + " is";
  return number(below) + " and " + number(above) + " are";
}

/// Why a size is not within lo..hi, or "".
std::string size_reason(const std::string& name, u32 size, u32 lo, u32 hi) {
  const std::string is = name + " = " + number(size);
  if (lo == hi) return size == lo ? "" : is + "; " + number(lo) + " is covered";
  if (size > hi) return is + " is beyond what is covered, " + number(lo) + " to " + number(hi);
  if (size < lo) return is + " is below what is covered, " + number(lo) + " to " + number(hi);
  if (on_ladder(size)) return "";
  return is + " is not on the ladder of sizes; " + neighbours(size, lo, hi) + " covered";
}

Reasons reasons_within(const Promise& p, const std::array<u32, kAxes>& at) {
  Reasons reasons;
  for (size_t a = 0; a < kAxisLimit; a++) {
    const std::string name = axis_name(p.key, a);
    if (a >= kAxisSize && a < kAxisLevel) {
      if (a - kAxisSize >= p.key.rank) continue;
      const std::string why = size_reason(name, at[a] + 2, p.lo[a] + 2, p.hi[a] + 2);
      if (!why.empty()) reasons.push_back(why);
    } else if (at[a] < p.lo[a] || at[a] > p.hi[a]) {
      const std::string prefix = a == kAxisOverwrites ? "the output is " : name + " is ";
      reasons.push_back(prefix + coordinate_text(a, at[a]) + "; covered is " +
                        coordinate_text(a, p.lo[a]));
    }
  }
  return reasons;
}

/// How far a point is from a promise, in sizes.
u64 distance(const Promise& p, const std::array<u32, kAxes>& at) {
  u64 sum = 0;
  for (size_t a = 0; a < kAxisLimit; a++)
    sum += at[a] < p.lo[a] ? p.lo[a] - at[a] : at[a] > p.hi[a] ? at[a] - p.hi[a] : 0;
  return sum;
}

/// The reasons of the nearest promise with the Spec's own key; none if there is no such promise.
Reasons nearest_sizes(const std::vector<Promise>& promises, const GridPoint& point) {
  Reasons best;
  u64 best_distance = 0;
  for (const Promise& p : promises) {
    if (p.key != point.key) continue;
    Reasons reasons = reasons_within(p, point.at);
    const u64 far = distance(p, point.at);
    if (!best.empty() && std::pair(reasons.size(), far) >= std::pair(best.size(), best_distance))
      continue;
    best = std::move(reasons);
    best_distance = far;
  }
  return best;
}

/// Do both compute the same, element types, sizes and layouts aside?
bool same_stages(const Spec& a, const Spec& b) {
  if (a.stage_count != b.stage_count || a.operand_count != b.operand_count) return false;
  for (int s = 0; s < a.stage_count; s++)
    if (a.stage[s].op != b.stage[s].op) return false;
  return true;
}

/// What two keys differ in, and how much that is: reasons that are about all of the Spec first.
struct KeyReasons {
  u32 weight = 0;
  Reasons reasons;
};
KeyReasons compare_keys(const Spec& wanted, const Spec& covered, std::span<const u8> numbers) {
  const auto apart = [](u32 a, u32 b) { return a > b ? a - b : b - a; };
  if (!same_stages(wanted, covered))
    return {1000 + 10 * apart(wanted.rank, covered.rank) +
                apart(wanted.stage_count, covered.stage_count),
            {"no family computes " + key_text(wanted) + "; one that is covered is " +
             key_text(covered)}};
  if (wanted.rank != covered.rank)
    return {500,
            {"it has " + number(wanted.rank) + " dimensions of more than one element, " +
             "what is covered has " + number(covered.rank)}};
  KeyReasons found;
  const DimNames names = dim_names(wanted), covered_names = dim_names(covered);
  for (size_t o = 0; o < wanted.operand_count; o++) {
    const Operand &x = wanted.operand[o], &y = covered.operand[o];
    const std::string operand = "operand " + number(o < numbers.size() ? numbers[o] : o) + " is ";
    if (x.dtype != y.dtype) {
      found.weight += 10;
      found.reasons.push_back(operand + std::string(name_of(x.dtype)) + "; covered is " +
                              std::string(name_of(y.dtype)));
    } else if (operand_text(x, names) != operand_text(y, covered_names)) {
      found.weight += 1;
      found.reasons.push_back(operand + operand_text(x, names) + "; covered is " +
                              operand_text(y, covered_names));
    }
  }
  if (found.reasons.empty())
    return {100, {"it computes " + key_text(wanted) + "; covered is " + key_text(covered)}};
  return found;
}

}  // namespace

std::string miss(const Table& table, const Spec& spec, const Target& target,
                 std::span<const u8> numbers) {
  if (covers(table, spec, target)) return "it is covered, but what is decided for it is no program";
  Spec root = spec;
  root.serial = table.identity().processors <= 1;
  const GridPoint point = to_grid(root, {});
  const std::vector<Promise> promises = table.promises();
  if (promises.empty()) return "nothing is covered";
  if (const Reasons sizes = nearest_sizes(promises, point); !sizes.empty()) return joined(sizes);
  KeyReasons best{~0u, {}};
  const Spec* before = nullptr;  // promises of a key follow one another
  for (const Promise& p : promises) {
    if (before && *before == p.key) continue;
    before = &p.key;
    KeyReasons reasons = compare_keys(point.key, p.key, numbers);
    if (reasons.weight < best.weight) best = std::move(reasons);
  }
  return joined(best.reasons);
}

}  // namespace morello
