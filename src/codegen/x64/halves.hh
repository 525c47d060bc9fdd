// SPDX-License-Identifier: MIT
// Maxima and minima of many vectors of bf16, without widening each.
#ifndef MORELLO_CODEGEN_X64_HALVES_HH
#define MORELLO_CODEGEN_X64_HALVES_HH

#include "codegen/x64/extremes.hh"

namespace morello::x64 {

/// max and min of bf16 in f32, of two vectors of results at once, where there are no mask
/// registers. As numbers of 16 bits, those with a sign are in reverse order behind all others. So
/// the greatest is the greatest of signed ones, or, if all have a sign, the least of unsigned ones;
/// the least is the greatest of unsigned ones, or, if none has a sign, the least of them. The
/// greatest of signed and of unsigned ones tell whether there was a NaN without a sign, or with
/// one.
class Halves {
 public:
  /// Of fewer, what is done once for all takes longer than it saves.
  static constexpr u64 kLeast = 4;
  /// So many are straight code, where there are more.
  static constexpr u64 kEnough = 16;

  /// @param extremes  with the same registers.
  Halves(Vectors& as, Op op, Dtype held, Dtype from, const Extremes& extremes, u32 loaded,
         u32 first)
      : as_(as),
        extremes_(extremes),
        op_(op),
        loaded_(loaded),
        first_(first),
        serve_(extremes.serve() && !as.avx512() && held == Dtype::kF32 && from == Dtype::kBf16) {}

  bool serve(u64 count) const { return serve_ && count >= kLeast; }

  /// result and the one behind it = these op each of `count` pairs of vectors, which are at(i); or,
  /// if it `starts`, of these alone.
  template <class F>
  void combine(u32 result, u64 count, F at, bool starts) const {
    const Assembler::Vec signed_most = ymm(first_), most = ymm(first_ + 1), least = ymm(first_ + 2),
                         x = ymm(loaded_);
    as_.vmovups(least, at(0));
    as_.vmovaps(most, least);
    as_.vmovaps(signed_most, least);
    for (u64 i = 1; i < count; i++) {
      as_.vmovups(x, at(i));
      as_.vpmaxsw(signed_most, signed_most, x);
      as_.vpmaxuw(most, most, x);
      as_.vpminuw(least, least, x);
    }
    if (op_ == Op::kMax) {
      as_.vpsraw(x, signed_most, 15);
      as_.vpand(least, least, x);
      as_.vpandn(x, x, signed_most);
    } else {
      as_.vpsraw(x, most, 15);
      as_.vpandn(least, x, least);
      as_.vpand(x, x, most);
    }
    as_.vpor(least, least, x);
    as_.vpcmpgtw(signed_most, signed_most, twice(kInfinite));
    as_.vpmaxuw(x, most, twice(kLeastNan));
    as_.vpcmpeqw(most, most, x);
    as_.vpor(signed_most, signed_most, most);
    as_.vpor(least, least, signed_most);  // a NaN
    if (starts) {                         // which is to be the one
      as_.vpand(signed_most, signed_most, twice(kNotOfNan));
      as_.vpandn(least, signed_most, least);
    }
    const u32 low = starts ? result : loaded_, high = starts ? result + 1 : first_;
    widen(low, least);
    as_.vextracti128(as_.vec(first_, 4), Xbyak::Ymm(least.getIdx()), 1);
    widen(high, signed_most);
    if (starts) return;
    extremes_.combine(
        result, 8, 1, [](u32, u64) {}, false);
    extremes_.combine(
        result + 1, 8, 1, [&](u32 to, u64) { as_.vmovaps(ymm(to), ymm(first_)); }, false);
  }

 private:
  static constexpr u32 kInfinite = 0x7f80, kLeastNan = 0xff81, kNotOfNan = 0x803f;

  Assembler::Vec ymm(u32 index) const { return as_.vec(index, 8); }
  Xbyak::Address twice(u32 bits) const { return as_.lanes_constant(bits << 16 | bits); }
  void widen(u32 to, const Assembler::Vec& half) const {
    as_.vpmovzxwd(ymm(to), as_.vec(static_cast<u32>(half.getIdx()), 4));
    as_.vpslld(ymm(to), ymm(to), 16);
  }

  Vectors& as_;
  const Extremes& extremes_;
  Op op_;
  u32 loaded_, first_;
  bool serve_;
};

}  // namespace morello::x64

#endif
