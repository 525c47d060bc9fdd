// SPDX-License-Identifier: MIT
#include "runtime/kernel.hh"

#include <cstring>
#include <memory>

#include "support/alloc.hh"

namespace morello {
namespace {

/// Copies axes from `axis` on, from dense row-major to the operand's strides; returns the first
/// byte of `source` that it did not copy.
const u8* scatter(const KernelOperand& o, size_t axis, const u8* source, u8* to) {
  if (axis == o.shape.size()) {
    std::memcpy(to, source, o.alignment);  // the alignment of an element is its size
    return source + o.alignment;
  }
  for (i64 i = 0; i < o.shape[axis]; i++)
    source = scatter(o, axis + 1, source, to + i * o.strides[axis] * o.alignment);
  return source;
}

}  // namespace

void Executable::run(void* const* operands, void* scratch, const morello_executor* executor,
                     i64 size) const {
  struct Free {
    void operator()(void* block) const { aligned_free(block); }
  };
  std::unique_ptr<void, Free> own;
  if (scratch == nullptr && scratch_bytes != 0) {
    own.reset(aligned_allocate(scratch_bytes, kScratchAlignment));
    scratch = own.get();
  }
  call(operands, scratch, executor, size);
}

void Kernel::pack(u32 index, const void* source, void* packed) const {
  const KernelOperand& o = operands[index];
  if (!o.pack) {
    scatter(o, 0, static_cast<const u8*>(source), static_cast<u8*>(packed));
    return;
  }
  std::memset(packed, 0, o.bytes);  // the padding of panels
  void* const pointers[] = {const_cast<void*>(source), packed};
  o.pack->run(pointers, nullptr, nullptr);
}

}  // namespace morello
