// SPDX-License-Identifier: MIT
// Libraries of one object: static ones as `ar` would write them, shared ones by the linker.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "emit/object.hh"
#include "fmt/format.h"

extern char** environ;

namespace morello::tools {
namespace {

/// A member's header: no time, owner or mode of this machine.
std::string member(const std::string& name, const std::string& bytes) {
  std::string text =
      fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "644", bytes.size());
  text += bytes;
  if (text.size() % 2 != 0) text += '\n';
  return text;
}

void put_big_endian(std::string& to, uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}

bool write_all(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// Runs a program, whose output goes to standard error. "", or what went wrong.
std::string run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fmt::format(
        "the linker {} cannot be started: {}; install it (Debian: binutils), or "
        "emit an object and link it",
        words[0], std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? std::string() : fmt::format("the linker {} failed", words[0]);
}

std::string read_file(const std::string& path) {
  std::string bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char part[1 << 16];
  for (ssize_t n = 0; fd >= 0 && (n = read(fd, part, sizeof part)) > 0;)
    bytes.append(part, static_cast<size_t>(n));
  if (fd >= 0) close(fd);
  return bytes;
}

}  // namespace

std::string make_archive(const std::string& object, const std::vector<std::string>& symbols) {
  std::string names;
  for (const std::string& name : symbols) names.append(name).push_back('\0');
  const std::string magic = "!<arch>\n";
  const size_t index_bytes = 4 + 4 * symbols.size() + names.size();
  // The index says where each symbol's member begins: all are in the one after it.
  const size_t place = magic.size() + member("/", std::string(index_bytes, '\0')).size();
  std::string index;
  put_big_endian(index, symbols.size());
  for (size_t i = 0; i < symbols.size(); i++) put_big_endian(index, place);
  return magic + member("/", index + names) + member("kernels.o/", object);
}

std::string make_shared_library(const std::string& object, const std::string& soname,
                                std::string* problem) {
  const char* temporary = std::getenv("TMPDIR");
  std::string folder = temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary;
  folder += "/morello-emit-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    *problem = fmt::format("{}: no such folder can be made: {}", folder, std::strerror(errno));
    return {};
  }
  const std::string input = fmt::format("{}/kernels.o", folder);
  const std::string output = fmt::format("{}/kernels.so", folder);
  const int fd = open(input.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || !write_all(fd, object))
    *problem = fmt::format("{}: cannot be written: {}", input, std::strerror(errno));
  if (fd >= 0) close(fd);
  std::string bytes;
  if (problem->empty()) {
    const char* linker = std::getenv("LD");
    *problem = run({linker == nullptr || *linker == '\0' ? "ld" : linker, "-shared",
                    "--build-id=none", "--eh-frame-hdr", "-z", "noexecstack", "-z", "relro", "-z",
                    "now", "-soname", soname, "-o", output, input});
  }
  if (problem->empty()) bytes = read_file(output);
  for (const std::string& path : {input, output}) unlink(path.c_str());
  rmdir(folder.c_str());
  return bytes;
}

}  // namespace morello::tools
