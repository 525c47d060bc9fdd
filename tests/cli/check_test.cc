// SPDX-License-Identifier: MIT
// The tool's check of results: what it compares, and that it finds what is wrong there.
#include "check.hh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace morello::tools {
namespace {

/// A kernel that has run, as `morello run` does it.
struct Subject {
  SpecPtr spec;
  KernelPtr kernel;
  std::unique_ptr<Operands> operands;

  explicit Subject(const char* text, float scale = 1) {
    morello_context* context = nullptr;
    REQUIRE(morello_context_create(nullptr, &context, nullptr) == MORELLO_OK);
    const ContextPtr owner(context);
    morello_spec* parsed = nullptr;
    REQUIRE(morello_spec_parse(context, text, &parsed, nullptr) == MORELLO_OK);
    spec.reset(parsed);
    morello_options options;
    morello_options_init(&options, sizeof options);
    options.time_budget = 1;  // any program will do
    morello_kernel* made = nullptr;
    REQUIRE(morello_synthesize(context, parsed, &options, &made, nullptr) == MORELLO_OK);
    kernel.reset(made);
    operands = std::make_unique<Operands>(parsed, made);
    operands->fill_random(1);
    for (uint32_t i = 0; scale != 1 && i < operands->count(); ++i) {
      std::vector<float> values;
      for_each_element(operands->tensor(i),
                       [&](size_t at) { values.push_back(operands->given(i)[at] * scale); });
      operands->set(i, values.data());
    }
    REQUIRE(operands->pack(made) == MORELLO_OK);
    REQUIRE(morello_kernel_run(made, operands->pointers(), operands->scratch(), nullptr) ==
            MORELLO_OK);
  }

  Reference reference(Extent extent, uint64_t seed = 1) const {
    Reference made(spec.get(), operands.get());
    REQUIRE(made.compute(extent, seed, nullptr, nullptr) == MORELLO_OK);
    return made;
  }

