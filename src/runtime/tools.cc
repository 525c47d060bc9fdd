// SPDX-License-Identifier: MIT
#include "runtime/tools.hh"

#include <mutex>

#include "runtime/frames.hh"
#include "runtime/perf.hh"
#include "support/process_lock.hh"

// GDB's interface, as its manual has it ("JIT Compilation Interface"): a list of object files in
// memory, and a function at which it stops to look at it. It finds both by their names, in every
// object of a process that has its symbols; other JIT compilers have their own.
namespace {
struct JitEntry {
  JitEntry* next;
  JitEntry* previous;
  const char* image;
  uint64_t size;
};
struct JitDescriptor {
  uint32_t version;
  uint32_t action;
  JitEntry* relevant;
  JitEntry* first;
};
enum { kRegistered = 1, kUnregistered = 2 };

void jit_debug_register_code() asm("__jit_debug_register_code");
__attribute__((noinline, used)) void jit_debug_register_code() { asm volatile("" ::: "memory"); }
extern JitDescriptor jit_debug_descriptor asm("__jit_debug_descriptor");
__attribute__((used)) JitDescriptor jit_debug_descriptor = {1, 0, nullptr, nullptr};
}  // namespace

// Of libgcc. The object is the caller's, and of six words.
extern "C" {
__attribute__((weak)) void __register_frame_info(const void* begin, void* object);
__attribute__((weak)) void* __deregister_frame_info(const void* begin);
}

namespace morello {
namespace {

ProcessLock& tools_lock() {
  static ProcessLock lock;
  return lock;
}

void tell_gdb(JitEntry& entry, u32 action) {
  jit_debug_descriptor.relevant = &entry;
  jit_debug_descriptor.action = action;
  jit_debug_register_code();
  jit_debug_descriptor.action = 0;
  jit_debug_descriptor.relevant = nullptr;
}

void add_to_gdb(JitEntry& entry) {
  JitEntry* first = jit_debug_descriptor.first;
  entry.next = first;
  if (first != nullptr) first->previous = &entry;
  jit_debug_descriptor.first = &entry;
  tell_gdb(entry, kRegistered);
}

void remove_from_gdb(JitEntry& entry) {
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  if (entry.previous != nullptr)
    entry.previous->next = entry.next;
  else
    jit_debug_descriptor.first = entry.next;
  tell_gdb(entry, kUnregistered);
}

struct Name {
  std::string_view name;
  u32 tool;
};
constexpr Name kNames[] = {
    {"gdb", kToolGdb}, {"unwind", kToolUnwind}, {"map", kToolPerfMap}, {"jitdump", kToolJitdump}};

}  // namespace

Result<u32> parse_tools(std::string_view names) {
  u32 tools = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    u32 found = 0;
    std::string valid;
    for (const Name& known : kNames) {
      if (known.name == name) found = known.tool;
      valid += (valid.empty() ? "" : ", ") + std::string(known.name);
    }
    if (found == 0)
      return Error{MORELLO_INVALID_ARGUMENT, "'" + std::string(name.substr(0, 40)) +
                                                 "' is no tool; valid are " + valid +
                                                 ", several with commas between them, or nothing"};
    tools |= found;
  }
  return tools;
}

struct Announcement::Entry {
  std::string image, frames;
  JitEntry gdb{};
  void* unwinder[8] = {};  // libgcc's
  bool in_gdb = false, in_unwinder = false;

  Entry() = default;
  Entry(const Entry&) = delete;
  ~Entry() {
    if (in_unwinder) __deregister_frame_info(frames.data());
    if (!in_gdb) return;
    const std::lock_guard lock(tools_lock());
    remove_from_gdb(gdb);
  }

  void announce(const Executable& executable, const std::string& name, u32 tools,
                std::optional<Error>& problem) {
    if (tools & kToolGdb) image = object_image(executable, name);
    if (tools & kToolUnwind) frames = frame_table(executable);
    if (tools & kToolUnwind && __register_frame_info != nullptr) {
      __register_frame_info(frames.data(), unwinder);
      in_unwinder = true;
    } else if (tools & kToolUnwind) {
      problem = {MORELLO_UNSUPPORTED,
                 "the unwinder of this process takes no frames of code that no file has"};
    }
    const std::vector<NamedFunction> functions = named_functions(executable, name);
    const std::lock_guard lock(tools_lock());
    if (tools & kToolGdb) {
      gdb.image = image.data();
      gdb.size = image.size();
      add_to_gdb(gdb);
      in_gdb = true;
    }
    if (tools & kToolPerfMap)
      if (auto e = add_to_perf_map(functions, executable)) problem = std::move(e);
    if (tools & kToolJitdump)
      if (auto e = add_to_jitdump(functions, executable)) problem = std::move(e);
  }
};

Announcement::Announcement() = default;
Announcement::Announcement(Announcement&&) noexcept = default;
Announcement& Announcement::operator=(Announcement&&) noexcept = default;
Announcement::~Announcement() = default;

Announcement Announcement::of(const Kernel& kernel, u32 tools,
                              std::optional<Error>& problem) noexcept {
  Announcement made;
  if (tools == 0 || !kernel.can_run()) return made;
  try {
    const auto announce = [&](const Executable& executable, const std::string& name) {
      made.entries_.push_back(std::make_unique<Entry>());
      made.entries_.back()->announce(executable, name, tools, problem);
    };
    announce(*kernel.executable, kernel.name);
    for (size_t i = 0; i < kernel.operands.size(); i++)
      if (kernel.operands[i].pack)
        announce(*kernel.operands[i].pack, kernel.name + ".pack" + std::to_string(i));
  } catch (...) {
    problem = {MORELLO_OUT_OF_MEMORY, "no memory"};  // too short to need any
  }
  return made;
}

}  // namespace morello
