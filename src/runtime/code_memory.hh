// SPDX-License-Identifier: MIT
// CodeMemory: a read-only block, executable if it is for this machine, that holds machine code. No
// page is ever writable and executable at once, nor writable through one mapping while executable
// through another.
#ifndef MORELLO_RUNTIME_CODE_MEMORY_HH
#define MORELLO_RUNTIME_CODE_MEMORY_HH

#include <span>

#include "support/result.hh"

namespace morello {

/// The system calls that a hardened system may refuse, with their errors in errno. Tests pass their
/// own to see each refusal.
struct CodeMemoryCalls {
  int (*protect)(void* address, size_t bytes, int protection);
  int (*memfd)(const char* name, unsigned flags);
  void* (*map_file)(size_t bytes, int protection, int fd);
};
const CodeMemoryCalls& system_code_memory_calls();

/// Owns its pages. Immutable: any thread may read or execute it.
class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();

  /// Copies `code` to executable memory: anonymous pages that change from writable to executable,
  /// or, where the system refuses that, a sealed memory file mapped executable. Errors:
  /// MORELLO_EXEC_MEMORY_DENIED if both are refused, MORELLO_OUT_OF_MEMORY.
  static Result<CodeMemory> make(std::span<const u8> code,
                                 const CodeMemoryCalls& calls = system_code_memory_calls());

  /// The same in pages that are never executable: code for another machine, or to be kept. Error:
  /// MORELLO_OUT_OF_MEMORY.
  static Result<CodeMemory> keep(std::span<const u8> code);

  bool executable() const { return executable_; }
  const u8* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  CodeMemory(u8* data, size_t size, size_t mapped, bool executable)
      : data_(data), size_(size), mapped_(mapped), executable_(executable) {}

  u8* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;
  bool executable_ = false;
};

/// Whether CodeMemory::make can succeed here: tries it with one instruction.
bool executable_memory_available();

}  // namespace morello

#endif
