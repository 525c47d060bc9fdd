// SPDX-License-Identifier: MIT
#include "converter.hh"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "codegen/emit.hh"
#include "impl/impl.hh"
#include "support/number.hh"

namespace morello::testing {
namespace {

template <class T>
T get(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::printf("no code: %s\n", result.error().message.c_str());
  std::abort();
}

u32 element(Dtype dtype, const std::vector<char>& data, u32 index) {
  u32 bits = 0;
  std::memcpy(&bits, data.data() + size_t{index} * size_of(dtype), size_of(dtype));
  return bits;
}

/// The bits of a NaN that are the same in all of its kind: the sign, the exponent, and of quiet
/// ones the first of the others.
u32 nan_bits(Dtype dtype, bool quiet) {
  switch (dtype) {
    case Dtype::kF32:
      return quiet ? 0xffc00000 : 0xff800000;
    case Dtype::kBf16:
      return quiet ? 0xffc0 : 0xff80;
    default:
      return quiet ? 0xfe00 : 0xfc00;
  }
}

}  // namespace

Converter::Converter(const Target& target, MicrokernelId leaf, Dtype from, Dtype to, u32 count) {
  Spec spec;
  spec.rank = 1;
  spec.size[0] = count;
  spec.operand_count = 2;
  spec.stage_count = 1;
  const bool integers = is_integer(from) && is_integer(to);
  spec.stage[0] = {Op::kCopy, integers ? Dtype::kI32 : Dtype::kF32, {0, kNoRef, kNoRef}, 0, 1};
  std::array<View, kMaxOperands> views;
  for (int o = 0; o < 2; o++) {
    Operand& x = spec.operand[o];
    x.dtype = o == 0 ? from : to;
    x.access = o == 0 ? Access::kIn : Access::kOut;
    x.dims = 1;
    x.layout.append(0);
    x.contig = 1;
    views[static_cast<size_t>(o)].dim[0].stride[0] = 1;
  }
  ImplTree tree;
  tree.target = &target;
  tree.nodes.push_back({spec, Select{static_cast<u16>(leaf)}, {}, 0, {}});
  const Code code = get(emit(get(make_plan(tree, views)), target));
  code_ = get(CodeMemory::make(code.bytes));
  entry_ = code.entry;
}

void Converter::run(const void* in, void* out) const {
  void* operands[] = {const_cast<void*>(in), out};
  const void* start = code_.data() + entry_;
  reinterpret_cast<morello_kernel_fn>(const_cast<void*>(start))(operands, nullptr, nullptr);
}

std::vector<char> consecutive_bits(Dtype dtype, u64 first, u32 count) {
  std::vector<char> data(size_t{count} * size_of(dtype));
  for (u32 i = 0; i < count; i++) {
    const u32 bits = static_cast<u32>(first + i);
    std::memcpy(data.data() + size_t{i} * size_of(dtype), &bits, size_of(dtype));
  }
  return data;
}

std::vector<u32> converted(Dtype from, Dtype to, const std::vector<char>& in, u32 count) {
  std::vector<u32> all(count);
  for (u32 i = 0; i < count; i++) {
    double x = number_of_bits(from, element(from, in, i));
    if (!is_integer(to)) x = static_cast<float>(x);  // what it is computed in
    all[i] = bits_of_number(to, x);
  }
  return all;
}

std::string compare_converted(Dtype from, Dtype to, const std::vector<char>& in,
                              const std::vector<u32>& expected, const std::vector<char>& out) {
  for (u32 i = 0; i < expected.size(); i++) {
    const u32 bits = element(from, in, i), got = element(to, out, i);
    u32 compared = ~0u >> (32 - 8 * size_of(to));
    if (std::isnan(number_of_bits(from, bits)) && !is_integer(to)) {
      compared = nan_bits(to, size_of(to) < size_of(from));
      if (!std::isnan(number_of_bits(to, got))) compared = ~0u;
    }
    if (((got ^ expected[i]) & compared) == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s %#x becomes %s %#x, and not %#x",
                  std::string(name_of(from)).c_str(), bits, std::string(name_of(to)).c_str(), got,
                  expected[i]);
    return text;
  }
  return "";
}

}  // namespace morello::testing
