// SPDX-License-Identifier: MIT
// bench-code: how much machine code random matmuls take, M to 16384, N and K to 1024, some with
// steps or batches. Prints the largest and the distribution; --list prints each.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "handles.hh"
#include "morello/morello.h"
#include "random_matmul.hh"

namespace morello::bench {
namespace {

struct Settings {
  uint32_t count = 100;
  uint64_t seed = 1, memory = uint64_t{100} << 20;
  std::string isa = "avx2";
  bool list = false;
};

struct Row {
  uint64_t bytes = 0;
  double cost = 0;
  std::string text;
};

Row measure(const Settings& settings, uint64_t seed) {
  Row row;
  row.text = random_matmul(seed);
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return row;
  const tools::ContextPtr context_owner(context);
  if (morello_spec_parse(context, row.text.c_str(), &spec, nullptr) != MORELLO_OK) return row;
  const tools::SpecPtr spec_owner(spec);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = settings.isa == "avx512" ? MORELLO_ISA_AVX512 : MORELLO_ISA_AVX2;
  options.memory_budget = settings.memory;
  if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK) return row;
  const tools::KernelPtr kernel_owner(kernel);
  size_t bytes = 0;
  (void)morello_kernel_code(kernel, &bytes);
  row.bytes = bytes;
  row.cost = morello_kernel_cost(kernel);
  return row;
}

int run(const Settings& settings) {
  std::vector<Row> rows;
  for (uint32_t i = 0; i < settings.count; i++) {
    rows.push_back(measure(settings, settings.seed + i));
    if (rows.back().bytes == 0) {
      std::fprintf(stderr, "no kernel for %s\n", rows.back().text.c_str());
      return 1;
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes < b.bytes; });
  if (settings.list)
    for (const Row& r : rows)
      std::printf("%8llu bytes %14.0f cycles  %s\n", static_cast<unsigned long long>(r.bytes),
                  r.cost, r.text.c_str());
  auto at = [&](double part) {
    return static_cast<unsigned long long>(
        rows[static_cast<size_t>(part * static_cast<double>(rows.size() - 1))].bytes);
  };
  const auto above =
      std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.bytes > 65536; });
  std::printf(
      "%s, %zu matmuls from seed %llu: median %llu bytes, 90%% at most %llu, 99%% %llu, largest "
      "%llu (%s); %ld above 64 KiB\n",
      settings.isa.c_str(), rows.size(), static_cast<unsigned long long>(settings.seed), at(0.5),
      at(0.9), at(0.99), at(1), rows.back().text.c_str(), static_cast<long>(above));
  return 0;
}

}  // namespace
}  // namespace morello::bench

int main(int argc, char** argv) {
  morello::bench::Settings settings;
  CLI::App app("sizes of the machine code of random matmuls");
  app.add_option("--count", settings.count, "how many");
  app.add_option("--seed", settings.seed, "of the first");
  app.add_option("--isa", settings.isa, "avx2 or avx512")->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--memory", settings.memory, "bytes that each search may use");
  app.add_flag("--list", settings.list, "print each");
  CLI11_PARSE(app, argc, argv);
  return morello::bench::run(settings);
}
