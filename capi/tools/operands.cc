// SPDX-License-Identifier: MIT
#include "operands.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include "fmt/format.h"

namespace morello::tools {
namespace {

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

/// Floats from the first to past the last element.
size_t extent(const morello_tensor& tensor) {
  const std::vector<int64_t> strides = strides_of(tensor);
  int64_t last = 0;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    last += strides[axis] * (tensor.shape[axis] - 1);
  }
  return static_cast<size_t>(last) + 1;
}

float absolute_finite(float x) { return std::isfinite(x) ? std::fabs(x) : 0.0f; }

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

std::string unsupported(const morello_spec* spec) {
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); ++i) {
    morello_tensor tensor = {};
    if (morello_spec_operand(spec, i, &tensor) != MORELLO_OK || tensor.dtype != MORELLO_F32) {
      return fmt::format("operand {} is not f32: this version of the tool runs f32 only", i);
    }
  }
  return {};
}

std::string Check::describe() const {
  return fmt::format(
      "worst error {:.3g}, {:.2g} of what rounding allows{}", worst_error, worst_share,
      ok ? std::string()
         : fmt::format("; element {} is {:.9g}, expected {:.9g}", worst_index, got, want));
}

Operands::Operands(const morello_spec* spec, const morello_kernel* kernel)
    : scratch_(morello_kernel_scratch_size(kernel), morello_kernel_scratch_alignment(kernel)),
      flops_(morello_spec_flops(spec)) {
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); ++i) {
    morello_tensor tensor = {};
    morello_spec_operand(spec, i, &tensor);
    tensors_.push_back(tensor);
    given_.emplace_back(extent(tensor) * sizeof(float));
    packed_.emplace_back(morello_kernel_operand_size(kernel, i));
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

morello_status Operands::expect(const morello_spec* spec, morello_error** err) {
  // Rounding errors grow with the size of the terms, not of their sum: the same Spec of the
  // absolute values has the size.
  std::vector<void*> pointers;
  for (Buffer& buffer : given_) pointers.push_back(buffer.data());
  const std::vector<float> start(given_.back().begin(), given_.back().end());
  morello_status status = morello_spec_evaluate(spec, pointers.data(), err);
  if (status != MORELLO_OK) return status;
  want_.assign(given_.back().begin(), given_.back().end());

  float largest_input = 0;
  std::vector<Buffer> absolute;
  for (size_t i = 0; i < given_.size(); ++i) {
    const bool is_output = i + 1 == given_.size();
    const float* from = is_output ? start.data() : given_[i].data();
    absolute.emplace_back(given_[i].count() * sizeof(float));
    for (size_t e = 0; e < given_[i].count(); ++e) {
      absolute.back().data()[e] = absolute_finite(from[e]);
      if (!is_output) largest_input = std::max(largest_input, absolute_finite(from[e]));
    }
    pointers[i] = absolute.back().data();
  }
  status = morello_spec_evaluate(spec, pointers.data(), err);
  if (status != MORELLO_OK) return status;
  // A difference of two steps can cancel in both; what is left is then as small as an input.
  scale_.assign(want_.size(), largest_input);
  for (size_t e = 0; e < want_.size(); ++e) {
    scale_[e] = std::max(
        {scale_[e], absolute_finite(want_[e]), absolute_finite(absolute.back().data()[e])});
  }
  std::copy(start.begin(), start.end(), given_.back().begin());
  return MORELLO_OK;
}

Check Operands::check() const {
  const double length = flops_ / static_cast<double>(output_elements());
  const double relative = std::numeric_limits<float>::epsilon() * (length + 8);
  std::vector<bool> is_element(want_.size(), false);
  for_each_element(tensors_.back(), [&](size_t offset) { is_element[offset] = true; });

  Check check;
  for (size_t e = 0; e < want_.size(); ++e) {
    const float got = result().data()[e], want = want_[e];
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    const double error = std::fabs(static_cast<double>(got) - want);
    const double allowed = is_element[e] ? relative * static_cast<double>(scale_[e]) : 0;
    double share = error / allowed;
    if (!std::isfinite(share)) share = std::numeric_limits<double>::max();
    check.worst_error = std::max(check.worst_error, std::isfinite(error) ? error : share);
    if (share <= check.worst_share) continue;
    check.worst_share = share;
    check.worst_index = e;
    check.got = got;
    check.want = want;
  }
  check.ok = check.worst_share <= 1;
  return check;
}

}  // namespace morello::tools
