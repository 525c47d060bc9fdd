// SPDX-License-Identifier: MIT
// The arena and the aligned blocks, on mimalloc by explicit calls, or on malloc.
//
// Distributions build libmimalloc.so to define malloc, free and operator new as well, so naming it
// on the link line would replace those of any program that loads this library. Instead it is opened
// on first use, with its symbols visible to nobody else; where it is missing, malloc serves.
#include "support/alloc.hh"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(MORELLO_MIMALLOC_SONAME)
#include <dlfcn.h>
#include <mimalloc.h>
#endif

namespace morello {
namespace {

constexpr size_t kFirstChunk = size_t{16} << 10;
constexpr size_t kLargestChunk = size_t{2} << 20;
constexpr size_t kChunkAlign = 64;

struct Allocator {
  void* (*allocate)(size_t bytes, size_t align);  // null on failure
  void (*free)(void* block);
};

void* libc_allocate(size_t bytes, size_t align) {
  void* block = nullptr;
  return posix_memalign(&block, align, bytes) == 0 ? block : nullptr;
}

#if defined(MORELLO_MIMALLOC_SONAME)

// Never closed: mimalloc keeps per-thread data until the last thread ends.
Allocator open_mimalloc() {
  const Allocator libc{libc_allocate, std::free};
  void* library = dlopen(MORELLO_MIMALLOC_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return libc;
  const auto allocate =
      reinterpret_cast<decltype(&mi_malloc_aligned)>(dlsym(library, "mi_malloc_aligned"));
  const auto free = reinterpret_cast<decltype(&mi_free)>(dlsym(library, "mi_free"));
  if (allocate == nullptr || free == nullptr) return libc;
  return {allocate, free};
}

const Allocator& allocator() {
  static const Allocator opened_once = open_mimalloc();
  return opened_once;
}

#else

Allocator allocator() { return {libc_allocate, std::free}; }

#endif

char* align_up(char* p, size_t align) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return p + ((align - address % align) % align);
}

}  // namespace

void* aligned_allocate(size_t bytes, size_t align) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  void* block =
      allocator().allocate(std::max<size_t>(bytes, 1), std::max(align, alignof(std::max_align_t)));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void aligned_free(void* block) { allocator().free(block); }

struct Arena::Chunk {
  Chunk* older;
};

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk* older = chunks_->older;
    aligned_free(chunks_);
    chunks_ = older;
  }
}

void* Arena::allocate(size_t bytes, size_t align) {
  char* block = next_ == nullptr ? nullptr : align_up(next_, align);
  if (block == nullptr || block > end_ || bytes > static_cast<size_t>(end_ - block)) {
    return allocate_slow(bytes, align);
  }
  next_ = block + bytes;
  return block;
}

// A new chunk, about as large as all before it, so that their number stays logarithmic at first and
// little is wasted at the end; always large enough for the request.
void* Arena::allocate_slow(size_t bytes, size_t align) {
  const size_t header = std::max(sizeof(Chunk), align);
  if (bytes > PTRDIFF_MAX - header) throw std::bad_alloc();
  const size_t wanted = std::clamp(bytes_, kFirstChunk, kLargestChunk);
  const size_t size = std::max(wanted, header + bytes);
  const bool huge = size >= kLargestChunk;
  auto* memory = static_cast<char*>(
      aligned_allocate(size, std::max(huge ? kLargestChunk : kChunkAlign, align)));
  // Searches jump around in all they have: without this half of their time are TLB misses.
  if (huge) madvise(memory, size & ~(kLargestChunk - 1), MADV_HUGEPAGE);
  chunks_ = new (memory) Chunk{chunks_};
  bytes_ += size;
  char* block = memory + header;
  next_ = block + bytes;
  end_ = memory + size;
  return block;
}

}  // namespace morello
