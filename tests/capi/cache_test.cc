// SPDX-License-Identifier: MIT
// The cache directory of contexts: what hits, what does not, and what processes do to one another.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "../support/folder.hh"
#include "stored.hh"

namespace morello::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMatmul = "matmul f32[16,24] f32[24,32]{*} -> f32[16,32]";
constexpr const char* kRelu = "relu f32[100] -> f32[100]";

morello_context_options options_for(const std::string& directory, uint64_t bytes = 0) {
  morello_context_options options;
  morello_context_options_init(&options, sizeof options);
  CHECK(options.cache_directory == nullptr);
  CHECK(options.cache_bytes == uint64_t{256} << 20);
  options.cache_directory = directory.c_str();
  options.cache_bytes = bytes;
  return options;
}

ContextPtr context_in(const std::string& directory, uint64_t bytes = 0) {
  const morello_context_options options = options_for(directory, bytes);
  return make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
}

Failure fail_in(const std::string& directory) {
  const morello_context_options options = options_for(directory);
  return fail<morello_context>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
}

/// Of the target that AUTO is here, for one f32.
std::string best_name(const ContextPtr& context) {
  const KernelPtr kernel =
      synthesize(context.get(), parse_spec(context.get(), "neg f32[1] -> f32[1]").get());
  const std::string name = morello_kernel_name(kernel.get());
  return name.substr(std::strlen("morello_neg_1_"));
}

KernelPtr kernel_of(const ContextPtr& context, const std::string& text,
                    const morello_options* options = nullptr) {
  return synthesize(context.get(), parse_spec(context.get(), text).get(), options);
}

bool is_hit(const KernelPtr& kernel) { return stats_of(kernel.get()).stored == 1; }

uint64_t bytes_in(const Folder& folder, const std::string& name) {
  uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder / name)) sum += entry.file_size();
  return sum;
}

std::vector<std::string> files_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a kernel in the cache is the one that would be made") {
  const Folder folder;
  const std::string path = folder / "cache";
  const ContextPtr plain = make_context();
  for (const char* text : {kMatmul, kRelu, "matmul u8[5,70] i8[70,40] -> i32[5,40]"}) {
    INFO(std::string(text));
    const SpecPtr spec = parse_spec(plain.get(), text);
    const KernelPtr own = synthesize(plain.get(), spec.get());
    const KernelPtr first = kernel_of(context_in(path), text);
    const KernelPtr second = kernel_of(context_in(path), text);
    CHECK(!is_hit(own));
    CHECK(!is_hit(first));
    CHECK(is_hit(second));
    check_same(own.get(), first.get());
    check_same(own.get(), second.get());
    CHECK(run(spec.get(), second.get(), 1) == run(spec.get(), own.get(), 1));
    CHECK(stats_of(second.get()).search_nanoseconds == 0);
  }
  struct stat status;
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("what a kernel depends on is in its key") {
  const Folder folder;
  const ContextPtr context = context_in(folder / "cache");
  const auto hit = [&](const char* text, auto set) {
    morello_options options = default_options();
    set(options);
    return is_hit(kernel_of(context, text, &options));
  };
  using O = morello_options;
  constexpr const char* kTall = "relu f32[1000,2000] -> f32[1000,2000]";
  CHECK(!hit(kTall, [](O&) {}));
  CHECK(hit(kTall, [](O&) {}));
  CHECK(!hit(kTall, [](O& o) { o.threads = 2; }));
  CHECK(hit(kTall, [](O& o) { o.threads = 2; }));
  CHECK(!hit("neg f32[1000,2000] -> f32[1000,2000]", [](O&) {}));
  // What only says how to search, and code that is not to run.
  CHECK(hit(kTall, [](O& o) { o.search_threads = 2; }));
  CHECK(hit(kTall, [](O& o) { o.code_only = 1; }));
  // What is proven is good under a budget as well.
  CHECK(hit(kTall, [](O& o) { o.time_budget = 1000000; }));
  CHECK(!hit(kTall, [](O& o) { o.search_only = 1; }));
  CHECK(!hit("neg f32[7] -> f32[7]", [](O& o) { o.search_only = 1; }));
  CHECK(!hit("neg f32[7] -> f32[7]", [](O&) {}));
}

TEST_CASE("a program that a budget left is for calls with that budget") {
  const Folder folder;
  const ContextPtr context = context_in(folder / "cache");
  morello_options options = default_options();
  options.time_budget = 1;
  constexpr const char* kOdd = "matmul f32[37,41] f32[41,43] -> f32[37,43]";
  const KernelPtr first = kernel_of(context, kOdd, &options);
  REQUIRE(stats_of(first.get()).optimal == 0);
  const KernelPtr second = kernel_of(context, kOdd, &options);
  CHECK(is_hit(second));
  check_same(first.get(), second.get());
  options.time_budget = 2;
  CHECK(!is_hit(kernel_of(context, kOdd, &options)));
  const KernelPtr best = kernel_of(context, kOdd);
  CHECK(!is_hit(best));
  CHECK(stats_of(best.get()).optimal == 1);
  options.time_budget = 1;
  const KernelPtr now = kernel_of(context, kOdd, &options);
  CHECK(is_hit(now));
  check_same(best.get(), now.get());
}

