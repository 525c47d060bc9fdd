// SPDX-License-Identifier: MIT
// The recipe of tanh.
#ifndef MORELLO_COST_TANGENT_HH
#define MORELLO_COST_TANGENT_HH

#include "cost/recipe_code.hh"

namespace morello {

/// Of t = |x| a polynomial of t less a number near it, in each of eight parts, whose bounds are
/// where 1 + 1.72 t is 2^n or 1.5 * 2^n. Below the first bound nothing is subtracted, and the
/// polynomial is t (1 + ..), so that little is lost where t is small. From the limit on it is 1.
/// No exponential, and no division, which takes as long as ten instructions of 512 bits.
constexpr Recipe tanh_recipe() {
  constexpr float kLimit = 0x1.166666p+3f, kScale = 0x1.b8df6p+0f;
  constexpr std::array<float, 8> kMiddle = {0x1.bda744p-1f,
                                            0x1.73a95p+0f,
                                            0x1.296668p+1f,
                                            0x1.bdef8p+1f,
                                            0x1.4e903ep+2f,
                                            0x1.e2ec32p+2f,
                                            0,
                                            0x1.be62ccp-2f};
  constexpr std::array<float, 8> kParts[] = {
      {0x1.5ea372p-7f, 0x1.1d0eacp-7f, -0x1.614376p-11f, -0x1.58bc7ap-13f, -0x1.a8f7b8p-18f,
       -0x1.398f1p-22f, -0x1.570cdp-5f, -0x1.f6cc3cp-5f},
      {-0x1.d70b1ap-5f, -0x1.6b4a84p-8f, 0x1.db883ep-9f, 0x1.0cb45cp-11f, 0x1.410c92p-16f,
       0x1.7934ap-23f, 0x1.2af624p-3f, -0x1.2eecbep-8f},
      {0x1.fe61cep-5f, -0x1.8a740ep-6f, -0x1.668b3p-7f, -0x1.43cb4ep-10f, -0x1.37a15ap-15f,
       0x1.d53fdcp-24f, -0x1.cef4a2p-10f, 0x1.5c3ca4p-3f},
      {0x1.4a2ba4p-4f, 0x1.7b3238p-4f, 0x1.840264p-6f, 0x1.46241cp-9f, 0x1.36fe4cp-14f,
       0x1.8e81bp-21f, -0x1.5538dap-2f, -0x1.19198p-3f},
      {-0x1.6ccd9ep-2f, -0x1.69b16ep-3f, -0x1.2e7a26p-5f, -0x1.ebec86p-9f, -0x1.e4d89cp-14f,
       -0x1.687286p-20f, -0x1.24b12p-19f, -0x1.5d6594p-2f},
      {0x1.03fb7ep-1f, 0x1.93a756p-3f, 0x1.345988p-5f, 0x1.ecdb62p-9f, 0x1.e51086p-14f,
       0x1.2f0758p-20f, 1, 0x1.a9d2dap-1f},
      {0x1.673642p-1f, 0x1.cac6e4p-1f, 0x1.f64586p-1f, 0x1.ff095ap-1f, 0x1.fff874p-1f,
       0x1.ffffeep-1f, 0, 0x1.a41b3p-2f},
  };
  RecipeCode c;
  const auto t = c.t(0), found = c.t(1), part = c.t(2), p = c.t(3);
  c.add(LaneOp::kAnd, found, c.x, c.bits(0x7fffffff));
  c.add(LaneOp::kCopy, t, c.number(kLimit));
  c.add(LaneOp::kLess, t, t, found);  // of NaN, that
  c.add(LaneOp::kCopy, part, c.number(1));
  c.add(LaneOp::kFmaInto, part, t, c.number(kScale));
  c.shift(LaneOp::kShiftRight, part, part, 22);
  c.look_up(found, part, std::bit_cast<std::array<u32, 8>>(kMiddle));
  c.add(LaneOp::kSub, t, t, found);
  c.look_up(p, part, std::bit_cast<std::array<u32, 8>>(kParts[0]));
  for (size_t i = 1; i < std::size(kParts); i++) {
    c.look_up(found, part, std::bit_cast<std::array<u32, 8>>(kParts[i]));
    c.add(LaneOp::kFma, p, t, found);
  }
  c.sign_of(c.out, p, c.x, found);
  return c.recipe();
}

}  // namespace morello

#endif
