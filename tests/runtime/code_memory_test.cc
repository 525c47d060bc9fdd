// SPDX-License-Identifier: MIT
// Executable memory on systems that allow it, and on ones that refuse one or both ways to it.
#include "runtime/code_memory.hh"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../support/sandbox.hh"

namespace morello {
namespace {

using testing::check_in_child;
using testing::deny_calls;
using testing::deny_write_execute;
using testing::kAllowed;
using testing::kDenied;
using testing::kDenyMemfd;
using testing::kDenyMprotectExec;
using testing::kFailed;

constexpr u8 kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret

int call(const CodeMemory& code) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(code.data()))();
}

/// Permissions of the mapping that holds `address`, as in /proc/self/maps: "r-xp".
std::string permissions_at(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return "";
  char line[512], flags[8] = "";
  std::string found;
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    uint64_t from = 0, to = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to, flags) != 3) continue;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at >= from && at < to) found = flags;
  }
  std::fclose(maps);
  return found;
}

int refuse_protect(void*, size_t, int) {
  errno = EACCES;
  return -1;
}
int refuse_memfd(const char*, unsigned) {
  errno = EPERM;
  return -1;
}
int no_memory_protect(void*, size_t, int) {
  errno = ENOMEM;
  return -1;
}
int no_memory_memfd(const char*, unsigned) {
  errno = ENOMEM;
  return -1;
}
void* refuse_map(size_t, int, int) {
  errno = EACCES;
  return MAP_FAILED;
}
/// A kernel that does not know MFD_EXEC.
int old_memfd(const char* name, unsigned flags) {
  constexpr unsigned kMfdExec = 0x10;
  if ((flags & kMfdExec) == 0) return memfd_create(name, flags);
  errno = EINVAL;
  return -1;
}

CodeMemoryCalls calls_with(decltype(CodeMemoryCalls::protect) protect,
                           decltype(CodeMemoryCalls::memfd) memfd = nullptr,
                           decltype(CodeMemoryCalls::map_file) map_file = nullptr) {
  CodeMemoryCalls calls = system_code_memory_calls();
  if (protect != nullptr) calls.protect = protect;
  if (memfd != nullptr) calls.memfd = memfd;
  if (map_file != nullptr) calls.map_file = map_file;
  return calls;
}

void check_runs(const CodeMemoryCalls& calls) {
  const Result<CodeMemory> code = CodeMemory::make(kReturn42, calls);
  REQUIRE(code.ok());
  CHECK(call(*code) == 42);
  CHECK(code->size() == sizeof(kReturn42));
  CHECK(std::memcmp(code->data(), kReturn42, sizeof(kReturn42)) == 0);
  CHECK(permissions_at(code->data()).substr(0, 3) == "r-x");
}

/// What a child process that the system denies things ends with.
int try_to_run() {
  const Result<CodeMemory> code = CodeMemory::make(kReturn42);
  if (!code) return code.error().status == MORELLO_EXEC_MEMORY_DENIED ? kDenied : kFailed;
  const bool works = call(*code) == 42 && permissions_at(code->data()).substr(0, 3) == "r-x";
  return works && executable_memory_available() ? kAllowed : kFailed;
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("code runs from memory that is not writable") { check_runs(system_code_memory_calls()); }

TEST_CASE("where mprotect is refused, a memory file serves") {
  check_runs(calls_with(refuse_protect));
}

TEST_CASE("a kernel without MFD_EXEC") { check_runs(calls_with(refuse_protect, old_memfd)); }

TEST_CASE("where both are refused, the error says what, and what would help") {
  const Result<CodeMemory> code =
      CodeMemory::make(kReturn42, calls_with(refuse_protect, refuse_memfd));
  REQUIRE(!code.ok());
  CHECK(code.error().status == MORELLO_EXEC_MEMORY_DENIED);
  const std::string& message = code.error().message;
  for (const char* part : {"mprotect", "EACCES", "memfd_create", "EPERM", "MemoryDenyWriteExecute",
                           "execmem", "search_only"})
    CHECK_MESSAGE(message.find(part) != std::string::npos, message);
  const Result<CodeMemory> mapped =
      CodeMemory::make(kReturn42, calls_with(refuse_protect, nullptr, refuse_map));
  REQUIRE(!mapped.ok());
  CHECK(mapped.error().status == MORELLO_EXEC_MEMORY_DENIED);
  CHECK(mapped.error().message.find("mmap") != std::string::npos);
}

TEST_CASE("no memory is not a refusal") {
  const Result<CodeMemory> code =
      CodeMemory::make(kReturn42, calls_with(no_memory_protect, no_memory_memfd));
  REQUIRE(!code.ok());
  CHECK(code.error().status == MORELLO_OUT_OF_MEMORY);
}

TEST_CASE("blocks of any size, moved and destroyed") {
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{1} << 20}) {
    for (const CodeMemoryCalls& calls : {system_code_memory_calls(), calls_with(refuse_protect)}) {
      std::vector<u8> bytes(size, 0x90);
      if (size > 0) bytes.back() = 0xc3;
      Result<CodeMemory> code = CodeMemory::make(bytes, calls);
      REQUIRE(code.ok());
      CodeMemory moved = std::move(*code);
      CHECK(moved.size() == size);
      if (size > 0) CHECK(moved.data()[size - 1] == 0xc3);
      moved = CodeMemory();
      CHECK(moved.size() == 0);
    }
  }
}

TEST_CASE("a process that may not make memory executable (PR_SET_MDWE)") {
  check_in_child(
      "PR_SET_MDWE", [] { return deny_write_execute(); }, try_to_run, kAllowed);
}

TEST_CASE("a process whose filter refuses mprotect with PROT_EXEC") {
  check_in_child(
      "seccomp", [] { return deny_calls(kDenyMprotectExec); }, try_to_run, kAllowed);
}

TEST_CASE("a process whose filter refuses both ways") {
  check_in_child(
      "seccomp", [] { return deny_calls(kDenyMprotectExec | kDenyMemfd); }, try_to_run, kDenied);
}

TEST_CASE("a process that has MDWE and no memory files") {
  const auto deny = [] { return deny_write_execute() && deny_calls(kDenyMemfd); };
  check_in_child("PR_SET_MDWE with seccomp", deny, try_to_run, kDenied);
}

TEST_SUITE_END();

}  // namespace morello
