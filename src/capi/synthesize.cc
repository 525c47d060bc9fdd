// SPDX-License-Identifier: MIT
// Synthesis: options, the choice of the target, and the kernel object.
#include <algorithm>

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "runtime/build_kernel.hh"

using namespace morello;

namespace {

constexpr u32 kMaxThreads = 1024;
constexpr morello_options kDefaults = {
    sizeof(morello_options), MORELLO_ISA_AUTO, /*threads=*/1, 0, 0, 0, 0};

const Target* find_target(i32 number) {
  for (const Target& t : fixed_targets())
    if (t.number == number) return &t;
  return nullptr;
}

std::optional<Error> find_invalid(const morello_options& o) {
  if (o.target != MORELLO_ISA_AUTO && find_target(o.target) == nullptr) {
    std::string valid = isa_constant("auto", MORELLO_ISA_AUTO);
    for (const Target& t : fixed_targets()) valid += ", " + isa_constant(t.name, t.number);
    return invalid_argument("options.target is " + std::to_string(o.target) + "; valid are " +
                            valid);
  }
  if (o.threads < 1 || o.threads > kMaxThreads)
    return invalid_argument("options.threads is " + std::to_string(o.threads) +
                            "; valid are 1 to " + std::to_string(kMaxThreads));
  if (o.reserved0 != 0)
    return invalid_argument("options.reserved0 is " + std::to_string(o.reserved0) +
                            "; it must be 0");
  return std::nullopt;
}

/// `wanted`: nullptr if any would do.
Error lacking(const Target* wanted, std::string why) {
  std::string target = wanted == nullptr ? "any target" : "target " + std::string(wanted->name);
  return {MORELLO_ISA_UNAVAILABLE, target + " is not available: " + std::move(why)};
}

/// The target to make a kernel for. The CPU matters only if the kernel is to run here, the cap
/// always.
Result<const Target*> choose_target(const morello_context& context,
                                    const morello_options& options) {
  const Isa cpu = context.machine.isa, cap = context.cap;
  if (options.target == MORELLO_ISA_AUTO) {
    const Target* best = fixed_target(std::min(cpu, cap));
    if (best != nullptr) return best;
    return lacking(nullptr,
                   "this CPU (" + context.machine.name +
                       ") or its system lacks AVX2 and FMA, the least that kernels need; with "
                       "options.search_only a target can be named");
  }
  const Target* wanted = find_target(options.target);
  if (wanted->isa > cap)
    return lacking(wanted, "the ISA cap (max_isa of the context, or MORELLO_MAX_ISA) is " +
                               std::string(name_of(cap)) + "; raise it, or ask for that target");
  if (wanted->isa > cpu && options.search_only == 0)
    return lacking(wanted, "this CPU (" + context.machine.name + ") and its system offer " +
                               std::string(name_of(cpu)) +
                               "; ask for MORELLO_ISA_AUTO, or set options.search_only");
  return wanted;
}

/// The fixed model, or this machine's caches; as many processors as the kernel may use.
Target make_target(const morello_context& context, const Target& fixed, u32 threads) {
  if (!context.use_machine) return with_machine(fixed, 0, 0, threads);
  const Machine& m = context.machine;
  return with_machine(fixed, m.l1_bytes, m.l2_bytes, std::min(threads, m.processors));
}

}  // namespace

void morello_options_init(morello_options* options, size_t options_size) {
  if (options != nullptr) write_struct(options, options_size, kDefaults);
}

morello_status morello_synthesize(morello_context* context, const morello_spec* spec,
                                  const morello_options* options, morello_kernel** kernel,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"spec", spec}, {"kernel", kernel}})) return *e;
    const auto given = read_struct(options, kDefaults, kFirstOptions, "options");
    if (!given) return given.error();
    if (auto e = find_invalid(*given)) return *e;
    const Result<const Target*> chosen = choose_target(*context, *given);
    if (!chosen) return chosen.error();
    const Target target = make_target(*context, **chosen, given->threads);
    SearchOptions search{};
    search.threads = target.processors;
    search.time_budget_us = given->time_budget;
    search.memory_budget_bytes = given->memory_budget;
    Result<Kernel> built =
        build_kernel(spec->statement, spec->lowered, target, search, given->search_only != 0);
    if (!built) return std::move(built.error());
    auto made = std::make_unique<morello_kernel>();
    made->kernel = std::move(*built);
    *kernel = made.release();
    return Done{};
  });
}
