// SPDX-License-Identifier: MIT
// Scenarios: tables from files and memory and back, what can be asked of them, and precomputes.
#include <filesystem>

#include "world.hh"

namespace morello::testing {
namespace {

using E = morello_error**;
using Texts = std::vector<std::string>;

const Texts kRelus = {"relu f32[<=6]"};
const Texts kMatmuls = {"matmul f32[<=2,3] f32[3,<=4]{*}"};
const Texts kBoth = {"relu f32[<=6]", "matmul f32[<=2,3] f32[3,<=4]{*}"};

/// Made before the first trial: table_of() itself allocates.
morello_table* both() {
  static morello_table* const table = table_of(kBoth);
  return table;
}
morello_table* relus() {
  static morello_table* const table = table_of(kRelus);
  return table;
}
morello_table* matmuls() {
  static morello_table* const table = table_of(kMatmuls);
  return table;
}

uint64_t covered(const morello_table* table, const Texts& families) {
  uint64_t sum = 0;
  for (const std::string& family : families) {
    uint64_t here = 0;
    if (morello_table_coverage(table, family.c_str(), nullptr, &here, nullptr) == MORELLO_OK)
      sum += here;
  }
  return sum;
}

/// "", or what a table lacks of families.
std::string lacks(const morello_table* table, const Texts& families) {
  const uint64_t all = covered(table_of(families), families);
  need(all > 0, "a table that covers something");
  return covered(table, families) == all ? "" : "the table does not cover its families";
}

Scenario loading(const std::string& name, const char* function, const Texts& families,
                 std::function<morello_status(morello_table**, E)> call) {
  table_of(families);
  return making<morello_table>(name, {function}, std::move(call), morello_table_release,
                               [=](const morello_table* table) { return lacks(table, families); });
}

Scenario refusing_bytes(const std::string& name, std::string bytes, morello_status expected) {
  Scenario s = making<morello_table>(
      name, {"morello_table_load_memory"},
      [bytes](morello_table** t, E e) {
        return morello_table_load_memory(context(), bytes.data(), bytes.size(), t, e);
      },
      morello_table_release);
  s.expected = expected;
  s.check = s.check_failed;
  return s;
}

std::string path_of(const std::string& name) { return folder() + "/" + name; }

/// Files beside a table that are not the lock.
std::string strangers() {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().filename();
    if (name.find(".tmp") != std::string::npos) return name + " was left behind";
  }
  return "";
}

/// "", or what is wrong with a table file that must cover `families` at least.
std::string wrong_file(const std::string& path, const Texts& families) {
  if (const std::string wrong = strangers(); !wrong.empty()) return wrong;
  if (families.empty() && !std::filesystem::exists(path)) return "";
  morello_table* table = nullptr;
  const morello_status status = morello_table_load(context(), path.c_str(), &table, nullptr);
  if (status != MORELLO_OK) return std::string("the file: ") + morello_status_string(status);
  const std::string wrong = families.empty() ? "" : lacks(table, families);
  uint64_t points = 0;
  morello_table_info info;
  if (morello_table_info_get(table, &info, sizeof info) == MORELLO_OK) points = info.points;
  morello_table_verification found{};
  const bool verified =
      morello_table_verify(table, points, 1, &found, sizeof found, nullptr) == MORELLO_OK;
  morello_table_release(table);
  if (!verified || found.failures != 0) return std::string("the file is wrong: ") + found.failure;
  return wrong;
}

/// A file that has `before` at first (none if empty) and must have `after` in the end; whatever
/// happens it keeps what it had.
Scenario filling(const std::string& name, const char* function, const Texts& before,
                 const Texts& after, std::function<morello_status(const char*, E)> call) {
  const std::string path = path_of("filled.mtab");
  Scenario s;
  s.name = name;
  s.functions = {function};
  if (!before.empty()) table_of(before);
  table_of(after);
  s.begin = [=] {
    std::filesystem::remove(path);
    if (!before.empty()) write_file(path, table_bytes(before));
  };
  s.call = [=](E e) { return call(path.c_str(), e); };
  s.check = [=] { return wrong_file(path, after); };
  s.check_failed = [=] { return wrong_file(path, before); };
  return s;
}

void see(void* user, const morello_precompute_progress*) { ++*static_cast<int*>(user); }

Scenario precompute(const std::string& name, const Texts& before, uint32_t workers, bool progress) {
  Texts after = kBoth;
  return filling("precompute: " + name, "morello_precompute", before, after,
                 [=](const char* path, E e) {
                   static int calls;
                   morello_precompute_options options;
                   morello_precompute_options_init(&options, sizeof options);
                   options.workers = workers;
                   options.save_interval = 0;
                   if (progress) {
                     options.progress = see;
                     options.progress_user = &calls;
                     options.progress_interval = 0;
                   }
                   const char* const families[] = {kBoth[0].c_str(), kBoth[1].c_str()};
                   return morello_precompute(context(), families, 2, path, &options, e);
                 });
}

/// A function that gives text of that length: 0 means that there was no memory.
Scenario dumping(const std::string& name, int json) {
  Scenario s;
  auto size = std::make_shared<size_t>(0);
  const size_t expected = morello_table_dump(table_of(kBoth), json, nullptr, 0);
  s.name = name;
  s.functions = {"morello_table_dump"};
  s.call = [=](E) {
    *size = morello_table_dump(both(), json, nullptr, 0);
    return *size == 0 ? MORELLO_OUT_OF_MEMORY : MORELLO_OK;
  };
  s.check = [=] { return *size == expected ? "" : std::string("a text of another length"); };
  return s;
}

Scenario asking(const std::string& name, std::function<morello_status(E)> call) {
  Scenario s;
  s.name = name;
  s.functions = {name};
  s.call = std::move(call);
  return s;
}

void add_questions(std::vector<Scenario>& all) {
  static uint64_t members, covered_members;
  static const morello_spec* const spec = spec_of("relu f32[5] -> f32[5]");
  all.push_back(asking("morello_table_info_get", [](E) {
    morello_table_info info;
    return morello_table_info_get(both(), &info, sizeof info);
  }));
  all.push_back(asking("morello_table_covers", [](E) {
    return morello_table_covers(both(), spec) == 1 ? MORELLO_OK : MORELLO_OUT_OF_MEMORY;
  }));
  static const morello_spec* const other = spec_of("relu f32[7,5] -> f32[7,5]");
  all.push_back(asking("morello_table_miss", [](E) {
    return morello_table_miss(both(), other, nullptr, 0) > 0 ? MORELLO_OK : MORELLO_OUT_OF_MEMORY;
  }));
  all.push_back(asking("morello_table_coverage", [](E e) {
    return morello_table_coverage(both(), kMatmuls[0].c_str(), &members, &covered_members, e);
  }));
  all.back().begin = [] { members = covered_members = 0; };
  all.back().check = [] {
    return members > 0 && members == covered_members ? "" : std::string("wrong counts");
  };
  all.push_back(asking("morello_table_verify", [](E e) {
    morello_table_verification found;
    const morello_status status = morello_table_verify(both(), 3, 1, &found, sizeof found, e);
    return status == MORELLO_OK && found.failures > 0 ? MORELLO_INTERNAL : status;
  }));
  all.push_back(dumping("morello_table_dump", 0));
  all.push_back(dumping("morello_table_dump, JSON", 1));
  all.push_back(asking("morello_table_plot", [](E e) {
    size_t length = 0;
    return morello_table_plot(both(), -1, nullptr, nullptr, nullptr, 0, &length, e);
  }));
  all.push_back(asking("morello_table_plot", [](E e) {
    size_t length = 0;
    return morello_table_plot(both(), 0, "no axis", nullptr, nullptr, 0, &length, e);
  }));
  all.back().name += ", no such axis";
  all.back().expected = MORELLO_INVALID_ARGUMENT;
}

}  // namespace

