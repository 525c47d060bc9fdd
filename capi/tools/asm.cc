// SPDX-License-Identifier: MIT
// morello asm: the machine code of a kernel, disassembled.
#include <fstream>

#include "command.hh"
#include "disassemble.hh"
#include "fmt/format.h"

namespace morello::tools {
namespace {

constexpr size_t kShownBytes = 10;

std::string hex_of(const uint8_t* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02x} ", bytes[i]);
  return text;
}

void print_line(const Line& line, const uint8_t* code) {
  if (!line.label.empty()) fmt::print("{}:\n", line.label);
  const std::string bytes =
      line.text.starts_with('.') ? "" : hex_of(code + line.offset, line.length);
  fmt::print("{:6x}:  {:<{}} {}\n", line.offset, bytes, 3 * kShownBytes, line.text);
}

}  // namespace

int asm_command(const Arguments& arguments, const std::string& text) {
  const std::optional<Job> job = make_job(arguments, text, false);
  if (!job) return kExitLibrary;
  size_t size = 0;
  const uint8_t* code = morello_kernel_code(job->kernel.get(), &size);
  if (!arguments.bytes.empty()) {
    std::ofstream file(arguments.bytes, std::ios::binary);
    file.write(reinterpret_cast<const char*>(code), static_cast<std::streamsize>(size));
    file.close();
    if (!file) return report_failure(arguments, text, arguments.bytes + ": cannot be written");
  }
  const std::vector<Line> lines = disassemble(code, size);
  if (arguments.json) {
    Json report = describe(*job);
    report["code_bytes"] = size;
    report["lines"] = Json::array();
    for (const Line& line : lines) {
      Json entry = {{"offset", line.offset}, {"length", line.length}, {"text", line.text}};
      if (!line.label.empty()) entry["label"] = line.label;
      report["lines"].push_back(entry);
    }
    print_json(report);
    return kExitOk;
  }
  fmt::print("; {}\n; {}, {} bytes\n", job->text, morello_kernel_name(job->kernel.get()), size);
  for (const Line& line : lines) print_line(line, code);
  return kExitOk;
}

}  // namespace morello::tools
