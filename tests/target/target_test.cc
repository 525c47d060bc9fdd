// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "morello/morello.h"
#include "target/dots.hh"
#include "target/isa.hh"

namespace morello {
namespace {

/// Sets MORELLO_MAX_ISA for one test.
class ScopedCap {
 public:
  explicit ScopedCap(const char* value) {
    const char* before = std::getenv("MORELLO_MAX_ISA");
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value != nullptr) setenv("MORELLO_MAX_ISA", value, 1);
    if (value == nullptr) unsetenv("MORELLO_MAX_ISA");
  }
  ~ScopedCap() {
    if (had_) setenv("MORELLO_MAX_ISA", before_.c_str(), 1);
    if (!had_) unsetenv("MORELLO_MAX_ISA");
  }

 private:
  bool had_ = false;
  std::string before_;
};

Features cap_of(const char* value) {
  const ScopedCap cap(value);
  const Result<Features> found = cap_from_environment();
  REQUIRE(found.ok());
  return *found;
}

std::string refusal_of(const char* value) {
  const ScopedCap cap(value);
  const Result<Features> found = cap_from_environment();
  REQUIRE(!found.ok());
  CHECK(found.error().status == MORELLO_INVALID_ARGUMENT);
  return found.error().message;
}

}  // namespace

TEST_SUITE_BEGIN("target");

TEST_CASE("targets have names, which are understood in any case, and numbers") {
  for (const Target& t : fixed_targets()) {
    CHECK(find_target(t.name) == &t);
    CHECK(find_target(t.number) == &t);
  }
  CHECK(find_target("AVX2") == fixed_target(Isa::kAvx2));
  CHECK(find_target("Avx512") == fixed_target(Isa::kAvx512));
  for (const char* other : {"", "none", "avx", "avx2 ", "avx5122", "sse4"})
    CHECK(find_target(other) == nullptr);
  CHECK(find_target(MORELLO_ISA_AUTO) == nullptr);
  CHECK(find_target(-1) == nullptr);
}

TEST_CASE("MORELLO_MAX_ISA allows the features of the target that it names, in any case") {
  const Features avx2 = fixed_target(Isa::kAvx2)->required;
  const Features avx512 = fixed_target(Isa::kAvx512)->required;
  CHECK(cap_of("avx2") == avx2);
  CHECK(cap_of("AVX2") == avx2);
  CHECK(cap_of("avx512") == avx512);
  CHECK(cap_of("Avx512") == avx512);
  CHECK(cap_of(nullptr) == kAllFeatures);
  CHECK(cap_of("") == kAllFeatures);
}

TEST_CASE("a target is usable where the CPU has, and the cap allows, all that it requires") {
  Target two = *fixed_target(Isa::kAvx2);
  two.required = features(Feature::kAvx2, Feature::kAvxVnni);
  const Features a = features(Feature::kAvx2), b = features(Feature::kAvxVnni);
  const Features other = features(Feature::kAvx512f);
  CHECK(usable(two, a | b, kAllFeatures));
  CHECK(usable(two, a | b | other, a | b));
  CHECK(!usable(two, a, kAllFeatures));
  CHECK(!usable(two, b | other, kAllFeatures));
  CHECK(!usable(two, a | b, a));
  CHECK(!usable(two, kAllFeatures, b | other));
}

TEST_CASE("AUTO is the last usable target; features of one do not come with another's") {
  const Target *avx2 = fixed_target(Isa::kAvx2), *avx512 = fixed_target(Isa::kAvx512);
  CHECK(best_target(kAllFeatures, kAllFeatures) == &fixed_targets().back());
  CHECK(best_target(avx512->required, kAllFeatures) == avx512);
  CHECK(best_target(avx512->required, avx2->required) == avx2);
  CHECK(best_target(avx2->required, avx512->required) == avx2);
  CHECK(best_target(kNoFeatures, kAllFeatures) == nullptr);
  for (Feature f : {Feature::kFma, Feature::kF16c, Feature::kBmi2, Feature::kAvx2})
    CHECK(best_target(kAllFeatures & ~features(f), kAllFeatures) == nullptr);
  for (Feature f : {Feature::kAvx512bw, Feature::kAvx512vl})
    CHECK(best_target(kAllFeatures & ~features(f), kAllFeatures) == find_target("avx2_vnni"));
}

TEST_CASE("AUTO asks for no feature that makes no difference to the element types") {
  auto best = [](Features cpu, std::initializer_list<Dtype> types) {
    return best_target(cpu, kAllFeatures, types);
  };
  const Target *avx2 = fixed_target(Isa::kAvx2), *avx512 = fixed_target(Isa::kAvx512);
  const Target *vnni = find_target("avx512_vnni"), *bf16 = find_target("avx512_bf16");
  CHECK(best(kAllFeatures, {Dtype::kF32}) == avx512);
  CHECK(best(kAllFeatures, {Dtype::kF32, Dtype::kF16}) == avx512);
  const Target* amx = find_target("avx512_amx");
  CHECK(best(kAllFeatures, {Dtype::kF32, Dtype::kBf16}) == amx);
  CHECK(best(kAllFeatures, {Dtype::kI8, Dtype::kF32}) == amx);
  CHECK(best(bf16->required, {Dtype::kF32, Dtype::kBf16}) == bf16);
  CHECK(best(bf16->required, {Dtype::kI8, Dtype::kF32}) == vnni);
  CHECK(best(vnni->required, {Dtype::kBf16}) == avx512);
  CHECK(best(find_target("avx2_vnni")->required, {Dtype::kF32}) == avx2);
  CHECK(best(find_target("avx2_vnni")->required, {Dtype::kU8, Dtype::kI8}) ==
        find_target("avx2_vnni"));
  CHECK(best(kNoFeatures, {Dtype::kF32}) == nullptr);
}

