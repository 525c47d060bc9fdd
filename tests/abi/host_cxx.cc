// SPDX-License-Identifier: MIT
// A C++ program keeps its new and delete as well, and its standard containers with them.
#include <new>
#include <vector>

#include "host_check.h"

namespace {

void check(const char *when) {
  check_names(when);
  check_malloc(when);
  void *(*const allocate)(size_t) = &::operator new;
  void (*const deallocate)(void *) = &::operator delete;
  expect(is_from(reinterpret_cast<const void *>(allocate), "libstdc++.so"), "operator new", when);
  expect(is_from(reinterpret_cast<const void *>(deallocate), "libstdc++.so"), "operator delete",
         when);
  const size_t before = mallinfo2().uordblks;
  {
    const std::vector<char> bytes(50000);
    expect(libc_serves(before, bytes.size()), "new is served by libc", when);
  }
  expect(mallinfo2().uordblks <= before, "delete gives the block back to libc", when);
}

}  // namespace

int main() {
  check("before use");
  use_library();
  check("after use");
  if (failures == 0) puts("the host's allocation functions are its own");
  return failures == 0 ? 0 : 1;
}
