// SPDX-License-Identifier: MIT
// Which kernels of a cache a call of morello_synthesize() may have.
#ifndef MORELLO_CAPI_CACHE_HH
#define MORELLO_CAPI_CACHE_HH

#include "capi/spec.hh"
#include "search/synthesize.hh"

namespace morello {

/// What a kernel depends on, as texts: Spec, target, threads and library build; and where a budget
/// may end the search, that too. What is proven to be the cheapest is the same with and without.
class CacheKeys {
 public:
  CacheKeys(const morello_spec& spec, const Target& target, const SearchOptions& options);

  /// REQUIRES (and below): context.cache. What is wrong with it is for the log.
  std::optional<Kernel> find(const morello_context& context, bool to_run) const;
  void put(const morello_context& context, const Kernel& kernel) const;

 private:
  std::string proven_, unproven_;  // equal without budgets
};

}  // namespace morello

#endif