  Buffer copy() const {
    const Buffer& from = operands->result();
    Buffer result(from.bytes(), from.dtype());
    std::memcpy(result.memory(), from.memory(), from.bytes());
    return result;
  }
};

/// The places of the output's buffer where the check finds a change.
std::vector<bool> seen(const Subject& subject, Reference* reference, float change) {
  Buffer result = subject.copy();
  std::vector<bool> found;
  for (size_t at = 0; at < result.count(); ++at) {
    const float before = result.data()[at];
    result.data()[at] = before + change;
    const Check check = reference->check(result, nullptr);
    result.data()[at] = before;
    found.push_back(!check.ok);
    if (!check.ok) REQUIRE(check.worst_index == at);
  }
  return found;
}

uint64_t count(const std::vector<bool>& found) {
  return static_cast<uint64_t>(std::count(found.begin(), found.end(), true));
}

TEST_CASE("a full check finds every wrong element, and what is written between them") {
  for (const char* text :
       {"matmul f32[5,7] f32[7,9] -> f32[5,9]{strides=11,1}",
        "matmul f32[5,7]{0,1} f32[7,9]{*} += f32[5,9]{0,1}", "relu f32[] -> f32[]",
        "add f32[3,5]{strides=8,1} f32[5] -> relu -> f32[3,5]{strides=20,3}"}) {
    INFO(std::string(text));
    const Subject subject(text);
    Reference reference = subject.reference(Extent::kFull);
    const Check check = reference.check(subject.operands->result(), nullptr);
    CHECK(check.ok);
    CHECK(check.checked == subject.operands->output_elements());
    CHECK(check.checked == check.results);
    for (const float change :
         {0.5f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const std::vector<bool> found = seen(subject, &reference, change);
      CHECK(count(found) == found.size());
    }
  }
}

TEST_CASE("what is computed of integers is exact until something rounds as it likes") {
  const struct {
    const char* text;
    bool exact;
  } cases[] = {
      {"relu i8[5] -> i8[5]", true},
      {"sqrt u8[5] -> f32[5]", true},
      {"div i8[4,5] i8[5] -> f32[4,5]", true},
      {"matmul u8[3,64] i8[64,5] + i32[1,5] * f32[1,5] + f32[] -> u8[3,5]", true},
      {"einsum \"km,kn->nm\" i8[9,3] i8[9,4] -> i32[4,3]", true},
      {"x = relu i8[4,6]; reduce_sum x axis=1 -> i32[4]", true},
      {"max_pool u8[1,6,6,3] window=2,2", true},
      {"x = div i8[4,6] i8[4,6]; reduce_sum x axis=1", false},
      {"matmul u8[3,64] i8[64,5] * f32[] -> gelu -> f32[3,5]", false},
      {"scaled_matmul i8[3,64] i8[64,5] f32[4,5] f32[3,4]", false},
      {"matmul f32[3,64] i8[64,5] -> f32[3,5]", false},
      {"exp i8[64] -> f32[64]", false},
      {"sigmoid u8[64] -> f32[64]", false},
      {"gelu i8[64] -> i8[64]", false},
      {"log u8[64] -> f32[64]", false},
      {"rsqrt i8[64] -> f32[64]", false},
      {"layernorm i8[4,64] axis=1", false},
      {"rmsnorm u8[4,64] axis=1", false},
      {"log_softmax i8[4,64] axis=1", false},
      {"mean i8[4,60] axis=1", false},
  };
  for (const auto& [text, exact] : cases) {
    INFO(text);
    const Subject subject(text);
    CHECK(subject.operands->results_are_exact() == exact);
    Reference reference = subject.reference(Extent::kFull);
    const Check check = reference.check(subject.operands->result(), nullptr);
    CHECK_MESSAGE(check.ok, check.describe());
    // A result that is further away is wrong whatever may be rounded.
    Buffer result = subject.copy();
    for (size_t at = 0; at < result.count(); ++at)
      result.set(at, result.at(at) >= 64 ? result.at(at) * 0.9 : result.at(at) + 8);
    CHECK(!reference.check(result, nullptr).ok);
  }
}

TEST_CASE("a sample is what it says, spread over the whole, and the same for the same seed") {
  const Subject subject("relu f32[90,100] -> f32[90,100]{strides=101,1}");
  Reference reference = subject.reference(Extent::kSample);
  const Check check = reference.check(subject.operands->result(), nullptr);
  CHECK(check.ok);
  CHECK(check.results == 9000);
  CHECK(check.checked == 4096);
  const std::vector<bool> found = seen(subject, &reference, 0.5f);
  uint64_t gaps = 0;
  std::vector<uint64_t> rows(90), columns(100);
  for (size_t at = 0; at < found.size(); ++at) {
    if (at % 101 == 100) {
      gaps += found[at];
    } else {
      rows[at / 101] += found[at];
      columns[at % 101] += found[at];
    }
  }
  CHECK(gaps == 89);
  CHECK(count(found) == 4096 + 89);
  CHECK(*std::min_element(rows.begin(), rows.end()) >= 20);
  CHECK(*std::min_element(columns.begin(), columns.end()) >= 15);
  CHECK(found[0]);
  CHECK(found[89 * 101 + 99]);
  CHECK(columns.front() > 60);  // edges are worth more
  CHECK(columns.back() > 60);

  Reference again = subject.reference(Extent::kSample);
  CHECK(seen(subject, &again, 0.5f) == found);
  Reference other = subject.reference(Extent::kSample, 2);
  CHECK(seen(subject, &other, 0.5f) != found);
}

TEST_CASE("a small result is checked as a whole, a sample or not; a large one by sample") {
  const Subject small("matmul f32[20,7] f32[7,30] -> f32[20,30]");
  for (const Extent extent : {Extent::kAuto, Extent::kSample})
    CHECK(small.reference(extent).check(small.operands->result(), nullptr).checked == 600);
  const Subject large("matmul f32[1300,1300] f32[1300,1300] -> f32[1300,1300]");
  Reference reference = large.reference(Extent::kAuto);
  CHECK(reference.check(large.operands->result(), nullptr).checked == 4096);
  Buffer result = large.copy();
  std::mt19937_64 random(3);
  for (size_t at = 0; at < result.count(); ++at)
    if (random() % 500 == 0) result.data()[at] += 0.125f;
  CHECK_FALSE(reference.check(result, nullptr).ok);
  // Few elements of much work each: fewer are checked, at least one.
  const Subject deep(
      "matmul f32[80,1000000]{strides=0,1} f32[1000000,80]{strides=1,0} -> f32[80,80]");
  const Check check = deep.reference(Extent::kAuto).check(deep.operands->result(), nullptr);
  CHECK(check.ok);
  CHECK(check.checked >= 1000);
  CHECK(check.checked < 3000);
}

TEST_CASE("rounding is allowed for, and no more") {
  // Values that are no multiples of 1/64.
  const Subject subject("matmul f32[20,1000] f32[1000,30] + f32[30] -> f32[20,30]", 1.1f);
  for (const Extent extent : {Extent::kFull, Extent::kSample}) {
    Reference reference = subject.reference(extent);
    const Check check = reference.check(subject.operands->result(), nullptr);
    CHECK(check.ok);
    CHECK(check.worst_error > 0);
    CHECK(check.worst_share < 0.5);
    Buffer result = subject.copy();
    const double allowed = check.worst_error / check.worst_share;
    result.data()[check.worst_index] = check.want + static_cast<float>(allowed * 1.1);
    CHECK_FALSE(reference.check(result, nullptr).ok);
    result.data()[check.worst_index] = check.want + static_cast<float>(allowed * 0.9);
    CHECK(reference.check(result, nullptr).ok);
  }
}

TEST_CASE("elements are doubles and back") {
  for (const int32_t dtype : {MORELLO_BF16, MORELLO_F16, MORELLO_I8, MORELLO_U8}) {
    const uint32_t all = size_of(dtype) == 1 ? 256 : 65536;
    for (uint32_t bits = 0; bits < all; ++bits) {
      uint32_t back = 0;
      const double value = load(dtype, &bits, 0);
      store(dtype, &back, 0, value);
      REQUIRE((back == bits || std::isnan(value)));
    }
  }
  const auto stored = [](int32_t dtype, double value) {
    uint32_t bits = 0;
    store(dtype, &bits, 0, value);
    return bits;
  };
  CHECK(stored(MORELLO_BF16, 1 + 0x1p-8) == 0x3f80);  // to even
  CHECK(stored(MORELLO_BF16, 1 + 3 * 0x1p-8) == 0x3f82);
  CHECK(stored(MORELLO_F16, 65519) == 0x7bff);
  CHECK(stored(MORELLO_F16, -65520) == 0xfc00);
  CHECK(stored(MORELLO_U8, -1) == 0);
  CHECK(stored(MORELLO_I8, 127.5) == 127);
  CHECK(stored(MORELLO_I32, 3e9) == 0x7fffffff);
  CHECK(stored(MORELLO_I32, std::numeric_limits<double>::quiet_NaN()) == 0);
}

TEST_CASE("results of every element type are checked") {
  for (const char* text :
       {"matmul bf16[5,7] bf16[7,9] -> f32[5,9]", "matmul f32[5,7] f16[7,9] -> f16[5,9]",
        "matmul u8[5,7] i8[7,9] -> i32[5,9]", "matmul u8[5,7] i8[7,9] * f32[9] -> u8[5,9]",
        "matmul bf16[5,7] i8[7,9] * f32[1,9] -> bf16[5,9]", "move f32[5,9] -> i8[5,9]"}) {
    INFO(std::string(text));
    const Subject subject(text);
    Reference reference = subject.reference(Extent::kFull);
    CHECK(reference.check(subject.operands->result(), nullptr).ok);
    Buffer result = subject.copy();
    for (size_t at = 0; at < result.count(); ++at) {
      const double before = result.at(at);
      result.set(at, before > 0 ? before - 40 : before + 40);  // wherever it is: another number
      CHECK_FALSE(reference.check(result, nullptr).ok);
      result.set(at, before);
    }
  }
}

TEST_CASE("progress rises to the end") {
  const Subject subject("matmul f32[300,1000] f32[1000,500] -> f32[300,500]");
  Reference reference(subject.spec.get(), subject.operands.get());
  std::vector<uint64_t> told;
  const auto progress = [&](uint64_t done, uint64_t all) {
    CHECK(all == 150000);
    told.push_back(done);
  };
  REQUIRE(reference.compute(Extent::kFull, 1, progress, nullptr) == MORELLO_OK);
  CHECK(told.size() >= 3);
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.back() == 150000);
}

}  // namespace
}  // namespace morello::tools
