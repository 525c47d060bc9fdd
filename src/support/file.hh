// SPDX-License-Identifier: MIT
// Files: reading a whole one, and replacing one as a whole or not at all. Errors are IO_ERROR, with
// the path and what the system said.
#ifndef MORELLO_SUPPORT_FILE_HH
#define MORELLO_SUPPORT_FILE_HH

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <span>
#include <vector>

#include "support/result.hh"

namespace morello {

using Bytes = std::vector<u8>;

/// Owns a file descriptor, if there is one.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Calls again while signals interrupt it.
template <class F>
auto uninterrupted(F&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// For reading: a FIFO or a device must not block.
inline constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Error io_error(const std::string& path, const std::string& what);
/// With what the system said last.
Error failed(const std::string& path, const std::string& to_do);
Error with_path(const std::string& path, Error error);

/// How many bytes it has. Error: it is no regular file.
Result<u64> size_of_file(const std::string& path, int fd);
/// Its first `size` bytes, or all, if it was cut meanwhile.
Result<Bytes> read_all(const std::string& path, int fd, u64 size);
std::optional<Error> write_all(const std::string& path, int fd, std::span<const u8> bytes);

/// The folder of a path, and the name in it.
struct FilePlace {
  std::string path, name;
  Descriptor folder;
};
Result<FilePlace> find_place(const std::string& path);

/// Where new files come from, and what the system is asked for.
struct NewFile {
  mode_t mode = 0666;   // less what the process takes away
  bool durable = true;  // on disk when the call returns, unless the file system has no such thing
};
/// Makes the file `name`, or replaces what has this name: whoever opens it has the old one or all
/// of the new one. Until then it is named like it, with ".tmp" at the end. Any threads and
/// processes may do this at once. Devices and the like are refused: a file in their place would
/// break whoever else uses them. A symbolic link is replaced, never followed.
std::optional<Error> put_file(const std::string& path, int folder, const std::string& name,
                              std::span<const u8> bytes, const NewFile& options = {});

/// Makes a name durable. Some file systems cannot, and need not.
std::optional<Error> sync_folder(const std::string& path, int folder);

}  // namespace morello

#endif
