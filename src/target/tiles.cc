// SPDX-License-Identifier: MIT
#include "target/tiles.hh"

namespace morello {
namespace {

constexpr Features kBf16 = features(Feature::kAmxTile, Feature::kAmxBf16);
constexpr Features kInt8 = features(Feature::kAmxTile, Feature::kAmxInt8);

constexpr TileDot kTileDots[] = {
    {TileForm::kBf16, kBf16, Dtype::kBf16, Dtype::kBf16, Dtype::kF32},
    {TileForm::kI8I8, kInt8, Dtype::kI8, Dtype::kI8, Dtype::kI32},
    {TileForm::kI8U8, kInt8, Dtype::kI8, Dtype::kU8, Dtype::kI32},
    {TileForm::kU8I8, kInt8, Dtype::kU8, Dtype::kI8, Dtype::kI32},
    {TileForm::kU8U8, kInt8, Dtype::kU8, Dtype::kU8, Dtype::kI32},
};

}  // namespace

const TileDot* tile_dot_of(const Target& target, Dtype a, Dtype b, Dtype sum) {
  if (target.tiles.count == 0) return nullptr;
  for (const TileDot& dot : kTileDots)
    if (dot.a == a && dot.b == b && dot.sum == sum && includes(target.required, dot.required))
      return &dot;
  return nullptr;
}

}  // namespace morello
