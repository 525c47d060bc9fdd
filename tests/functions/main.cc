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
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/functions.hh"
#include "../support/targets.hh"
#include "codegen/emit.hh"
#include "codegen/plan.hh"
#include "impl/impl.hh"
#include "runtime/code_memory.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr u32 kBlock = 65536;
constexpr u32 kBlocks = 65536;
constexpr u32 kSample = 60;
constexpr int kSkip = 77;

/// The code of one microkernel for `count` numbers.
class Function {
 public:
  Function(const Target& target, MicrokernelId leaf, Op op, u32 count) {
    Spec spec;
    spec.rank = 1;
    spec.size[0] = count;
    spec.operand_count = 2;
    spec.stage_count = 1;
    spec.stage[0] = {op, Dtype::kF32, {0, kNoRef, kNoRef}, 0, 1};
    std::array<View, kMaxOperands> views;
    for (int o = 0; o < 2; o++) {
      Operand& x = spec.operand[o];
      x.access = o == 0 ? Access::kIn : Access::kOut;
      x.dims = 1;
      x.layout.append(0);
      x.contig = 1;
      views[static_cast<size_t>(o)].dim[0].stride[0] = 1;
    }
    ImplTree tree;
    tree.target = &target;
    tree.nodes.push_back({spec, Select{static_cast<u16>(leaf)}, {}, 0, {}});
    const Code code = get(emit(get(make_plan(tree, views)), target));
    code_ = get(CodeMemory::make(code.bytes));
    entry_ = code.entry;
  }

  void run(const float* in, float* out) const {
    void* operands[] = {const_cast<float*>(in), out};
    const void* start = code_.data() + entry_;
    reinterpret_cast<morello_kernel_fn>(const_cast<void*>(start))(operands, nullptr, nullptr);
  }

 private:
  template <class T>
  static T get(Result<T> result) {
    if (!result.ok()) {
      std::printf("%s\n", result.error().message.c_str());
      std::exit(1);
    }
    return std::move(*result);
  }
  CodeMemory code_;
  size_t entry_ = 0;
};

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

void compare(double want, float x, float got, Worst& worst) {
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

/// Blocks in which something begins or ends: zeros, the smallest and largest numbers, infinity,
/// NaN, where results are denormal or infinite, or turn to 1. Then any.
std::vector<u32> sample(u64 seed) {
  std::vector<u32> blocks;
  for (u32 sign : {0u, 0x8000u})
    for (u32 high : {0x0000u, 0x007fu, 0x0080u, 0x3effu, 0x3f80u, 0x407au, 0x4110u, 0x4150u,
                     0x42aeu, 0x42b1u, 0x42ceu, 0x42dcu, 0x4314u, 0x7f7fu, 0x7f80u, 0x7fffu})
      blocks.push_back(sign | high);
  std::mt19937_64 random(seed);
  while (blocks.size() < kSample) blocks.push_back(static_cast<u32>(random() % kBlocks));
  return blocks;
}

/// All kernels of one function on some blocks.
class Run {
 public:
  Run(const Elementwise& function, const std::vector<u32>& blocks)
      : function_(function), blocks_(blocks) {
    for (const Target* target : targets_of({Dtype::kF32})) {
      if (!usable(*target, read_machine().features, kAllFeatures)) continue;
      vectors_.emplace_back(*target, MicrokernelId::kMap, function.op, kBlock);
      elements_.emplace_back(*target, MicrokernelId::kScalarMap, function.op, kBlock);
    }
  }
  bool empty() const { return vectors_.empty(); }

  /// Prints what was found; is all right?
  bool all(unsigned threads) {
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; t++) pool.emplace_back([this] { work(); });
    for (std::thread& t : pool) t.join();
    const double allowed = function_ulps(function_.op);
    const bool good = worst_.wrong == 0 && worst_.ulps <= allowed && different_ == 0;
    std::printf("%-10s %.3f ulp at %a (%.9g), got %a; %llu wrong, %llu not the same bits%s\n",
                std::string(function_.name).c_str(), worst_.ulps, worst_.at,
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
    for (size_t i; (i = next_++) < blocks_.size();) {
      for (u32 j = 0; j < kBlock; j++) in[j] = std::bit_cast<float>(blocks_[i] << 16 | j);
      vectors_[0].run(in.data(), first.data());
      auto compare_bits = [&](const Function& f) {
        f.run(in.data(), out.data());
        different += std::memcmp(out.data(), first.data(), kBlock * sizeof(float)) != 0;
      };
      for (size_t k = 1; k < vectors_.size(); k++) compare_bits(vectors_[k]);
      // One at a time takes as long as all else together: a part of the blocks.
      if (blocks_.size() <= kSample || i % 16 == 0)
        for (const Function& f : elements_) compare_bits(f);
      for (u32 j = 0; j < kBlock; j++)
        compare(function_value(function_.op, in[j]), in[j], first[j], worst);
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

  const Elementwise& function_;
  const std::vector<u32>& blocks_;
  std::vector<Function> vectors_, elements_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  Worst worst_;
  u64 different_ = 0;
};

int usage() {
  std::printf("usage: morello-functions [--all | --seed N] [--only NAME]\n");
  return 2;
}

int run(int count, char** values) {
  u64 seed = static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
  bool all = false;
  std::string_view only;
  for (int i = 1; i < count; i++) {
    const bool more = i + 1 < count;
    if (std::strcmp(values[i], "--all") == 0)
      all = true;
    else if (std::strcmp(values[i], "--seed") == 0 && more)
      seed = std::strtoull(values[++i], nullptr, 0);
    else if (std::strcmp(values[i], "--only") == 0 && more)
      only = values[++i];
    else
      return usage();
  }
  std::vector<u32> blocks;
  if (all)
    for (u32 b = 0; b < kBlocks; b++) blocks.push_back(b);
  else
    blocks = sample(seed);
  size_t tried = 0, wrong = 0;
  for (const Elementwise& e : kElementwise) {
    if (e.inputs != 1 || class_of(e.op) != OpClass::kRecipe) continue;
    if (!only.empty() && e.name != only) continue;
    Run function(e, blocks);
    if (function.empty()) {
      std::printf("skipped: no kernel can run on this CPU\n");
      return kSkip;
    }
    tried++;
    wrong += !function.all(std::max(1u, std::thread::hardware_concurrency()));
  }
  if (tried == 0) return usage();
  std::printf("%zu functions, %zu of %u blocks of %u numbers, %zu wrong", tried, blocks.size(),
              kBlocks, kBlock, wrong);
  if (!all) std::printf("; --seed %llu", static_cast<unsigned long long>(seed));
  std::printf("\n");
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace morello::testing

int main(int count, char** values) { return morello::testing::run(count, values); }
