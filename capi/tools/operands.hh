// SPDX-License-Identifier: MIT
// The tensors of one run: memory for every operand, random values, and the check of a kernel's
// result against morello_spec_evaluate().
#ifndef MORELLO_CAPI_TOOLS_OPERANDS_HH
#define MORELLO_CAPI_TOOLS_OPERANDS_HH

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "handles.hh"

namespace morello::tools {

/// An aligned array of f32, owned.
class Buffer {
 public:
  explicit Buffer(size_t bytes, size_t alignment = 64);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t count() const { return count_; }
  float* begin() { return data(); }
  float* end() { return data() + count_; }
  const float* begin() const { return data(); }
  const float* end() const { return data() + count_; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  size_t count_;
  std::unique_ptr<float, Free> data_;
};

/// What one output element may differ by, and where it differed most.
struct Check {
  bool ok = false;
  double worst_error = 0;   // of all elements: |got - want|
  double worst_share = 0;   // of all elements: error as a share of what that element may differ by
  size_t worst_index = 0;   // element of the output's buffer where worst_share was seen
  float got = 0, want = 0;  // there
  std::string describe() const;
};

/// Operands of one kernel. `given` are as the Spec states them (free layouts: row-major); the
/// kernel reads `packed`, which differ from them only where a layout was free.
class Operands {
 public:
  /// REQUIRES: every operand of `spec` is f32 (see unsupported()).
  Operands(const morello_spec* spec, const morello_kernel* kernel);

  /// Fills everything, the output too (an accumulating Spec reads it), with multiples of 1/64 in
  /// [-1, 1]: sums of thousands of their products are exact in f32 in any order.
  void fill_random(uint64_t seed);
  /// Writes `values`, in row-major order of the shape, into operand `index`.
  void set(uint32_t index, const std::vector<float>& values);
  /// Reads the output, in row-major order of its shape.
  std::vector<float> output() const;

  /// Operand `index` as the Spec states it.
  const float* given(uint32_t index) const { return given_[index].data(); }

  /// Copies the given operands to what the kernel reads. Call after the last change of an input.
  morello_status pack(const morello_kernel* kernel);
  void* const* pointers() const { return pointers_.data(); }
  void* scratch() { return scratch_.count() != 0 ? scratch_.data() : nullptr; }
  const morello_tensor& tensor(uint32_t index) const { return tensors_[index]; }
  uint32_t count() const { return static_cast<uint32_t>(tensors_.size()); }
  uint64_t output_elements() const;
  /// Bytes that must be read and written at least once.
  double compulsory_bytes() const;

  /// Computes the expected result from the current operands. REQUIRES: pack() was called, and the
  /// kernel has not run since the output was filled.
  morello_status expect(morello_error** err);
  /// Compares `result`, a buffer as large as the output's, with what expect() found. What lies
  /// between the elements must be unchanged.
  Check check(const Buffer& result);
  const Buffer& result() const { return packed_.back(); }
  /// The output as it was before the kernel ran.
  const Buffer& initial_output() const { return given_.back(); }

 private:
  void measure_terms();

  SpecPtr spec_;
  std::vector<morello_tensor> tensors_;
  std::vector<Buffer> given_, packed_;
  std::vector<void*> pointers_;
  Buffer scratch_;
  std::vector<float> want_;
  std::vector<float> scale_;  // how large the terms of each element are; empty until needed
};

/// Empty, or why the tool cannot run this Spec.
std::string unsupported(const morello_spec* spec);

/// Elements of a tensor.
uint64_t element_count(const morello_tensor& tensor);

}  // namespace morello::tools

#endif
