// SPDX-License-Identifier: MIT
// max, min and reductions by them are those of IEEE 754-2019: NaN in, the one NaN out, -0 below +0,
// the same bits whatever the target and wherever in the data.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "../capi/handles.hh"
#include "rounds.hh"
#include "support/dtype.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

TEST_SUITE_BEGIN("kernel");

struct Encoding {
  const char* name;
  Dtype dtype;
  u32 nan, other_nan, zero, negative_zero;
};
constexpr Encoding kFloats[] = {
    {"f32", Dtype::kF32, 0x7fc00000, 0xffc12345, 0, 0x80000000},
    {"bf16", Dtype::kBf16, 0x7fc0, 0xffc1, 0, 0x8000},
    {"f16", Dtype::kF16, 0x7e00, 0xfe01, 0, 0x8000},
};

/// Elements of one type, by their bits.
class Elements {
 public:
  Elements(Dtype dtype, size_t count) : bytes_(size_of(dtype)), data_(count * bytes_) {}
  void set(size_t i, u32 bits) { std::memcpy(data_.data() + i * bytes_, &bits, bytes_); }
  u32 get(size_t i) const {
    u32 bits = 0;
    std::memcpy(&bits, data_.data() + i * bytes_, bytes_);
    return bits;
  }
  void* data() { return data_.data(); }

 private:
  size_t bytes_;
  std::vector<char> data_;
};

struct Kernels {
  ContextPtr context = make_context();
  SpecPtr spec;
  std::vector<KernelPtr> kernels;
  explicit Kernels(const std::string& text) : spec(parse_spec(context.get(), text)) {
    for (morello_isa isa : usable_isas())
      for (u32 threads : {1u, 2u}) {
        morello_options options = default_options();
        options.target = isa;
        options.threads = threads;
        kernels.push_back(synthesize(context.get(), spec.get(), &options));
      }
  }
  /// Calls f with each kernel's results, and those of the reference.
  template <class F>
  void each(std::vector<void*> operands, const F& f) const {
    for (const KernelPtr& kernel : kernels) {
      REQUIRE(morello_kernel_run(kernel.get(), operands.data(), nullptr, nullptr) == MORELLO_OK);
      f();
    }
    REQUIRE(morello_spec_evaluate(spec.get(), operands.data(), nullptr) == MORELLO_OK);
    f();
  }
};

/// The greatest, or least, of bits of bf16, as IEEE 754-2019 says.
u32 extreme_of(const std::vector<u32>& elements, bool greatest) {
  // In order from the least to the greatest.
  const auto rank = [](u32 bits) { return bits >> 15 ? 0xffff - bits : bits + 0x8000; };
  u32 best = elements[0];
  for (u32 bits : elements) {
    if ((bits & 0x7fff) > 0x7f80) return 0x7fc0;
    if (greatest ? rank(bits) > rank(best) : rank(bits) < rank(best)) best = bits;
  }
  return best;
}

/// A reduction of `n` elements, along vectors (axis 1 of 2 x n) or across them (axis 0 of n x 3),
/// of what `fill` says of each place; all results must have the bits `expected`.
template <class F>
void check_reduction(const Kernels& kernels, const Encoding& e, u32 n, bool along, const F& fill,
                     u32 expected) {
  const u32 results = along ? 2 : 3;
  Elements in(e.dtype, size_t{n} * results), out(e.dtype, results);
  for (u32 r = 0; r < results; r++)
    for (u32 i = 0; i < n; i++) in.set(along ? r * n + i : i * results + r, fill(i));
  kernels.each({in.data(), out.data()}, [&] {
    for (u32 r = 0; r < results; r++) {
      INFO(e.name << " n " << n << " along " << along);
      REQUIRE(out.get(r) == expected);
    }
  });
}

