// SPDX-License-Identifier: MIT
#include "cost/model.hh"

#include <algorithm>

#include "spec/roles.hh"

namespace morello {
namespace {

/// Of so many runs, which are far apart and read in turns, prefetchers follow some. Lines of the
/// others are late, but for those of the first kFarBytes of each, which come with its beginning.
u64 late_lines(u64 runs, u64 lines, i64 streams) {
  const u64 early = kFarBytes / kLineBytes, followed = static_cast<u64>(streams);
  if (runs <= followed || lines <= early * runs) return 0;
  return (lines / runs - early) * (runs - followed);
}

/// Does a contraction stream the operand through, rows of it in turns, and wait for nothing else?
bool streams_rows(const Spec& spec, const Operand& x) {
  if (!contraction_of(spec) || x.access != Access::kIn || x.windows || x.layout.packed())
    return false;
  const u8 d = unit_dim(x);
  return d != kNoDim && !has_dim(spec.reduced(), d) && volume(spec) < kFewUses * elements(spec, x);
}

/// Does it stream columns of a matrix through, which run along the sum, times a vector that stays
/// near? One after another they come from memory 1.03 to 1.3 times as fast as in turns; no faster
/// where they are narrow, or not whole lines, or the vector takes more of L1 (AVX-512, Zen 4).
/// Short ones, but parts of long ones, take longer from caches.
bool streams_columns(const Spec& spec, const Operand& x, const Target& t) {
  constexpr u64 kLeastBytes = 2048;
  if (t.vector_bytes < kLineBytes || !contraction_of(spec) || x.access != Access::kIn) return false;
  const u8 d = unit_dim(x);
  if (d == kNoDim || !has_dim(spec.reduced(), d) || x.windows || x.layout.packed()) return false;
  if (volume(spec) != elements(spec, x) || elements(spec, x) == spec.size[d]) return false;
  const auto [a, b] = factors_of(spec);
  const Ref other = is_operand(a) && &spec.operand[a] == &x ? b : a;
  if (!is_operand(other) || spec.operand[other].dims == x.dims) return false;
  const u64 bytes = u64{spec.size[d]} * kElementBytes;  // of the vector, too
  if (size_of(x.dtype) < kElementBytes || bytes % kLineBytes != 0 ||
      bytes > t.at(Level::kL1).bytes / 4)
    return false;
  return bytes >= kLeastBytes || !is_dense(x);
}

/// Pages, and rows of memory chips, are opened for a part of what they have. Pieces of 128 bytes
/// to 16 KiB of rows of 32 KiB took longer by the time of so many lines (Intel; from L3 half of
/// it), and of rows of less than 1 KiB, pages of which have several, by about one for each.
u64 lines_of_pieces(const Operand& x, const Footprint& f) {
  if (f.runs == 1 && !x.far) return 0;
  return std::min(f.lines, (x.far ? 8 : 1) * f.runs + f.lines / 4);
}

/// Of rows that are read in turns a core looks no farther ahead than some turns, so the lines of
/// long ones come late. From memory turns of 12 lines of bf16 took 1.4 to 1.7 times as long as of
/// 4, and of 12 to 24 lines of f32 1.2 to 1.7 times as long as of 8 (AVX-512, Zen 4).
u64 lines_of_turns(const Operand& x, const Footprint& f) {
  const u64 lines = (size_of(x.dtype) < kElementBytes ? 4 : 8) * f.runs;
  return f.runs == 1 || f.lines <= lines ? 0 : f.lines - lines;
}

/// Lines that come late.
u64 slow_lines(const Spec& spec, const Operand& x, const Footprint& f, const Target& t,
               i64 streams) {
  const bool rows = streams_rows(spec, x);
  if (streams == 0) return x.far && rows ? lines_of_turns(x, f) : 0;
  if (streams_columns(spec, x, t)) return f.lines / 4;
  // Rows that follow one another are read in turns as well.
  const u64 runs = rows ? elements(spec, x) / spec.size[unit_dim(x)] : f.runs;
  u64 late = x.far || rows ? late_lines(runs, f.lines, streams) : 0;
  if (rows) late += lines_of_pieces(x, f);
  return late;
}

/// A depthwise convolution: vectors of factors are those of results, and are used a few times each.
bool is_by_channels(const Spec& spec) {
  const u8 v = unit_dim(spec.out());
  const auto [a, b] = factors_of(spec);
  if (v == kNoDim || !is_operand(a) || !is_operand(b)) return false;
  const Operand &x = spec.operand[a], &y = spec.operand[b];
  return unit_dim(x) == v && unit_dim(y) == v && (x.windows | y.windows) != 0;
}

/// Do runs cost extra as they begin? Those that are near each other do where nothing else takes
/// time, in reductions: of rows of 256 bytes and more, lines that are read or written alone come
/// two to three times as slowly from L3 as rows that follow one another, pieces of half a row 1.5
/// times (Intel). Elements that are apart have lines enough.
bool begins_runs(const Spec& spec, const Operand& x, const Footprint& f, Level from) {
  constexpr u64 kFewPoints = 16;  // of a window: arithmetic of more hides what comes from L2
  if (x.far) return true;
  if (f.runs == 1 || x.contig == 0 || spec.reduced() == 0) return false;
  if (!contraction_of(spec)) return true;
  return is_by_channels(spec) &&
         (from == Level::kMemory || points_of(spec, spec.reduced()) <= kFewPoints);
}

/// Lines of panels wider than two registers, where tile registers read these: some rows of them in
/// parts, and others a page a step, which prefetchers follow less well. Products of few rows took
/// up to 1.4 times as long as with panels of two (Intel). One or two rows take vectors, and panels
/// as wide as their register tiles.
u64 lines_of_wide_panels(const Spec& spec, const Operand& x, const Footprint& f, const Target& t) {
  constexpr u64 kRowsOfVectors = 2;
  if (t.tiles.count == 0 || lane_group(x) == 1 || x.contig < 2) return 0;
  if (!contraction_of(spec) || volume(spec) <= kRowsOfVectors * elements(spec, x)) return 0;
  const int lanes = x.layout.count() - 2;
  const u8 block = x.layout.block[lanes];
  const u64 wide = block != 0 ? block : spec.size[x.layout.dim[lanes]];
  return wide * kElementBytes > 2 * t.tiles.row_bytes ? f.lines / 8 : 0;
}

i64 price(const Spec& spec, const Footprint& f, const Operand& operand, Level from,
          const Target& target) {
  const LevelModel& level = target.at(from);
  u64 lines = f.lines + slow_lines(spec, operand, f, target, level.streams);
  if (from == Level::kMemory) lines += lines_of_wide_panels(spec, operand, f, target);
  i64 units = saturating_mul(lines, level.line_units);
  if (begins_runs(spec, operand, f, from))
    units = saturating_add(units, saturating_mul(f.runs, level.run_units));
  return operand.access == Access::kIn ? units : saturating_mul(2, units);
}

}  // namespace

i64 step_units(const Spec& spec, const Operand& operand, const Target& target) {
  return price(spec, footprint(spec, operand), operand, operand.level, target);
}

i64 traffic_units(const Spec& spec, const Operand& operand, const Target& target) {
  if (operand.level <= Level::kL1) return 0;
  Footprint f = footprint(spec, operand);
  i64 units = 0;
  for (int l = static_cast<int>(Level::kL2); l <= static_cast<int>(operand.level); l++)
    units = saturating_add(units, price(spec, f, operand, static_cast<Level>(l), target));
  return units;
}

i64 piece_units(const Spec& spec, const Operand& operand, Level to, const Target& target) {
  if (!streams_rows(spec, operand)) return 0;
  const u64 lines = lines_of_pieces(operand, footprint(spec, operand));
  i64 units = 0;
  for (int l = static_cast<int>(to) + 1; l <= static_cast<int>(operand.level); l++) {
    const LevelModel& level = target.at(static_cast<Level>(l));
    if (level.streams != 0) units = saturating_add(units, saturating_mul(lines, level.line_units));
  }
  return units;
}

}  // namespace morello
