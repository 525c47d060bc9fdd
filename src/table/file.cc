// SPDX-License-Identifier: MIT
#include "table/file.hh"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace morello {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

Error io_error(const std::string& path, const std::string& what) {
  return {MORELLO_IO_ERROR, path + ": " + what};
}
/// With what the system said last.
Error failed(const std::string& path, const std::string& to_do) {
  return io_error(path, "cannot " + to_do + ": " + std::generic_category().message(errno));
}
Error with_path(const std::string& path, Error error) {
  error.message = path + ": " + error.message;
  return error;
}

/// Calls again while signals interrupt it.
template <class F>
auto uninterrupted(F&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// ---- reading

std::optional<Error> check_kind(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return io_error(path, "is a directory, no table file");
  if (!S_ISREG(status.st_mode)) return io_error(path, "is no regular file");
  return std::nullopt;
}

Result<Bytes> read_all(const std::string& path, int fd, size_t size) {
  Bytes bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = uninterrupted([&] { return read(fd, bytes.data() + done, size - done); });
    if (n < 0) return failed(path, "read");
    if (n == 0) break;  // it was cut meanwhile, which decode() notices
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

Result<TableContent> load_from(const std::string& path, int fd, const DecodeOptions& options) {
  struct stat status;
  if (fstat(fd, &status) != 0) return failed(path, "read");
  if (std::optional<Error> bad = check_kind(path, status)) return *bad;
  const u64 size = static_cast<u64>(status.st_size);
  DecodeOptions counted = options;
  counted.taken += size;
  if (counted.taken > options.max_bytes)
    return with_path(path, Allowance(options.max_bytes).too_large("the file"));
  Result<Bytes> bytes = read_all(path, fd, size);
  if (!bytes) return bytes.error();
  Result<TableContent> content = decode(*bytes, counted);
  if (!content) return with_path(path, content.error());
  return content;
}

// A FIFO or a device must not block.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// ---- writing

/// A table file in its folder, locked against other writers.
class LockedFile {
 public:
  static Result<LockedFile> open(const std::string& path);

  /// Nothing if there is no file.
  Result<std::optional<TableContent>> load(const DecodeOptions& options) const;
  std::optional<Error> replace(const Bytes& bytes) const;

 private:
  LockedFile(std::string path, std::string name, Descriptor folder, Descriptor lock)
      : path_(std::move(path)),
        name_(std::move(name)),
        temporary_(name_ + ".tmp"),
        folder_(std::move(folder)),
        lock_(std::move(lock)) {}

  std::optional<Error> write_temporary(const Bytes& bytes, const struct stat* replaced) const;

  std::string path_, name_, temporary_;
  Descriptor folder_;
  Descriptor lock_;  // given up when it is closed
};

Result<LockedFile> LockedFile::open(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (name.empty() || name == "." || name == "..") return io_error(path, "is no name of a file");
  Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return failed(path, "open the directory");
  constexpr int kLockFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor lock(openat(folder.get(), (name + ".lock").c_str(), kLockFlags, 0666));
  if (!lock || uninterrupted([&] { return flock(lock.get(), LOCK_EX); }) != 0)
    return failed(path, "lock (with " + name + ".lock)");
  return LockedFile(path, name, std::move(folder), std::move(lock));
}

Result<std::optional<TableContent>> LockedFile::load(const DecodeOptions& options) const {
  Descriptor file(openat(folder_.get(), name_.c_str(), kReadFlags));
  if (!file && errno == ENOENT) return std::optional<TableContent>();
  if (!file) return failed(path_, "open");
  Result<TableContent> content = load_from(path_, file.get(), options);
  if (!content) return content.error();
  return std::optional<TableContent>(std::move(*content));
}

/// Gives a new file the owner, group and permissions of the one that it will replace, as far as the
/// system lets us: where the group stays another one, it gets no more than everybody has.
void take_over(int fd, const struct stat& replaced) {
  mode_t mode = replaced.st_mode & 0777;
  if (fchown(fd, replaced.st_uid, replaced.st_gid) != 0 &&
      fchown(fd, static_cast<uid_t>(-1), replaced.st_gid) != 0)
    mode = (mode & 0707) | (mode & 0007) << 3;
  // File systems that know no permissions refuse, and need not.
  static_cast<void>(fchmod(fd, mode));
}

std::optional<Error> LockedFile::write_temporary(const Bytes& bytes,
                                                 const struct stat* replaced) const {
  // Whoever left one behind is dead: we have the lock.
  unlinkat(folder_.get(), temporary_.c_str(), 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const mode_t mode = replaced == nullptr ? 0666 : 0600;  // until it takes over the other's
  Descriptor file(openat(folder_.get(), temporary_.c_str(), kFlags, mode));
  if (!file) return failed(path_, "create " + temporary_);
  if (replaced != nullptr) take_over(file.get(), *replaced);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        uninterrupted([&] { return write(file.get(), bytes.data() + done, bytes.size() - done); });
    if (n <= 0) return failed(path_, "write");
    done += static_cast<size_t>(n);
  }
  if (uninterrupted([&] { return fsync(file.get()); }) != 0) return failed(path_, "write");
  return std::nullopt;
}

std::optional<Error> LockedFile::replace(const Bytes& bytes) const {
  struct stat status;
  const bool replaces = fstatat(folder_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        !S_ISLNK(status.st_mode);
  if (replaces)
    if (std::optional<Error> bad = check_kind(path_, status)) return bad;
  struct Remove {  // also where there is no memory to say what went wrong
    const LockedFile& file;
    bool needed = true;
    ~Remove() {
      if (needed) unlinkat(file.folder_.get(), file.temporary_.c_str(), 0);
    }
  } remove{*this};
  if (std::optional<Error> error = write_temporary(bytes, replaces ? &status : nullptr))
    return error;
  if (renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0)
    return failed(path_, "replace");
  remove.needed = false;
  // Some file systems cannot, and need not.
  if (uninterrupted([&] { return fsync(folder_.get()); }) != 0 && errno != EINVAL)
    return failed(path_, "make the new file durable");
  return std::nullopt;
}

}  // namespace

Result<TableContent> load(const std::string& path, const DecodeOptions& options) {
  Descriptor file(open(path.c_str(), kReadFlags));
  if (!file) return failed(path, "open");
  return load_from(path, file.get(), options);
}

std::optional<Error> save(const std::string& path, const TableContent& content) {
  const Bytes bytes = encode(content);
  Result<LockedFile> file = LockedFile::open(path);
  return file ? file->replace(bytes) : file.error();
}

std::optional<Error> update(const std::string& path, const Change& change,
                            const DecodeOptions& options) {
  Result<LockedFile> file = LockedFile::open(path);
  if (!file) return file.error();
  Result<std::optional<TableContent>> existing = file->load(options);
  if (!existing) return existing.error();
  Result<TableContent> changed = change(std::move(*existing));
  if (!changed) return changed.error();
  return file->replace(encode(*changed));
}

}  // namespace morello
