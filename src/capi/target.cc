// SPDX-License-Identifier: MIT
#include "capi/target.hh"

#include <algorithm>

#include "capi/boundary.hh"
#include "support/concat.hh"
#include "target/dots.hh"
#include "target/isa.hh"

namespace morello {
namespace {

/// `wanted`: nullptr if any would do.
Error lacking(const Target* wanted, const std::string& why) {
  return {MORELLO_ISA_UNAVAILABLE,
          concat({wanted == nullptr ? "any target" : "target ",
                  wanted == nullptr ? "" : wanted->name, " is not available: ", why})};
}

/// Because of the cap.
Error left_out(const Target& wanted, Features cap) {
  return lacking(
      &wanted, concat({"the ISA cap (max_isa of the context, or MORELLO_MAX_ISA) leaves out ",
                       describe(wanted.required & ~cap), "; raise it, or ask for another target"}));
}

}  // namespace

std::optional<Error> find_lacking(const morello_context& context, const Target& target,
                                  const char* remedy) {
  const Features cpu = context.machine.features, cap = context.cap;
  if (!includes(cap, target.required)) return left_out(target, cap);
  if (usable(target, cpu, cap)) {
    const Features refused = request_states(target.required);
    if (refused == kNoFeatures) return std::nullopt;
    return lacking(&target,
                   concat({"the system refuses this process the registers of ", describe(refused),
                           " (an alternate signal stack may be too small for them); ", remedy}));
  }
  return lacking(&target, concat({"this CPU (", context.machine.name, ") or its system lacks ",
                                  describe(target.required & ~cpu), "; ", remedy}));
}

std::optional<Error> find_bad_target(i32 target) {
  if (target == MORELLO_ISA_AUTO || find_target(target) != nullptr) return std::nullopt;
  std::string valid = isa_constant("auto", MORELLO_ISA_AUTO);
  for (const Target& t : fixed_targets()) valid += ", " + isa_constant(t.name, t.number);
  return invalid_argument(concat({"options.target is ", target, "; valid are ", valid}));
}

Result<const Target*> choose_target(const morello_context& context, i32 target, bool to_run,
                                    std::span<const Dtype> types) {
  const Features cpu = context.machine.features, cap = context.cap;
  if (target == MORELLO_ISA_AUTO) {
    const Target* best = best_target(cpu, cap, types);
    if (best != nullptr && to_run)
      if (const Features refused = request_states(best->required); refused != kNoFeatures)
        best = best_target(cpu & ~refused, cap, types);
    if (best != nullptr) return best;
    const Features least = fixed_targets().front().required;
    return lacking(nullptr, concat({"this CPU (", context.machine.name, ") or its system lacks ",
                                    describe(least & ~cpu),
                                    ", which all kernels need; with options.search_only a target "
                                    "can be named"}));
  }
  const Target* wanted = find_target(target);
  if (!includes(cap, wanted->required)) return left_out(*wanted, cap);
  if (to_run)
    if (auto e =
            find_lacking(context, *wanted, "ask for MORELLO_ISA_AUTO, or set options.search_only"))
      return *e;
  return wanted;
}

Target make_target(const morello_context& context, const Target& fixed, u32 threads) {
  if (!context.use_machine) return with_machine(fixed, 0, 0, threads);
  const Machine& m = context.machine;
  return with_machine(fixed, m.l1_bytes, m.l2_bytes, std::min(threads, m.processors));
}

}  // namespace morello
