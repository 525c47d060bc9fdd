// SPDX-License-Identifier: MIT
// Operands of a kernel in memory, filled at random, and the reference result beside them.
#ifndef MORELLO_TESTS_CAPI_BUFFERS_HH
#define MORELLO_TESTS_CAPI_BUFFERS_HH

#include <cmath>
#include <cstring>
#include <random>

#include "handles.hh"

namespace morello::testing {

/// What one run of `kernel` reads and writes. Free layouts are packed by the kernel itself.
class Buffers {
 public:
  Buffers(const morello_spec* spec, const morello_kernel* kernel, uint32_t seed) : spec_(spec) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    for (uint32_t i = 0; i < morello_kernel_operand_count(kernel); i++) {
      morello_tensor tensor{};
      REQUIRE(morello_spec_operand(spec, i, &tensor) == MORELLO_OK);
      const bool free = tensor.layout == MORELLO_LAYOUT_FREE;
      size_t span = 1, elements = 1;
      for (uint32_t axis = 0; axis < tensor.rank; axis++) {
        elements *= static_cast<size_t>(tensor.shape[axis]);
        span += static_cast<size_t>((tensor.shape[axis] - 1) * tensor.strides[axis]);
      }
      std::vector<float> given(free ? elements : span);
      for (float& v : given) v = value(random);
      std::vector<float> memory = given;
      bytes_.push_back(morello_kernel_operand_size(kernel, i));
      if (free) {
        memory.assign(bytes_.back() / sizeof(float), NAN);
        REQUIRE(morello_kernel_pack(kernel, static_cast<int>(i), given.data(), memory.data()) ==
                MORELLO_OK);
      }
      REQUIRE(memory.size() * sizeof(float) == bytes_.back());
      reference_.push_back(std::move(given));
      memory_.push_back(std::move(memory));
    }
    for (std::vector<float>& m : memory_) operands_.push_back(m.data());
  }

  void* const* operands() const { return operands_.data(); }
  const size_t* bytes() const { return bytes_.data(); }
  uint32_t count() const { return static_cast<uint32_t>(operands_.size()); }
  std::vector<float>& output() { return memory_.back(); }

  /// How far the output is from the reference, at most.
  float error() {
    std::vector<void*> operands;
    for (std::vector<float>& r : reference_) operands.push_back(r.data());
    REQUIRE(morello_spec_evaluate(spec_, operands.data(), nullptr) == MORELLO_OK);
    float worst = 0;
    for (size_t i = 0; i < output().size(); i++) {
      const float difference = std::fabs(output()[i] - reference_.back()[i]);
      if (!(difference <= worst)) worst = difference;
    }
    return worst;
  }

 private:
  const morello_spec* spec_;
  std::vector<std::vector<float>> memory_, reference_;
  std::vector<void*> operands_;
  std::vector<size_t> bytes_;
};

}  // namespace morello::testing

#endif
