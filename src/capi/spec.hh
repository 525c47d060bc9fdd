// SPDX-License-Identifier: MIT
// The spec objects of the C interface, graphs that become some, and making them.
#ifndef MORELLO_CAPI_SPEC_HH
#define MORELLO_CAPI_SPEC_HH

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "spec/sized.hh"

struct morello_spec {
  morello::Statement statement;
  morello::Lowered lowered;
  std::optional<morello::Sized> sized;  // `statement` is of its largest size
  std::string text;
  morello::u64 hash = 0;
  morello::Owners owners;
};

struct morello_graph {
  morello::Statement statement;              // inputs and nodes; no output
  std::vector<morello::Node::Input> values;  // by the numbers that the caller has
};

namespace morello {

/// Checks `statement`, and on success sets *spec to a new object.
Result<Done> make_spec(Statement statement, morello_spec** spec,
                       std::optional<Sized> sized = std::nullopt);

}  // namespace morello

#endif
