// SPDX-License-Identifier: MIT
#include "support/file.hh"

#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <system_error>

#include "support/concat.hh"

namespace morello {
namespace {

/// Of the temporary files of this process.
std::atomic<u32> g_next_number{0};

/// Another process may have the same number, in another namespace, and a dead one may have left a
/// file behind: then the next name is tried.
constexpr int kTries = 1000;

/// A new file under a name that no other has; removed again unless it was renamed.
class Temporary {
 public:
  Temporary(int folder, const std::string& name, mode_t mode) : folder_(folder) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int i = 0; i < kTries && !file_; i++) {
      name_ = concat({name, ".", getpid(), ".",
                      g_next_number.fetch_add(1, std::memory_order_relaxed), ".tmp"});
      file_ = Descriptor(openat(folder_, name_.c_str(), kFlags, mode));
      if (!file_ && errno != EEXIST) break;
    }
  }
  ~Temporary() {  // also where there is no memory to say what went wrong
    if (file_ && !renamed_) unlinkat(folder_, name_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }
  bool rename_to(const std::string& name) {
    renamed_ = renameat(folder_, name_.c_str(), folder_, name.c_str()) == 0;
    return renamed_;
  }

 private:
  int folder_;
  std::string name_;
  Descriptor file_;
  bool renamed_ = false;
};

}  // namespace

Error io_error(const std::string& path, const std::string& what) {
  return {MORELLO_IO_ERROR, concat({path, ": ", what})};
}

Error failed(const std::string& path, const std::string& to_do) {
  return io_error(path, concat({"cannot ", to_do, ": ", std::generic_category().message(errno)}));
}

Error with_path(const std::string& path, Error error) {
  error.message = concat({path, ": ", error.message});
  return error;
}

Result<u64> size_of_file(const std::string& path, int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return failed(path, "read");
  if (S_ISDIR(status.st_mode)) return io_error(path, "is a directory, no file");
  if (!S_ISREG(status.st_mode)) return io_error(path, "is no regular file");
  return static_cast<u64>(status.st_size);
}

Result<Bytes> read_all(const std::string& path, int fd, u64 size) {
  Bytes bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = uninterrupted([&] { return read(fd, bytes.data() + done, size - done); });
    if (n < 0) return failed(path, "read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

std::optional<Error> write_all(const std::string& path, int fd, std::span<const u8> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        uninterrupted([&] { return write(fd, bytes.data() + done, bytes.size() - done); });
    if (n <= 0) return failed(path, "write");
    done += static_cast<size_t>(n);
  }
  return std::nullopt;
}

Result<FilePlace> find_place(const std::string& path) {
  const size_t slash = path.rfind('/');
  std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (name.empty() || name == "." || name == "..") return io_error(path, "is no name of a file");
  Descriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return failed(path, "open the directory");
  return FilePlace{path, std::move(name), std::move(folder)};
}

std::optional<Error> sync_folder(const std::string& path, int folder) {
  if (uninterrupted([&] { return fsync(folder); }) != 0 && errno != EINVAL)
    return failed(path, "make the new file durable");
  return std::nullopt;
}

std::optional<Error> put_file(const std::string& path, int folder, const std::string& name,
                              std::span<const u8> bytes, const NewFile& options) {
  struct stat status;
  if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
    return io_error(path,
                    S_ISDIR(status.st_mode) ? "is a directory, no file" : "is no regular file");
  Temporary file(folder, name, options.mode);
  if (!file) return failed(path, "create a file beside it");
  if (auto e = write_all(path, file.get(), bytes)) return e;
  if (options.durable && uninterrupted([&] { return fsync(file.get()); }) != 0)
    return failed(path, "write");
  if (!file.rename_to(name)) return failed(path, "replace");
  return options.durable ? sync_folder(path, folder) : std::nullopt;
}

}  // namespace morello
