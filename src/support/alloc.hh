// SPDX-License-Identifier: MIT
// Memory for the parts that allocate much: an arena for search nodes, and aligned blocks.
// alloc.cc is the only file that knows what is underneath.
#ifndef MORELLO_SUPPORT_ALLOC_HH
#define MORELLO_SUPPORT_ALLOC_HH

#include <cstddef>

namespace morello {

/// A bump allocator: memory is taken from large chunks and given back all at once.
/// Objects placed in it are never destroyed; use it for types with trivial destructors.
/// Owned by one thread at a time. Throws std::bad_alloc when the system has no memory left.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `align` is a power of two. The block lives as long as the arena; never null, even for 0 bytes.
  [[nodiscard]] void* allocate(size_t bytes, size_t align);

  /// Bytes taken from the system so far, unused ends of chunks included.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Chunk;
  void* allocate_slow(size_t bytes, size_t align);

  Chunk* chunks_ = nullptr;  // newest first
  char* next_ = nullptr;     // free part of the newest chunk
  char* end_ = nullptr;
  size_t bytes_ = 0;
};

/// A block aligned to `align` (a power of two); throws std::bad_alloc. Free with aligned_free().
[[nodiscard]] void* aligned_allocate(size_t bytes, size_t align);
/// `block` from aligned_allocate(), or null.
void aligned_free(void* block);

/// Standard containers on an arena, for those that only grow: what they give back stays in the
/// arena.
template <class T>
class ArenaAllocator {
 public:
  using value_type = T;
  explicit ArenaAllocator(Arena& arena) : arena_(&arena) {}
  template <class U>
  ArenaAllocator(const ArenaAllocator<U>& other) : arena_(other.arena_) {}

  T* allocate(size_t n) { return static_cast<T*>(arena_->allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T*, size_t) {}
  friend bool operator==(const ArenaAllocator& a, const ArenaAllocator& b) {
    return a.arena_ == b.arena_;
  }

 private:
  template <class U>
  friend class ArenaAllocator;
  Arena* arena_;
};

/// Standard containers on aligned_allocate(), for those that give memory back.
template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) {}

  T* allocate(size_t n) { return static_cast<T*>(aligned_allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T* block, size_t) { aligned_free(block); }
  friend bool operator==(const BlockAllocator&, const BlockAllocator&) { return true; }
};

}  // namespace morello

#endif  // MORELLO_SUPPORT_ALLOC_HH
