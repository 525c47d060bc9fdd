// SPDX-License-Identifier: MIT
#include "capi/target.hh"

#include <algorithm>

#include "capi/boundary.hh"

namespace morello {
namespace {

const Target* find_target(i32 number) {
  for (const Target& t : fixed_targets())
    if (t.number == number) return &t;
  return nullptr;
}

/// `wanted`: nullptr if any would do.
Error lacking(const Target* wanted, std::string why) {
  std::string target = wanted == nullptr ? "any target" : "target " + std::string(wanted->name);
  return {MORELLO_ISA_UNAVAILABLE, target + " is not available: " + std::move(why)};
}

}  // namespace

std::optional<Error> find_bad_target(i32 target) {
  if (target == MORELLO_ISA_AUTO || find_target(target) != nullptr) return std::nullopt;
  std::string valid = isa_constant("auto", MORELLO_ISA_AUTO);
  for (const Target& t : fixed_targets()) valid += ", " + isa_constant(t.name, t.number);
  return invalid_argument("options.target is " + std::to_string(target) + "; valid are " + valid);
}

Result<const Target*> choose_target(const morello_context& context, i32 target, bool to_run) {
  const Isa cpu = context.machine.isa, cap = context.cap;
  if (target == MORELLO_ISA_AUTO) {
    const Target* best = fixed_target(std::min(cpu, cap));
    if (best != nullptr) return best;
    return lacking(nullptr,
                   "this CPU (" + context.machine.name +
                       ") or its system lacks AVX2 and FMA, the least that kernels need; with "
                       "options.search_only a target can be named");
  }
  const Target* wanted = find_target(target);
  if (wanted->isa > cap)
    return lacking(wanted, "the ISA cap (max_isa of the context, or MORELLO_MAX_ISA) is " +
                               std::string(name_of(cap)) + "; raise it, or ask for that target");
  if (wanted->isa > cpu && to_run)
    return lacking(wanted, "this CPU (" + context.machine.name + ") and its system offer " +
                               std::string(name_of(cpu)) +
                               "; ask for MORELLO_ISA_AUTO, or set options.search_only");
  return wanted;
}

Target make_target(const morello_context& context, const Target& fixed, u32 threads) {
  if (!context.use_machine) return with_machine(fixed, 0, 0, threads);
  const Machine& m = context.machine;
  return with_machine(fixed, m.l1_bytes, m.l2_bytes, std::min(threads, m.processors));
}

}  // namespace morello
