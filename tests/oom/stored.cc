// SPDX-License-Identifier: MIT
// Scenarios: kernels stored, loaded, and kept in a cache.
#include <filesystem>

#include "world.hh"

namespace morello::testing {
namespace {

using E = morello_error**;

constexpr const char* kFree = "matmul f32[4,5] f32[5,20]{*} -> f32[4,20]";
constexpr const char* kSmall = "neg f32[3] -> f32[3]";

std::string path_of(const std::string& name) { return folder() + "/" + name; }

std::string saved(const morello_kernel* kernel) {
  size_t length = 0;
  need(morello_kernel_save_memory(kernel, nullptr, 0, &length, nullptr) == MORELLO_OK, "saving");
  std::string bytes(length, '\0');
  morello_kernel_save_memory(kernel, bytes.data(), length, &length, nullptr);
  return bytes;
}

Scenario loading(const char* function, std::function<morello_status(morello_kernel**, E)> call) {
  const morello_spec* const spec = spec_of(kFree);
  return making<morello_kernel>(function, {function}, std::move(call), morello_kernel_release,
                                [=](const morello_kernel* k) { return wrong_result(spec, k); });
}

Scenario saving_file(const std::string& name, bool over_another) {
  static const std::string path = path_of("saved.mkrn");
  Scenario s;
  s.name = name;
  s.functions = {"morello_kernel_save"};
  const std::string before = saved(kernel_of(kSmall)), after = saved(kernel_of(kFree));
  s.begin = [=] {
    std::filesystem::remove(path);
    if (over_another) write_file(path, before);
  };
  s.call = [kernel = kernel_of(kFree)](E e) {
    return morello_kernel_save(kernel, path.c_str(), e);
  };
  const auto has = [](const std::string& bytes) -> std::string {
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      if (entry.path().extension() == ".tmp") return "a temporary file was left behind";
    if (bytes.empty()) return std::filesystem::exists(path) ? "a file was made" : "";
    return bytes_of_file(path) == bytes ? "" : "the file has other bytes";
  };
  s.check = [=] { return has(after); };
  s.check_failed = [=] { return has(over_another ? before : ""); };
  return s;
}

Scenario saving_memory() {
  static std::vector<char> buffer;
  static size_t length;
  static const std::string expected = saved(kernel_of(kFree));
  buffer.resize(expected.size());
  Scenario s;
  s.name = "morello_kernel_save_memory";
  s.functions = {s.name};
  s.begin = [] { length = 77; };
  s.call = [kernel = kernel_of(kFree)](E e) {
    return morello_kernel_save_memory(kernel, buffer.data(), buffer.size(), &length, e);
  };
  s.check = [] {
    const bool good =
        length == expected.size() && std::equal(expected.begin(), expected.end(), buffer.begin());
    return good ? "" : std::string("other bytes");
  };
  s.check_failed = [] { return length == 77 ? "" : std::string("the length was touched"); };
  return s;
}

morello_context* context_with_cache(E e) {
  static const std::string path = path_of("cache");
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  options.cache_directory = path.c_str();
  morello_context* made = nullptr;
  return morello_context_create(&options, &made, e) == MORELLO_OK ? made : nullptr;
}

/// A synthesis that finds what the cache has, or else, with an empty one, fills it.
Scenario cached(const std::string& name, bool filled) {
  static morello_context* const context = context_with_cache(nullptr);
  need(context != nullptr, "a cache");
  const morello_spec* const spec = spec_of(kFree);
  Scenario s = making<morello_kernel>(
      name, {"morello_synthesize"},
      [=](morello_kernel** k, E e) { return morello_synthesize(context, spec, nullptr, k, e); },
      morello_kernel_release, [=](const morello_kernel* k) { return wrong_result(spec, k); });
  s.begin = [begin = s.begin, spec, filled] {
    begin();
    for (const auto& entry : std::filesystem::directory_iterator(path_of("cache")))
      std::filesystem::remove(entry);
    if (!filled) return;
    morello_kernel* kernel = nullptr;
    need(morello_synthesize(context, spec, nullptr, &kernel, nullptr) == MORELLO_OK, "filling");
    morello_kernel_release(kernel);
  };
  return s;
}

}  // namespace

std::vector<Scenario> stored_scenarios() {
  std::vector<Scenario> all;
  static const std::string path = path_of("read.mkrn"), bytes = saved(kernel_of(kFree));
  write_file(path, bytes);
  all.push_back(saving_file("morello_kernel_save", false));
  all.push_back(saving_file("morello_kernel_save over another", true));
  all.push_back(saving_memory());
  all.push_back(loading("morello_kernel_load", [](morello_kernel** k, E e) {
    return morello_kernel_load(context(), path.c_str(), k, e);
  }));
  all.push_back(loading("morello_kernel_load_memory", [](morello_kernel** k, E e) {
    return morello_kernel_load_memory(context(), bytes.data(), bytes.size(), k, e);
  }));
  static std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  Scenario bad = loading("morello_kernel_load_memory", [](morello_kernel** k, E e) {
    return morello_kernel_load_memory(context(), damaged.data(), damaged.size(), k, e);
  });
  bad.name += ", damaged";
  bad.expected = MORELLO_CORRUPT_KERNEL;
  bad.check = bad.check_failed;
  all.push_back(bad);
  all.push_back(making<morello_context>(
      "morello_context_create with a cache", {"morello_context_create"},
      [](morello_context** c, E e) {
        morello_error* error = nullptr;
        morello_context* made = context_with_cache(&error);
        if (made != nullptr) {
          *c = made;
          return MORELLO_OK;
        }
        const morello_status status = morello_error_status(error);
        if (e != nullptr) *e = error;
        if (e == nullptr) morello_error_release(error);
        return status;
      },
      morello_context_release));
  all.push_back(cached("synthesize into a cache", false));
  all.push_back(cached("synthesize from a cache", true));
  return all;
}

}  // namespace morello::testing