TEST_CASE("reduce_max and reduce_min of all bf16, at each place of a column") {
  constexpr u32 kAll = 1 << 16, kSeed = 20261126;
  std::mt19937 rng(kSeed);
  for (const char* head : {"reduce_max", "reduce_min"})
    for (u32 n : {2u, 3u, 4u, 7u, 16u, 37u}) {
      const std::string text = std::string(head) + " bf16[" + std::to_string(n) + "," +
                               std::to_string(kAll) + "] axis=0";
      const Kernels kernels(text);
      const bool greatest = std::string_view(head) == "reduce_max";
      Elements in(Dtype::kBf16, size_t{n} * kAll), out(Dtype::kBf16, kAll);
      std::vector<u32> expected(kAll), column(n);
      for (u32 c = 0; c < kAll; c++) {
        // Numbers, of one sign in half of the columns, and the one that is meant.
        const u32 sign = rng() % 4;
        for (u32& bits : column) {
          do bits = rng() % kAll;
          while ((bits & 0x7fff) > 0x7f80);
          if (sign < 2) bits = (bits & 0x7fff) | sign << 15;
        }
        column[rng() % n] = c;
        for (u32 r = 0; r < n; r++) in.set(size_t{r} * kAll + c, column[r]);
        expected[c] = extreme_of(column, greatest);
      }
      kernels.each({in.data(), out.data()}, [&] {
        u32 wrong = 0;
        while (wrong < kAll && out.get(wrong) == expected[wrong]) wrong++;
        CHECK_MESSAGE(wrong == kAll, text << ", seed " << kSeed << ", column " << wrong);
      });
    }
}

TEST_CASE("reduce_max and reduce_min give NaN for NaN at each place, and know the sign of zero") {
  for (const Encoding& e : kFloats)
    for (bool along : {true, false})
      for (const char* head : {"reduce_max", "reduce_min"})
        for (u32 n = 2; n <= 70; n += e.dtype == Dtype::kF32 ? 1 : 7) {
          const std::string sizes = std::to_string(n);
          const std::string shape = along ? "[2," + sizes + "]" : "[" + sizes + ",3]";
          const std::string type = e.name;
          const Kernels kernels(std::string(head) + ' ' + type + shape +
                                " axis=" + (along ? "1" : "0"));
          const bool greatest = std::string_view(head) == "reduce_max";
          const u32 rare = greatest ? e.zero : e.negative_zero;
          const u32 common = greatest ? e.negative_zero : e.zero;
          auto number = [&](u32 i) { return bits_of_number(e.dtype, 25.0 - i); };
          for (u32 place = 0; place < n; place++) {
            check_reduction(
                kernels, e, n, along,
                [&](u32 i) { return i == place ? (i % 2 ? e.nan : e.other_nan) : number(i); },
                e.nan);
            check_reduction(
                kernels, e, n, along, [&](u32 i) { return i == place ? rare : common; }, rare);
          }
          check_reduction(kernels, e, n, along, number, number(greatest ? 0 : n - 1));
          check_reduction(
              kernels, e, n, along, [&](u32) { return common; }, common);
        }
}

/// Rows whose vectors are of every second or third element, of all of them, and of borders.
TEST_CASE("pools give NaN for NaN in a window, and know the sign of zero") {
  for (const Encoding& e : {kFloats[0], kFloats[1]})
    for (const char* windows : {"window=2 stride=2", "window=3 stride=2", "window=5,4 stride=1,2",
                                "window=3 stride=3", "window=3 stride=1 padding=1",
                                "window=2 stride=2 nhwc", "window=3,2 stride=1 padding=1,0 nhwc"})
      for (u32 width : {5u, 8u, 18u, 33u, 35u, 67u}) {
        if (e.dtype != Dtype::kF32 && width > 18) continue;
        const bool nhwc = std::string_view(windows).ends_with("nhwc");
        const std::string text = std::string("max_pool ") + e.name +
                                 (nhwc ? "[1,7,2," : "[1,2,7,") + std::to_string(width) + "] " +
                                 windows;
        const Kernels kernels(text);
        const size_t results =
            morello_kernel_operand_size(kernels.kernels[0].get(), 1) / size_of(e.dtype);
        Elements in(e.dtype, size_t{14} * width), out(e.dtype, results);
        for (u32 round = 0; round < 8; round++) {
          std::mt19937 random(round);
          const u32 bits[] = {e.nan, e.other_nan, e.zero, e.negative_zero};
          for (u32 i = 0; i < 14 * width; i++) {
            const u32 at = static_cast<u32>(random() % (round < 4 ? 60 : 6));
            in.set(i, at < 4 ? bits[round % 2 == 0 ? at : 2 + at % 2]
                             : bits_of_number(e.dtype, -1.0 - static_cast<double>(random() % 9)));
          }
          std::vector<std::vector<u32>> seen;
          kernels.each({in.data(), out.data()}, [&] {
            seen.emplace_back();
            for (size_t i = 0; i < results; i++) seen.back().push_back(out.get(i));
          });
          for (const std::vector<u32>& one : seen)
            REQUIRE_MESSAGE(one == seen.back(), text << " round " << round);
        }
      }
}

