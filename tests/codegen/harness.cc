// SPDX-License-Identifier: MIT
#include "harness.hh"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <xmmintrin.h>

#include <cstring>
#include <functional>
#include <utility>

#include "../support/compare.hh"
#include "../support/targets.hh"
#include "cost/microkernel.hh"
#include "runtime/code_memory.hh"
#include "search/synthesize.hh"
#include "spec/statement.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr size_t kPage = 4096;

/// Which elements of the output the Spec has.
std::vector<bool> written(const Spec& spec, const View& view, size_t elements) {
  std::vector<bool> mask(elements);
  std::array<u32, kMaxDims> index{};
  while (true) {
    i64 at = 0;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(spec.out().dims, d)) at += view.dim[d].at(index[d]);
    mask[static_cast<size_t>(at)] = true;
    int d = spec.rank - 1;
    while (d >= 0 && (!has_dim(spec.out().dims, d) || ++index[d] == spec.size[d])) index[d--] = 0;
    if (d < 0) return mask;
  }
}

/// Judges the output.
using Judge = std::function<std::string(const void* out)>;

std::string run_once(const CodeMemory& code, size_t entry, size_t scratch_bytes,
                     const TypedProblem& problem, GuardedMemory::Side side, const Judge& judge,
                     const morello_executor* executor) {
  const Spec& spec = problem.spec;
  std::vector<GuardedMemory> memory;
  std::array<void*, kMaxOperands> operands{};
  std::array<size_t, kMaxOperands> bytes{};
  for (int o = 0; o < spec.operand_count; o++) {
    bytes[o] = extent(spec, o, problem.views[o]);
    memory.emplace_back(bytes[o], side, size_of(spec.operand[o].dtype));
    operands[o] = memory.back().data();
    std::memcpy(operands[o], problem.data[o].data(), bytes[o]);
  }
  GuardedMemory scratch(scratch_bytes, side, kScratchAlignment);
  std::memset(scratch.data(), 0xff, scratch_bytes);  // NaN
  const int out = spec.out_index();
  const size_t size = size_of(spec.out().dtype);
  char* result = static_cast<char*>(operands[out]);
  std::vector<bool> mask = written(spec, problem.views[out], bytes[out] / size);
  if (spec.out().access == Access::kOut)
    for (size_t i = 0; i < mask.size(); i++)
      if (mask[i]) std::memset(result + i * size, 0xff, size);

  if (!call_with_canaries(code.data() + entry, operands.data(), scratch.data(), executor))
    return "a register that must be kept was changed";
  for (int o = 0; o < out; o++)
    if (std::memcmp(operands[o], problem.data[o].data(), bytes[o]) != 0)
      return "an input was changed";
  for (size_t i = 0; i < mask.size(); i++)
    if (!mask[i] && std::memcmp(result + i * size, problem.data[out].data() + i * size, size) != 0)
      return "the gap at element " + std::to_string(i) + " of the output was written";
  return judge(result);
}

std::string run_both_sides(const ImplTree& tree, const TypedProblem& problem, const Judge& judge,
                           const morello_executor* executor) {
  auto plan = make_plan(tree, problem.views);
  if (!plan.ok()) return plan.error().message;
  auto code = emit(*plan, *tree.target);
  if (!code.ok()) return code.error().message;
  auto memory = CodeMemory::make(code->bytes);
  if (!memory.ok()) return memory.error().message;
  for (auto side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kStart}) {
    std::string wrong =
        run_once(*memory, code->entry, plan->scratch_bytes(), problem, side, judge, executor);
    if (!wrong.empty()) return wrong + "\n" + print(*plan);
  }
  return "";
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes, Side side, size_t alignment) {
  size_t inside = round_up(bytes + alignment, kPage);
  mapped_ = inside + 2 * kPage;
  base_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(base_ != MAP_FAILED);
  char* first = static_cast<char*>(base_) + kPage;
  REQUIRE(mprotect(first, inside, PROT_READ | PROT_WRITE) == 0);
  data_ = side == Side::kStart ? first : first + (inside - bytes) / alignment * alignment;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), mapped_(other.mapped_), data_(other.data_) {}

GuardedMemory::~GuardedMemory() {
  if (base_) munmap(base_, mapped_);
}

std::vector<const Target*> targets(std::initializer_list<Dtype> types) {
  std::vector<const Target*> all;
  for (const Target* t : testing::targets_of(types))
    if (usable(*t, read_machine().features, kAllFeatures)) all.push_back(t);
  REQUIRE_MESSAGE(!all.empty(), "no kernel can run here, so nothing would be tested");
  return all;
}

Plan plan_of(const char* text, const Target& target) {
  Result<Statement> statement = parse(text);
  REQUIRE(statement.ok());
  Result<Lowered> lowered = lower(*statement);
  REQUIRE(lowered.ok());
  Result<ImplTree> tree = synthesize(lowered->spec, target, {}, nullptr);
  REQUIRE(tree.ok());
  Result<Plan> plan = make_plan(*tree, lowered->view);
  REQUIRE(plan.ok());
  return std::move(*plan);
}

