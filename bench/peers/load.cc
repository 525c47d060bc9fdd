// SPDX-License-Identifier: MIT
#include "load.hh"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "caps.hh"

#ifndef MORELLO_PEER_PREFIXES
#define MORELLO_PEER_PREFIXES ""
#endif

namespace morello::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> prefixes() {
  std::vector<std::string> found;
  std::istringstream stream(MORELLO_PEER_PREFIXES);
  for (std::string prefix; std::getline(stream, prefix, ':');) found.push_back(prefix);
  return found;
}

/// Modules beside this program: peer-NAME.so, or peer-NAME+CAP.so for one cap.
std::vector<fs::path> modules_for(const Cap& cap) {
  std::vector<fs::path> files;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".so" || name.rfind("peer-", 0) != 0) continue;
    const size_t plus = name.find('+');
    if (plus == name.npos || name.substr(plus + 1) == cap.name) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void add_module(const fs::path& file, const Setting& setting, std::vector<Peer>* peers,
                std::vector<std::string>* missing) {
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ModuleEntry* entry = module != nullptr ? find<ModuleEntry>(module, kModuleEntry) : nullptr;
  if (entry == nullptr) {
    const std::string path = file.string(), error = dlerror();
    const bool named = error.rfind(path + ": ", 0) == 0;
    missing->push_back(file.stem().string() + ": " + error.substr(named ? path.size() + 2 : 0));
  } else {
    entry(setting, peers);
  }
}

}  // namespace

void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    for (const std::string& prefix : prefixes()) {
      const std::string path = prefix + "/lib/" + name;
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

std::vector<Peer> load_peers(const Setting& setting, const std::vector<std::string>& without,
                             const std::function<void(const std::string& name)>& loads,
                             std::vector<std::string>* missing) {
  std::vector<Peer> peers;
  const auto load = [&](const std::string& name, const std::function<void()>& add) {
    if (std::find(without.begin(), without.end(), name) != without.end()) return;
    loads(name);
    const size_t before = peers.size() + missing->size();
    add();
    if (peers.size() + missing->size() == before) missing->push_back(name);
  };
  load("OpenBLAS", [&] { add_openblas(&peers); });
  load("BLIS", [&] { add_blis(setting, &peers); });
  load("MKL", [&] { add_mkl(&peers); });
  for (const fs::path& file : modules_for(*find_cap(setting.cap))) {
    load(file.stem().string(), [&] { add_module(file, setting, &peers, missing); });
  }
  return peers;
}

Matmul with_columns(const Matmul& p) {
  Matmul copy = p;
  copy.free_weights = false;
  copy.b = {1, p.k, p.k * p.n};
  return copy;
}

void to_columns(const Matmul& p, const void* given, void* copy) {
  const size_t size = size_of(p.b_type);
  const char* from = static_cast<const char*>(given);
  char* to = static_cast<char*>(copy);
  constexpr int64_t kBlock = 64;
  for (int64_t i = 0; i < p.batch; ++i) {
    for (int64_t k0 = 0; k0 < p.k; k0 += kBlock) {
      for (int64_t n = 0; n < p.n; ++n) {
        for (int64_t k = k0; k < std::min(p.k, k0 + kBlock); ++k) {
          const int64_t at = i * p.b.batch_stride + k * p.b.row_stride + n * p.b.column_stride;
          std::memcpy(to + (i * p.k * p.n + n * p.k + k) * static_cast<int64_t>(size),
                      from + at * static_cast<int64_t>(size), size);
        }
      }
    }
  }
}

}  // namespace morello::bench