/// Exponentials are computed of what is never above 0 there: but where a fast_max met a NaN.
TEST_CASE("softmax is NaN where its row has a NaN or infinity, and 0 of what is far below") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kLow[] = {-kInfinite, -std::numeric_limits<float>::max(), -1e30f, -104, -88, -87};
  for (u32 n : {3u, 16u, 37u, 200u, 1100u}) {
    const std::string shape = "f32[4," + std::to_string(n) + "]";
    const Kernels kernels("softmax " + shape + " axis=1");
    std::vector<float> in(size_t{4} * n), out(in.size());
    for (u32 place = 0; place < n; place += n / 3) {
      for (u32 i = 0; i < n; i++) {
        in[i] = i == place ? kNan : static_cast<float>(i % 7) * 40;
        in[n + i] = i == place ? kInfinite : -static_cast<float>(i);
        in[2 * n + i] = -kInfinite;
        in[3 * n + i] = i == place ? 2e38f : kLow[i % std::size(kLow)];
        if (i != place && i % 2 == 0) in[3 * n + i] = 1e38f;
      }
      kernels.each({in.data(), out.data()}, [&] {
        for (u32 i = 0; i < n; i++) {
          INFO("n " << n << " place " << place << " i " << i);
          REQUIRE(std::isnan(out[i]));
          REQUIRE((std::isnan(out[n + i]) || (i != place && out[n + i] == 0)));
          REQUIRE(std::isnan(out[2 * n + i]));
          REQUIRE(std::bit_cast<u32>(out[3 * n + i]) == std::bit_cast<u32>(i == place ? 1.f : 0.f));
        }
      });
    }
  }
}

/// As the reference, but for rounding of sums, which grows like the square root of the terms, and
/// for some units of the smallest numbers.
void check_near(const std::vector<std::vector<float>>& results, u32 terms) {
  const float most = 4 * std::sqrt(static_cast<float>(terms)) * 0x1p-24f;
  const std::vector<float>& expected = results.back();
  for (const std::vector<float>& result : results)
    for (size_t i = 0; i < result.size(); i++) {
      if (std::isnan(expected[i]) ? std::isnan(result[i]) : result[i] == expected[i]) continue;
      INFO("element " << i << ": " << result[i] << ", not " << expected[i]);
      REQUIRE(std::fabs(result[i] - expected[i]) <= most * std::fabs(expected[i]) + 1e-43f);
    }
}

/// Rows longer than L2 are cut into blocks with greatest elements of their own.
TEST_CASE("softmax of long rows: infinities, NaN, far and denormal numbers, wherever they are") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr u32 kRow = 1 << 19;
  for (const char* head : {"softmax", "log_softmax", "logsumexp"}) {
    const Kernels kernels(std::string(head) + " f32[1," + std::to_string(kRow) + "] axis=1");
    const bool one = std::string_view(head) == "logsumexp";
    std::vector<float> in(kRow), out(one ? 1 : kRow);
    for (u32 kind = 0; kind < 8; kind++) {
      INFO(std::string(head) << ", row of kind " << kind);
      for (u32 i = 0; i < kRow; i++) {
        const float x = static_cast<float>(i % 13) - 6;
        in[i] = kind == 0   ? -kInfinite
                : kind == 1 ? (i < kRow / 3 || i > kRow / 2 ? -kInfinite : x)
                : kind == 2 ? (i == kRow - 5 ? std::numeric_limits<float>::quiet_NaN() : x)
                : kind == 3 ? (i == 70000 ? kInfinite : x)
                : kind == 4 ? (i < 9 ? -kMost : -kInfinite)
                : kind == 5 ? (i % 100000 == 3 ? kMost : -kMost)
                : kind == 6 ? -static_cast<float>(i) / kRow * 130
                            : x - static_cast<float>(i / 4096);
      }
      std::vector<std::vector<float>> results;
      kernels.each({in.data(), out.data()}, [&] { results.push_back(out); });
      check_near(results, kRow);
    }
  }
}

