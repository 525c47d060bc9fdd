// SPDX-License-Identifier: MIT
// Facts about this machine.
#include "capi/boundary.hh"
#include "runtime/code_memory.hh"
#include "target/isa.hh"
#include "target/target.hh"

using namespace morello;

size_t morello_isa_features(int32_t isa, morello_cpu_feature* features, size_t count) {
  return guarded_value(size_t{0}, [&] {
    const Target* target = find_target(isa);
    size_t found = 0;
    for (const FeatureRow& row : feature_rows()) {
      if (target == nullptr || !includes(target->required, morello::features(row.feature)))
        continue;
      if (features != nullptr && found < count) {
        morello_cpu_feature& f = features[found] = {};
        row.name.copy(f.name, sizeof(f.name) - 1);
        f.leaf = row.leaf;
        f.subleaf = row.subleaf;
        f.register_number = row.word;
        f.bit = row.bit;
        f.xcr0 = row.states;
      }
      found++;
    }
    return found;
  });
}

morello_status morello_cpu_info_get(morello_cpu_info* info, size_t info_size) {
  if (info == nullptr || info_size < kFirstCpuInfo || info_size > kLargestStruct)
    return MORELLO_INVALID_ARGUMENT;
  return guarded(nullptr, [&]() -> Result<Done> {
    const Result<Features> cap = cap_from_environment();
    if (!cap) return cap.error();
    const Machine machine = read_machine();
    morello_cpu_info facts{};
    machine.name.copy(facts.name, sizeof(facts.name) - 1);
    for (const Target& t : fixed_targets())
      if (usable(t, machine.features, *cap)) {
        facts.isa = t.number;
        facts.usable_isas |= 1u << t.number;
      }
    facts.processors = machine.processors;
    facts.l1_bytes = machine.l1_bytes;
    facts.l2_bytes = machine.l2_bytes;
    facts.l3_bytes = machine.l3_bytes;
    facts.jit = executable_memory_available() ? 1 : 0;
    write_struct(info, info_size, facts);
    return Done{};
  });
}
