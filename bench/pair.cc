// SPDX-License-Identifier: MIT
// bench-pair: two builds of the library beside each other, in one process and in turns: size of the
// code, cost, and time of the kernels of random matmuls. What a change of prices or of the emitter
// did to speed.
//   MORELLO_MAX_ISA=avx2 bench-pair OLD/libmorello.so NEW/libmorello.so --count 40
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "morello/morello.h"
#include "random_matmul.hh"

namespace morello::bench {
namespace {

struct Settings {
  std::string libraries[2];
  uint32_t count = 40, rounds = 9, at_least = 0;
  uint64_t seed = 1, effort = MORELLO_EFFORT_EXACT;
  size_t cold = 0;    // MiB
  size_t offset = 0;  // floats
  bool results = false;
  std::vector<std::string> specs;
};

/// One build. Its functions are looked up, as both have the same names.
struct Library {
  void* handle;
  morello_context* context = nullptr;

  template <class F>
  F* find(F*, const char* name) const {
    void* found = dlsym(handle, name);
    if (found == nullptr) {
      std::fprintf(stderr, "%s: %s\n", name, dlerror());
      std::exit(1);
    }
    return reinterpret_cast<F*>(found);
  }
};
#define CALL(library, name) (library).find(name, #name)

struct Kernel {
  const Library* library = nullptr;
  morello_kernel* kernel = nullptr;
  morello_kernel_fn function = nullptr;
  size_t scratch = 0, bytes = 0;
  double cost = 0;
  std::vector<double> seconds;

  size_t operand_bytes(uint32_t o) const {
    return CALL(*library, morello_kernel_operand_size)(kernel, o);
  }
};

/// What both kernels read and write: where pages of memory do not follow one another, all takes up
/// to 1.6 times as long, so places of their own would be compared, and not kernels.
class Memory {
 public:
  /// @param offset  floats from the beginning of a line to that of each operand.
  Memory(const Kernel& a, const Kernel& b, size_t offset)
      : scratch(std::aligned_alloc(64, (std::max(a.scratch, b.scratch) + 127) / 64 * 64)),
        offset_(offset) {
    for (uint32_t o = 0; o < CALL(*a.library, morello_kernel_operand_count)(a.kernel); o++) {
      bytes_.push_back(std::max(a.operand_bytes(o), b.operand_bytes(o)));
      operands.push_back(filled(bytes_.back()));
    }
  }
  Memory(const Memory&) = delete;
  ~Memory() {
    for (void* m : blocks_) std::free(m);
    std::free(scratch);
  }

  /// Copies of the largest input, or of the result, so many that they exceed `bytes` together.
  void rotate(size_t bytes, bool results) {
    const auto last = bytes_.end() - 1;
    const auto o = results ? last : std::max_element(bytes_.begin(), last);
    if (o == bytes_.end() || *o == 0) return;
    rotated_ = static_cast<size_t>(o - bytes_.begin());
    copies_.push_back(operands[rotated_]);
    while (copies_.size() * *o < bytes + 2 * *o) copies_.push_back(filled(*o));
  }
  size_t rotated_bytes() const { return bytes_[rotated_]; }
  /// Each call takes the next copy, so that so many calls take each as often.
  size_t copies() const { return std::max<size_t>(1, copies_.size()); }
  void next() {
    if (!copies_.empty()) operands[rotated_] = copies_[next_++ % copies_.size()];
  }

  std::vector<void*> operands;
  void* const scratch;

 private:
  void* filled(size_t bytes) {
    void* memory = std::aligned_alloc(64, (bytes + 64 + 127) / 64 * 64);
    if (memory == nullptr) std::exit(1);
    blocks_.push_back(memory);
    float* values = static_cast<float*>(memory) + offset_;
    for (size_t i = 0; i < bytes / sizeof(float); i++) values[i] = static_cast<float>(i % 17) / 64;
    return values;
  }

