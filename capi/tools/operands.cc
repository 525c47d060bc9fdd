// SPDX-License-Identifier: MIT
#include "operands.hh"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>

#include "fmt/format.h"

namespace morello::tools {
namespace {

/// Floats from the first to past the last element.
size_t extent(const morello_tensor& tensor) {
  const std::vector<int64_t> strides = strides_of(tensor);
  int64_t last = 0;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    last += strides[axis] * (tensor.shape[axis] - 1);
  }
  return static_cast<size_t>(last) + 1;
}

}  // namespace

Buffer::Buffer(size_t bytes, size_t alignment) : count_((bytes + 3) / 4) {
  alignment = std::max<size_t>(alignment, 64);
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  data_.reset(static_cast<float*>(memory));
}

void Buffer::Free::operator()(float* p) const { std::free(p); }

uint64_t element_count(const morello_tensor& tensor) {
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    count *= static_cast<uint64_t>(tensor.shape[axis]);
  }
  return count;
}

std::vector<int64_t> strides_of(const morello_tensor& tensor) {
  std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.rank);
  if (tensor.layout != MORELLO_LAYOUT_FREE) return strides;
  int64_t stride = 1;
  for (uint32_t axis = tensor.rank; axis-- > 0;) {
    strides[axis] = stride;
    stride *= tensor.shape[axis];
  }
  return strides;
}

size_t offset_of(const morello_tensor& tensor, uint64_t number) {
  const std::vector<int64_t> strides = strides_of(tensor);
  uint64_t offset = 0;
  for (uint32_t axis = tensor.rank; axis-- > 0;) {
    const uint64_t size = static_cast<uint64_t>(tensor.shape[axis]);
    offset += number % size * static_cast<uint64_t>(strides[axis]);
    number /= size;
  }
  return offset;
}

std::string unsupported(const morello_spec* spec) {
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); ++i) {
    morello_tensor tensor = {};
    if (morello_spec_operand(spec, i, &tensor) != MORELLO_OK || tensor.dtype != MORELLO_F32) {
      return fmt::format("operand {} is not f32: this version of the tool runs f32 only", i);
    }
  }
  return {};
}

Operands::Operands(const morello_spec* spec, const morello_kernel* kernel)
    : scratch_(morello_kernel_scratch_size(kernel), morello_kernel_scratch_alignment(kernel)) {
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); ++i) {
    morello_tensor tensor = {};
    morello_spec_operand(spec, i, &tensor);
    tensors_.push_back(tensor);
    given_.emplace_back(extent(tensor) * sizeof(float));
    packed_.emplace_back(morello_kernel_operand_size(kernel, i));
    given_pointers_.push_back(given_.back().data());
    pointers_.push_back(packed_.back().data());
  }
}

void Operands::fill_random(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (Buffer& buffer : given_) {
    for (float& value : buffer) value = (static_cast<float>(random() % 129) - 64.0f) / 64.0f;
  }
}

void Operands::set(uint32_t index, const std::vector<float>& values) {
  size_t next = 0;
  float* data = given_[index].data();
  for_each_element(tensors_[index], [&](size_t offset) { data[offset] = values[next++]; });
}

std::vector<float> Operands::output() const {
  std::vector<float> values;
  values.reserve(output_elements());
  const float* data = result().data();
  for_each_element(tensors_.back(), [&](size_t offset) { values.push_back(data[offset]); });
  return values;
}

morello_status Operands::pack(const morello_kernel* kernel) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].layout == MORELLO_LAYOUT_FREE) {
      const morello_status status =
          morello_kernel_pack(kernel, static_cast<int>(i), given_[i].data(), packed_[i].data());
      if (status != MORELLO_OK) return status;
    } else {
      std::copy(given_[i].begin(), given_[i].end(), packed_[i].begin());
    }
  }
  return MORELLO_OK;
}

uint64_t Operands::output_elements() const { return element_count(tensors_.back()); }

double Operands::compulsory_bytes() const {
  double elements = 0;
  for (const morello_tensor& tensor : tensors_) {
    elements += static_cast<double>(element_count(tensor));
  }
  return elements * sizeof(float);
}

}  // namespace morello::tools
