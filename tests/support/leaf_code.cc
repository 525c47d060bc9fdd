// SPDX-License-Identifier: MIT
#include "leaf_code.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "codegen/plan.hh"
#include "impl/impl.hh"

namespace morello::testing {
namespace {

template <class T>
T get(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::printf("no code: %s\n", result.error().message.c_str());
  std::abort();
}

}  // namespace

Code leaf_code(const Target& target, MicrokernelId leaf, Op op, const std::vector<Dtype>& types,
               u32 count, Dtype value) {
  const size_t inputs = types.size() - 1;
  Spec spec;
  spec.rank = 1;
  spec.size[0] = count;
  spec.operand_count = static_cast<u8>(types.size());
  spec.stage_count = 1;
  const bool integers = std::all_of(types.begin(), types.end(), is_integer);
  spec.stage[0] = {op,
                   integers ? Dtype::kI32 : value,
                   {0, inputs > 1 ? Ref{1} : kNoRef, inputs > 2 ? Ref{2} : kNoRef},
                   0,
                   static_cast<Ref>(inputs)};
  std::array<View, kMaxOperands> views;
  for (size_t o = 0; o <= inputs; o++) {
    Operand& x = spec.operand[o];
    x.dtype = types[o];
    x.access = o < inputs ? Access::kIn : Access::kOut;
    x.dims = 1;
    x.layout.append(0);
    x.contig = 1;
    views[o].dim[0].stride[0] = 1;
  }
  ImplTree tree;
  tree.target = &target;
  tree.nodes.push_back({spec, Select{static_cast<u16>(leaf)}, {}, 0, {}});
  return get(emit(get(make_plan(tree, views)), target));
}

Leaf::Leaf(const Target& target, MicrokernelId leaf, Op op, Dtype from, Dtype to, u32 count,
           Dtype value) {
  const Code code = leaf_code(target, leaf, op, {from, to}, count, value);
  code_ = get(CodeMemory::make(code.bytes));
  entry_ = code.entry;
}

void Leaf::run(const void* in, void* out) const {
  void* operands[] = {const_cast<void*>(in), out};
  const void* start = code_.data() + entry_;
  reinterpret_cast<morello_kernel_fn>(const_cast<void*>(start))(operands, nullptr, nullptr);
}

}  // namespace morello::testing
