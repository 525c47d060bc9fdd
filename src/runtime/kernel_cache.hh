// SPDX-License-Identifier: MIT
// KernelCache: a folder of stored kernels that processes share. Each file is one kernel, named by
// the hash of its key, which it has inside. Nobody waits for anybody: files come by renaming, and
// go by being removed. What goes wrong with an entry is a miss.
#ifndef MORELLO_RUNTIME_KERNEL_CACHE_HH
#define MORELLO_RUNTIME_KERNEL_CACHE_HH

#include <atomic>
#include <memory>

#include "runtime/stored.hh"

namespace morello {

inline constexpr u64 kDefaultCacheBytes = u64{256} << 20;

/// Any threads may use one at once.
class KernelCache {
 public:
  /// Makes the folder, for this user alone, if its parent exists. Errors: IO_ERROR;
  /// INVALID_ARGUMENT if another user owns it, or could write code into it.
  static Result<std::unique_ptr<KernelCache>> open(const std::string& path, u64 most_bytes);

  /// The kernel of this key, if there is a whole one. It counts as used now. `problem`, if there is
  /// an entry that is not as it should be: what is wrong with it.
  std::optional<Kernel> find(const std::string& key, const DecodeKernelOptions& options,
                             std::optional<Error>& problem) const;
  /// Adds a kernel, or replaces it; then removes those that were not used for longest, until
  /// no more bytes are left than may be (for each other process that adds, 1/64 more). After an
  /// error, such as a full disk or a kernel that is larger than all may be, the cache is as good as
  /// it was. REQUIRES: `kernel` has code.
  std::optional<Error> put(const std::string& key, const Kernel& kernel) const;

 private:
  KernelCache(std::string path, Descriptor folder, u64 most_bytes)
      : path_(std::move(path)), folder_(std::move(folder)), most_bytes_(most_bytes) {}
  void evict() const;

  std::string path_;
  Descriptor folder_;
  const u64 most_bytes_;
  /// What may be added before the folder has to be looked at again, which takes a while if it has
  /// many files. Little, as other processes add as well.
  mutable std::atomic<u64> room_{0};
};

}  // namespace morello

#endif
