// SPDX-License-Identifier: MIT
// A secret of the process, so that whoever writes a file cannot make its keys collide.
#ifndef MORELLO_SUPPORT_HASH_SEED_HH
#define MORELLO_SUPPORT_HASH_SEED_HH

#include "support/types.hh"

namespace morello {

/// The same for the whole life of the process. Nothing that users see may depend on it.
u64 hash_seed();

}  // namespace morello

#endif
