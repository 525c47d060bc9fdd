// SPDX-License-Identifier: MIT
// Sets of CPU features: what a CPU has, what a target requires, what a cap allows. No set includes
// another one by rule.
#ifndef MORELLO_TARGET_FEATURES_HH
#define MORELLO_TARGET_FEATURES_HH

#include <string>

#include "support/types.hh"

namespace morello {

enum class Feature : u8 {
#define MORELLO_FEATURE(Name, ...) k##Name,
#include "target/features.def"
#undef MORELLO_FEATURE
};

/// Bit 1 << Feature.
using Features = u32;
#define MORELLO_FEATURE(...) +1
static_assert(0
#include "target/features.def"
                  <= 32,
              "more features than Features has bits");
#undef MORELLO_FEATURE
template <class... F>
constexpr Features features(F... all) {
  return (Features{0} | ... | (Features{1} << static_cast<int>(all)));
}
constexpr bool includes(Features all, Features part) { return (part & ~all) == 0; }

inline constexpr Features kNoFeatures = 0;
inline constexpr Features kAllFeatures = ~Features{0};

/// "avx2, fma": their names, in the order of the list.
std::string describe(Features features);

}  // namespace morello

#endif
