// SPDX-License-Identifier: MIT
// Terms of a window that lie in one run with another reduced dimension: columns and channels of
// images by NHWC. Where the window has borders they have to be told apart, and from then on no
// longer.
#ifndef MORELLO_SPEC_TERMS_HH
#define MORELLO_SPEC_TERMS_HH

#include "spec/spec.hh"

namespace morello {

/// Makes one dimension of two wherever all operands and stages step along both as along one, as
/// lower() does where there are no borders. `binding` of the dimensions, which it had, to those of
/// another Spec goes on to be that.
void merge_terms(Spec& spec, Binding& binding);
/// The same of a copy, wherever both of its operands step along two dimensions as along one: rows
/// of a few channels are runs of many elements.
void merge_runs(Spec& copy, Binding& binding);

}  // namespace morello

#endif
