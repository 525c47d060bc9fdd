// SPDX-License-Identifier: MIT
// The thread pool for programs that have none.
#include "runtime/pool.hh"

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "support/concat.hh"

using namespace morello;

morello_status morello_pool_create(uint32_t threads, morello_pool** pool, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"pool", pool}})) return *e;
    if (threads > kMaxPoolThreads)
      return invalid_argument(
          concat({"argument `threads` is ", threads, "; a pool has at most ", kMaxPoolThreads}));
    const u32 wanted =
        threads != 0 ? threads : std::min(read_machine().processors, kMaxPoolThreads);
    Result<std::unique_ptr<Pool>> made = Pool::make(wanted);
    if (!made) return made.error();
    *pool = new morello_pool{std::move(*made)};
    return Done{};
  });
}

const morello_executor* morello_pool_executor(const morello_pool* pool) {
  return pool == nullptr ? nullptr : &pool->pool->executor();
}

void morello_pool_release(morello_pool* pool) { delete pool; }
