// SPDX-License-Identifier: MIT
// The functions of one number that kernels do not round correctly, on numbers of f32, against
// double precision: how many units of the last place a result is off. Without arguments a sample of
// some blocks of 65,536 numbers that follow one another.
//
//   morello-functions --all          all 4,294,967,296 numbers (minutes)
//   morello-functions --seed N       the sample of a run that failed
//   morello-functions --only tanh    one function; with --all or without
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "../support/blocks.hh"
#include "../support/functions.hh"
#include "../support/leaf_code.hh"
#include "../support/targets.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr u32 kSample = 60;
/// Where something begins or ends: zeros, the smallest and largest numbers, infinity, NaN, where
/// results are denormal or infinite, or turn to 1.
const std::vector<u32> kEdges = {0x0000, 0x007f, 0x0080, 0x3eff, 0x3f80, 0x407a,
                                 0x4110, 0x4150, 0x42ae, 0x4980, 0x4b00, 0x42b1,
                                 0x42ce, 0x42dc, 0x4314, 0x7f7f, 0x7f80, 0x7fff};

/// How far results are off.
struct Worst {
  double ulps = 0;
  float at = 0, got = 0;
  // What units do not tell: NaN, infinity, the sign of zero.
  u64 wrong = 0;
  float first_wrong = 0;
};

double ulps_off(double want, float got) {
  const double unit = std::ldexp(1.0, std::max(want == 0 ? -126 : std::ilogb(want), -126) - 23);
  // What overflows is next to the largest number.
  const double near = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  return std::fabs(near - want) / unit;
}

void compare(double want, float x, float got, double slack, Worst& worst) {
  if (slack > 0 && std::isfinite(want)) {
    if (!(std::fabs(want - got) <= slack) && worst.wrong++ == 0) worst.first_wrong = x;
    return;
  }
  const float rounded = static_cast<float>(want);
  if (worst.ulps >= 0.5 && std::bit_cast<u32>(rounded) == std::bit_cast<u32>(got)) return;
  const bool alike = std::isnan(rounded)
                         ? std::isnan(got)
                         : !std::isnan(got) && std::signbit(got) == std::signbit(rounded) &&
                               (std::isfinite(want) || got == rounded);
  if (!alike && worst.wrong++ == 0) worst.first_wrong = x;
  if (!alike || !std::isfinite(want) || (std::isinf(rounded) && std::isinf(got))) return;
  const double ulps = ulps_off(want, got);
  if (ulps <= worst.ulps) return;
  worst.ulps = ulps;
  worst.at = x;
  worst.got = got;
}

/// Numbers of all kinds side by side, and then one of them among many that are about 1: what is
/// rare is computed for all lanes of the vectors at hand, or for none.
u32 mixed(u32 i) {
  const u32 any = i * 0x9e3779b1;
  return i < kBlock / 2 || i % 61 == 0 ? any : 0x3c000000 + (any >> 6);
}

/// All kernels of one function on some blocks, and one of mixed numbers.
class Run {
 public:
  Run(Op function, const std::vector<u32>& blocks) : function_(function), blocks_(blocks) {
    for (const Target* target : targets_of({Dtype::kF32})) {
      if (!usable(*target, read_machine().features, kAllFeatures)) continue;
      constexpr Dtype kF32 = Dtype::kF32;
      vectors_.emplace_back(*target, MicrokernelId::kMap, function, kF32, kF32, kBlock);
      elements_.emplace_back(*target, MicrokernelId::kScalarMap, function, kF32, kF32, kBlock);
    }
  }
  bool empty() const { return vectors_.empty(); }

  /// Prints what was found; is all right?
  bool all() {
    on_all_processors([this] { work(); });
    const double allowed = function_ulps(function_);
    const bool good = worst_.wrong == 0 && worst_.ulps <= allowed && different_ == 0;
    std::printf("%-10s %.3f ulp at %a (%.9g), got %a; %llu wrong, %llu not the same bits%s\n",
                std::string(name_of(function_)).c_str(), worst_.ulps, worst_.at,
                static_cast<double>(worst_.at), worst_.got,
                static_cast<unsigned long long>(worst_.wrong),
                static_cast<unsigned long long>(different_), good ? "" : ": FAILED");
    if (worst_.wrong > 0)
      std::printf("  the first wrong one is of %a\n", static_cast<double>(worst_.first_wrong));
    std::fflush(stdout);
    return good;
  }

 private:
  void work() {
    std::vector<float> in(kBlock), first(kBlock), out(kBlock);
    Worst worst;
    u64 different = 0;
    for (size_t i; (i = next_++) <= blocks_.size();) {
      for (u32 j = 0; j < kBlock; j++) {
        in[j] = std::bit_cast<float>(i < blocks_.size() ? blocks_[i] << 16 | j : mixed(j));
        if (!function_takes(function_, in[j])) in[j] = -in[j];
      }
      vectors_[0].run(in.data(), first.data());
      auto compare_bits = [&](const Leaf& f) {
        f.run(in.data(), out.data());
        different += std::memcmp(out.data(), first.data(), kBlock * sizeof(float)) != 0;
      };
      for (size_t k = 1; k < vectors_.size(); k++) compare_bits(vectors_[k]);
      // One at a time takes as long as all else together: a part of the blocks.
      if (blocks_.size() <= kSample || i % 16 == 0)
        for (const Leaf& f : elements_) compare_bits(f);
      for (u32 j = 0; j < kBlock; j++)
        compare(function_value(function_, in[j]), in[j], first[j], function_slack(function_, in[j]),
                worst);
    }
    std::lock_guard lock(mutex_);
    different_ += different;
    if (worst.wrong > 0) worst_.first_wrong = worst.first_wrong;
    worst_.wrong += worst.wrong;
    if (worst.ulps <= worst_.ulps) return;
    worst_.ulps = worst.ulps;
    worst_.at = worst.at;
    worst_.got = worst.got;
  }

  const Op function_;
  const std::vector<u32>& blocks_;
  std::vector<Leaf> vectors_, elements_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  Worst worst_;
  u64 different_ = 0;
};

int run(int count, char** values) {
  const auto blocks = read_arguments(count, values, "morello-functions", kEdges, kSample, true);
  if (!blocks) return 2;
  size_t tried = 0, wrong = 0;
  for (Op op : functions()) {
    if (!blocks->only.empty() && name_of(op) != blocks->only) continue;
    Run function(op, blocks->list);
    if (function.empty()) {
      std::printf("skipped: no kernel can run on this CPU\n");
      return kSkip;
    }
    tried++;
    wrong += !function.all();
  }
  if (tried == 0) {
    std::printf("no function has the name %s\n", blocks->only.c_str());
    return 2;
  }
  blocks->report(std::to_string(tried) + " functions, ", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace morello::testing

int main(int count, char** values) { return morello::testing::run(count, values); }
