// SPDX-License-Identifier: MIT
// The tensors of one run: memory for every operand, and random values.
#ifndef MORELLO_CAPI_TOOLS_OPERANDS_HH
#define MORELLO_CAPI_TOOLS_OPERANDS_HH

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "element.hh"
#include "handles.hh"

namespace morello::tools {

/// An aligned array of one element type, owned.
class Buffer {
 public:
  explicit Buffer(size_t bytes, int32_t dtype = MORELLO_F32, size_t alignment = 64);
  /// As f32, for those who know that it is.
  float* data() { return static_cast<float*>(data_.get()); }
  const float* data() const { return static_cast<const float*>(data_.get()); }
  void* memory() { return data_.get(); }
  const void* memory() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  int32_t dtype() const { return dtype_; }
  size_t count() const { return bytes_ / size_of(dtype_); }
  double at(size_t index) const { return load(dtype_, data_.get(), index); }
  void set(size_t index, double value) { store(dtype_, data_.get(), index, value); }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  size_t bytes_;
  int32_t dtype_;
  std::unique_ptr<void, Free> data_;
};

/// Operands of one kernel. `given` are as the Spec states them (free layouts: row-major); the
/// kernel reads `packed`, which differ from them only where a layout was free.
class Operands {
 public:
  Operands(const morello_spec* spec, const morello_kernel* kernel);

  /// Fills everything, the output too (an accumulating Spec reads it). Floats: multiples of 1/64
  /// in [-1, 1], of which sums of thousands of products are exact in f32 in any order; 1/1024 of
  /// that as scales of a product of integers, for it not to saturate. Bytes: all there are. i32:
  /// from -1000 to 1000.
  void fill_random(uint64_t seed);
  /// Writes elements of its type, in row-major order of the shape, into operand `index`.
  void set(uint32_t index, const void* elements);
  /// Reads an output, in row-major order of its shape.
  std::vector<char> output(uint32_t output = 0) const;

  /// Operand `index` as the Spec states it; outputs as they were before the kernel ran.
  const float* given(uint32_t index) const { return given_[index].data(); }
  const Buffer& given_buffer(uint32_t index) const { return given_[index]; }
  /// All of them, as morello_spec_evaluate_at() takes them, which writes none.
  void* const* given_pointers() const { return given_pointers_.data(); }

  /// Copies the given operands to what the kernel reads. Call after the last change of an input.
  morello_status pack(const morello_kernel* kernel);
  void* const* pointers() const { return pointers_.data(); }
  void* scratch() { return scratch_.bytes() != 0 ? scratch_.memory() : nullptr; }
  const morello_tensor& tensor(uint32_t index) const { return tensors_[index]; }
  uint32_t count() const { return static_cast<uint32_t>(tensors_.size()); }
  uint32_t output_count() const { return output_count_; }
  /// The operand that an output is.
  uint32_t operand_of(uint32_t output) const { return count() - output_count_ + output; }
  /// Of all outputs.
  uint64_t output_elements() const;
  /// Bytes that must be read and written at least once.
  double compulsory_bytes() const;
  /// All that is multiplied, added or reduced first is integers, so nothing depends on an order.
  bool sums_are_exact() const;
  /// So is all that follows: each result is one number, or the kernel is wrong.
  bool results_are_exact() const { return exact_; }
  /// All operands are integers.
  bool are_integers() const;

  const Buffer& result(uint32_t output = 0) const { return packed_[operand_of(output)]; }

 private:
  uint32_t output_count_;
  bool exact_ = false;
  std::vector<morello_tensor> tensors_;
  std::vector<Buffer> given_, packed_;
  std::vector<void*> given_pointers_, pointers_;
  Buffer scratch_;
};

/// Elements of a tensor.
uint64_t element_count(const morello_tensor& tensor);
/// Elements from one to the next along each axis; of a free layout, row-major.
std::vector<int64_t> strides_of(const morello_tensor& tensor);
/// Where element `number` in row-major order of the shape is.
size_t offset_of(const morello_tensor& tensor, uint64_t number);

/// Calls visit(offset) for every element, in row-major order of the shape.
template <typename Visit>
void for_each_element(const morello_tensor& tensor, Visit visit) {
  const std::vector<int64_t> strides = strides_of(tensor);
  int64_t index[MORELLO_MAX_RANK] = {};
  int64_t offset = 0;
  for (uint64_t left = element_count(tensor); left != 0; --left) {
    visit(static_cast<size_t>(offset));
    for (uint32_t axis = tensor.rank; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      offset -= strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace morello::tools

#endif
