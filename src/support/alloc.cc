// SPDX-License-Identifier: MIT
// The arena and the aligned blocks, on malloc.
#include "support/alloc.hh"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace morello {
namespace {

constexpr size_t kFirstChunk = size_t{64} << 10;
constexpr size_t kLargestChunk = size_t{8} << 20;
constexpr size_t kChunkAlign = 64;

char *align_up(char *p, size_t align) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return p + ((align - address % align) % align);
}

}  // namespace

struct Arena::Chunk {
  Chunk *older;
};

void *aligned_allocate(size_t bytes, size_t align) {
  align = std::max(align, sizeof(void *));
  if (bytes > SIZE_MAX - align) throw std::bad_alloc();
  void *block = nullptr;
  if (posix_memalign(&block, align, std::max<size_t>(bytes, 1)) != 0) throw std::bad_alloc();
  return block;
}

void aligned_free(void *block) { std::free(block); }

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk *older = chunks_->older;
    aligned_free(chunks_);
    chunks_ = older;
  }
}

void *Arena::allocate(size_t bytes, size_t align) {
  char *block = next_ == nullptr ? nullptr : align_up(next_, align);
  if (block == nullptr || block > end_ || bytes > static_cast<size_t>(end_ - block)) {
    return allocate_slow(bytes, align);
  }
  next_ = block + bytes;
  return block;
}

// A new chunk: each twice as large as the one before, and always large enough for the request.
void *Arena::allocate_slow(size_t bytes, size_t align) {
  const size_t header = std::max(sizeof(Chunk), align);
  if (bytes > SIZE_MAX / 2 || header > SIZE_MAX / 4) throw std::bad_alloc();
  const size_t wanted = std::clamp(bytes_, kFirstChunk, kLargestChunk);
  const size_t size = std::max(wanted, header + bytes);
  auto *memory = static_cast<char *>(aligned_allocate(size, std::max(kChunkAlign, align)));
  chunks_ = new (memory) Chunk{chunks_};
  bytes_ += size;
  char *block = memory + header;
  next_ = block + bytes;
  end_ = memory + size;
  return block;
}

}  // namespace morello
