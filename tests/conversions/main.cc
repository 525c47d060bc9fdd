// SPDX-License-Identifier: MIT
// Conversions of f32 to every other element type, against support/number.hh. Without arguments a
// sample of some blocks of 65,536 numbers that follow one another.
//
//   morello-conversions --all        all 4,294,967,296 numbers (minutes)
//   morello-conversions --seed N     the sample of a run that failed
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "../support/blocks.hh"
#include "../support/converter.hh"
#include "../support/targets.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr u32 kSample = 150;
/// Where something begins or ends: zeros, the smallest and largest numbers, infinity, NaN, and what
/// integers and f16 end at.
const std::vector<u32> kEdges = {0x0000, 0x0001, 0x007f, 0x0080, 0x3300, 0x3380, 0x387f,
                                 0x3880, 0x3eff, 0x3f00, 0x42fe, 0x4300, 0x437f, 0x477f,
                                 0x4eff, 0x4f00, 0x7f7f, 0x7f80, 0x7fbf, 0x7fff};

/// As converted(), of numbers that follow one another. Rounding is monotone: where the first and
/// the last of some become the same, so do those between.
class Between {
 public:
  Between(Dtype to, const std::vector<char>& in)
      : to_(to), in_(in), all_(in.size() / sizeof(u32)) {}

  std::vector<u32> all() {
    const size_t last = all_.size() - 1;
    all_[0] = one(0);
    all_[last] = one(last);
    between(0, last);
    return std::move(all_);
  }

 private:
  u32 one(size_t i) const {
    const char* at = in_.data() + i * sizeof(u32);
    return converted(Dtype::kF32, to_, {at, at + sizeof(u32)}, 1)[0];
  }

  void between(size_t first, size_t last) {
    if (last - first < 2) return;
    if (all_[first] == all_[last])
      return std::fill(all_.begin() + static_cast<long>(first) + 1,
                       all_.begin() + static_cast<long>(last), all_[first]);
    const size_t middle = (first + last) / 2;
    all_[middle] = one(middle);
    between(first, middle);
    between(middle, last);
  }

  Dtype to_;
  const std::vector<char>& in_;
  std::vector<u32> all_;
};

/// Infinity and NaN follow one another in another order.
std::vector<u32> expected_of(Dtype to, const std::vector<char>& in, u32 block) {
  constexpr u32 kExponent = 0x7f80;
  if ((block & kExponent) == kExponent) return converted(Dtype::kF32, to, in, kBlock);
  return Between(to, in).all();
}

std::vector<char> packed(Dtype to, const std::vector<u32>& numbers) {
  std::vector<char> bytes(numbers.size() * size_of(to));
  for (size_t i = 0; i < numbers.size(); i++)
    std::memcpy(bytes.data() + i * size_of(to), &numbers[i], size_of(to));
  return bytes;
}

struct Way {
  const Target* target;
  Dtype to;
  Converter converter;
};

std::vector<Way> make_ways() {
  std::vector<Way> ways;
  for (const Target* t : targets_of({Dtype::kF32, Dtype::kBf16})) {
    if (!usable(*t, read_machine().features, kAllFeatures)) continue;
    for (Dtype to : kAllDtypes)
      if (to != Dtype::kF32)
        ways.push_back({t, to, Converter(*t, MicrokernelId::kMap, Dtype::kF32, to, kBlock)});
  }
  return ways;
}

class Run {
 public:
  /// @param each  every number is converted by the reference, not only where results change.
  Run(const std::vector<u32>& blocks, bool each)
      : blocks_(blocks), each_(each), ways_(make_ways()) {}

  bool empty() const { return ways_.empty(); }
  /// How many ways are wrong.
  size_t all() {
    on_all_processors([this] { work(); });
    return wrong_;
  }

 private:
  void work() {
    for (size_t i; (i = next_++) < blocks_.size();) {
      const std::vector<char> in = consecutive_bits(Dtype::kF32, u64{blocks_[i]} << 16, kBlock);
      for (Dtype to : kAllDtypes) {
        if (to == Dtype::kF32) continue;
        const std::vector<u32> expected = expected_of(to, in, blocks_[i]);
        if (each_ && expected != converted(Dtype::kF32, to, in, kBlock)) fail("not monotone");
        const std::vector<char> bytes = packed(to, expected);
        for (const Way& way : ways_)
          if (way.to == to) check(way, in, expected, bytes);
      }
    }
  }

  void check(const Way& way, const std::vector<char>& in, const std::vector<u32>& expected,
             const std::vector<char>& bytes) {
    std::vector<char> out(size_t{kBlock} * size_of(way.to));
    way.converter.run(in.data(), out.data());
    if (out == bytes) return;  // else NaN may have other bits
    const std::string wrong = compare_converted(Dtype::kF32, way.to, in, expected, out);
    if (!wrong.empty()) fail(std::string(way.target->name) + ": " + wrong);
  }

  void fail(const std::string& what) {
    std::lock_guard lock(mutex_);
    if (wrong_++ < 20) std::printf("%s\n", what.c_str());
  }

  const std::vector<u32>& blocks_;
  bool each_;
  std::vector<Way> ways_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  size_t wrong_ = 0;
};

int run(int count, char** values) {
  const auto blocks = read_arguments(count, values, "morello-conversions", kEdges, kSample);
  if (!blocks) return 2;
  Run conversions(blocks->list, !blocks->all);
  if (conversions.empty()) {
    std::printf("skipped: no kernel can run on this CPU\n");
    return kSkip;
  }
  const size_t wrong = conversions.all();
  blocks->report("", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace morello::testing

int main(int count, char** values) { return morello::testing::run(count, values); }
