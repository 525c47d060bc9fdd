// SPDX-License-Identifier: MIT
// malloc, its kin and pthread_create are defined here, in the executable, so that every library of
// the process calls these. What only the library under test calls is wrapped by the linker (--wrap,
// see meson.build). Each asks may_proceed(), then calls what it stands for.
#include "faults.hh"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "support/spin_lock.hh"

namespace morello::testing::faults {
namespace {

std::atomic<bool> armed{false};
std::atomic<bool> tracing{false};
std::atomic<uint64_t> calls{0}, failures{0}, first_failure{0};
std::atomic<Mode> how{Mode::kOnce};
thread_local bool starting_thread = false;
/// A sanitizer's own part of a thread must not fail.
thread_local bool in_body = false;

/// A set of addresses in memory of its own: it must not allocate.
class Addresses {
 public:
  void add(const void* address) {
    std::lock_guard guard(lock_);
    if (count_ + 1 >= kSlots) __builtin_trap();  // more than any scenario has
    slots_[slot_of(address)] = address;
    count_++;
  }
  void remove(const void* address) {
    if (count_ == 0) return;
    std::lock_guard guard(lock_);
    size_t hole = slot_of(address);
    if (slots_[hole] == nullptr) return;
    count_--;
    // What follows without a gap may have been pushed there by this one.
    for (size_t at = next(hole); slots_[at] != nullptr; at = next(at)) {
      const size_t home = home_of(slots_[at]);
      if ((at - home) % kSlots < (at - hole) % kSlots) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = nullptr;
  }
  uint64_t count() const { return count_; }

 private:
  static constexpr size_t kSlots = size_t{1} << 20;
  static size_t home_of(const void* address) {
    return (reinterpret_cast<uintptr_t>(address) >> 4) * 0x9e3779b97f4a7c15u % kSlots;
  }
  static size_t next(size_t slot) { return (slot + 1) % kSlots; }
  size_t slot_of(const void* address) const {
    size_t slot = home_of(address);
    while (slots_[slot] != nullptr && slots_[slot] != address) slot = next(slot);
    return slot;
  }

  SpinLock lock_;
  std::atomic<uint64_t> count_{0};
  const void* slots_[kSlots];
};
Addresses alive;

void say_where() {
  const bool was_armed = armed.exchange(false);
  void* frames[40];
  const int count = backtrace(frames, 40);
  backtrace_symbols_fd(frames, count, 2);
  armed = was_armed;
}

bool may_proceed() {
  if (!armed.load(std::memory_order_relaxed) || !in_body) return true;
  const uint64_t call = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t n = first_failure.load(std::memory_order_relaxed);
  if (n == 0 || call < n || (call > n && how == Mode::kOnce)) return true;
  if (failures.fetch_add(1, std::memory_order_relaxed) == 0 && tracing) say_where();
  return false;
}

template <class T>
T* noted(T* block) {
  if (block != nullptr && armed.load(std::memory_order_relaxed) && in_body && !starting_thread)
    alive.add(block);
  return block;
}

// What dlsym() needs before it knows malloc.
alignas(64) char early_memory[4096];
std::atomic<size_t> early_used{0};
bool is_early(const void* block) {
  return block >= early_memory && block < early_memory + sizeof early_memory;
}
void* early(size_t bytes) {
  const size_t at = early_used.fetch_add((bytes + 63) / 64 * 64);
  return at + bytes <= sizeof early_memory ? early_memory + at : nullptr;
}

/// What this executable hides; nullptr while it is being looked for.
template <class F>
F hidden(F(&known), const char* name) {
  static thread_local bool looking = false;
  if (known == nullptr && !looking) {
    looking = true;
    known = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
    looking = false;
  }
  return known;
}

using Malloc = void* (*)(size_t);
using Calloc = void* (*)(size_t, size_t);
using Realloc = void* (*)(void*, size_t);
using Free = void (*)(void*);
using Align = int (*)(void**, size_t, size_t);
using Start = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
Malloc real_malloc;
Calloc real_calloc;
Realloc real_realloc;
Free real_free;
Align real_align;
Start real_start;

struct Thread {
  void* (*body)(void*);
  void* argument;
};
void* run_thread(void* memory) {
  const Thread thread = *static_cast<Thread*>(memory);
  real_free(memory);
  in_body = true;
  void* result = thread.body(thread.argument);
  in_body = false;
  return result;
}

}  // namespace

void arm(uint64_t n, Mode mode, bool trace) {
  void* frame;
  backtrace(&frame, 1);  // loads what it needs
  calls = 0;
  failures = 0;
  first_failure = n;
  how = mode;
  in_body = true;
  tracing = trace;
  armed = true;
}

Counts disarm() {
  armed = false;
  return {calls, failures};
}

uint64_t live() { return alive.count(); }

extern "C" {

void* malloc(size_t bytes) {
  if (!may_proceed()) {
    errno = ENOMEM;
    return nullptr;
  }
  const Malloc real = hidden(real_malloc, "malloc");
  return real == nullptr ? early(bytes) : noted(real(bytes));
}

void* calloc(size_t count, size_t size) {
  if (!may_proceed()) {
    errno = ENOMEM;
    return nullptr;
  }
  const Calloc real = hidden(real_calloc, "calloc");
  return real == nullptr ? early(count * size) : noted(real(count, size));
}

void* realloc(void* block, size_t bytes) {
  if (!may_proceed()) {
    errno = ENOMEM;
    return nullptr;
  }
  alive.remove(block);  // before another thread may get its address
  void* moved = hidden(real_realloc, "realloc")(block, bytes);
  if (moved == nullptr) noted(block);
  return noted(moved);
}

void free(void* block) {
  if (block == nullptr || is_early(block)) return;
  alive.remove(block);
  if (const Free real = hidden(real_free, "free")) real(block);
}

int posix_memalign(void** block, size_t align, size_t bytes) {
  if (!may_proceed()) return ENOMEM;
  const int error = hidden(real_align, "posix_memalign")(block, align, bytes);
  if (error == 0) noted(*block);
  return error;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (!may_proceed()) return EAGAIN;
  void* memory = hidden(real_malloc, "malloc")(sizeof(Thread));
  *static_cast<Thread*>(memory) = {body, argument};
  hidden(real_free, "free");
  starting_thread = true;
  const int error = hidden(real_start, "pthread_create")(thread, attributes, run_thread, memory);
  starting_thread = false;
  if (error != 0) real_free(memory);
  return error;
}

// ---- what the linker wraps

void* __real_mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void* address, size_t bytes);
int __real_mprotect(void* address, size_t bytes, int protection);
int __real_memfd_create(const char* name, unsigned flags);

void* __wrap_mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (!may_proceed()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* pages = __real_mmap(address, bytes, protection, flags, fd, offset);
  if (pages != MAP_FAILED) noted(pages);
  return pages;
}

int __wrap_munmap(void* address, size_t bytes) {
  alive.remove(address);
  return __real_munmap(address, bytes);
}

int __wrap_mprotect(void* address, size_t bytes, int protection) {
  if (may_proceed()) return __real_mprotect(address, bytes, protection);
  errno = ENOMEM;
  return -1;
}

int __wrap_memfd_create(const char* name, unsigned flags) {
  if (may_proceed()) return __real_memfd_create(name, flags);
  errno = ENOMEM;
  return -1;
}

int __wrap_fsync(int) { return 0; }  // thousands of files are written

}  // extern "C"

}  // namespace morello::testing::faults

// Those of libstdc++ call malloc, those of a sanitizer do not.
void* operator new(size_t bytes) {
  if (void* block = malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, std::align_val_t align) {
  void* block = nullptr;
  if (posix_memalign(&block, static_cast<size_t>(align), bytes == 0 ? 1 : bytes) == 0) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes, std::align_val_t align) { return operator new(bytes, align); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* block) noexcept { free(block); }
void operator delete[](void* block) noexcept { free(block); }
void operator delete(void* block, size_t) noexcept { free(block); }
void operator delete[](void* block, size_t) noexcept { free(block); }
void operator delete(void* block, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { free(block); }
