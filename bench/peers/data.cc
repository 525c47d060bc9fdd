// SPDX-License-Identifier: MIT
#include "data.hh"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <random>

#include "fmt/format.h"

namespace morello::bench {
namespace {

constexpr size_t kLine = 64;

double value_at(const void* data, int64_t index, int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
      return static_cast<const float*>(data)[index];
    case MORELLO_BF16:
      return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[index]} << 16);
    case MORELLO_I8:
      return static_cast<const int8_t*>(data)[index];
    case MORELLO_U8:
      return static_cast<const uint8_t*>(data)[index];
    default:
      return static_cast<const int32_t*>(data)[index];
  }
}

/// REQUIRES: the type has `value`, or it is bf16, which rounds to nearest even.
void set_value(void* data, int64_t index, int32_t dtype, double value) {
  switch (dtype) {
    case MORELLO_F32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case MORELLO_BF16: {
      const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      static_cast<uint16_t*>(data)[index] =
          static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      return;
    }
    case MORELLO_I8:
      static_cast<int8_t*>(data)[index] = static_cast<int8_t>(value);
      return;
    case MORELLO_U8:
      static_cast<uint8_t*>(data)[index] = static_cast<uint8_t>(value);
      return;
    default:
      static_cast<int32_t*>(data)[index] = static_cast<int32_t>(value);
  }
}

/// What reading the value back from memory gives.
double rounded(double value, int32_t dtype) {
  uint32_t memory = 0;
  set_value(&memory, 0, dtype, value);
  return value_at(&memory, 0, dtype);
}

/// Offsets of all elements in row-major order.
template <typename Visit>
void for_each_offset(const Tensor& tensor, Visit visit) {
  int64_t index[MORELLO_MAX_RANK] = {}, offset = 0;
  for (int64_t left = element_count(tensor); left != 0; --left) {
    visit(offset);
    for (uint32_t axis = tensor.rank; axis-- > 0;) {
      offset += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      offset -= tensor.strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
}

/// sums[m,n] += A[m,k] B[k,n] in doubles, in blocks that fit the nearer caches.
struct Product {
  const Matmul& p;
  const void *a, *b;
  double* sums;

  __attribute__((target_clones("avx512f", "avx2", "default"))) static void add(
      double* __restrict to, const double* __restrict row, double x, int64_t count) {
    for (int64_t j = 0; j < count; ++j) to[j] += x * row[j];
  }

  void run(int64_t matrix) const {
    constexpr int64_t kColumns = 512, kRows = 64;
    std::vector<double> row(kColumns);
    for (int64_t j0 = 0; j0 < p.n; j0 += kColumns) {
      const int64_t columns = std::min(kColumns, p.n - j0);
      for (int64_t i0 = 0; i0 < p.m; i0 += kRows) {
        const int64_t i1 = std::min(p.m, i0 + kRows);
        for (int64_t k = 0; k < p.k; ++k) {
          const int64_t from = matrix * p.b.batch_stride + k * p.b.row_stride;
          for (int64_t j = 0; j < columns; ++j) {
            row[static_cast<size_t>(j)] =
                value_at(b, from + (j0 + j) * p.b.column_stride, p.b_type);
          }
          for (int64_t i = i0; i < i1; ++i) {
            const int64_t at = matrix * p.a.batch_stride + i * p.a.row_stride;
            add(sums + i * p.n + j0, row.data(), value_at(a, at + k * p.a.column_stride, p.a_type),
                columns);
          }
        }
      }
    }
  }
};

}  // namespace

Bytes::Bytes(size_t size) : size_((std::max<size_t>(size, 1) + kLine - 1) / kLine * kLine) {
  void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  data_ = {data, Unmap{size_}};
}

void Bytes::Unmap::operator()(void* data) const { munmap(data, size); }

Data::Data(const Problem& problem, uint64_t seed, bool mild) : problem_(problem) {
  for (const Tensor& tensor : tensors()) given_.emplace_back(bytes_of(tensor));
  fill(seed, mild);
  if (problem.matmul) multiply();
}

void Data::fill(uint64_t seed, bool mild) {
  std::mt19937_64 random(seed);
  const bool f32_only = std::all_of(tensors().begin(), tensors().end(), [](const Tensor& tensor) {
    return tensor.dtype == MORELLO_F32;
  });
  for (size_t operand = 0; operand < given_.size(); ++operand) {
    const Tensor& tensor = tensors()[operand];
    const size_t size = size_of(tensor.dtype);
    const bool fine = tensor.dtype == MORELLO_F32 && !f32_only && operand + 1 < given_.size();
    const int steps = fine ? 512 : 64;
    const auto count = static_cast<int64_t>(bytes_of(tensor) / size);
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<int32_t>(random() >> 40);
      double value = 0;
      if (tensor.dtype == MORELLO_I8) {
        value = number % 256 - 128;
      } else if (tensor.dtype == MORELLO_U8) {
        value = number % (mild ? 128 : 256);
      } else if (tensor.dtype == MORELLO_I32) {
        value = number % 2001 - 1000;
      } else {
        value = static_cast<double>(number % (2 * steps + 1) - steps) / steps;
      }
      set_value(given_[operand].get(), i, tensor.dtype, value);
    }
  }
}

void Data::multiply() {
  const Matmul& p = *problem_.matmul;
  const Tensor& out = tensors().back();
  expected_.assign(static_cast<size_t>(element_count(out)), 0.0);
  if (p.accumulate) {
    size_t next = 0;
    for_each_offset(out, [&](int64_t offset) {
      expected_[next++] = value_at(at(count() - 1), offset, out.dtype);
    });
  }
  for (int64_t i = 0; i < p.batch; ++i) {
    Product{p, at(0), at(1), expected_.data() + i * p.m * p.n}.run(i);
  }
  for (size_t e = 0; e < expected_.size(); ++e) {
    double& value = expected_[e];
    if (p.bias) value += value_at(at(2), static_cast<int64_t>(e) % p.n, MORELLO_F32);
    if (p.relu) value = std::max(value, 0.0);
    value = rounded(value, out.dtype);
  }
}

void Data::expect(const void* output) {
  const Tensor& out = tensors().back();
  expected_.clear();
  for_each_offset(
      out, [&](int64_t offset) { expected_.push_back(value_at(output, offset, out.dtype)); });
}

double Data::compulsory_bytes() const {
  double bytes = 0;
  for (const Tensor& tensor : tensors()) {
    bytes +=
        static_cast<double>(element_count(tensor)) * static_cast<double>(size_of(tensor.dtype));
  }
  return bytes;
}

std::string Data::check(const void* result) const {
  const Tensor& out = tensors().back();
  // Chains of several roundings may differ by one in the last place; what we multiply is exact.
  const double slack = problem_.matmul ? 0 : 0x1p-22;
  size_t next = 0, wrong = 0;
  double worst = 0;
  for_each_offset(out, [&](int64_t offset) {
    const double want = expected_[next++], got = value_at(result, offset, out.dtype);
    const double error = std::fabs(got - want);
    if (error <= slack * std::fabs(want)) return;
    if (got == want || (std::isnan(got) && std::isnan(want))) return;
    ++wrong;
    worst = std::isnan(error) ? error : std::max(worst, error);
  });
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements are wrong, by up to {:.3g}", wrong, expected_.size(),
                     worst);
}

}  // namespace morello::bench
