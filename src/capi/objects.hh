// SPDX-License-Identifier: MIT
// What the opaque types of the C interface are, but for Specs and tables, which libmorello-runtime
// has not (capi/spec.hh, capi/table.hh). Each is immutable once made.
#ifndef MORELLO_CAPI_OBJECTS_HH
#define MORELLO_CAPI_OBJECTS_HH

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "morello/morello.h"
#include "runtime/kernel_cache.hh"
#include "runtime/pool.hh"
#include "runtime/tools.hh"
#include "target/isa.hh"

namespace morello {

/// Counts the owners of an object that several may own, starting with one.
class Owners {
 public:
  void add() const { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True if the last owner left. The acquire makes what the others did visible to the destructor.
  bool leave() const { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  mutable std::atomic<u32> count_{1};
};

template <class T>
T* retain(const T* object) noexcept {
  if (object != nullptr) object->owners.add();
  return const_cast<T*>(object);
}

template <class T>
void release(T* object) noexcept {
  if (object != nullptr && object->owners.leave()) delete object;
}

}  // namespace morello

struct morello_error {
  morello_status status = MORELLO_INTERNAL;
  morello::u32 line = 0;
  morello::u32 column = 0;
  std::unique_ptr<char[]> message;
};

struct morello_context {
  morello::Machine machine;
  morello::Features cap = morello::kAllFeatures;  // that kernels may use
  bool use_machine = false;       // its cache sizes and processors, instead of the fixed model
  morello::u64 table_memory = 0;  // for loading a table
  std::unique_ptr<morello::KernelCache> cache;  // nullptr: none
  morello_log_fn log = nullptr;
  void* log_user = nullptr;
  morello::u32 tools = 0;  // that are told of kernels
};

struct morello_kernel {
  morello::Kernel kernel;
  std::string impl_text, plan_text;      // "" if loaded
  std::function<std::string()> explain;  // likewise nothing
  morello_search_stats stats = {};       // but for what the kernel says of itself
  morello::Announcement announcement;    // of the kernel's code: gone before it
  morello::Owners owners;
};

namespace morello {
/// The kernel's code, in executable memory or not. A search_only kernel, and none at all, have
/// none.
inline const Executable* code_of(const morello_kernel* kernel) noexcept {
  return kernel != nullptr && kernel->kernel.executable ? &*kernel->kernel.executable : nullptr;
}

/// Tells the context's log, if it has one.
inline void log_to(const morello_context& context, morello_log_level level,
                   const std::string& message) {
  if (context.log != nullptr) context.log(context.log_user, level, message.c_str());
}

/// The cache of a context. libmorello-runtime, which makes no kernels, has none: capi/no_cache.cc.
Result<std::unique_ptr<KernelCache>> open_cache(const std::string& path, u64 most_bytes);

/// A new object, of which the context's tools are told.
inline std::unique_ptr<morello_kernel> make_kernel(const morello_context& context, Kernel kernel) {
  auto made = std::make_unique<morello_kernel>();
  made->kernel = std::move(kernel);
  std::optional<Error> problem;
  made->announcement = Announcement::of(made->kernel, context.tools, problem);
  if (problem) log_to(context, MORELLO_LOG_WARNING, "tools: " + problem->message);
  return made;
}

/// One that was stored.
inline morello_kernel* loaded_kernel(const morello_context& context, Kernel kernel) {
  auto made = make_kernel(context, std::move(kernel));
  made->stats.stored = 1;
  return made.release();
}
}  // namespace morello

struct morello_pool {
  std::unique_ptr<morello::Pool> pool;
};

#endif
