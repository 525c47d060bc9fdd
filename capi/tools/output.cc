// SPDX-License-Identifier: MIT
#include "output.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "command.hh"

namespace morello::tools {
namespace {

constexpr std::chrono::seconds kBetweenLines{5};

int lost = 0;  // the errno of the first write to standard output that failed
bool error_lost = false;

/// The errno, if it is set: a short write without one is a bug of the C library.
int reason() { return errno != 0 ? errno : EIO; }

/// `text` with one path in place of another.
std::string replaced(std::string text, const std::string& path, const std::string& by) {
  if (const size_t at = text.find(path); !path.empty() && at != text.npos)
    text.replace(at, path.size(), by);
  return text;
}

}  // namespace

void prepare_output() {
  for (int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // It takes the lowest number that is free, which is this one. Reading and writing it fail.
    if (open("/", O_PATH) != fd) _exit(kExitFailed);
  }
}

void write_out(std::string_view text) {
  errno = 0;
  if (lost == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) lost = reason();
}

void flush_out() {
  errno = 0;
  if (lost == 0 && std::fflush(stdout) != 0) lost = reason();
}

void write_error(std::string_view text) {
  flush_out();
  error_lost |= std::fwrite(text.data(), 1, text.size(), stderr) != text.size();
  error_lost |= std::fflush(stderr) != 0;
}

bool output_failed() { return lost != 0; }

int finish_output(int exit_code) {
  flush_out();
  // Some file systems say only when a descriptor is closed that there was no room. A copy will do.
  errno = 0;
  const int copy = dup(STDOUT_FILENO);
  if (copy != -1 && close(copy) != 0 && lost == 0) lost = reason();
  if (lost != 0) print_error("morello: cannot write standard output: {}\n", std::strerror(lost));
  return exit_code == kExitOk && (lost != 0 || error_lost) ? kExitFailed : exit_code;
}

std::string write_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool good = file != nullptr;
  for (std::string_view part : parts)
    good = good && std::fwrite(part.data(), 1, part.size(), file) == part.size();
  int why = reason();
  if (file != nullptr && std::fclose(file) != 0 && good) {
    good = false;
    why = reason();
  }
  return good ? std::string() : fmt::format("{}: cannot be written: {}", path, std::strerror(why));
}

std::string replace_files(const std::vector<NewFile>& files) {
  std::vector<std::string> written;  // "": in place
  std::string problem;
  for (const NewFile& file : files) {
    struct stat now;
    const bool exists = stat(file.path.c_str(), &now) == 0;
    const bool in_place = exists && !S_ISREG(now.st_mode);
    // Beside the file, or beside what it is a link to.
    std::unique_ptr<char, decltype(&std::free)> real(
        exists ? realpath(file.path.c_str(), nullptr) : nullptr, std::free);
    const std::string path = real && !in_place ? real.get() : file.path;
    written.push_back(in_place ? std::string() : fmt::format("{}.new-{}", path, getpid()));
    problem = write_file(in_place ? path : written.back(), {file.bytes});
    if (!problem.empty()) problem = replaced(problem, written.back(), file.path);
    if (!problem.empty()) break;
    if (exists && !in_place) chmod(written.back().c_str(), now.st_mode & 07777);
  }
  for (size_t i = 0; i < written.size(); i++) {
    if (written[i].empty()) continue;
    const std::string path = written[i].substr(0, written[i].rfind(".new-"));
    if (problem.empty() && std::rename(written[i].c_str(), path.c_str()) != 0)
      problem = fmt::format("{}: cannot be written: {}", files[i].path, std::strerror(errno));
    if (!problem.empty()) unlink(written[i].c_str());
  }
  return problem;
}

std::string find_unwritable(const std::vector<std::string>& paths, bool only_files) {
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    struct stat now;
    int why = 0;
    if (stat(path.c_str(), &now) == 0) {
      // Files are replaced, whatever their own permissions.
      if (S_ISDIR(now.st_mode))
        why = EISDIR;
      else if (only_files && !S_ISREG(now.st_mode))
        return fmt::format("{}: cannot be written: it is no regular file", path);
    } else {
      const size_t slash = path.rfind('/');
      const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
      if (access(folder.c_str(), W_OK | X_OK) != 0) why = errno;
      if (path.ends_with('/')) why = EISDIR;
    }
    if (why != 0) return fmt::format("{}: cannot be written: {}", path, std::strerror(why));
  }
  return {};
}

StatusLine::StatusLine()
    : on_terminal_(isatty(STDERR_FILENO) != 0),
      next_(std::chrono::steady_clock::now() + kBetweenLines) {}

void StatusLine::show(std::string_view text) {
  if (on_terminal_) {
    print_error("\r{}\x1b[K", text);
    shown_ = true;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetweenLines;
  print_error("{}\n", text);
}

void StatusLine::clear() {
  if (shown_) print_error("\r\x1b[K");
  shown_ = false;
}

}  // namespace morello::tools
