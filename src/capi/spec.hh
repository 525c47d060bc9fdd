// SPDX-License-Identifier: MIT
// Making the spec objects of the C interface.
#ifndef MORELLO_CAPI_SPEC_HH
#define MORELLO_CAPI_SPEC_HH

#include "capi/boundary.hh"
#include "capi/objects.hh"

namespace morello {

/// Checks `statement`, and on success sets *spec to a new object.
Result<Done> make_spec(Statement statement, morello_spec** spec);

}  // namespace morello

#endif
