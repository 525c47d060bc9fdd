// SPDX-License-Identifier: MIT
// Scenarios: run-time sizes.
#include "world.hh"

namespace morello::testing {
namespace {

using E = morello_error**;

constexpr const char* kText = "matmul f32[?<=3,5] f32[5,20]{*} -> f32[?,20]";
constexpr const char* kScratch = "softmax f32[?<=3,70] axis=1";

/// A run of two rows, right or not.
Scenario running(const std::string& name, const char* function,
                 std::function<morello_status(const morello_kernel*, void* const*, E)> call) {
  static std::vector<float> in(3 * 70, 0), out(3 * 70);
  const morello_kernel* const kernel = kernel_of(kScratch);
  Scenario s;
  s.name = name;
  s.functions = {function};
  s.begin = [] { out.assign(out.size(), -1); };
  s.call = [=](E e) {
    void* const operands[] = {in.data(), out.data()};
    return call(kernel, operands, e);
  };
  s.check = [] {
    const bool right = out[0] > 0 && out[2 * 70 - 1] > 0 && out[2 * 70] == -1;
    return right ? std::string() : "a wrong result";
  };
  return s;
}

}  // namespace

std::vector<Scenario> sized_scenarios() {
  const morello_spec* const spec = spec_of(kText);
  const morello_kernel* const kernel = kernel_of(kText);
  std::vector<Scenario> all;
  all.push_back(making<morello_spec>(
      "a run-time size", {"morello_spec_parse"},
      [](morello_spec** s, E e) { return morello_spec_parse(context(), kText, s, e); },
      morello_spec_release));
  all.push_back(making<morello_spec>(
      "morello_spec_at_size", {"morello_spec_at_size"},
      [=](morello_spec** s, E e) { return morello_spec_at_size(spec, 2, s, e); },
      morello_spec_release));
  Scenario bad = all.back();
  bad.name = "morello_spec_at_size, too large";
  bad.call = [=](E e) {
    morello_spec* none = nullptr;
    return morello_spec_at_size(spec, 4, &none, e);
  };
  bad.expected = MORELLO_INVALID_ARGUMENT;
  bad.check = bad.check_failed;
  all.push_back(bad);
  all.push_back(making<morello_kernel>(
      "synthesize: a run-time size", {"morello_synthesize"},
      [=](morello_kernel** k, E e) { return morello_synthesize(context(), spec, nullptr, k, e); },
      morello_kernel_release,
      [=](const morello_kernel* made) {
        for (int64_t size = 1; size <= 3; size++)
          if (morello_kernel_sized_cost(made, size) != morello_kernel_sized_cost(kernel, size))
            return "another kernel";
        return "";
      }));
  need(morello_kernel_scratch_size(kernel_of(kScratch)) > 0, "a sized kernel with scratch");
  all.push_back(running("morello_kernel_run_sized", "morello_kernel_run_sized",
                        [](const morello_kernel* k, void* const* operands, E) {
                          return morello_kernel_run_sized(k, 2, operands, nullptr, nullptr);
                        }));
  all.push_back(running("morello_kernel_run_sized_checked", "morello_kernel_run_sized_checked",
                        [](const morello_kernel* k, void* const* operands, E e) {
                          const size_t bytes[] = {2 * 70 * 4, 2 * 70 * 4};
                          return morello_kernel_run_sized_checked(k, 2, operands, bytes, 2, nullptr,
                                                                  0, nullptr, e);
                        }));
  Scenario plain;
  plain.name = "what a kernel says of its run-time size";
  plain.functions = {"morello_spec_largest_size", "morello_kernel_largest_size",
                     "morello_kernel_sized_function", "morello_kernel_sized_cost"};
  plain.call = [=](E) {
    const bool good = morello_spec_largest_size(spec) == 3 &&
                      morello_kernel_largest_size(kernel) == 3 &&
                      morello_kernel_sized_function(kernel) != nullptr &&
                      morello_kernel_sized_cost(kernel, 2) > 0;
    return good ? MORELLO_OK : MORELLO_INTERNAL;
  };
  plain.allocates = false;
  all.push_back(plain);
  return all;
}

}  // namespace morello::testing
