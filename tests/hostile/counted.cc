// SPDX-License-Identifier: MIT
#include "counted.hh"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> live, peak;

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  const size_t now = live += malloc_usable_size(block);
  for (size_t most = peak; most < now && !peak.compare_exchange_weak(most, now);) continue;
  return block;
}

void release(void* block) noexcept {
  if (block != nullptr) live -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

// All forms that are used: those of the standard library end in these, those of a sanitizer do not.
void* operator new(size_t bytes) { return counted(std::malloc(std::max<size_t>(bytes, 1))); }
void* operator new(size_t bytes, std::align_val_t align) {
  const size_t a = static_cast<size_t>(align);
  return counted(std::aligned_alloc(a, std::max<size_t>((bytes + a - 1) / a * a, a)));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete[](void* block, size_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { release(block); }

namespace morello::testing {

u64 live_bytes() { return live; }
u64 peak_bytes() { return peak; }
void forget_peak() { peak = live.load(); }

}  // namespace morello::testing
