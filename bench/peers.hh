// SPDX-License-Identifier: MIT
// Other libraries on the same problem: OpenBLAS and libxsmm, where they were found.
#ifndef MORELLO_BENCH_PEERS_HH
#define MORELLO_BENCH_PEERS_HH

#include <functional>
#include <string>
#include <vector>

#include "operands.hh"

namespace morello::bench {

/// A library's way to do one problem. Results go to a buffer of its own.
struct Peer {
  std::string name;
  std::function<void(float* out)> run;  // once
};

/// Variables that make each library use one thread, and no more than `isa`. They are read when the
/// libraries start, so they must be set in the environment of a new process.
std::vector<std::pair<std::string, std::string>> peer_environment(int32_t isa);

/// Every way that a library offers. `operands` must outlive the peers, which read the inputs as the
/// Spec states them.
std::vector<Peer> peers_for(const morello_spec* spec, tools::Operands* operands);

/// Versions of the libraries, and which kernels they chose.
std::vector<std::string> describe_peers();

}  // namespace morello::bench

#endif
