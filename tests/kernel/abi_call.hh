// SPDX-License-Identifier: MIT
// Calls machine code as a strict caller: checks everything that the System V ABI says a function
// must leave as it was, and turns crashes into results.
#ifndef MORELLO_TESTS_KERNEL_ABI_CALL_HH
#define MORELLO_TESTS_KERNEL_ABI_CALL_HH

#include <string>

#include "support/types.hh"

namespace morello::testing {

/// Calls function(a, b, c, fourth) with known values in rbx, rbp and r12 to r15. "" if it returned
/// and kept them, the stack pointer, MXCSR, the x87 control word and the direction flag, and left
/// the upper halves of the vector registers clean; else what it did. Thread safe.
std::string abi_call(const void* function, const void* a, const void* b, const void* c,
                     u64 fourth = 0);

/// What is wrong with the state in which machine code called a function of ours: direction flag,
/// upper halves. `frame` is __builtin_frame_address(0) of that function. "" if nothing.
std::string check_called_state(const void* frame);

/// Whether this CPU tells if upper halves are in use; if not, they are not checked.
bool can_see_upper_halves();

/// A signal that a call raised, instead of returning.
struct Crash {
  int signal = 0;  // 0: none
  const void* address = nullptr;
};
/// Runs body(argument); a SIGSEGV, SIGBUS, SIGILL or SIGFPE on this thread ends it. Nothing is
/// unwound: for bodies that only call machine code.
Crash catch_crash(void (*body)(void* argument), void* argument);
/// Where catch_crash() is not in force, prints `what` before the process dies of such a signal.
void set_crash_note(const std::string& what);

}  // namespace morello::testing

#endif