TEST_CASE("a value of MORELLO_MAX_ISA that is none is refused, and named with the valid ones") {
  for (const char* value : {"none", "amx", "sse4.2", "avx", "avx2 ", " avx2", "avx512f", "0"}) {
    const std::string message = refusal_of(value);
    CAPTURE(message);
    for (const std::string& part :
         {std::string("MORELLO_MAX_ISA"), "\"" + std::string(value) + "\"", std::string("avx2"),
          std::string("avx512")})
      CHECK(message.find(part) != std::string::npos);
  }
  const std::string message = refusal_of(("\n\x80" + std::string(100000, 'x')).c_str());
  CHECK(message.size() < 300);
  for (char c : message) CHECK((c >= ' ' && c <= '~'));
}

TEST_CASE("the machine is what the compiler's own check says") {
  const Machine machine = read_machine();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  const Dtype f32[] = {Dtype::kF32};
  CHECK(best_target(machine.features, kAllFeatures, f32) == fixed_target(avx512 ? Isa::kAvx512
                                                                         : avx2 ? Isa::kAvx2
                                                                                : Isa::kNone));
  auto has = [&](Feature f) { return includes(machine.features, features(f)); };
  CHECK(has(Feature::kAvx2) == (__builtin_cpu_supports("avx2") != 0));
  CHECK(has(Feature::kAvx512Vnni) == (__builtin_cpu_supports("avx512vnni") != 0));
  CHECK(has(Feature::kAvx512Bf16) == (__builtin_cpu_supports("avx512bf16") != 0));
  CHECK(!machine.name.empty());
  CHECK(machine.name.front() != ' ');
  CHECK(machine.name.back() != ' ');
  CHECK(machine.processors >= 1);
  for (u64 bytes : {machine.l1_bytes, machine.l2_bytes, machine.l3_bytes}) {
    CHECK(bytes % kLineBytes == 0);
    CHECK(bytes < u64{1} << 40);
  }
  if (machine.l2_bytes != 0) CHECK(machine.l1_bytes <= machine.l2_bytes);
}

TEST_CASE("the fixed models") {
  CHECK(fixed_target(Isa::kNone) == nullptr);
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const Target* t = fixed_target(isa);
    REQUIRE(t != nullptr);
    CHECK(t == fixed_target(isa));
    CHECK(t->number == static_cast<i32>(isa));
    CHECK(t->machine == "generic-x86-64");
    CHECK(t->processors == 1);
    CHECK(t->has_masks == (isa == Isa::kAvx512));
    CHECK(t->at(Level::kL1).bytes < t->at(Level::kL2).bytes);
    CHECK(t->at(Level::kL1).line_units <= t->at(Level::kL2).line_units);
    CHECK(t->at(Level::kL2).line_units <= t->at(Level::kMemory).line_units);
  }
  CHECK(fixed_target(Isa::kAvx2)->lanes(4) == 8);
  CHECK(fixed_target(Isa::kAvx512)->lanes(4) == 16);
  CHECK(fixed_target(Isa::kAvx2)->vector_registers == 16);
  CHECK(fixed_target(Isa::kAvx512)->vector_registers == 32);
}

TEST_CASE("each_field() comes to every field of a target, in their order") {
  const Target& target = *fixed_target(Isa::kAvx2);
  const char* const begin = reinterpret_cast<const char*>(&target);
  size_t end = 0;
  std::set<std::string_view> names;
  each_field(target, [&]<class T>(std::string_view name, const T& field) {
    const size_t at = static_cast<size_t>(reinterpret_cast<const char*>(&field) - begin);
    INFO(name);
    CHECK(at >= end);
    CHECK(at - end < alignof(T));  // there is no room for a field between
    end = at + sizeof field;
    CHECK(names.insert(name).second);
  });
  CHECK(sizeof target - end < alignof(Target));
}

TEST_CASE("with_machine changes what it is given, and names the model by whose caches it has") {
  const Target& base = *fixed_target(Isa::kAvx2);
  const Target same = with_machine(base, 0, 0, 0);
  CHECK(same.machine == base.machine);
  CHECK(same.at(Level::kL1).bytes == base.at(Level::kL1).bytes);
  const Target threads = with_machine(base, 0, 0, 8);
  CHECK(threads.processors == 8);
  CHECK(threads.machine == base.machine);
  const Target host = with_machine(base, 48 << 10, 2 << 20, 4);
  CHECK(host.at(Level::kL1).bytes == 48 << 10);
  CHECK(host.at(Level::kL2).bytes == 2 << 20);
  CHECK(host.at(Level::kMemory).line_units == base.at(Level::kMemory).line_units);
  CHECK(host.processors == 4);
  CHECK(host.machine == "host");
}

TEST_SUITE_END();

}  // namespace morello
