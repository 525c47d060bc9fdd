// SPDX-License-Identifier: MIT
// Everything that is installed and that this machine can run.
#ifndef MORELLO_BENCH_PEERS_LOAD_HH
#define MORELLO_BENCH_PEERS_LOAD_HH

#include <dlfcn.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "peer.hh"

namespace morello::bench {

/// Opens the first of `names` that there is: where the loader looks, then in the lib folders that
/// the build was told of (option peer_prefixes). nullptr: none.
void* open_library(std::initializer_list<const char*> names);

template <typename T>
T* find(void* library, const char* name) {
  return reinterpret_cast<T*>(dlsym(library, name));
}

// Libraries with a plain C interface, opened at run time. Nothing happens if they are not there.
void add_openblas(std::vector<Peer>* peers);
void add_blis(const Setting& setting, std::vector<Peer>* peers);
void add_mkl(std::vector<Peer>* peers);

/// All peers but those that `without` names. Tells `loads` the name of each before it is loaded, as
/// some end the process. What is missing, and why, is added to `missing`.
std::vector<Peer> load_peers(const Setting& setting, const std::vector<std::string>& without,
                             const std::function<void(const std::string& name)>& loads,
                             std::vector<std::string>* missing);

}  // namespace morello::bench

#endif
