// SPDX-License-Identifier: MIT
#include "operands.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <sstream>
#include <string_view>

namespace morello::tools {
namespace {

/// Elements from the first to past the last element.
size_t extent(const morello_tensor& tensor) {
  const std::vector<int64_t> strides = strides_of(tensor);
  int64_t last = 0;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    last += strides[axis] * (tensor.shape[axis] - 1);
  }
  return static_cast<size_t>(last) + 1;
}

/// Operations, and what else is a word of printed Specs, whose results are one number whatever the
/// kernel is: exact, or rounded once.
constexpr std::string_view kExactWords[] = {"->",
                                            "+=",
                                            "=",
                                            "+",
                                            "-",
                                            "*",
                                            "/",
                                            "bias",
                                            "keep",
                                            "inf",
                                            "nan",
                                            "move",
                                            "transpose",
                                            "reshape",
                                            "fill",
                                            "relu",
                                            "neg",
                                            "abs",
                                            "sqrt",
                                            "square",
                                            "recip",
                                            "floor",
                                            "ceil",
                                            "round",
                                            "add",
                                            "sub",
                                            "mul",
                                            "div",
                                            "max",
                                            "min",
                                            "fast_max",
                                            "fast_min",
                                            "less",
                                            "less_equal",
                                            "greater",
                                            "greater_equal",
                                            "equal",
                                            "not_equal",
                                            "select",
                                            "clamp",
                                            "max_pool",
                                            "reduce_max",
                                            "reduce_min",
                                            "reduce_fast_max",
                                            "reduce_fast_min"};
/// Exact of integers, in any order.
constexpr std::string_view kSums[] = {"matmul", "einsum", "conv2d", "reduce_sum"};
/// Integers become floats.
constexpr std::string_view kDivisions[] = {"/", "div", "sqrt", "recip"};

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Tensors, settings, subscripts, numbers, and the names x0 and v0.
bool is_no_operation(std::string_view word) {
  if (word.size() < 2) return is_digit(word[0]);
  return word.find_first_of("[=\"") != word.npos || is_digit(word[0]) || is_digit(word[1]);
}

/// Of a printed Spec whose first operation reads integers: is there one result? Other functions
/// than those above, and ones that are new, round as they like.
bool is_exact(const std::string& text, bool all_integers) {
  bool in_floats = !all_integers, first = true;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.back() == ';' || word.back() == ',') word.pop_back();
    const bool sums = is_among(word, kSums);
    if (word != "=" && word != "+=" && is_no_operation(word)) continue;
    if (!sums && !is_among(word, kExactWords)) return false;
    if (sums && in_floats && !first) return false;
    in_floats |= is_among(word, kDivisions);
    if (word != "=") first = false;
  }
  return true;
}

}  // namespace

Buffer::Buffer(size_t bytes, int32_t dtype, size_t alignment) : bytes_(bytes), dtype_(dtype) {
  alignment = std::max<size_t>(alignment, 64);
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  data_.reset(memory);
}

void Buffer::Free::operator()(void* p) const { std::free(p); }

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

Operands::Operands(const morello_spec* spec, const morello_kernel* kernel)
    : output_count_(morello_spec_output_count(spec)),
      scratch_(morello_kernel_scratch_size(kernel), MORELLO_U8,
               morello_kernel_scratch_alignment(kernel)) {
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); ++i) {
    morello_tensor tensor = {};
    morello_spec_operand(spec, i, &tensor);
    tensors_.push_back(tensor);
    given_.emplace_back(extent(tensor) * size_of(tensor.dtype), tensor.dtype);
    // What a kernel with a run-time size says is of the largest; its Spec is of the one to run.
    packed_.emplace_back(tensor.layout == MORELLO_LAYOUT_FREE
                             ? morello_kernel_operand_size(kernel, i)
                             : given_.back().bytes(),
                         tensor.dtype);
    given_pointers_.push_back(given_.back().memory());
    pointers_.push_back(packed_.back().memory());
  }
  exact_ = sums_are_exact() && is_exact(text_of(morello_spec_print, spec), are_integers());
}

void Operands::fill_random(uint64_t seed) {
  std::mt19937_64 random(seed);
  const double largest = sums_are_exact() ? 1.0 / 1024 : 1;
  for (Buffer& buffer : given_) {
    const int32_t dtype = buffer.dtype();
    for (size_t i = 0; i < buffer.count(); ++i) {
      const uint64_t draw = random();
      double value = (static_cast<double>(draw % 129) - 64.0) / 64.0 * largest;
      if (dtype == MORELLO_I32) value = static_cast<double>(draw % 2001) - 1000;
      if (dtype == MORELLO_I8) value = static_cast<double>(draw % 256) - 128;
      if (dtype == MORELLO_U8) value = static_cast<double>(draw % 256);
      buffer.set(i, value);
    }
  }
}

bool Operands::sums_are_exact() const {
  return is_integer(tensors_[0].dtype) && (operand_of(0) == 1 || is_integer(tensors_[1].dtype));
}

bool Operands::are_integers() const {
  return std::all_of(tensors_.begin(), tensors_.end(),
                     [](const morello_tensor& t) { return is_integer(t.dtype); });
}

void Operands::set(uint32_t index, const void* elements) {
  const size_t bytes = size_of(tensors_[index].dtype);
  const char* next = static_cast<const char*>(elements);
  char* data = static_cast<char*>(given_[index].memory());
  for_each_element(tensors_[index], [&](size_t offset) {
    std::memcpy(data + offset * bytes, next, bytes);
    next += bytes;
  });
}

std::vector<char> Operands::output(uint32_t output) const {
  const morello_tensor& tensor = tensors_[operand_of(output)];
  const size_t bytes = size_of(tensor.dtype);
  std::vector<char> elements;
  elements.reserve(element_count(tensor) * bytes);
  const char* data = static_cast<const char*>(result(output).memory());
  for_each_element(tensor, [&](size_t offset) {
    elements.insert(elements.end(), data + offset * bytes, data + (offset + 1) * bytes);
  });
  return elements;
}

morello_status Operands::pack(const morello_kernel* kernel) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].layout == MORELLO_LAYOUT_FREE) {
      const morello_status status = morello_kernel_pack(kernel, static_cast<uint32_t>(i),
                                                        given_[i].memory(), packed_[i].memory());
      if (status != MORELLO_OK) return status;
    } else {
      std::memcpy(packed_[i].memory(), given_[i].memory(), given_[i].bytes());
    }
  }
  return MORELLO_OK;
}

uint64_t Operands::output_elements() const {
  uint64_t elements = 0;
  for (uint32_t i = operand_of(0); i < count(); ++i) elements += element_count(tensors_[i]);
  return elements;
}

double Operands::compulsory_bytes() const {
  double bytes = 0;
  for (const morello_tensor& tensor : tensors_) {
    bytes += static_cast<double>(element_count(tensor) * size_of(tensor.dtype));
  }
  return bytes;
}

}  // namespace morello::tools
