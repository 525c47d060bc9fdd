// SPDX-License-Identifier: MIT
// Functions of one number beside SLEEF's and the C library's vectors: AVX2, f32, one thread. Both
// are opened at run time; who is not there is not measured. Everybody takes turns, 1 ms each.
//
//   bench-functions [--rounds N] [--sizes 4096,1048576] [--only NAME]
#include <dlfcn.h>
#include <fmt/format.h>
#include <immintrin.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "morello/morello.h"

namespace {

using Vector = __m256;
using Call = Vector (*)(Vector);
using Clock = std::chrono::steady_clock;
/// Of `n` numbers, a multiple of 8.
using Sweep = std::function<void(const float*, float*, size_t)>;

template <class F>
Sweep sweep(F f) {
  return [f](const float* in, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 8) _mm256_storeu_ps(out + i, f(_mm256_loadu_ps(in + i)));
  };
}

/// The vector functions of one library, by the names of the functions that they are made of.
class Library {
 public:
  Library(const char* file, const char* before, const char* after)
      : handle_(dlopen(file, RTLD_NOW)), before_(before), after_(after) {}

  Call find(const std::string& name) const {
    if (handle_ == nullptr) return nullptr;
    return reinterpret_cast<Call>(dlsym(handle_, (before_ + name + after_).c_str()));
  }

  /// What it has of `name`, or what is made of what it has.
  Sweep of(const std::string& name) const {
    const auto all = [](float x) { return _mm256_set1_ps(x); };
    const Vector one = all(1), half = all(0.5f), sign = all(-0.0f);
    const auto logistic = [=](Call exp, Vector x) {
      return _mm256_div_ps(one, _mm256_add_ps(one, exp(_mm256_xor_ps(x, sign))));
    };
    const Call exp = find("expf"), erf = find("erff"), tanh = find("tanhf");
    if (name == "sigmoid") return exp ? sweep([=](Vector x) { return logistic(exp, x); }) : Sweep();
    if (name == "silu")
      return exp ? sweep([=](Vector x) { return _mm256_mul_ps(x, logistic(exp, x)); }) : Sweep();
    if (name == "gelu") {
      const Vector root = all(0.70710678f);
      return erf ? sweep([=](Vector x) {
        return _mm256_mul_ps(_mm256_mul_ps(x, half),
                             _mm256_add_ps(one, erf(_mm256_mul_ps(x, root))));
      })
                 : Sweep();
    }
    if (name == "gelu_tanh") {
      const Vector c = all(0.79788456f), cube = all(0.044715f);
      return tanh ? sweep([=](Vector x) {
        const Vector u = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_mul_ps(x, x), x), cube, x);
        return _mm256_mul_ps(_mm256_mul_ps(x, half), _mm256_add_ps(one, tanh(_mm256_mul_ps(u, c))));
      })
                  : Sweep();
    }
    const Call call = find(name + "f");
    return call ? sweep(call) : Sweep();
  }

 private:
  void* handle_;
  std::string before_, after_;
};

/// Our kernel, which releases itself.
Sweep ours(morello_context* context, const std::string& name, size_t n) {
  const std::string text = fmt::format("{} f32[{}]", name, n);
  morello_spec* spec = nullptr;
  morello_kernel* kernel = nullptr;
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = MORELLO_ISA_AVX2;
  if (morello_spec_parse(context, text.c_str(), &spec, nullptr) != MORELLO_OK) return {};
  const morello_status made = morello_synthesize(context, spec, &options, &kernel, nullptr);
  morello_spec_release(spec);
  if (made != MORELLO_OK) return {};
  const std::shared_ptr<morello_kernel> own(kernel, morello_kernel_release);
  return [own](const float* in, float* out, size_t) {
    void* operands[] = {const_cast<float*>(in), out};
    morello_kernel_run(own.get(), operands, nullptr, nullptr);
  };
}

struct Contestant {
  std::string name;
  Sweep sweep;
  std::vector<double> rates = {};  // GB/s, both ways, of each round
};

void round(Contestant& c, const std::vector<float>& in, std::vector<float>& out) {
  const auto start = Clock::now();
  size_t calls = 0;
  double seconds = 0;
  do {
    c.sweep(in.data(), out.data(), in.size());
    calls++;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (seconds < 1e-3);
  c.rates.push_back(8e-9 * static_cast<double>(in.size() * calls) / seconds);
}

std::string cell(std::vector<double> rates) {
  if (rates.empty()) return "-";
  std::sort(rates.begin(), rates.end());
  const auto at = [&](double part) {
    return rates[static_cast<size_t>(part * static_cast<double>(rates.size() - 1))];
  };
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", at(0.5), at(0.1), at(0.9));
}

void contest(morello_context* context, const std::string& name, size_t n, int rounds) {
  static const Library sleef("libsleef.so.3", "Sleef_", "8_u10avx2");
  static const Library libmvec("libmvec.so.1", "_ZGVdN8v_", "");
  std::vector<float> in(n), out(n);
  for (size_t i = 0; i < n; i++) {
    const float x = static_cast<float>((i * 7919) % n) / static_cast<float>(n);
    in[i] = name == "log" || name == "rsqrt" ? 0.001f + 100 * x : 12 * x - 6;
  }
  std::vector<Contestant> all = {{"morello", ours(context, name, n)},
                                 {"SLEEF u10", sleef.of(name)},
                                 {"libmvec", libmvec.of(name)}};
  for (int r = 0; r < rounds; r++)
    for (size_t i = 0; i < all.size(); i++) {
      Contestant& c = all[(i + static_cast<size_t>(r)) % all.size()];
      if (c.sweep) round(c, in, out);
    }
  fmt::print("| {} | {} |", name, n);
  for (const Contestant& c : all) fmt::print(" {} |", cell(c.rates));
  fmt::print("\n");
}

}  // namespace

int main(int count, char** values) {
  int rounds = 41;
  std::vector<size_t> sizes = {4096, 1048576};
  std::string only;
  CLI::App app("Functions of one number beside those of other libraries: GB/s, input and output.");
  app.add_option("--rounds", rounds, "of 1 ms each")->check(CLI::PositiveNumber);
  app.add_option("--sizes", sizes, "numbers, multiples of 8")->delimiter(',');
  app.add_option("--only", only, "one function");
  CLI11_PARSE(app, count, values);
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fmt::print("this CPU has no AVX2\n");
    return 1;
  }
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return 1;
  fmt::print("| function | numbers | morello | SLEEF u10 | libmvec |\n|---|---|---|---|---|\n");
  for (const char* name : {"exp", "exp2", "log", "tanh", "sigmoid", "erf", "gelu", "gelu_tanh",
                           "silu", "sin", "cos", "rsqrt", "round"})
    for (size_t n : sizes)
      if (only.empty() || only == name) contest(context, name, n / 8 * 8, rounds);
  morello_context_release(context);
}
