// SPDX-License-Identifier: MIT
#include "support/hash_seed.hh"

#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace morello {

u64 hash_seed() {
  // 16 bytes that the kernel gives every process; libc's guards are made of them, so only a hash of
  // them is used.
  const void* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  return random == nullptr ? 0 : XXH3_64bits(random, 16);
}

}  // namespace morello
