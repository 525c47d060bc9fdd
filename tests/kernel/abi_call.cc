// SPDX-License-Identifier: MIT
#include "abi_call.hh"

#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace morello::testing {
namespace {

constexpr int kCanaries = 6;
constexpr const char* kCanaryNames[kCanaries] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};

/// The assembly below knows the offsets.
struct CallState {
  const void* function;
  const void* argument[3];
  u64 canary[kCanaries];
  u64 found[kCanaries];
  u64 stack_before, stack_after;
  u64 flags;
  u64 in_use;  // XINUSE: state components that are not in their initial state
  u32 mxcsr_before, mxcsr_after;
  u16 x87_before, x87_after;
  u32 read_in_use;
  u64 fourth;  // argument
};
static_assert(offsetof(CallState, found) == 80 && offsetof(CallState, flags) == 144 &&
              offsetof(CallState, mxcsr_before) == 160 && offsetof(CallState, read_in_use) == 172 &&
              offsetof(CallState, fourth) == 176);

}  // namespace
}  // namespace morello::testing

extern "C" void morello_test_abi_call(morello::testing::CallState* state);

asm(R"(
  .text
  .globl morello_test_abi_call
  .hidden morello_test_abi_call
  .type morello_test_abi_call, @function
morello_test_abi_call:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  push %rdi
  mov %rsp, 128(%rdi)
  stmxcsr 160(%rdi)
  fnstcw 168(%rdi)
  mov 32(%rdi), %rbx
  mov 40(%rdi), %rbp
  mov 48(%rdi), %r12
  mov 56(%rdi), %r13
  mov 64(%rdi), %r14
  mov 72(%rdi), %r15
  mov (%rdi), %rax
  mov 176(%rdi), %rcx
  mov 24(%rdi), %rdx
  mov 16(%rdi), %rsi
  mov 8(%rdi), %rdi
  vzeroupper
  call *%rax
  mov (%rsp), %rdi
  mov %rsp, 136(%rdi)
  mov %rbx, 80(%rdi)
  mov %rbp, 88(%rdi)
  mov %r12, 96(%rdi)
  mov %r13, 104(%rdi)
  mov %r14, 112(%rdi)
  mov %r15, 120(%rdi)
  pushfq
  pop %rax
  mov %rax, 144(%rdi)
  cld
  stmxcsr 164(%rdi)
  fnstcw 170(%rdi)
  cmpl $0, 172(%rdi)
  je 1f
  mov $1, %ecx
  xgetbv
  mov %eax, 152(%rdi)
  mov %edx, 156(%rdi)
1:
  vzeroupper
  ldmxcsr 160(%rdi)
  fldcw 168(%rdi)
  pop %rdi
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .size morello_test_abi_call, . - morello_test_abi_call

  .type morello_test_dirty_upper, @function
morello_test_dirty_upper:
  vpcmpeqd %ymm0, %ymm0, %ymm0
  ret
  .size morello_test_dirty_upper, . - morello_test_dirty_upper

  .type morello_test_clean_upper, @function
morello_test_clean_upper:
  vpcmpeqd %ymm0, %ymm0, %ymm0
  vzeroupper
  ret
  .size morello_test_clean_upper, . - morello_test_clean_upper
)");
extern "C" void morello_test_dirty_upper();
extern "C" void morello_test_clean_upper();

namespace morello::testing {
namespace {

constexpr u64 kUpperHalves = 1 << 2 | 1 << 6;  // AVX, and the upper halves of zmm0 to zmm15

u64 in_use_now() {
  u32 low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return u64{high} << 32 | low;
}

CallState call(const void* function, const void* a, const void* b, const void* c, u64 fourth,
               bool read_in_use) {
  CallState s{};
  s.function = function;
  s.argument[0] = a;
  s.argument[1] = b;
  s.argument[2] = c;
  for (int i = 0; i < kCanaries; i++) s.canary[i] = 0x9e3779b97f4a7c15u * static_cast<u64>(i + 1);
  s.fourth = fourth;
  s.read_in_use = read_in_use;
  morello_test_abi_call(&s);
  return s;
}

bool calibrate() {
  u32 a, b, c, d;
  if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & 4)) return false;
  auto in_use = [](void (*f)()) {
    return call(reinterpret_cast<const void*>(f), nullptr, nullptr, nullptr, 0, true).in_use &
           kUpperHalves;
  };
  return in_use(morello_test_dirty_upper) && !in_use(morello_test_clean_upper);
}

thread_local sigjmp_buf* recovery = nullptr;
thread_local Crash crash;
char note[2048];

void on_signal(int signal, siginfo_t* info, void*) {
  if (recovery) {
    crash = {signal, info->si_addr};
    siglongjmp(*recovery, 1);
  }
  ssize_t ignored = write(STDERR_FILENO, note, strlen(note));
  (void)ignored;
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(signal, &normal, nullptr);
}

}  // namespace

bool can_see_upper_halves() {
  static const bool can = calibrate();
  return can;
}

std::string abi_call(const void* function, const void* a, const void* b, const void* c,
                     u64 fourth) {
  CallState s = call(function, a, b, c, fourth, can_see_upper_halves());
  std::string wrong;
  for (int i = 0; i < kCanaries; i++)
    if (s.found[i] != s.canary[i]) wrong += std::string(" changed ") + kCanaryNames[i] + ';';
  if (s.stack_before != s.stack_after) wrong += " moved the stack pointer;";
  constexpr u32 kControl = 0xffc0;  // the lower bits are sticky flags
  if ((s.mxcsr_before ^ s.mxcsr_after) & kControl) wrong += " changed MXCSR;";
  if (s.x87_before != s.x87_after) wrong += " changed the x87 control word;";
  if (s.flags & 1 << 10) wrong += " set the direction flag;";
  if (s.in_use & kUpperHalves) wrong += " left upper halves of vector registers dirty;";
  return wrong.empty() ? "" : "the code" + wrong;
}

std::string check_called_state(const void* frame) {
  u64 flags;
  asm volatile("pushfq\n pop %0" : "=r"(flags));
  std::string wrong;
  if (flags & 1 << 10) wrong += " with the direction flag set;";
  if (can_see_upper_halves() && (in_use_now() & kUpperHalves)) wrong += " with dirty upper halves;";
  if (reinterpret_cast<uintptr_t>(frame) % 16) wrong += " with a misaligned stack;";
  return wrong.empty() ? "" : "the code called out" + wrong;
}

Crash catch_crash(void (*body)(void* argument), void* argument) {
  constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  struct sigaction action = {}, before[4];
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (int i = 0; i < 4; i++) sigaction(kSignals[i], &action, &before[i]);
  sigjmp_buf here;
  crash = {};
  recovery = &here;
  if (sigsetjmp(here, 1) == 0) body(argument);
  recovery = nullptr;
  for (int i = 0; i < 4; i++) sigaction(kSignals[i], &before[i], nullptr);
  return crash;
}

void set_crash_note(const std::string& what) {
  size_t n = std::min(what.size(), sizeof note - 2);
  std::memcpy(note, what.data(), n);
  note[n] = '\n';
  note[n + 1] = 0;
}

}  // namespace morello::testing
