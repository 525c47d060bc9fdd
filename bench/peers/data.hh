// SPDX-License-Identifier: MIT
// Operands with values whose products and sums are exact in f32 and i32 in any order, and the one
// right result, computed in double precision.
#ifndef MORELLO_BENCH_PEERS_DATA_HH
#define MORELLO_BENCH_PEERS_DATA_HH

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "problem.hh"

namespace morello::bench {

/// Memory that begins at a page and ends at a multiple of cache lines.
class Bytes {
 public:
  explicit Bytes(size_t size);
  void* get() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Unmap {
    size_t size;
    void operator()(void* data) const;
  };
  size_t size_;
  std::unique_ptr<void, Unmap> data_;
};

class Data {
 public:
  /// Fills every operand, the output too, which accumulating Specs read. bf16, and f32 among f32:
  /// multiples of 1/64 in [-1,1]. f32 beside bf16: of 1/512, which bf16 cannot hold, so that who
  /// rounds an input gets something else. i8: all values. u8: all values, or with `mild` those
  /// below 128, of which no two products saturate 16 bits.
  Data(const Problem& problem, uint64_t seed, bool mild);

  const std::vector<Tensor>& tensors() const { return problem_.tensors; }
  /// Inputs and the initial output, as the Spec states them (free: row-major).
  void* at(size_t operand) const { return given_[operand].get(); }
  size_t count() const { return given_.size(); }

  /// Bytes of all operands, each element once.
  double compulsory_bytes() const;

  /// Empty, or what is wrong with the output of some method: every element is compared.
  /// `result` has the size of the output.
  std::string check(const void* result) const;

  /// Has `expected` been computed by the library's evaluation, for what is no matmul?
  void expect(const void* output);

 private:
  void fill(uint64_t seed, bool mild);
  void multiply();

  Problem problem_;
  std::vector<Bytes> given_;
  std::vector<double> expected_;  // in row-major order of the output
};

}  // namespace morello::bench

#endif
