// SPDX-License-Identifier: MIT
#include "target/dots.hh"

#include <algorithm>

#include "target/tiles.hh"

namespace morello {
namespace {

constexpr bool is_byte(Dtype d) { return d == Dtype::kI8 || d == Dtype::kU8; }

bool takes(const Dot& dot, Dtype a, Dtype b, Dtype sum) {
  switch (dot.form) {
    case DotForm::kFma:
      return sum == Dtype::kF32;
    case DotForm::kMulAdd:
      return sum == Dtype::kI32;
    case DotForm::kHalves:
      return sum == Dtype::kF32 && b == Dtype::kBf16;
    case DotForm::kPairsDot:
      return sum == Dtype::kF32 && a == Dtype::kBf16 && b == Dtype::kBf16;
    case DotForm::kWords:
    case DotForm::kWordsDot:
      return sum == Dtype::kI32 && is_byte(a) && is_byte(b);
    case DotForm::kBytesDot:
      return sum == Dtype::kI32 && is_byte(a) && is_byte(b) && a != b;
    case DotForm::kFlippedDot:
      return sum == Dtype::kI32 && a == Dtype::kI8 && b == Dtype::kI8;
  }
  return false;
}

constexpr Features kNone = kNoFeatures;
constexpr Features kVnni = features(Feature::kAvx512Vnni), kSmallVnni = features(Feature::kAvxVnni);
constexpr Features kBf16 = features(Feature::kAvx512Bf16);
constexpr Features kBf16Tiles = kBf16 | features(Feature::kAmxTile, Feature::kAmxBf16);

// Of those that take the factors, the last one is used.
//   form, required, group, passes, price, instructions, prepare, spare, latency, whole, corrects
constexpr Dot kDots[] = {
    {DotForm::kFma, kNone, 1, 1, 2, 1, 0, 0, 0, false},
    {DotForm::kMulAdd, kNone, 1, 1, 4, 2, 0, 1, 10, false},
    {DotForm::kHalves, kNone, 2, 2, 2, 1, 2, 1, 5, false},
    {DotForm::kWords, kNone, 4, 2, 3, 2, 3, 1, 0, true},
    {DotForm::kWordsDot, kSmallVnni, 4, 2, 2, 1, 3, 0, 5, true},
    {DotForm::kWordsDot, kVnni, 4, 2, 2, 1, 3, 0, 5, true},
    {DotForm::kBytesDot, kSmallVnni, 4, 1, 2, 1, 0, 0, 5, true},
    {DotForm::kBytesDot, kVnni, 4, 1, 2, 1, 0, 0, 5, true},
    {DotForm::kFlippedDot, kSmallVnni, 4, 1, 2, 1, 1, 1, 5, true, true},
    {DotForm::kFlippedDot, kVnni, 4, 1, 2, 1, 1, 1, 5, true, true},
    {DotForm::kPairsDot, kBf16, 2, 1, 2, 1, 0, 0, 6, true},
    // CPUs with tile registers begin one in two cycles: less than half as many products as by FMAs.
    {DotForm::kPairsDot, kBf16Tiles, 2, 1, 7, 1, 0, 0, 6, true},
};

constexpr bool singles_come_first() {
  for (size_t i = 0; i < std::size(kDots); i++) {
    if ((kDots[i].group == 1) != (i < 2)) return false;
    if (i < 2 && kDots[i].required != kNone) return false;
  }
  return kDots[0].form == DotForm::kFma && kDots[1].form == DotForm::kMulAdd;
}
static_assert(singles_come_first());

}  // namespace

const Dot* dot_of_one(Dtype sum) { return &kDots[is_integer(sum) ? 1 : 0]; }

const Dot* dot_of(const Target& target, Dtype a, Dtype b, Dtype sum, u32 group, bool tile) {
  if (group == 1) return dot_of_one(sum);  // for which searches ask most
  const Dot* found = nullptr;
  for (const Dot& dot : kDots)
    if (dot.group == group && includes(target.required, dot.required) && takes(dot, a, b, sum) &&
        (tile || !dot.corrects))
      found = &dot;
  return found;
}

std::span<const Dot> dots() { return kDots; }

bool takes(const Dot& dot, const Target& target, Dtype a, Dtype b, Dtype sum) {
  if (!includes(target.required, dot.required)) return false;
  return takes(dot, a, b, sum) || takes(dot, b, a, sum);
}

bool takes_from_memory(const Dot& dot, Dtype b, Dtype sum) {
  if (dot.form == DotForm::kFma) return b == sum;
  if (!dot.whole || dot.corrects || dot.prepare != 0) return false;
  return dot.form != DotForm::kBytesDot || b == Dtype::kI8;
}

u32 most_products(const Target& target, Dtype a, Dtype b, Dtype sum) {
  u32 most = 1;
  for (const Dot& dot : kDots)
    if (takes(dot, target, a, b, sum)) most = std::max(most, dot.products());
  if (tiles_take(target, a, b, sum)) most = std::max(most, lane_elements(a));
  return most;
}

namespace {

/// Are programs for problems of these types the same?
bool are_alike(const Target& a, const Target& b, std::span<const Dtype> types) {
  Target like_b = a;
  like_b.name = b.name;
  like_b.number = b.number;
  like_b.required = b.required;
  like_b.tiles = b.tiles;
  like_b.level = b.level;
  if (std::find(types.begin(), types.end(), Dtype::kBf16) == types.end()) {
    like_b.permutes_words = b.permutes_words;
    like_b.prices.widen_bf16 = b.prices.widen_bf16;
    like_b.prices.narrow_bf16 = b.prices.narrow_bf16;
  }
  if (like_b != b) return false;
  for (Dtype x : types)
    for (Dtype y : types)
      for (Dtype sum : {Dtype::kF32, Dtype::kI32}) {
        if (tile_dot_of(a, x, y, sum) != tile_dot_of(b, x, y, sum)) return false;
        for (u32 group : {1u, lane_elements(y)})
          if (dot_of(a, x, y, sum, group) != dot_of(b, x, y, sum, group)) return false;
      }
  return true;
}

}  // namespace

const Target* best_among(u32 numbers, std::span<const Dtype> types) {
  const auto among = [&](const Target& t) { return (numbers >> t.number & 1) != 0; };
  const Target* best = nullptr;
  for (const Target& t : fixed_targets())
    if (among(t)) best = &t;
  if (best == nullptr) return nullptr;
  for (const Target& t : fixed_targets())
    if (among(t) && are_alike(t, *best, types)) return &t;
  return best;
}

const Target* best_target(Features cpu, Features cap, std::span<const Dtype> types) {
  u32 numbers = 0;
  for (const Target& t : fixed_targets())
    if (usable(t, cpu, cap)) numbers |= 1u << t.number;
  return best_among(numbers, types);
}

}  // namespace morello
