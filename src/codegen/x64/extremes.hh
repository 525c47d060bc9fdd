// SPDX-License-Identifier: MIT
// Maxima and minima of several vectors.
#ifndef MORELLO_CODEGEN_X64_EXTREMES_HH
#define MORELLO_CODEGEN_X64_EXTREMES_HH

#include <algorithm>
#include <array>
#include <span>

#include "codegen/x64/vectors.hh"
#include "spec/op.hh"

namespace morello::x64 {

/// max and min of floats, of several vectors at once: what there is to do about NaN and zeros is
/// done for all of them together. Where there is a NaN is found of two vectors by one instruction.
/// With mask registers the rest is right by itself; without, the sign of the greatest of some
/// numbers is that of their signs together: it is set if all are, and of the least if one is. So it
/// is also if they are zeros, which compare alike.
class Extremes {
 public:
  static constexpr u32 kTogether = 3;  // at least, where there are so many

  /// @param first  the first of registers(), behind one for what is loaded.
  Extremes(Vectors& as, Op op, Dtype held, u32 loaded, u32 first)
      : as_(as),
        greatest_(op == Op::kMax),
        loaded_(loaded),
        first_(first),
        serve_(held == Dtype::kF32 && (op == Op::kMax || op == Op::kMin)) {}

  /// So many are straight code, where there are more. Without mask registers what is done once for
  /// all takes longer: by fives maxima of rows are up to 1.16 times as fast as by threes.
  u32 most_together() const { return as_.avx512() ? kTogether : 5; }
  /// Is it an operation of these?
  bool serve() const { return serve_; }
  bool serve_one() const { return serve_ && as_.avx512(); }
  void prepare() const {
    if (as_.avx512()) as_.fill(nan(), as_.lanes(), kNan);
  }

  /// result = result op each of `count` vectors, which load(to, i) loads; or, if it `starts`, of
  /// two and more alone.
  template <class F>
  void combine(u32 result, u32 width, u64 count, F load, bool starts) const {
    if (starts) load(result, 0);
    if (!as_.avx512()) return combine_by_signs(result, width, count, load, starts);
    for (u64 i = starts; i < count; i += kTogether) {
      const std::array<u32, kTogether> all = {loaded_, first_, first_ + 1};
      const auto together = std::span(all).first(std::min<u64>(kTogether, count - i));
      for (size_t j = 0; j < together.size(); j++) load(all[j], i + j);
      combine(result, width, together);
    }
  }

  /// With mask registers.
  void combine(u32 result, u32 width, std::span<const u32> vectors) const {
    const Assembler::Vec to = as_.vec(result, width);
    auto x = [&](size_t i) { return as_.vec(vectors[std::min(i, vectors.size() - 1)], width); };
    as_.vcmpps(as_.k2, to, x(0), kOrdered);
    for (size_t i = 1; i < vectors.size(); i += 2)
      as_.vcmpps(as_.k2 | as_.k2, x(i), x(i + 1), kOrdered);
    for (size_t i = 0; i < vectors.size(); i++) as_.vrangeps(to, to, x(i), greatest_ ? 5 : 4);
    as_.vblendmps(to | as_.k2, as_.vec(nan(), width), to);
  }

 private:
  static constexpr u32 kNan = 0x7fc00000;
  static constexpr u8 kOrdered = 7, kUnordered = 3;
  u32 nan() const { return first_ + 2; }

  template <class F>
  void combine_by_signs(u32 result, u32 width, u64 count, F load, bool starts) const {
    const Assembler::Vec to = as_.vec(result, width), sign = as_.vec(first_ + 1, width),
                         odd = as_.vec(first_ + 2, width);
    const Assembler::Vec vectors[] = {as_.vec(loaded_, width), as_.vec(first_, width)};
    auto signs = [&](const Assembler::Vec& with, const Assembler::Vec& x) {
      greatest_ ? as_.vandps(sign, with, x) : as_.vorps(sign, with, x);
    };
    count -= starts;
    for (u64 i = 0; i < count; i++) {
      const Assembler::Vec x = vectors[i % 2], &before = i == 0 ? to : vectors[(i - 1) % 2];
      load(static_cast<u32>(x.getIdx()), i + starts);
      signs(i == 0 ? to : sign, x);
      // Of the result and the first vector, of the second and the third, and so on.
      if (i == 0) as_.vcmpps(odd, to, x, kUnordered);
      greatest_ ? as_.vmaxps(to, x, to) : as_.vminps(to, x, to);
      const bool alone = i % 2 == 1 && i + 1 == count;
      if (i == 0 || (i % 2 == 1 && !alone)) continue;
      as_.vcmpps(before, alone ? x : before, x, kUnordered);
      as_.vorps(odd, odd, before);
    }
    const Xbyak::Address bits = as_.lanes_constant(greatest_ ? 0x7fffffff : 0x80000000);
    greatest_ ? as_.vorps(sign, sign, bits) : as_.vandps(sign, sign, bits);
    greatest_ ? as_.vandps(to, to, sign) : as_.vorps(to, to, sign);
    as_.vblendvps(to, to, as_.lanes_constant(kNan), odd);
  }

  Vectors& as_;
  bool greatest_;
  u32 loaded_, first_;
  bool serve_;
};

}  // namespace morello::x64

#endif
