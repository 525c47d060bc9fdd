// SPDX-License-Identifier: MIT
#include "guarded.hh"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace morello::testing {
namespace {

constexpr size_t kPage = 4096;
constexpr u8 kPattern = 0xa5;

}  // namespace

Guarded::Guarded(size_t bytes, Side side) : bytes_(bytes) {
  size_t inner = round_up(std::max<size_t>(bytes, 1), kPage);
  mapped_ = inner + 2 * kPage;
  void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  map_ = static_cast<u8*>(map);
  if (map == MAP_FAILED || mprotect(map_ + kPage, inner, PROT_READ | PROT_WRITE) != 0) {
    std::perror("guarded memory");
    std::abort();
  }
  std::memset(map_ + kPage, kPattern, inner);
  data_ = map_ + kPage + (side == Side::kEnd ? inner - bytes : 0);
}

Guarded::Guarded(Guarded&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      mapped_(other.mapped_),
      bytes_(other.bytes_),
      data_(other.data_) {}

Guarded::~Guarded() {
  if (map_) munmap(map_, mapped_);
}

bool Guarded::intact() const {
  const u8* end = map_ + mapped_ - kPage;
  auto clean = [](const u8* from, const u8* to) {
    return std::all_of(from, to, [](u8 byte) { return byte == kPattern; });
  };
  return clean(map_ + kPage, data_) && clean(data_ + bytes_, end);
}

bool Guarded::near(const void* address, i64& offset) const {
  const u8* p = static_cast<const u8*>(address);
  if (p < map_ || p >= map_ + mapped_) return false;
  offset = p - data_;
  return true;
}

}  // namespace morello::testing
