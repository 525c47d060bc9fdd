// SPDX-License-Identifier: MIT
// morello asm: the machine code of a kernel, disassembled.
#include "command.hh"
#include "disassemble.hh"
#include "output.hh"

namespace morello::tools {
namespace {

constexpr size_t kShownBytes = 10;

std::string hex_of(const uint8_t* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02x} ", bytes[i]);
  return text;
}

void print_line(const Line& line, const uint8_t* code) {
  if (!line.label.empty()) print("{}:\n", line.label);
  const std::string bytes =
      line.text.starts_with('.') ? "" : hex_of(code + line.offset, line.length);
  print("{:6x}:  {:<{}} {}\n", line.offset, bytes, 3 * kShownBytes, line.text);
}

}  // namespace

int asm_command(const Arguments& arguments, const std::string& text) {
  if (const std::string problem = find_unwritable({arguments.bytes}); !problem.empty())
    return report_failure(arguments, text, problem);
  // Code that is made to be looked at needs no CPU; what was stored is there to be run.
  const JobKind kind = text.ends_with(".mkrn") ? JobKind::kRun : JobKind::kCode;
  const std::optional<Job> job = make_job(arguments, text, kind);
  if (!job) return kExitLibrary;
  size_t size = 0;
  const uint8_t* code = morello_kernel_code(job->kernel.get(), &size);
  if (!arguments.bytes.empty()) {
    const std::string problem =
        write_file(arguments.bytes, {{reinterpret_cast<const char*>(code), size}});
    if (!problem.empty()) return report_failure(arguments, text, problem);
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
  print("; {}\n; {}, {} bytes\n", job->text, morello_kernel_name(job->kernel.get()), size);
  for (const Line& line : lines) print_line(line, code);
  return kExitOk;
}

}  // namespace morello::tools