TEST_CASE("code_only kernels from the cache are not executable, others are") {
  const Folder folder;
  const ContextPtr context = context_in(folder / "cache");
  morello_options options = default_options();
  options.code_only = 1;
  const KernelPtr code = kernel_of(context, kMatmul, &options), again = kernel_of(context, kMatmul);
  CHECK(is_hit(again));
  CHECK((morello_kernel_function(again.get()) != nullptr));
  const KernelPtr kept = kernel_of(context, kMatmul, &options);
  CHECK(is_hit(kept));
  CHECK((morello_kernel_function(kept.get()) == nullptr));
  check_same(code.get(), kept.get());
}

TEST_CASE("damaged entries are ignored, and replaced") {
  const Folder folder;
  const std::string path = folder / "cache";
  const ContextPtr context = context_in(path);
  kernel_of(context, kRelu);
  REQUIRE(files_in(path).size() == 1);
  const std::string file = files_in(path)[0], good = bytes_of(file);
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    CHECK(!is_hit(kernel_of(context, kRelu)));
    CHECK(bytes_of(file) == good);
    CHECK(is_hit(kernel_of(context, kRelu)));
    CHECK(files_in(path).size() == 1);
  };
  damaged("");
  damaged(good.substr(0, good.size() / 2));
  damaged(good + good);
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    damaged(bytes);
  }
  // Another kernel under this name, as a collision of hashes would leave it.
  const Folder other;
  kernel_of(context_in(other / "cache"), "neg f32[100] -> f32[100]");
  damaged(bytes_of(files_in(other / "cache")[0]));
  // What others could have written is none of ours; nor are links.
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  CHECK(!is_hit(kernel_of(context, kRelu)));
  CHECK(is_hit(kernel_of(context, kRelu)));
  fs::rename(file, folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", file);
  CHECK(!is_hit(kernel_of(context, kRelu)));
  CHECK(is_hit(kernel_of(context, kRelu)));
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(!is_hit(kernel_of(context, kRelu)));
  CHECK(is_hit(kernel_of(context, kRelu)));
  fs::remove(file);
  fs::create_directory(file);  // cannot be replaced: the kernel is made all the same
  CHECK(!is_hit(kernel_of(context, kRelu)));
  CHECK(!is_hit(kernel_of(context, kRelu)));
  fs::remove_all(path);
  CHECK(!is_hit(kernel_of(context, kRelu)));
}

TEST_CASE("the log tells what became of the cache") {
  const Folder folder;
  const std::string path = folder / "cache";
  std::vector<std::string> lines;
  morello_context_options options = options_for(path, 6000);
  CHECK((options.log == nullptr));
  options.log = [](void* user, int32_t level, const char* message) {
    static_cast<std::vector<std::string>*>(user)->push_back(
        (level == MORELLO_LOG_WARNING ? "warning: " : "info: ") + std::string(message));
  };
  options.log_user = &lines;
  const ContextPtr context = make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&options, c, e);
  });
  const auto logged = [&](const char* text) {
    lines.clear();
    kernel_of(context, text);
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  };
  CHECK(contains(logged(kRelu), "info: kernel cache: it lacks relu f32[100] -> f32[100]; "));
  CHECK(logged(kRelu) ==
        "info: kernel cache: morello_relu_100_" + best_name(make_context()) + " was in it\n");
  std::ofstream(files_in(path)[0], std::ios::app) << "x";
  const std::string damaged = logged(kRelu);
  CHECK(contains(damaged, "warning: kernel cache: " + files_in(path)[0]));
  CHECK(contains(damaged, "checksum"));
  const std::string large =
      logged("gelu f32[3001] -> f32[3001]") + logged("matmul f32[67,77] f32[77,87] -> f32[67,87]");
  CHECK(contains(large, "larger than all"));
}

TEST_CASE("a cache is bounded, and what was not used for longest goes first") {
  const Folder folder;
  const std::string path = folder / "cache";
  const auto text = [](size_t n) {
    return "relu f32[" + std::to_string(1000 + n) + "] -> f32[" + std::to_string(1000 + n) + "]";
  };
  kernel_of(context_in(path), text(0));
  const uint64_t one = bytes_in(folder, "cache"), most = 4 * one + one / 2;
  const ContextPtr context = context_in(path, most);
  // Clocks of file systems are coarse: each file gets its age.
  const auto age = [&](int seconds) {
    for (const std::string& file : files_in(path)) {
      struct stat status;
      REQUIRE(stat(file.c_str(), &status) == 0);
      const timespec times[2] = {{0, UTIME_OMIT}, {status.st_mtim.tv_sec - seconds, 0}};
      REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
    }
  };
  for (size_t n = 1; n < 12; n++) {
    age(100);
    CHECK(is_hit(kernel_of(context, text(0))));  // so it stays
    CHECK(!is_hit(kernel_of(context, text(n))));
    CHECK(bytes_in(folder, "cache") <= most);
  }
  for (size_t n : {0u, 11u, 10u}) CHECK(is_hit(kernel_of(context, text(n))));
  CHECK(!is_hit(kernel_of(context, text(3))));

  const Folder small;
  const ContextPtr tiny = context_in(small / "cache", 100);  // less than any kernel
  for (int i = 0; i < 2; i++) CHECK(!is_hit(kernel_of(tiny, kRelu)));
  CHECK(files_in(small / "cache").empty());
}

