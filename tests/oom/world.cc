// SPDX-License-Identifier: MIT
#include "world.hh"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace morello::testing {

morello_context* context() {
  static morello_context* const made = [] {
    morello_context* c = nullptr;
    need(morello_context_create(nullptr, &c, nullptr) == MORELLO_OK, "context");
    return c;
  }();
  return made;
}

const morello_spec* spec_of(const std::string& text) {
  static auto& made = *new std::map<std::string, morello_spec*>;
  morello_spec*& spec = made[text];
  if (spec == nullptr)
    need(morello_spec_parse(context(), text.c_str(), &spec, nullptr) == MORELLO_OK, text);
  return spec;
}

const morello_kernel* kernel_of(const std::string& text) {
  static auto& made = *new std::map<std::string, morello_kernel*>;
  morello_kernel*& kernel = made[text];
  if (kernel == nullptr)
    need(morello_synthesize(context(), spec_of(text), nullptr, &kernel, nullptr) == MORELLO_OK,
         text);
  return kernel;
}

const std::string& table_bytes(const std::vector<std::string>& families) {
  static std::map<std::vector<std::string>, std::string> made;
  std::string& bytes = made[families];
  if (!bytes.empty()) return bytes;
  const std::string path = folder() + "/made.mtab";
  std::filesystem::remove(path);
  std::vector<const char*> texts;
  for (const std::string& f : families) texts.push_back(f.c_str());
  morello_precompute_options options;
  morello_precompute_options_init(&options, sizeof options);
  options.workers = 1;
  need(morello_precompute(context(), texts.data(), texts.size(), path.c_str(), &options, nullptr) ==
           MORELLO_OK,
       "precompute");
  bytes = bytes_of_file(path);
  return bytes;
}

morello_table* table_of(const std::vector<std::string>& families) {
  static auto& made = *new std::map<std::vector<std::string>, morello_table*>;
  morello_table*& table = made[families];
  const std::string& bytes = table_bytes(families);
  if (table == nullptr)
    need(morello_table_load_memory(context(), bytes.data(), bytes.size(), &table, nullptr) ==
             MORELLO_OK,
         "load");
  return table;
}

morello_options default_options() {
  morello_options options;
  morello_options_init(&options, sizeof options);
  return options;
}

std::string description_of(const morello_kernel* kernel) {
  std::string text;
  for (const auto print : {morello_kernel_print, morello_kernel_print_plan}) {
    std::string part(print(kernel, nullptr, 0), '\0');
    print(kernel, part.data(), part.size() + 1);
    text += part;
  }
  size_t size = 0;
  const uint8_t* code = morello_kernel_code(kernel, &size);
  return text.append(code, code + size);
}

std::string wrong_result(const morello_spec* spec, const morello_kernel* kernel) {
  std::vector<std::vector<float>> given, packed;
  const uint32_t count = morello_kernel_operand_count(kernel);
  for (uint32_t i = 0; i < count; i++) {
    morello_tensor tensor{};
    need(morello_spec_operand(spec, i, &tensor) == MORELLO_OK, "operand");
    const size_t floats = floats_for(morello_kernel_operand_size(kernel, i));
    std::vector<float> values(floats);
    for (size_t v = 0; v < floats; v++) values[v] = static_cast<float>(v % 7) - 3;
    packed.push_back(values);
    if (tensor.layout == MORELLO_LAYOUT_FREE &&
        morello_kernel_pack(kernel, static_cast<uint32_t>(i), values.data(), packed[i].data()) !=
            MORELLO_OK)
      return "it does not pack";
    given.push_back(std::move(values));
  }
  std::vector<void*> a, b;
  for (uint32_t i = 0; i < count; i++) {
    a.push_back(packed[i].data());
    b.push_back(given[i].data());
  }
  if (morello_kernel_run(kernel, a.data(), nullptr, nullptr) != MORELLO_OK)
    return "it does not run";
  need(morello_spec_evaluate(spec, b.data(), nullptr) == MORELLO_OK, "evaluate");
  for (size_t v = 0; v < packed.back().size(); v++)
    if (packed.back()[v] != given.back()[v]) return "a wrong result";  // small integers
  return "";
}

std::string folder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "morello-oom-XXXXXX").string();
    pid_t owner = getpid();
    Folder() { need(mkdtemp(path.data()) != nullptr, "mkdtemp"); }
    ~Folder() {
      if (getpid() == owner) std::filesystem::remove_all(path);
    }
  };
  static const Folder made;
  return made.path;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace morello::testing
