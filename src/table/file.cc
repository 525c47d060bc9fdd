// SPDX-License-Identifier: MIT
#include "table/file.hh"

#include <sys/file.h>
#include <sys/stat.h>

#include "support/file.hh"

namespace morello {
namespace {

/// All bytes of a file, which `options` counts afterwards.
Result<Bytes> read_file(const std::string& path, int fd, DecodeOptions& options) {
  const Result<u64> size = size_of_file(path, fd);
  if (!size) return size.error();
  options.taken += *size;
  if (options.taken > options.max_bytes)
    return with_path(path, Allowance(options.max_bytes).too_large("the file"));
  return read_all(path, fd, *size);
}

/// A file, its frames, and the content of one of them.
struct Existing {
  Bytes bytes;  // that the frames point into
  std::vector<Frame> frames;
  size_t number = 0;  // of the part that is wanted, or before which it would be
  std::optional<TableContent> content;
};

/// Finds the part that `options` want, and decodes it.
std::optional<Error> find_part(Existing& file, const DecodeOptions& options) {
  Result<std::vector<Frame>> frames = read_frames(file.bytes);
  if (!frames) return std::move(frames.error());
  file.frames = std::move(*frames);
  if (options.wanted == nullptr && file.frames.size() > 1) return decode(file.bytes).error();
  if (options.wanted != nullptr) {
    const auto place = place_of(*options.wanted);
    while (file.number < file.frames.size() && place_of(file.frames[file.number].identity) < place)
      file.number++;
    if (file.number == file.frames.size() || place_of(file.frames[file.number].identity) != place)
      return std::nullopt;
  }
  Result<TableContent> content = decode(file.frames[file.number], options);
  if (!content) return std::move(content.error());
  file.content = std::move(*content);
  return std::nullopt;
}

/// The file with this content in its place.
Bytes with_part(const Existing& file, const Bytes& part) {
  std::vector<std::span<const u8>> frames;
  for (const Frame& frame : file.frames) frames.push_back(frame.bytes);
  const auto at = frames.begin() + static_cast<std::ptrdiff_t>(file.number);
  if (file.content)
    *at = part;
  else
    frames.insert(at, part);
  return join(frames);
}

/// A table file in its folder, locked against other writers.
class LockedFile {
 public:
  static Result<LockedFile> open(const std::string& path);

  /// Without frames if there is no file.
  Result<Existing> load(const DecodeOptions& options) const;
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

Result<Existing> LockedFile::load(const DecodeOptions& options) const {
  Existing existing;
  Descriptor file(openat(folder_.get(), name_.c_str(), kReadFlags));
  if (!file && errno == ENOENT) return existing;
  if (!file) return failed(path_, "open");
  DecodeOptions counted = options;
  Result<Bytes> bytes = read_file(path_, file.get(), counted);
  if (!bytes) return bytes.error();
  existing.bytes = std::move(*bytes);
  if (std::optional<Error> error = find_part(existing, counted)) return with_path(path_, *error);
  return existing;
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

std::optional<Error> load_parts(const std::string& path, const DecodeOptions& options,
                                const TakePart& take) {
  Descriptor file(open(path.c_str(), kReadFlags));
  if (!file) return failed(path, "open");
  DecodeOptions counted = options;
  const Result<Bytes> bytes = read_file(path, file.get(), counted);
  if (!bytes) return bytes.error();
  std::optional<Error> error = decode_parts(*bytes, counted, take);
  if (error) return with_path(path, std::move(*error));
  return std::nullopt;
}

Result<TableContent> load(const std::string& path, const DecodeOptions& options) {
  std::optional<TableContent> only;
  const std::optional<Error> error =
      load_parts(path, options, [&](TableContent content) -> std::optional<Error> {
        if (only) return Error{MORELLO_INCOMPATIBLE_TABLE, "the table has several parts"};
        only = std::move(content);
        return std::nullopt;
      });
  if (error) return *error;
  return std::move(*only);
}

std::optional<Error> save(const std::string& path, const TableContent& content) {
  return save(path, std::vector<TableContent>{content});
}

std::optional<Error> save(const std::string& path, const std::vector<TableContent>& parts) {
  const Bytes bytes = encode(parts);
  Result<LockedFile> file = LockedFile::open(path);
  return file ? file->replace(bytes) : file.error();
}

std::optional<Error> update(const std::string& path, const Change& change,
                            const DecodeOptions& options) {
  Result<LockedFile> file = LockedFile::open(path);
  if (!file) return file.error();
  Result<Existing> existing = file->load(options);
  if (!existing) return existing.error();
  Result<TableContent> changed = change(existing->content);
  if (!changed) return changed.error();
  return file->replace(with_part(*existing, encode(*changed)));
}

}  // namespace morello
