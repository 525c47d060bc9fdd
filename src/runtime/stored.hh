// SPDX-License-Identifier: MIT
// Kernels as bytes, to be kept in files and loaded by other processes: docs/stored-kernels.md has
// every byte. Decoding trusts no number, and makes no object of damaged bytes; the code itself it
// has to trust.
#ifndef MORELLO_RUNTIME_STORED_HH
#define MORELLO_RUNTIME_STORED_HH

#include <functional>

#include "runtime/kernel.hh"
#include "support/file.hh"

namespace morello {

/// Of what is stored: the same everywhere.
u64 checksum(std::span<const u8> bytes);

/// Larger ones are refused before they are read.
inline constexpr u64 kMostStoredBytes = u64{1} << 30;

/// `key`: of a cache; "" in files of users. The same kernel and key give the same bytes.
/// REQUIRES: it has code.
Bytes encode_kernel(const Kernel& kernel, std::string_view key);

struct DecodeKernelOptions {
  bool to_run = true;  // else code is kept, not made executable
  /// Says what is wrong with the target of the kernel, before memory is made executable.
  std::function<std::optional<Error>(const Target&)> refuse;
};

struct StoredKernel {
  Kernel kernel;
  std::string key;
};

/// @return CORRUPT_KERNEL: no such file, or damaged; INCOMPATIBLE_KERNEL: of another format, or for
/// a target that is not known or not the same; what `refuse` and CodeMemory::make say. Allocates no
/// more than the bytes account for.
Result<StoredKernel> decode_kernel(std::span<const u8> file, const DecodeKernelOptions& options);

/// The same of an open file, at `path`. Error: IO_ERROR as well.
Result<StoredKernel> decode_file(const std::string& path, int fd, u64 size,
                                 const DecodeKernelOptions& options);

}  // namespace morello

#endif
