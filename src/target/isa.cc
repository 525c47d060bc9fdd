// SPDX-License-Identifier: MIT
// Reads this machine with CPUID and XGETBV. The only file that reads environment variables.
#include "target/isa.hh"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "support/concat.hh"

namespace morello {
namespace {

struct CpuidRegisters {
  u32 eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Zeros if the processor does not know `leaf`.
CpuidRegisters cpuid(u32 leaf, u32 subleaf = 0) {
  CpuidRegisters r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

constexpr bool bit(u32 word, int n) { return word >> n & 1; }

/// Which register states the operating system saves. Only where CPUID reports OSXSAVE.
u64 read_xcr0() {
  u32 low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<u64>(high) << 32 | low;
}

constexpr u64 kAvxState = 0x06;      // XMM and the upper halves of YMM
constexpr u64 kAvx512State = 0xe6;   // and the mask registers, upper ZMM, ZMM16-31
constexpr u64 kTileState = 0x60000;  // the configuration of tiles, and their data
constexpr int kTileDataState = 18;   // which a process has to ask for

enum CpuidRegister : u8 { eax, ebx, ecx, edx };  // as the rows write them

constexpr FeatureRow kRows[] = {
#define MORELLO_FEATURE(Name, name, leaf, subleaf, word, number, states) \
  {Feature::k##Name, name, leaf, subleaf, word, number, states},
#include "target/features.def"
#undef MORELLO_FEATURE
};

constexpr u64 kToAskFor = u64{1} << kTileDataState;

/// Which states the kernel would give. Kernels that know of none to ask for have no such call.
u64 supported_states() {
  constexpr int kGetSupported = 0x1021;
  u64 states = 0;
  return syscall(SYS_arch_prctl, kGetSupported, &states) == 0 ? states : 0;
}

Features read_features() {
  constexpr int kOsxsave = 27;
  u64 saved = bit(cpuid(1).ecx, kOsxsave) ? read_xcr0() : 0;
  if (saved & kToAskFor) saved &= supported_states() | ~kToAskFor;
  Features found = kNoFeatures;
  for (const FeatureRow& row : kRows) {
    const CpuidRegisters r = cpuid(row.leaf, row.subleaf);
    const u32 words[] = {r.eax, r.ebx, r.ecx, r.edx};
    if (bit(words[row.word], row.bit) && (saved & row.states) == row.states)
      found |= features(row.feature);
  }
  return found;
}

std::string read_name() {
  if (cpuid(0x80000000).eax < 0x80000004) return "unknown x86-64";
  char text[49] = {};
  for (u32 i = 0; i < 3; i++) {
    const CpuidRegisters r = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, &r, 16);
  }
  const std::string_view name(text);
  const size_t first = name.find_first_not_of(' ');
  if (first == std::string_view::npos) return "unknown x86-64";
  return std::string(name.substr(first, name.find_last_not_of(' ') - first + 1));
}

/// Both vendors list caches alike: Intel in leaf 4, AMD in leaf 0x8000001d.
void read_caches(Machine& machine) {
  constexpr u32 kEnd = 0, kData = 1, kUnified = 3;
  const u32 leaf = (cpuid(4).eax & 31) != kEnd ? 4u : 0x8000001du;
  for (u32 i = 0; i < 16; i++) {
    const CpuidRegisters r = cpuid(leaf, i);
    const u32 type = r.eax & 31, level = r.eax >> 5 & 7;
    if (type == kEnd) return;
    if (type != kData && type != kUnified) continue;
    const u64 ways = (r.ebx >> 22) + 1, partitions = (r.ebx >> 12 & 1023) + 1;
    const u64 bytes = ways * partitions * ((r.ebx & 4095) + 1) * (static_cast<u64>(r.ecx) + 1);
    if (level == 1) machine.l1_bytes = bytes;
    if (level == 2) machine.l2_bytes = bytes;
    if (level == 3) machine.l3_bytes = bytes;
  }
}

u32 read_processors() {
  // The kernel refuses a set smaller than its own: try larger ones.
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok && count > 0) return static_cast<u32>(count);
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<u32>(online) : 1;
}

/// What of a text fits into a message, whatever its bytes are.
std::string printable(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string clean(text.substr(0, kMost));
  for (char& c : clean)
    if (c < ' ' || c > '~') c = '?';
  return concat({clean, text.size() > kMost ? "..." : ""});
}

}  // namespace

std::span<const FeatureRow> feature_rows() { return kRows; }

Machine read_machine() {
  Machine machine;
  machine.name = read_name();
  machine.features = read_features();
  machine.processors = read_processors();
  read_caches(machine);
  return machine;
}

Features request_states(Features wanted) {
  constexpr int kRequest = 0x1023;
  Features asked = kNoFeatures;
  for (const FeatureRow& row : kRows)
    if (row.states & kToAskFor) asked |= features(row.feature);
  asked &= wanted;
  if (asked == kNoFeatures) return kNoFeatures;
  return syscall(SYS_arch_prctl, kRequest, kTileDataState) == 0 ? kNoFeatures : asked;
}

std::string describe(Features features) {
  std::string text;
  for (const FeatureRow& row : kRows)
    if (includes(features, morello::features(row.feature)))
      text += concat({text.empty() ? "" : ", ", row.name});
  return text;
}

Result<Features> cap_from_environment() {
  const char* text = secure_getenv("MORELLO_MAX_ISA");
  if (text == nullptr || *text == '\0') return kAllFeatures;
  if (const Target* cap = find_target(text)) return cap->required;
  std::string valid;
  for (const Target& t : fixed_targets()) valid += concat({valid.empty() ? "" : ", ", t.name});
  return Error{MORELLO_INVALID_ARGUMENT,
               concat({"the environment variable MORELLO_MAX_ISA is \"", printable(text),
                       "\"; valid are ", valid, " in any case, or unset it"})};
}

}  // namespace morello
