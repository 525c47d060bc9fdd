// SPDX-License-Identifier: MIT
#include "capi/cache.hh"

#include <source_hash.hh>  // made by src/meson.build

#include "table/identity.hh"

namespace morello {
namespace {

std::string key_of(const morello_spec& spec, const Target& target) {
  return spec.text + "; " + std::string(target.name) + " " + std::string(target.machine) + " " +
         std::to_string(target_fingerprint(target)) + ", " + std::to_string(target.processors) +
         " threads; morello " MORELLO_VERSION_STRING " " MORELLO_SOURCE_HASH;
}

}  // namespace

Result<std::unique_ptr<KernelCache>> open_cache(const std::string& path, u64 most_bytes) {
  return KernelCache::open(path, most_bytes);
}

CacheKeys::CacheKeys(const morello_spec& spec, const Target& target, const SearchOptions& options)
    : proven_(key_of(spec, target)), unproven_(proven_) {
  if (options.time_budget_us != 0 || options.memory_budget_bytes != 0)
    unproven_ += "; at most " + std::to_string(options.time_budget_us) + " us and " +
                 std::to_string(options.memory_budget_bytes) + " bytes";
  if (options.effort != kExactEffort) unproven_ += "; effort " + std::to_string(options.effort);
}

std::optional<Kernel> CacheKeys::find(const morello_context& context, bool to_run) const {
  const DecodeKernelOptions options{to_run, nullptr};
  const auto find_one = [&](const std::string& key) {
    std::optional<Error> problem;
    std::optional<Kernel> found = context.cache->find(key, options, problem);
    if (problem) log_to(context, MORELLO_LOG_WARNING, "kernel cache: " + problem->message);
    return found;
  };
  std::optional<Kernel> found = find_one(proven_);
  if (!found && unproven_ != proven_) found = find_one(unproven_);
  log_to(
      context, MORELLO_LOG_INFO,
      found ? "kernel cache: " + found->name + " was in it" : "kernel cache: it lacks " + proven_);
  return found;
}

void CacheKeys::put(const morello_context& context, const Kernel& kernel) const {
  const std::string& key = kernel.estimate.optimal ? proven_ : unproven_;
  if (const std::optional<Error> problem = context.cache->put(key, kernel))
    log_to(context, MORELLO_LOG_WARNING, "kernel cache: " + problem->message);
}

}  // namespace morello