  size_t offset_;
  std::vector<size_t> bytes_;
  std::vector<void*> copies_, blocks_;
  size_t rotated_ = 0, next_ = 0;
};

bool make(const Library& l, const std::string& text, uint64_t effort, Kernel& k) {
  morello_spec* spec = nullptr;
  if (CALL(l, morello_spec_parse)(l.context, text.c_str(), &spec, nullptr) != MORELLO_OK)
    return false;
  morello_options options;
  CALL(l, morello_options_init)(&options, sizeof options);
  options.effort = effort;
  const bool made =
      CALL(l, morello_synthesize)(l.context, spec, &options, &k.kernel, nullptr) == MORELLO_OK;
  CALL(l, morello_spec_release)(spec);
  if (!made) return false;
  k.library = &l;
  k.function = CALL(l, morello_kernel_function)(k.kernel);
  (void)CALL(l, morello_kernel_code)(k.kernel, &k.bytes);
  k.cost = CALL(l, morello_kernel_cost)(k.kernel);
  k.scratch = CALL(l, morello_kernel_scratch_size)(k.kernel);
  return true;
}

double run(const Kernel& k, Memory& memory, uint64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < calls; i++) {
    memory.next();
    k.function(memory.operands.data(), memory.scratch, nullptr);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(calls);
}

double best(const Kernel& k) { return *std::min_element(k.seconds.begin(), k.seconds.end()); }

/// Old over new: above 1, the new one is faster. 0 if there is no kernel.
double compare(const Settings& settings, const Library* libraries, const std::string& text) {
  Kernel k[2];
  if (!make(libraries[0], text, settings.effort, k[0]) ||
      !make(libraries[1], text, settings.effort, k[1]))
    return 0;
  double ratio = 0;
  if (k[0].bytes >= settings.at_least) {
    Memory memory(k[0], k[1], settings.offset);
    if (settings.cold > 0) memory.rotate(settings.cold << 20, settings.results);
    const uint64_t all = memory.copies();
    const double once = std::max(run(k[0], memory, 2 * all), run(k[1], memory, 2 * all));
    const auto calls = static_cast<uint64_t>(std::clamp(3e-3 / once, 1.0, 1e5)) / all * all;
    for (uint32_t r = 0; r < settings.rounds; r++)
      for (int i : {0, 1, 1, 0}) k[i].seconds.push_back(run(k[i], memory, std::max(calls, all)));
    ratio = best(k[0]) / best(k[1]);
    std::printf("%6.3f  code %7zu %7zu  cost %.4f  %s", ratio, k[0].bytes, k[1].bytes,
                k[0].cost / k[1].cost, text.c_str());
    if (settings.cold > 0)
      std::printf("  %.1f and %.1f GB/s of %zu MiB", memory.rotated_bytes() / best(k[0]) / 1e9,
                  memory.rotated_bytes() / best(k[1]) / 1e9, memory.rotated_bytes() >> 20);
    std::printf("\n");
    std::fflush(stdout);
  }
  for (Kernel& one : k) CALL(*one.library, morello_kernel_release)(one.kernel);
  return ratio;
}

int run(const Settings& settings) {
  Library libraries[2];
  for (int i : {0, 1}) {
    libraries[i].handle = dlopen(settings.libraries[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (libraries[i].handle == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    if (CALL(libraries[i], morello_context_create)(nullptr, &libraries[i].context, nullptr) !=
        MORELLO_OK)
      return 1;
  }
  std::printf("old/new time, bytes of code, old/new cost\n");
  std::vector<double> ratios;
  for (uint32_t n = 0; n < settings.count; n++) {
    std::vector<std::string> specs = settings.specs;
    if (specs.empty()) specs.push_back(random_matmul(settings.seed + n));
    for (const std::string& spec : specs) {
      const double ratio = compare(settings, libraries, spec);
      if (ratio > 0) ratios.push_back(ratio);
    }
  }
  if (ratios.empty()) return 1;
  double product = 0;
  for (double r : ratios) product += std::log(r);
  std::sort(ratios.begin(), ratios.end());
  std::printf("%zu kernels, old/new: geometric mean %.3f, least %.3f, median %.3f, most %.3f\n",
              ratios.size(), std::exp(product / static_cast<double>(ratios.size())), ratios.front(),
              ratios[ratios.size() / 2], ratios.back());
  return 0;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) {
  morello::bench::Settings settings;
  CLI::App app("two builds of the library beside each other");
  app.add_option("OLD", settings.libraries[0], "libmorello.so")->required();
  app.add_option("NEW", settings.libraries[1], "libmorello.so")->required();
  app.add_option("--count", settings.count, "random matmuls");
  app.add_option("--seed", settings.seed, "of the first");
  app.add_option("--rounds", settings.rounds, "of four timings each");
  app.add_option("--at-least", settings.at_least,
                 "bytes of code that the old one must have to be timed");
  app.add_option("--effort", settings.effort, "of the searches; default exact");
  app.add_option(
      "--cold", settings.cold,
      "MiB of copies of the largest input, one after the other; default: the same again");
  app.add_option("--offset", settings.offset,
                 "where in a line operands begin: so many times 4 bytes behind it; default 0")
      ->check(CLI::Range(0, 15));
  app.add_flag("--results", settings.results, "with --cold: copies of the result instead");
  app.add_option("--spec", settings.specs, "these Specs, --count times, instead of random ones");
  CLI11_PARSE(app, argc, argv);
  return morello::bench::run(settings);
}
