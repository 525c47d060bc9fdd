// SPDX-License-Identifier: MIT
#include "runtime/kernel_cache.hh"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

namespace morello {
namespace {

constexpr std::string_view kSuffix = ".mkrn", kTemporarySuffix = ".tmp";
/// Seconds after which a temporary file is what a dead process left behind.
constexpr i64 kStale = 3600;

std::string name_of(const std::string& key) {
  char hex[17];
  std::snprintf(hex, sizeof(hex), "%016llx",
                static_cast<unsigned long long>(
                    checksum({reinterpret_cast<const u8*>(key.data()), key.size()})));
  return hex + std::string(kSuffix);
}

/// Nobody but this user and the system's could have written it.
bool is_ours(const struct stat& status) {
  const bool owned = status.st_uid == geteuid() || status.st_uid == 0;
  return owned && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Entry {
  timespec used;
  u64 bytes;
  std::string name;
};

/// All that has the name of a kernel; stale temporary files are removed.
std::vector<Entry> list(int folder) {
  std::vector<Entry> entries;
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return entries;
  struct Close {
    void operator()(DIR* d) const { closedir(d); }
  };
  const std::unique_ptr<DIR, Close> stream(fdopendir(own));
  if (!stream) {
    close(own);
    return entries;
  }
  const i64 now = std::time(nullptr);
  while (const dirent* found = readdir(stream.get())) {
    const std::string_view name = found->d_name;
    const bool temporary = name.ends_with(kTemporarySuffix);
    struct stat status;
    if ((!temporary && !name.ends_with(kSuffix)) ||
        fstatat(folder, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    if (!temporary)
      entries.push_back({status.st_mtim, static_cast<u64>(status.st_size), std::string(name)});
    else if (name.find(kSuffix) != std::string_view::npos && now - status.st_mtim.tv_sec > kStale)
      unlinkat(folder, found->d_name, 0);
  }
  return entries;
}

}  // namespace

Result<std::unique_ptr<KernelCache>> KernelCache::open(const std::string& path, u64 most_bytes) {
  const auto named = [&](Error error) {
    error.message = "the cache directory " + error.message;
    return error;
  };
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Descriptor folder(::open(path.c_str(), kFlags));
  if (!folder && errno == ENOENT) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return named(failed(path, "be made"));
    folder = Descriptor(::open(path.c_str(), kFlags));
  }
  struct stat status;
  if (!folder || fstat(folder.get(), &status) != 0) return named(failed(path, "be opened"));
  if (!is_ours(status))
    return named({MORELLO_INVALID_ARGUMENT,
                  path + ": others own it or may write to it, and what is in it will run; take a "
                         "directory of your own, with permissions such as 0700"});
  return std::unique_ptr<KernelCache>(new KernelCache(path, std::move(folder), most_bytes));
}

std::optional<Kernel> KernelCache::find(const std::string& key, const DecodeKernelOptions& options,
                                        std::optional<Error>& problem) const {
  const std::string name = name_of(key);
  const std::string path = path_ + "/" + name;
  const Descriptor file(openat(folder_.get(), name.c_str(), kReadFlags | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) {
    problem = failed(path, "open");
    return std::nullopt;
  }
  if (!is_ours(status)) {
    problem = io_error(path, "others own it or may write to it");
    return std::nullopt;
  }
  const Result<u64> size = size_of_file(path, file.get());
  Result<StoredKernel> stored =
      size ? decode_file(path, file.get(), *size, options) : Result<StoredKernel>(size.error());
  if (stored && stored->key != key) stored = io_error(path, "is of another kernel");
  if (!stored) {
    problem = std::move(stored.error());
    return std::nullopt;
  }
  futimens(file.get(), nullptr);  // where we may not, it stays as old as it is
  return std::move(stored->kernel);
}

std::optional<Error> KernelCache::put(const std::string& key, const Kernel& kernel) const {
  const Bytes bytes = encode_kernel(kernel, key);
  if (bytes.size() > std::min(most_bytes_, kMostStoredBytes))
    return io_error(path_, "a kernel of " + std::to_string(bytes.size()) +
                               " bytes is larger than all that the cache may have");
  // A pipe would be written to, and stay.
  struct stat there;
  if (fstatat(folder_.get(), name_of(key).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    unlinkat(folder_.get(), name_of(key).c_str(), 0);
  // What is not whole after a crash is no entry: nothing has to be on disk now.
  if (auto e =
          put_file(path_ + "/" + name_of(key), folder_.get(), name_of(key), bytes, {0600, false}))
    return e;
  u64 room = room_.load(std::memory_order_relaxed);
  while (room >= bytes.size() &&
         !room_.compare_exchange_weak(room, room - bytes.size(), std::memory_order_relaxed)) {
  }
  if (room < bytes.size()) evict();
  return std::nullopt;
}

void KernelCache::evict() const {
  std::vector<Entry> entries = list(folder_.get());
  u64 bytes = 0;
  for (const Entry& e : entries) bytes += e.bytes;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
    if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec < b.used.tv_nsec;
    return a.name < b.name;
  });
  for (const Entry& e : entries) {
    if (bytes <= most_bytes_) break;
    unlinkat(folder_.get(), e.name.c_str(), 0);
    bytes -= e.bytes;
  }
  room_.store(std::min(most_bytes_ - std::min(bytes, most_bytes_), most_bytes_ / 64),
              std::memory_order_relaxed);
}

}  // namespace morello