Code code_of(const ImplTree& tree, const Views& views) {
  auto plan = make_plan(tree, views);
  REQUIRE_MESSAGE(plan.ok(), plan.error().message);
  auto code = emit(*plan, *tree.target);
  REQUIRE_MESSAGE(code.ok(), code.error().message);
  return std::move(*code);
}

std::string check_tree(const ImplTree& tree, const Problem& problem,
                       const morello_executor* executor) {
  TypedProblem p{problem.spec, problem.views, {}};
  std::array<const void*, kMaxOperands> before{};
  for (int o = 0; o < p.spec.operand_count; o++) {
    const char* data = reinterpret_cast<const char*>(problem.data[o].data());
    p.data[o].assign(data, data + problem.data[o].size() * sizeof(float));
    before[o] = data;
  }
  const std::vector<Expected> expected = expect(p.spec, p.views, before.data());
  auto judge = [&](const void* out) { return compare(expected, static_cast<const float*>(out)); };
  return run_both_sides(tree, p, judge, executor);
}

std::string check_tree(const ImplTree& tree, const TypedProblem& problem,
                       const morello_executor* executor) {
  const std::vector<char> expected = evaluated(problem);
  auto judge = [&](const void* out) { return compare_bits(problem, expected, out); };
  return run_both_sides(tree, problem, judge, executor);
}

bool select_leaves(ImplTree& tree, NodeId id, u64 registers, Random& random) {
  ImplNode& node = tree.nodes[id];
  const Target& target = *tree.target;
  if (const auto* move = std::get_if<Move>(&node.kind);
      move && !move->view && move->placed.level == Level::kRegister)
    registers += vectors(node.spec, move->placed, target.lanes(4));
  if (std::holds_alternative<Select>(node.kind)) {
    std::vector<MicrokernelId> fit;
    for (const Microkernel* m : microkernels())
      if (m->applies(node.spec, target) &&
          registers + m->registers(node.spec, target) <= target.vector_registers)
        fit.push_back(m->id);
    if (fit.empty()) return false;
    node.kind = Select{static_cast<u16>(fit[pick(random, 0, static_cast<u32>(fit.size()) - 1)])};
    return true;
  }
  for (const Edge& edge : std::vector<Edge>(node.children))
    if (!select_leaves(tree, edge.node, registers, random)) return false;
  return true;
}

bool call_with_canaries(const void* code, void* const* operands, void* scratch,
                        const morello_executor* executor) {
  u32 control = _mm_getcsr();
  u64 wrong = 1;
  // Keeps what it changes on the stack, below the red zone of this function.
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "push %%rbx\n\t push %%rbp\n\t push %%r12\n\t push %%r13\n\t push %%r14\n\t push %%r15\n\t"
      "push %[wrong]\n\t"
      "mov %%rsp, %%rbx\n\t"
      "and $-16, %%rsp\n\t"
      "push %%rbx\n\t"
      "sub $8, %%rsp\n\t"
      "movabs $0x1111222233334444, %%rbp\n\t"
      "mov %%rsp, %%rbx\n\t"
      "lea 1(%%rbp), %%r12\n\t lea 2(%%rbp), %%r13\n\t"
      "lea 3(%%rbp), %%r14\n\t lea 4(%%rbp), %%r15\n\t"
      "call *%%rax\n\t"
      "movabs $0x1111222233334444, %%rax\n\t"
      "xor %%rax, %%rbp\n\t"
      "lea 1(%%rax), %%rcx\n\t xor %%rcx, %%r12\n\t or %%r12, %%rbp\n\t"
      "lea 2(%%rax), %%rcx\n\t xor %%rcx, %%r13\n\t or %%r13, %%rbp\n\t"
      "lea 3(%%rax), %%rcx\n\t xor %%rcx, %%r14\n\t or %%r14, %%rbp\n\t"
      "lea 4(%%rax), %%rcx\n\t xor %%rcx, %%r15\n\t or %%r15, %%rbp\n\t"
      "xor %%rsp, %%rbx\n\t or %%rbx, %%rbp\n\t"
      "add $8, %%rsp\n\t"
      "pop %%rsp\n\t"
      "pop %%rcx\n\t"
      "mov %%rbp, (%%rcx)\n\t"
      "pop %%r15\n\t pop %%r14\n\t pop %%r13\n\t pop %%r12\n\t pop %%rbp\n\t pop %%rbx\n\t"
      "lea 128(%%rsp), %%rsp\n\t"
      : "+a"(code), "+D"(operands), "+S"(scratch), "+d"(executor)
      : [wrong] "r"(&wrong)
      : "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15");
  constexpr u32 kFlags = 0x3f;  // what operations raise
  return wrong == 0 && (control & ~kFlags) == (_mm_getcsr() & ~kFlags);
}

}  // namespace morello::testing
