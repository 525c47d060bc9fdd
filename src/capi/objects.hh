// SPDX-License-Identifier: MIT
// What the opaque types of the C interface are. Each is immutable once made.
#ifndef MORELLO_CAPI_OBJECTS_HH
#define MORELLO_CAPI_OBJECTS_HH

#include <atomic>
#include <memory>
#include <string>

#include "compiler/build_kernel.hh"
#include "morello/morello.h"
#include "runtime/pool.hh"
#include "spec/statement.hh"
#include "table/allowance.hh"
#include "table/table.hh"
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
  bool use_machine = false;  // its cache sizes and processors, instead of the fixed model
  morello::u64 table_memory = morello::kDefaultTableMemory;  // for loading a table
};

struct morello_spec {
  morello::Statement statement;
  morello::Lowered lowered;
  std::string text;
  morello::u64 hash = 0;
  morello::Owners owners;
};

struct morello_graph {
  morello::Statement statement;              // inputs and nodes; no output
  std::vector<morello::Node::Input> values;  // by the numbers that the caller has
};

struct morello_kernel {
  morello::Kernel kernel;
  morello::BuildReport report;
  morello::Owners owners;
};

namespace morello {
/// The kernel's code, in executable memory or not. A search_only kernel, and none at all, have
/// none.
inline const Executable* code_of(const morello_kernel* kernel) noexcept {
  return kernel != nullptr && kernel->kernel.executable ? &*kernel->kernel.executable : nullptr;
}
}  // namespace morello

struct morello_table {
  morello::Table table;
  morello::Target target;  // that of its identity, processors included
  morello::Owners owners;
};

struct morello_pool {
  std::unique_ptr<morello::Pool> pool;
};

#endif
