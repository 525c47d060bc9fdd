// SPDX-License-Identifier: MIT
#include "compare.hh"

#include <cstdio>
#include <fstream>
#include <map>

#include "spec/statement.hh"
#include "target/dots.hh"

namespace morello::golden {
namespace {

std::map<std::string, std::string> read_lines(const std::string& path) {
  std::map<std::string, std::string> lines;
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
bool differs(const Entry& entry) {
  std::vector<Dtype> types;
  if (Result<Statement> statement = parse(entry.text))
    for (const Tensor& t : statement->tensors) types.push_back(t.dtype);
  return best_target(entry.target.required, kAllFeatures, types) == &entry.target;
}

}  // namespace

std::string Entry::key() const {
  return std::string(target.name) + ' ' + std::to_string(threads) + ' ' + text;
}

std::vector<Entry> read_entries(const std::string& folder) {
  std::vector<Entry> entries;
  std::ifstream file(folder + "/specs.txt");
  for (std::string line; std::getline(file, line);) {
    size_t space = line.find(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    for (const Target& target : fixed_targets()) {
      Entry entry{target, static_cast<u32>(std::stoul(line)), line.substr(space + 1)};
      if (differs(entry)) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

bool compare(const std::string& path, const std::vector<Line>& lines, bool bless) {
  std::map<std::string, std::string> expected = read_lines(path);
  std::string all;
  size_t different = 0;
  for (const auto& [key, values] : lines) {
    std::string text = "  " + (values ? *values : values.error().message);
    all += key + '\n' + text + '\n';
    auto known = expected.find(key);
    std::string was = known == expected.end() ? "  nothing" : known->second;
    if (known != expected.end()) expected.erase(known);
    if (values && was == text) continue;
    different++;
    std::printf("%s\n was %s\n is  %s\n", key.c_str(), was.c_str() + 1, text.c_str() + 1);
  }
  for (const auto& [key, values] : expected) {
    different++;
    std::printf("%s\n is in the file and not asked for\n", key.c_str());
  }
  std::printf("%s: %zu compared, %zu different\n", path.c_str(), lines.size(), different);
  if (bless) return write(path, all);
  return different == 0 && !lines.empty();
}

}  // namespace morello::golden
