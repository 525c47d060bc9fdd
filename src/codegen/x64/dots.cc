// SPDX-License-Identifier: MIT
#include "codegen/x64/dots.hh"

namespace morello::x64 {

void DotCode::begin() {
  if (dot_.form == DotForm::kHalves) as_.fill(spare_, as_.lanes(), 0xffff0000);
  if (dot_.form == DotForm::kFlippedDot) as_.fill(spare_, as_.lanes(), 0x80808080);
}

u32 DotCode::passes(u32 elements) const { return std::min<u32>(dot_.passes, elements); }

bool DotCode::folds_b(Lanes l) const { return takes_from_memory(dot_, b_, sum_) && as_.folds(l); }

bool DotCode::embeds_a() const {
  if (!as_.avx512()) return false;
  if (dot_.form == DotForm::kFma) return a_ == Dtype::kF32;
  return dot_.form == DotForm::kPairsDot || (dot_.form == DotForm::kBytesDot && a_ == Dtype::kI8);
}

void DotCode::load(u32 index, Lanes l, Dtype type, const Reg64& base, i64 bytes, u32 pass,
                   u32 elements, bool in_parts) {
  if (dot_.group == 1)
    return in_parts ? as_.load_in_parts(index, l, type, sum_, base, bytes)
                    : as_.load(index, l, type, sum_, base, bytes);
  in_parts ? as_.load_in_parts(index, l, base, bytes) : as_.load(index, l, as_.at(base, bytes));
  make_ready(index, l.width, type, pass, elements);
}

void DotCode::broadcast_a(u32 index, u32 width, const Reg64& base, i64 bytes, i64 step, u32 pass,
                          u32 elements, bool others_before) {
  if (!dot_.whole) return as_.broadcast(index, width, a_, sum_, base, bytes + pass * step);
  const Vec to = as_.vec(index, width);
  if (elements == dot_.group && dot_.form == DotForm::kFlippedDot && as_.avx512())
    return as_.vpxord(to, as_.vec(spare_, width), as_.at(as_.ptr_b, base, bytes));
  if (elements == dot_.group) {
    as_.vbroadcastss(to, as_.at(base, bytes));
  } else if (others_before) {
    return broadcast_last_of_a(index, width, base, bytes, pass, elements);
  } else {
    const Xbyak::Reg32 lane = as_.load_lane(elements * size_of(a_), base, bytes);
    as_.vmovd(Xbyak::Xmm(to.getIdx()), lane);
    as_.vpbroadcastd(to, Xbyak::Xmm(to.getIdx()));
  }
  make_a_ready(index, width, pass, elements);
}

// The lane that ends with the elements, shifted down: in its place are zeros then.
void DotCode::broadcast_last_of_a(u32 index, u32 width, const Reg64& base, i64 bytes, u32 pass,
                                  u32 elements) {
  const Vec to = as_.vec(index, width);
  const u32 absent = (dot_.group - elements) * size_of(a_);
  const u8 shift = static_cast<u8>(8 * absent);
  if (dot_.form == DotForm::kHalves) {  // the one element is the upper half as it is
    as_.vbroadcastss(to, as_.at(base, bytes - absent));
    return make_ready(index, width, a_, 1, dot_.group);
  }
  if (as_.avx512()) {
    as_.vpsrld(to, as_.at(as_.ptr_b, base, bytes - absent), shift);
  } else {
    as_.vbroadcastss(to, as_.at(base, bytes - absent));
    as_.vpsrld(to, to, shift);
  }
  make_a_ready(index, width, pass, dot_.group);
}

void DotCode::make_a_ready(u32 index, u32 width, u32 pass, u32 elements) {
  const Vec to = as_.vec(index, width);
  if (dot_.form == DotForm::kFlippedDot)
    return as_.avx512() ? as_.vpxord(to, to, as_.vec(spare_, width))
                        : as_.vpxor(to, to, as_.vec(spare_, width));
  make_ready(index, width, a_, pass, elements);
}

void DotCode::add_correction(const Vec& sum, const Vec& b) {
  add(sum, as_.vec(spare_, static_cast<u32>(sum.getBit()) / 32), b);
}

void DotCode::make_ready(u32 index, u32 width, Dtype type, u32 pass, u32 elements) {
  const Vec v = as_.vec(index, width);
  switch (dot_.form) {
    case DotForm::kHalves:
      if (pass == 0)
        as_.vpslld(v, v, 16);
      else if (as_.avx512())
        as_.vpandd(v, v, as_.vec(spare_, width));
      else
        as_.vpand(v, v, as_.vec(spare_, width));
      return;
    case DotForm::kWords:
    case DotForm::kWordsDot:
      if (pass == 0) as_.vpsllw(v, v, 8);
      if (type == Dtype::kI8)
        as_.vpsraw(v, v, 8);
      else
        as_.vpsrlw(v, v, 8);
      return;
    case DotForm::kPairsDot:
      if (elements == 2) return;
      as_.vpslld(v, v, 16);  // the other half may be anything, NaN included
      as_.vpsrld(v, v, 16);
      return;
    case DotForm::kFma:
    case DotForm::kMulAdd:
    case DotForm::kBytesDot:
    case DotForm::kFlippedDot:
      return;
  }
}

void DotCode::add(const Vec& sum, const Vec& a, const Xbyak::Operand& b) {
  const auto encoding = as_.avx512() ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
  const Vec made = as_.vec(spare_, static_cast<u32>(sum.getBit()) / 32);
  switch (dot_.form) {
    case DotForm::kFma:
    case DotForm::kHalves:
      return as_.vfmadd231ps(sum, a, b);
    case DotForm::kMulAdd:
      as_.vpmulld(made, a, b);
      return as_.vpaddd(sum, sum, made);
    case DotForm::kWords:
      as_.vpmaddwd(made, a, b);
      return as_.vpaddd(sum, sum, made);
    case DotForm::kWordsDot:
      return as_.vpdpwssd(sum, a, b, encoding);
    case DotForm::kBytesDot:
      if (a_ == Dtype::kU8) return as_.vpdpbusd(sum, a, b, encoding);
      return as_.vpdpbusd(sum, static_cast<const Vec&>(b), a, encoding);
    case DotForm::kFlippedDot:
      return as_.vpdpbusd(sum, a, b, encoding);
    case DotForm::kPairsDot:
      return as_.vdpbf16ps(sum, a, b);
  }
}

void DotCode::add_embedded(const Vec& sum, const Vec& b, const Assembler::Address& a) {
  switch (dot_.form) {
    case DotForm::kPairsDot:
      return as_.vdpbf16ps(sum, b, a);
    case DotForm::kBytesDot:
      return as_.vpdpbusd(sum, b, a, Xbyak::EvexEncoding);
    default:
      return as_.vfmadd231ps(sum, b, a);
  }
}

}  // namespace morello::x64
