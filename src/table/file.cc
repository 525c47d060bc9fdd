// SPDX-License-Identifier: MIT
#include "table/file.hh"

#include <sys/file.h>
#include <sys/stat.h>

#include "support/file.hh"

namespace morello {
namespace {

Result<TableContent> load_from(const std::string& path, int fd, const DecodeOptions& options) {
  const Result<u64> size = size_of_file(path, fd);
  if (!size) return size.error();
  DecodeOptions counted = options;
  counted.taken += *size;
  if (counted.taken > options.max_bytes)
    return with_path(path, Allowance(options.max_bytes).too_large("the file"));
  Result<Bytes> bytes = read_all(path, fd, *size);
  if (!bytes) return bytes.error();
  Result<TableContent> content = decode(*bytes, counted);
  if (!content) return with_path(path, content.error());
  return content;
}

/// A table file in its folder, locked against other writers.
class LockedFile {
 public:
  static Result<LockedFile> open(const std::string& path);

  /// Nothing if there is no file.
  Result<std::optional<TableContent>> load(const DecodeOptions& options) const;
  std::optional<Error> replace(const Bytes& bytes) const;

 private:
  LockedFile(FilePlace place, Descriptor lock)
      : path_(std::move(place.path)),
        name_(std::move(place.name)),
        temporary_(name_ + ".tmp"),
        folder_(std::move(place.folder)),
        lock_(std::move(lock)) {}

  std::optional<Error> write_temporary(const Bytes& bytes, const struct stat* replaced) const;

  std::string path_, name_, temporary_;
  Descriptor folder_;
  Descriptor lock_;  // given up when it is closed
};

Result<LockedFile> LockedFile::open(const std::string& path) {
  Result<FilePlace> place = find_place(path);
  if (!place) return place.error();
  constexpr int kLockFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const std::string name = place->name + ".lock";
  Descriptor lock(openat(place->folder.get(), name.c_str(), kLockFlags, 0666));
  if (!lock || uninterrupted([&] { return flock(lock.get(), LOCK_EX); }) != 0)
    return failed(path, "lock (with " + name + ")");
  return LockedFile(std::move(*place), std::move(lock));
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
  if (std::optional<Error> error = write_all(path_, file.get(), bytes)) return error;
  if (uninterrupted([&] { return fsync(file.get()); }) != 0) return failed(path_, "write");
  return std::nullopt;
}

std::optional<Error> LockedFile::replace(const Bytes& bytes) const {
  struct stat status;
  const bool replaces = fstatat(folder_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        !S_ISLNK(status.st_mode);
  if (replaces)
    if (!S_ISREG(status.st_mode)) return io_error(path_, "is no regular file");
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
  return sync_folder(path_, folder_.get());
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