TEST_CASE("what dead processes left behind goes") {
  const Folder folder;
  const std::string path = folder / "cache";
  const ContextPtr context = context_in(path);
  const std::string old = path + "/0123456789abcdef.mkrn.77.0.tmp", foreign = path + "/notes.tmp";
  for (const std::string& file : {old, foreign}) {
    std::ofstream(file) << "x";
    const timespec times[2] = {{0, UTIME_OMIT}, {1000, 0}};
    REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  }
  const std::string fresh = path + "/0123456789abcdef.mkrn.77.1.tmp";
  std::ofstream(fresh) << "x";
  kernel_of(context, kRelu);
  CHECK(!fs::exists(old));
  CHECK(fs::exists(foreign));
  CHECK(fs::exists(fresh));
}

TEST_CASE("directories that are no cache") {
  const Folder folder;
  CHECK(fail_in(folder / "no/cache").status == MORELLO_IO_ERROR);
  std::ofstream(folder / "file");
  CHECK(fail_in(folder / "file").status == MORELLO_IO_ERROR);
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  const Failure failure = fail_in(folder / "open");
  CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(failure.message, "0700"));
  context_in("");  // none
}

TEST_CASE("the environment names a cache directory, options prevail") {
  const Folder folder;
  const std::string named = folder / "named", chosen = folder / "chosen";
  REQUIRE(setenv("MORELLO_CACHE_DIR", named.c_str(), 1) == 0);
  kernel_of(make_context(), kRelu);
  CHECK(is_hit(kernel_of(make_context(), kRelu)));
  CHECK(!is_hit(kernel_of(context_in(""), kRelu)));
  CHECK(!is_hit(kernel_of(context_in(chosen), kRelu)));
  morello_context_options older = options_for(chosen);
  older.struct_size = offsetof(morello_context_options, cache_directory);
  morello_context* context = nullptr;
  REQUIRE(morello_context_create(&older, &context, nullptr) == MORELLO_OK);
  CHECK(is_hit(kernel_of(ContextPtr(context), kRelu)));
  REQUIRE(setenv("MORELLO_CACHE_DIR", "", 1) == 0);
  CHECK(!is_hit(kernel_of(make_context(), kRelu)));
  REQUIRE(unsetenv("MORELLO_CACHE_DIR") == 0);
}

TEST_CASE("processes share a cache while it is damaged, emptied and bounded") {
  const Folder folder;
  const std::string path = folder / "cache";
  const std::vector<std::string> texts = {kRelu, "neg f32[33] -> f32[33]", "exp f32[64] -> f32[64]",
                                          "matmul f32[4,5] f32[5,20]{*} -> f32[4,20]"};
  std::vector<std::string> expected;
  {
    const ContextPtr context = make_context();
    for (const std::string& text : texts)
      expected.push_back(code_text(kernel_of(context, text).get(), -1));
  }
  /// 0, or the number of what went wrong. Nothing of doctest: it is for the parent.
  const auto work = [&](unsigned number) {
    const morello_context_options options = options_for(path, 12000);
    for (unsigned round = 0; round < 12; round++) {
      morello_context* context = nullptr;
      if (morello_context_create(&options, &context, nullptr) != MORELLO_OK) return 1;
      for (size_t i = 0; i < texts.size(); i++) {
        const size_t which = (i + number + round) % texts.size();
        morello_spec* spec = nullptr;
        morello_kernel* kernel = nullptr;
        if (morello_spec_parse(context, texts[which].c_str(), &spec, nullptr) != MORELLO_OK)
          return 2;
        if (morello_synthesize(context, spec, nullptr, &kernel, nullptr) != MORELLO_OK) return 3;
        if (code_text(kernel, -1) != expected[which]) return 4;
        morello_kernel_release(kernel);
        morello_spec_release(spec);
      }
      morello_context_release(context);
    }
    return 0;
  };
  context_in(path);
  std::vector<pid_t> children;
  for (unsigned number = 0; number < 3; number++) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      signal(SIGALRM, SIG_DFL);
      alarm(120);
      _exit(work(number));
    }
    children.push_back(child);
  }
  size_t done = 0;
  for (unsigned step = 0; done < children.size(); step++) {
    std::error_code gone;
    for (const std::string& file : files_in(path)) {
      if (step % 3 == 0) fs::remove(file, gone);
      if (step % 3 == 1) fs::resize_file(file, 50, gone);
    }
    usleep(2000);
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child <= 0) continue;
    done++;
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(bytes_in(folder, "cache") <= 12000);
}

TEST_SUITE_END();

}  // namespace morello::testing
