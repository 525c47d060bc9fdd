// SPDX-License-Identifier: MIT
#include "runtime/code_memory.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/concat.hh"

namespace morello {
namespace {

// Newer than the C library's headers on some of the systems we build on.
constexpr unsigned kMfdExec = 0x10;  // MFD_EXEC, Linux 6.3

void* map_file(size_t bytes, int protection, int fd) {
  return mmap(nullptr, bytes, protection, MAP_PRIVATE, fd, 0);
}

constexpr CodeMemoryCalls kSystemCalls = {mprotect, memfd_create, map_file};

/// A refusal says which call was refused and why; `errno_value` 0 means success.
struct Refusal {
  const char* call = "";
  int errno_value = 0;
};

/// Pages that are writable first, and have `protection` after.
u8* map_anonymous(std::span<const u8> code, size_t mapped, int protection,
                  const CodeMemoryCalls& calls, Refusal& refusal) {
  void* pages = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    refusal = {"mmap", errno};
    return nullptr;
  }
  if (!code.empty()) std::memcpy(pages, code.data(), code.size());
  if (calls.protect(pages, mapped, protection) == 0) return static_cast<u8*>(pages);
  refusal = {"mprotect to read and execute", errno};
  munmap(pages, mapped);
  return nullptr;
}

bool write_all(int fd, std::span<const u8> code) {
  size_t done = 0;
  while (done < code.size()) {
    const ssize_t n = write(fd, code.data() + done, code.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

int open_memory_file(const CodeMemoryCalls& calls) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = calls.memfd("morello-code", kFlags | kMfdExec);
  if (fd >= 0 || errno != EINVAL) return fd;
  return calls.memfd("morello-code", kFlags);  // a kernel that does not know MFD_EXEC
}

/// A file in memory, written with write(2), sealed against changes, and mapped executable: never
/// mapped writable at all. Works where a page must not become executable after it was writable
/// (PR_SET_MDWE, SELinux execmem).
u8* map_memory_file(std::span<const u8> code, size_t mapped, const CodeMemoryCalls& calls,
                    Refusal& refusal) {
  const int fd = open_memory_file(calls);
  if (fd < 0) {
    refusal = {"memfd_create", errno};
    return nullptr;
  }
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  void* pages = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(mapped)) != 0 || !write_all(fd, code)) {
    refusal = {"writing a memory file", errno};
  } else if (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    refusal = {"sealing a memory file", errno};
  } else {
    pages = calls.map_file(mapped, PROT_READ | PROT_EXEC, fd);
    if (pages == MAP_FAILED) refusal = {"mmap of a memory file to read and execute", errno};
  }
  close(fd);
  return pages == MAP_FAILED ? nullptr : static_cast<u8*>(pages);
}

bool means_no_memory(const Refusal& refusal) {
  return refusal.errno_value == ENOMEM || refusal.errno_value == ENOSPC ||
         refusal.errno_value == EMFILE || refusal.errno_value == ENFILE;
}

/// The C library's own names for these are not thread-safe, or not in every C library.
std::string errno_name(int value) {
  switch (value) {
    case EPERM:
      return "EPERM";
    case EACCES:
      return "EACCES";
    case EINVAL:
      return "EINVAL";
    case ENOMEM:
      return "ENOMEM";
    case ENOSYS:
      return "ENOSYS";
    default:
      return concat({"errno ", value});
  }
}

std::string describe(const Refusal& refusal) {
  return concat({refusal.call, " (", errno_name(refusal.errno_value), ")"});
}

Error no_memory(const std::string& refused) {
  return {MORELLO_OUT_OF_MEMORY,
          concat({"no memory for machine code: the system failed ", refused})};
}

Error refused(const Refusal& anonymous, const Refusal& file) {
  const std::string both = concat({describe(anonymous), ", and ", describe(file)});
  if (means_no_memory(anonymous) && means_no_memory(file)) return no_memory(both);
  return {MORELLO_EXEC_MEMORY_DENIED,
          concat({"the system refuses executable memory: it denied ", both,
                  "; allow one of the two for this process (systemd: MemoryDenyWriteExecute=no; "
                  "SELinux: execmem; seccomp: mprotect with PROT_EXEC, or memfd_create), or "
                  "synthesize with search_only"})};
}

/// Whole pages, at least one.
size_t mapped_size(std::span<const u8> code) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return round_up(code.size() + (code.empty() ? 1 : 0), page);
}

}  // namespace

const CodeMemoryCalls& system_code_memory_calls() { return kSystemCalls; }

CodeMemory::CodeMemory(CodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      executable_(std::exchange(other.executable_, false)) {}

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(executable_, other.executable_);
  return *this;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

Result<CodeMemory> CodeMemory::make(std::span<const u8> code, const CodeMemoryCalls& calls) {
  const size_t mapped = mapped_size(code);
  Refusal anonymous, file;
  u8* data = map_anonymous(code, mapped, PROT_READ | PROT_EXEC, calls, anonymous);
  if (data == nullptr) data = map_memory_file(code, mapped, calls, file);
  if (data == nullptr) return refused(anonymous, file);
  return CodeMemory(data, code.size(), mapped, true);
}

Result<CodeMemory> CodeMemory::keep(std::span<const u8> code) {
  const size_t mapped = mapped_size(code);
  Refusal refusal;
  u8* data = map_anonymous(code, mapped, PROT_READ, kSystemCalls, refusal);
  if (data == nullptr) return no_memory(describe(refusal));
  return CodeMemory(data, code.size(), mapped, false);
}

bool executable_memory_available() {
  constexpr u8 kReturn[] = {0xc3};
  return CodeMemory::make(kReturn).ok();
}

}  // namespace morello
