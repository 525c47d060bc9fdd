// SPDX-License-Identifier: MIT
// A process that has no memory left gets a status from every call, even where there is no memory
// for an error object.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../support/sandbox.hh"
#include "../support/sanitized.hh"
#include "handles.hh"

namespace morello::testing {
namespace {

constexpr const char* kText = "matmul f32[40,50] f32[50,60]{*} + f32[60] -> relu -> f32[40,60]";

/// Limits this process to little more than it has.
bool limit_memory() {
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (statm == nullptr) return false;
  const bool read = std::fscanf(statm, "%lu", &pages) == 1;
  std::fclose(statm);
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (4u << 20);
  const rlimit limit = {bytes, bytes};
  return read && setrlimit(RLIMIT_AS, &limit) == 0;
}

void take_all(size_t block) {
  while (void* taken = std::malloc(block)) *static_cast<void* volatile*>(taken) = taken;
}

/// Takes all memory that there is and never gives it back: the process ends soon. Allocators keep
/// freed blocks by size, so every small size is asked for.
void exhaust_memory() {
  for (size_t block = size_t{1} << 20; block > 2048; block /= 2) take_all(block);
  for (size_t block = 2048; block >= 16; block -= 16) take_all(block);
}

template <class Call>
bool is_out_of_memory(Call&& call) {
  morello_error* err = untouched<morello_error>();
  const morello_status status = call(&err);
  // The object, if it could be made, says the same.
  return status == MORELLO_OUT_OF_MEMORY && morello_error_status(err) == MORELLO_OUT_OF_MEMORY &&
         morello_error_message(err) != nullptr;
}

int call_without_memory() {
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return kFailed;
  if (morello_spec_parse(context, kText, &spec, nullptr) != MORELLO_OK) return kFailed;
  exhaust_memory();
  morello_context* no_context = nullptr;
  morello_spec* no_spec = nullptr;
  morello_kernel* no_kernel = nullptr;
  morello_pool* no_pool = nullptr;
  morello_tensor tensor{};
  tensor.dtype = MORELLO_F32;  // a scalar
  using E = morello_error**;
  const bool all =
      is_out_of_memory([&](E e) { return morello_context_create(nullptr, &no_context, e); }) &&
      is_out_of_memory([&](E e) { return morello_spec_parse(context, kText, &no_spec, e); }) &&
      is_out_of_memory([&](E e) { return morello_spec_fill(context, 1, &tensor, &no_spec, e); }) &&
      is_out_of_memory(
          [&](E e) { return morello_synthesize(context, spec, nullptr, &no_kernel, e); }) &&
      is_out_of_memory([&](E e) { return morello_pool_create(2, &no_pool, e); });
  const bool none = no_context == nullptr && no_spec == nullptr && no_kernel == nullptr;
  return all && none && no_pool == nullptr ? kDenied : kFailed;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a process without memory") {
  if (kSanitized) {
    MESSAGE("skipped: the sanitizer needs memory of its own");
    return;
  }
  check_in_child("RLIMIT_AS", limit_memory, call_without_memory, kDenied);
}

TEST_SUITE_END();

}  // namespace morello::testing
