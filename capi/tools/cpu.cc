// SPDX-License-Identifier: MIT
// morello cpu: this machine as the library sees it, and the versions of the library.
#include "command.hh"
#include "fmt/ranges.h"
#include "output.hh"

namespace morello::tools {

int cpu_command(const Arguments& arguments) {
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);  // says in words what is refused
  const ErrorPtr own(error);
  if (!context) return report_error(arguments, "", error);
  morello_cpu_info info;
  if (const morello_status status = morello_cpu_info_get(&info, sizeof info);
      status != MORELLO_OK) {
    return report_status(arguments, "", status);
  }
  std::vector<const char*> usable;
  for (const auto& [name, number] : kTargets)
    if (number != MORELLO_ISA_AUTO && info.usable_isas >> number & 1) usable.push_back(name);
  if (arguments.json) {
    print_json({{"name", info.name},
                {"isa", isa_name(info.isa)},
                {"usable_isas", usable},
                {"processors", info.processors},
                {"l1_bytes", info.l1_bytes},
                {"l2_bytes", info.l2_bytes},
                {"l3_bytes", info.l3_bytes},
                {"jit", info.jit != 0},
                {"version", morello_version_string()},
                {"abi_version", morello_abi_version()},
                {"cost_model_version", morello_cost_model_version()}});
    return kExitOk;
  }
  const auto size = [](uint64_t bytes) {
    return bytes == 0 ? std::string("unknown") : fmt::format("{} KiB", bytes / 1024);
  };
  print("cpu         {}\n", info.name);
  print("isa         {}\n", isa_name(info.isa));
  print("usable      {}\n", usable.empty() ? "none" : fmt::format("{}", fmt::join(usable, ", ")));
  print("processors  {}\n", info.processors);
  print("caches      L1 {}, L2 {}, L3 {}\n", size(info.l1_bytes), size(info.l2_bytes),
        size(info.l3_bytes));
  print("jit         {}\n", info.jit != 0 ? "available" : "refused by the system");
  print("morello     {}, ABI {}, cost model {}\n", morello_version_string(), morello_abi_version(),
        morello_cost_model_version());
  return kExitOk;
}

}  // namespace morello::tools
