// SPDX-License-Identifier: MIT
// Tests in a forked child that the system refuses executable memory.
#ifndef MORELLO_TESTS_SUPPORT_SANDBOX_HH
#define MORELLO_TESTS_SUPPORT_SANDBOX_HH

namespace morello::testing {

/// Exit codes of a child.
inline constexpr int kAllowed = 10;  // the code ran
inline constexpr int kDenied = 11;   // MORELLO_EXEC_MEMORY_DENIED
inline constexpr int kFailed = 12;   // anything else
inline constexpr int kNoSandbox = 13;

/// For this process from now on; false if the kernel cannot.
bool deny_write_execute();  // PR_SET_MDWE: no page becomes executable that was not so at first
enum DeniedCalls : unsigned { kDenyMprotectExec = 1, kDenyMemfd = 2 };
bool deny_calls(unsigned which);  // a seccomp filter

/// Runs `body` in a child process, after `restrict`, and checks what it returns. Says so and goes
/// on if the kernel does not have `feature`.
void check_in_child(const char* feature, bool (*restrict)(), int (*body)(), int expected);

}  // namespace morello::testing

#endif
