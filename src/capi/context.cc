// SPDX-License-Identifier: MIT
// Contexts: settings, and what was read from the machine once.
#include <cstdlib>

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "support/concat.hh"
#include "table/allowance.hh"

using namespace morello;

namespace {

constexpr morello_context_options kDefaults = {sizeof(morello_context_options),
                                               MORELLO_ISA_AUTO,
                                               0,
                                               kDefaultTableMemory,
                                               nullptr,
                                               kDefaultCacheBytes,
                                               nullptr,
                                               nullptr,
                                               nullptr};

std::optional<Error> find_bad_cap(i32 max_isa) {
  if (max_isa == MORELLO_ISA_AUTO || find_target(max_isa) != nullptr) return std::nullopt;
  std::string valid = isa_constant("auto", MORELLO_ISA_AUTO);
  for (const Target& t : fixed_targets()) valid += concat({", ", isa_constant(t.name, t.number)});
  return invalid_argument(concat({"options.max_isa is ", max_isa, "; valid are ", valid}));
}

/// Where the options, or else the environment, say that kernels are kept; "": nowhere.
std::string cache_directory(const morello_context_options& o) {
  const char* path = o.cache_directory;
  if (path == nullptr) path = secure_getenv("MORELLO_CACHE_DIR");
  return path == nullptr ? "" : path;
}

/// Who, by the options, or else the environment, is told of kernels.
Result<u32> tools_of(const morello_context_options& o) {
  const char* names = o.tools;
  const bool given = names != nullptr;
  if (!given) names = secure_getenv("MORELLO_TOOLS");
  Result<u32> tools = parse_tools(names == nullptr ? "gdb" : names);
  if (!tools) tools.error().message.insert(0, given ? "options.tools: " : "MORELLO_TOOLS: ");
  return tools;
}

}  // namespace

void morello_context_options_init(morello_context_options* options, size_t options_size) {
  if (options != nullptr) write_struct(options, options_size, kDefaults);
}

morello_status morello_context_create(const morello_context_options* options,
                                      morello_context** context, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}})) return *e;
    const auto given = read_struct(options, kDefaults, kFirstContextOptions, "options");
    if (!given) return given.error();
    if (auto e = find_bad_cap(given->max_isa)) return *e;
    if (given->read_machine > 1)
      return invalid_argument(
          concat({"options.read_machine is ", given->read_machine, "; valid are 0 and 1"}));
    const Result<Features> cap = cap_from_environment();
    if (!cap) return cap.error();
    auto made = std::make_unique<morello_context>();
    made->machine = read_machine();
    made->cap = *cap;
    if (given->max_isa != MORELLO_ISA_AUTO) made->cap &= find_target(given->max_isa)->required;
    made->use_machine = given->read_machine == 1;
    made->table_memory = given->table_memory != 0 ? given->table_memory : kDefaultTableMemory;
    const Result<u32> tools = tools_of(*given);
    if (!tools) return tools.error();
    made->tools = *tools;
    made->log = given->log;
    made->log_user = given->log_user;
    if (const std::string path = cache_directory(*given); !path.empty()) {
      const u64 most = given->cache_bytes != 0 ? given->cache_bytes : kDefaultCacheBytes;
      Result<std::unique_ptr<KernelCache>> cache = open_cache(path, most);
      if (!cache) return std::move(cache.error());
      made->cache = std::move(*cache);
    }
    *context = made.release();
    return Done{};
  });
}

void morello_context_release(morello_context* context) { delete context; }
