// SPDX-License-Identifier: MIT
#include "random_windows.hh"

namespace morello::testing {
namespace {

std::string shape(std::initializer_list<u32> sizes) {
  std::string text;
  for (u32 size : sizes) text += (text.empty() ? "[" : ",") + std::to_string(size);
  return text + ']';
}

std::string two(const char* name, u32 a, u32 b) {
  return std::string(" ") + name + '=' + std::to_string(a) + ',' + std::to_string(b);
}

/// Of an axis; now and then one along which windows meet though neither their stride nor their
/// dilation is 1.
u32 size(Random& random, u32 least, u32 most) {
  return pick(random, least, chance(random, 15) ? 20 : most);
}

/// Strides, dilations and padding of windows of `rows` by `columns` elements.
std::string steps(Random& random, u32 rows, u32 columns) {
  std::string text = two("stride", pick(random, 1, 3), pick(random, 1, 3));
  if (chance(random, 30)) text += two("dilation", pick(random, 1, 3), pick(random, 1, 2));
  const bool rows_padded = chance(random, 80), columns_padded = chance(random, 80);
  text += " padding=";
  for (u32 most : {rows_padded ? rows : 0, columns_padded ? columns : 0, rows_padded ? rows : 0,
                   columns_padded ? columns : 0})
    text += std::to_string(pick(random, 0, most)) + ',';
  text.pop_back();
  return text;
}

}  // namespace

std::string random_pool(Random& random) {
  const bool average = chance(random, 40), nhwc = chance(random, 30);
  const u32 rows = pick(random, 1, 3), columns = pick(random, 1, 4);
  const u32 h = size(random, 1, 9), w = size(random, 2, 9);
  const std::string text = average              ? "avg_pool f32"
                           : chance(random, 70) ? "max_pool f32"
                                                : "max_pool i8";
  return text + (nhwc ? shape({1, h, w, 3}) : shape({1, 3, h, w})) + two("window", rows, columns) +
         steps(random, rows, columns) + (nhwc ? " nhwc" : "");
}

std::string random_convolution(Random& random, const std::string& type) {
  const bool nhwc = chance(random, 40);
  const u32 rows = pick(random, 1, 4), columns = pick(random, 1, 3);
  const u32 h = size(random, 1, 6), w = size(random, 1, 7);
  const u32 groups = pick(random, 1, 2), deep = pick(random, 1, 2), out = groups * 2;
  const u32 channels = groups * deep;
  const std::string data = nhwc ? shape({1, h, w, channels}) : shape({1, channels, h, w});
  const std::string weights =
      nhwc ? shape({rows, columns, deep, out}) : shape({out, deep, rows, columns});
  return "conv2d " + type + data + ' ' + type + weights + steps(random, rows, columns) +
         " groups=" + std::to_string(groups) + (nhwc ? " nhwc" : "");
}

}  // namespace morello::testing
