// SPDX-License-Identifier: MIT
// Owners of the C API's objects, and text from its two-call functions.
#ifndef MORELLO_CAPI_TOOLS_HANDLES_HH
#define MORELLO_CAPI_TOOLS_HANDLES_HH

#include <memory>
#include <string>

#include "morello/morello.h"

namespace morello::tools {

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};

using ErrorPtr = std::unique_ptr<morello_error, Releaser<morello_error_release>>;
using ContextPtr = std::unique_ptr<morello_context, Releaser<morello_context_release>>;
using SpecPtr = std::unique_ptr<morello_spec, Releaser<morello_spec_release>>;
using KernelPtr = std::unique_ptr<morello_kernel, Releaser<morello_kernel_release>>;
using TablePtr = std::unique_ptr<morello_table, Releaser<morello_table_release>>;
using PoolPtr = std::unique_ptr<morello_pool, Releaser<morello_pool_release>>;

/// Calls `print(object, buffer, size)` twice: for the length, then for the text.
template <typename T>
std::string text_of(size_t (*print)(const T*, char*, size_t), const T* object) {
  std::string text(print(object, nullptr, 0), '\0');
  print(object, text.data(), text.size() + 1);
  return text;
}

}  // namespace morello::tools

#endif
