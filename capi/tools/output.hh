// SPDX-License-Identifier: MIT
// Everything that the tool writes goes through here, so that no failed write is lost: neither to
// standard output nor to a file. `lint.py writes` keeps it so.
#ifndef MORELLO_CAPI_TOOLS_OUTPUT_HH
#define MORELLO_CAPI_TOOLS_OUTPUT_HH

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace morello::tools {

/// Call before anything is opened. A write to a closed pipe, or past a limit of file sizes, fails
/// from now on instead of ending the process. What is closed of standard input, output and error is
/// opened such that using it fails: else the next file to be opened would take its number, and get
/// what is printed.
void prepare_output();

void write_out(std::string_view text);
/// To standard error, after everything that was printed.
void write_error(std::string_view text);
void flush_out();

template <typename... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  write_out(fmt::format(format, std::forward<T>(arguments)...));
}
template <typename... T>
void print_error(fmt::format_string<T...> format, T&&... arguments) {
  write_error(fmt::format(format, std::forward<T>(arguments)...));
}

/// True once standard output has lost something: no more needs to be made for it.
bool output_failed();
/// Call last. Writes what is buffered. Returns `exit_code`, or if something was lost kExitFailed
/// in place of kExitOk, and says so.
int finish_output(int exit_code);

/// Writes a file anew. Returns an empty string, or what went wrong, with the path.
std::string write_file(const std::string& path, std::initializer_list<std::string_view> parts);

/// A file to be written, with its path.
struct NewFile {
  std::string path;
  std::string bytes;
};
/// Writes files such that each is replaced as a whole, and none if one cannot be written. What is
/// no file, such as a pipe, is written as it is. Returns an empty string, or what went wrong.
std::string replace_files(const std::vector<NewFile>& files);

/// Whether these files can be written, as far as that is known before: to be asked ahead of what
/// takes long. Paths that are empty are none. Returns an empty string, or what is wrong.
/// `only_files`: what is there and no file, such as a pipe, will not do.
std::string find_unwritable(const std::vector<std::string>& paths, bool only_files = false);

/// Where a long work is, on standard error: one line that is written over on a terminal, else a new
/// line now and then.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool on_terminal() const { return on_terminal_; }
  void show(std::string_view text);
  void clear();

 private:
  const bool on_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;  // line, where there is no terminal
};

}  // namespace morello::tools

#endif
