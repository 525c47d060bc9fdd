// SPDX-License-Identifier: MIT
// The arena and the aligned blocks, on libc.
#include "support/alloc.hh"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace morello {
namespace {

constexpr size_t kFirstChunk = size_t{16} << 10;
constexpr size_t kLargestChunk = size_t{2} << 20;
constexpr size_t kChunkAlign = 64;

char* align_up(char* p, size_t align) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return p + ((align - address % align) % align);
}

}  // namespace

void* aligned_allocate(size_t bytes, size_t align) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  void* block = nullptr;
  if (posix_memalign(&block, std::max(align, alignof(std::max_align_t)),
                     std::max<size_t>(bytes, 1)) != 0)
    throw std::bad_alloc();
  return block;
}

void aligned_free(void* block) { std::free(block); }

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
