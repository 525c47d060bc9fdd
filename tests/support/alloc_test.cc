// SPDX-License-Identifier: MIT
// Arena and aligned blocks: alignment, disjointness, accounting, refusal of absurd sizes.
#include "support/alloc.hh"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <vector>

using morello::Arena;

TEST_SUITE("support") {
  TEST_CASE("arena blocks are aligned, disjoint and keep their bytes") {
    struct Block {
      unsigned char* data;
      size_t bytes;
      unsigned char mark;
    };
    const unsigned seed = 20240607;
    INFO("seed ", seed);
    std::mt19937 random(seed);
    Arena arena;
    std::vector<Block> blocks;
    size_t total = 0;
    for (int i = 0; i < 3000; ++i) {
      const size_t align = size_t{1} << (random() % 9);
      const size_t bytes = random() % 100 == 0 ? random() % 300000 : random() % 200;
      auto* data = static_cast<unsigned char*>(arena.allocate(bytes, align));
      REQUIRE(data != nullptr);
      REQUIRE(reinterpret_cast<uintptr_t>(data) % align == 0);
      blocks.push_back({data, bytes, static_cast<unsigned char>(random())});
      std::memset(data, blocks.back().mark, bytes);
      total += bytes;
    }
    size_t damaged = 0;
    for (const Block& block : blocks) {
      for (size_t i = 0; i < block.bytes; ++i) damaged += block.data[i] != block.mark;
    }
    CHECK(damaged == 0);
    CHECK(arena.bytes() >= total);
    CHECK(arena.bytes() < 3 * total + (size_t{1} << 20));
  }

  TEST_CASE("an unused arena takes nothing; sizes past the address space are refused") {
    Arena arena;
    CHECK(arena.bytes() == 0);
    CHECK_THROWS_AS((void)arena.allocate(SIZE_MAX, 16), std::bad_alloc);
    CHECK_THROWS_AS((void)arena.allocate(SIZE_MAX / 2, 64), std::bad_alloc);
    CHECK(arena.bytes() == 0);
    CHECK(arena.allocate(0, 1) != nullptr);
  }

  TEST_CASE("aligned blocks") {
    for (size_t align = 1; align <= 4096; align *= 2) {
      for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{5000}}) {
        void* block = morello::aligned_allocate(bytes, align);
        CHECK(reinterpret_cast<uintptr_t>(block) % align == 0);
        std::memset(block, 0x5a, bytes);
        morello::aligned_free(block);
      }
    }
    morello::aligned_free(nullptr);
    CHECK_THROWS_AS((void)morello::aligned_allocate(SIZE_MAX, 64), std::bad_alloc);
  }
}