std::vector<Scenario> table_scenarios() {
  std::vector<Scenario> all;
  static const std::string path = path_of("read.mtab"), lost = path_of("no such folder/t.mtab");
  static const std::string& bytes = table_bytes(kBoth);
  write_file(path, bytes);
  need(both() != nullptr && relus() != nullptr && matmuls() != nullptr, "tables");
  all.push_back(loading(
      "morello_table_load", "morello_table_load", kBoth,
      [](morello_table** t, E e) { return morello_table_load(context(), path.c_str(), t, e); }));
  all.push_back(loading(
      "morello_table_load_memory", "morello_table_load_memory", kBoth, [](morello_table** t, E e) {
        return morello_table_load_memory(context(), bytes.data(), bytes.size(), t, e);
      }));
  all.push_back(
      loading("morello_table_part", "morello_table_part", kBoth,
              [](morello_table** t, E e) { return morello_table_part(both(), 0, t, e); }));
  all.push_back(loading(
      "morello_table_merge", "morello_table_merge", kBoth,
      [](morello_table** t, E e) { return morello_table_merge(relus(), matmuls(), t, e); }));
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  all.push_back(refusing_bytes("load a damaged table", damaged, MORELLO_CORRUPT_TABLE));
  std::string other = bytes;
  other[8] ^= 2;  // its format version
  all.push_back(refusing_bytes("load an incompatible table", other, MORELLO_INCOMPATIBLE_TABLE));
  all.push_back(filling("morello_table_save", "morello_table_save", {}, kBoth,
                        [](const char* to, E e) { return morello_table_save(both(), to, e); }));
  all.push_back(filling("morello_table_save over another", "morello_table_save", kRelus, kBoth,
                        [](const char* to, E e) { return morello_table_save(both(), to, e); }));
  all.push_back(asking("morello_table_save_memory", [](E e) {
    size_t length = 0;
    return morello_table_save_memory(both(), nullptr, 0, &length, e);
  }));
  all.push_back(loading(
      "morello_precompute_table", "morello_precompute_table", kBoth, [](morello_table** t, E e) {
        const char* const families[] = {kMatmuls[0].c_str()};
        return morello_precompute_table(context(), families, 1, relus(), nullptr, t, e);
      }));
  Scenario nowhere = asking("morello_table_save",
                            [](E e) { return morello_table_save(relus(), lost.c_str(), e); });
  nowhere.name += " to nowhere";
  nowhere.expected = MORELLO_IO_ERROR;
  all.push_back(nowhere);
  add_questions(all);
  all.push_back(precompute("a new file", {}, 1, false));
  all.push_back(precompute("a file that has half", kRelus, 1, true));
  all.push_back(precompute("3 workers", kMatmuls, 3, false));
  return all;
}

}  // namespace morello::testing