TEST_CASE("attention over long rows whose masks leave out whole blocks, or everything") {
  constexpr u32 kKeys = 16384, kRows = 5, kDepth = 16;
  const std::string keys = " f32[" + std::to_string(kKeys) + ",16]";
  const Kernels kernels("attention f32[5,16]" + keys + keys + " f32[5," + std::to_string(kKeys) +
                        "]");
  std::vector<float> q(kRows * kDepth), k(kKeys * kDepth), v(k.size()), mask(kRows * kKeys);
  std::vector<float> out(q.size());
  std::mt19937 random(1);
  auto number = [&] { return static_cast<float>(random() % 4001) / 1000 - 2; };
  for (std::vector<float>* all : {&q, &k}) std::generate(all->begin(), all->end(), number);
  // Positive, so that sums are not near 0.
  std::generate(v.begin(), v.end(), [&] { return number() + 2; });
  for (u32 r = 0; r < kRows; r++)
    for (u32 c = 0; c < kKeys; c++) {
      const bool kept = r == 0 || (r == 1 ? c > 9000 : r == 2 ? c == 5 : r == 3 && c % 5000 < 10);
      mask[r * kKeys + c] = kept ? 0 : -std::numeric_limits<float>::infinity();
    }
  std::vector<std::vector<float>> results;
  kernels.each({q.data(), k.data(), v.data(), mask.data(), out.data()},
               [&] { results.push_back(out); });
  check_near(results, kKeys);
  CHECK(std::isnan(out.back()));
}

TEST_CASE("max and min give NaN for NaN in either operand, and know the sign of zero") {
  constexpr u32 kCount = 41;
  for (const Encoding& e : kFloats)
    for (const char* op : {"max", "min"}) {
      const std::string type = e.name, shape = "[" + std::to_string(kCount) + "]";
      const bool greatest = std::string_view(op) == "max";
      const u32 one = bits_of_number(e.dtype, 1), two = bits_of_number(e.dtype, -2);
      const u32 infinity = bits_of_number(e.dtype, std::numeric_limits<double>::infinity());
      const u32 cases[][3] = {
          {e.nan, one, e.nan},
          {one, e.other_nan, e.nan},
          {e.other_nan, e.nan, e.nan},
          {infinity, e.other_nan, e.nan},
          {one, two, greatest ? one : two},
          {two, one, greatest ? one : two},
          {infinity, one, greatest ? infinity : one},
          {e.zero, e.negative_zero, greatest ? e.zero : e.negative_zero},
          {e.negative_zero, e.zero, greatest ? e.zero : e.negative_zero},
          {e.negative_zero, e.negative_zero, e.negative_zero},
      };
      for (const std::string& text :
           {op + (" " + type) + shape + ' ' + type + shape,
            "move " + type + shape + " -> " + op + ' ' + type + shape + " -> " + type + shape,
            op + (" " + type) + shape + "{strides=2} " + type + shape + "{strides=2}"}) {
        const Kernels kernels(text);
        const u32 step = text.find("strides") == std::string::npos ? 1 : 2;
        Elements a(e.dtype, kCount * step), b(e.dtype, kCount * step), out(e.dtype, kCount);
        for (u32 i = 0; i < kCount; i++) {
          a.set(i * step, cases[i % std::size(cases)][0]);
          b.set(i * step, cases[i % std::size(cases)][1]);
        }
        kernels.each({a.data(), b.data(), out.data()}, [&] {
          for (u32 i = 0; i < kCount; i++) {
            INFO(text << " at " << i);
            REQUIRE(out.get(i) == cases[i % std::size(cases)][2]);
          }
        });
      }
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello::testing
