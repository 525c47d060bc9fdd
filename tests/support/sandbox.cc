// SPDX-License-Identifier: MIT
#include "sandbox.hh"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace morello::testing {
namespace {

constexpr int kSetMdwe = 65;              // PR_SET_MDWE, Linux 6.3
constexpr unsigned long kRefuseGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN

constexpr sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}
constexpr sock_filter refuse(int error) {
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
}

}  // namespace

bool deny_write_execute() { return prctl(kSetMdwe, kRefuseGain, 0ul, 0ul, 0ul) == 0; }

bool deny_calls(unsigned which) {
  // A call number that no call has switches a rule off.
  const unsigned mprotect_number = which & kDenyMprotectExec ? __NR_mprotect : ~0u;
  const unsigned memfd_number = which & kDenyMemfd ? __NR_memfd_create : ~0u;
  sock_filter rules[] = {
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, memfd_number, 0, 1),
      refuse(EPERM),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mprotect_number, 0, 3),
      load(offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      refuse(EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {static_cast<unsigned short>(sizeof(rules) / sizeof(rules[0])), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void check_in_child(const char* feature, bool (*restrict)(), int (*body)(), int expected) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(restrict() ? body() : kNoSandbox);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoSandbox) {
    MESSAGE("skipped: this kernel does not have " << feature);
    return;
  }
  CHECK(WEXITSTATUS(status) == expected);
}

}  // namespace morello::testing
