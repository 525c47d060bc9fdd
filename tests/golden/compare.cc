// SPDX-License-Identifier: MIT
#include "compare.hh"

#include <cstdio>
#include <fstream>
#include <map>

#include "spec/statement.hh"
#include "target/dots.hh"

namespace morello::golden {
namespace {

using Lines = std::map<std::string, std::string>;  // "avx2 1 matmul ..." -> values

Lines read_lines(const std::string& path) {
  Lines lines;
  std::ifstream file(path);
  for (std::string key, values; std::getline(file, key) && std::getline(file, values);)
    lines[key] = values;
  return lines;
}

bool write(const std::string& path, const std::string& all) {
  std::ofstream file(path, std::ios::trunc);
  file << all;
  file.close();
  if (!file) std::perror(path.c_str());
  return static_cast<bool>(file);
}

/// From the targets before it, for this Spec.
bool differs(const Entry& entry, const Target& target) {
  std::vector<Dtype> types;
  if (Result<Statement> statement = parse(entry.text))
    for (const Tensor& t : statement->tensors) types.push_back(t.dtype);
  return best_target(target.required, kAllFeatures, types) == &target;
}

}  // namespace

std::vector<Entry> read_entries(const std::string& folder) {
  std::vector<Entry> entries;
  std::ifstream file(folder + "/specs.txt");
  for (std::string line; std::getline(file, line);) {
    size_t space = line.find(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    entries.push_back({static_cast<u32>(std::stoul(line)), line.substr(space + 1)});
  }
  return entries;
}

bool compare(const std::string& folder, const File& file, bool bless) {
  const std::string path = folder + '/' + file.name;
  Lines lines = read_lines(path);
  std::string all;
  size_t compared = 0, different = 0;
  for (const Entry& entry : read_entries(folder))
    for (const Target& target : fixed_targets()) {
      if (!differs(entry, target)) continue;
      std::string key =
          std::string(target.name) + ' ' + std::to_string(entry.threads) + ' ' + entry.text;
      Result<std::string> values = file.values(entry, target);
      std::string text = "  " + (values ? *values : values.error().message);
      all += key + '\n' + text + '\n';
      compared++;
      auto known = lines.find(key);
      std::string was = known == lines.end() ? "  nothing" : known->second;
      if (known != lines.end()) lines.erase(known);
      if (values && was == text) continue;
      different++;
      std::printf("%s\n was %s\n is  %s\n", key.c_str(), was.c_str() + 1, text.c_str() + 1);
    }
  for (const auto& [key, values] : lines) {
    different++;
    std::printf("%s\n is in %s and not in specs.txt\n", key.c_str(), file.name);
  }
  std::printf("%s: %zu compared, %zu different\n", file.name, compared, different);
  if (bless) return write(path, all);
  return different == 0 && compared > 0;
}

}  // namespace morello::golden
