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
    : spec_(morello_spec_retain(spec)),
      scratch_(morello_kernel_scratch_size(kernel), morello_kernel_scratch_alignment(kernel)) {
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

morello_status Operands::expect(morello_error** err) {
  std::vector<void*> pointers;
  for (Buffer& buffer : given_) pointers.push_back(buffer.data());
  Buffer want(given_.back().count() * sizeof(float));
  std::copy(given_.back().begin(), given_.back().end(), want.begin());
  pointers.back() = want.data();
  scale_.clear();
  const morello_status status = morello_spec_evaluate(spec_.get(), pointers.data(), err);
  if (status == MORELLO_OK) want_.assign(want.begin(), want.end());
  return status;
}

/// Rounding errors grow with the size of the terms, not with that of their sum. The same Spec of
/// the absolute values has the size of the terms.
void Operands::measure_terms() {
  float largest_input = 0;
  std::vector<Buffer> absolute;
  std::vector<void*> pointers;
  for (const Buffer& buffer : given_) {
    const bool is_input = &buffer != &given_.back();
    absolute.emplace_back(buffer.count() * sizeof(float));
    for (size_t e = 0; e < buffer.count(); ++e) {
      const float value = absolute_finite(buffer.data()[e]);
      absolute.back().data()[e] = value;
      if (is_input) largest_input = std::max(largest_input, value);
    }
    pointers.push_back(absolute.back().data());
  }
  scale_.assign(want_.size(), 0);
  if (morello_spec_evaluate(spec_.get(), pointers.data(), nullptr) != MORELLO_OK) return;
  for (size_t e = 0; e < want_.size(); ++e) {
    // A difference of two steps can cancel in both; what is left is then as small as an input.
    scale_[e] = std::max(
        {largest_input, absolute_finite(want_[e]), absolute_finite(absolute.back().data()[e])});
  }
}

Check Operands::check(const Buffer& result) {
  const auto same = [](float got, float want) {
    return got == want || (std::isnan(got) && std::isnan(want));
  };
  Check check;
  check.ok = true;
  // Random values are such that most results are exact.
  if (std::equal(want_.begin(), want_.end(), result.begin(), same)) return check;
  if (scale_.empty()) measure_terms();
  std::vector<bool> is_element(want_.size(), false);
  for_each_element(tensors_.back(), [&](size_t offset) { is_element[offset] = true; });
  const double length = morello_spec_flops(spec_.get()) / static_cast<double>(output_elements());
  const double relative = std::numeric_limits<float>::epsilon() * (length + 8);

  for (size_t e = 0; e < want_.size(); ++e) {
    const float got = result.data()[e], want = want_[e];
    if (same(got, want)) continue;
    const double error = std::fabs(static_cast<double>(got) - want);
    const double allowed = is_element[e] ? relative * static_cast<double>(scale_[e]) : 0;
    // Not finite where one of the two is NaN or infinite, or nothing is allowed.
    const double share =
        std::isfinite(error / allowed) ? error / allowed : std::numeric_limits<double>::max();
    check.worst_error = std::max(check.worst_error, std::isfinite(error) ? error : share);
    if (share <= check.worst_share) continue;
    check = {share <= 1, check.worst_error, share, e, got, want};
  }
  return check;
}

}  // namespace morello::tools
