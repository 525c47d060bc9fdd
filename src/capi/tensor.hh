// SPDX-License-Identifier: MIT
// Between morello_tensor, which callers fill, and Tensor.
#ifndef MORELLO_CAPI_TENSOR_HH
#define MORELLO_CAPI_TENSOR_HH

#include "morello/morello.h"
#include "spec/statement.hh"

namespace morello {

/// REQUIRES: tensor != nullptr. Messages call it `name`. What depends on the operation (strides
/// that overlap, shapes that do not fit one another) is left to lower().
Result<Tensor> to_tensor(const morello_tensor* tensor, const char* name);

/// REQUIRES: the tensor is one that lower() accepted.
morello_tensor from_tensor(const Tensor& tensor);

}  // namespace morello

#endif
