// SPDX-License-Identifier: MIT
// Whole trees: random ones, parallel loops, code at another address, distances beyond 2^31, the
// plan's text.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstring>

#include "../impl/trees.hh"
#include "cost/microkernel.hh"
#include "harness.hh"
#include "runtime/code_memory.hh"
#include "support/scale.hh"

namespace morello::testing {
namespace {

/// Runs the tasks backwards on the calling thread, after a check of the stack.
struct Backwards {
  int calls = 0;
  static void parallel_for(void* user, size_t count, void (*fn)(void*, size_t), void* arg) {
    static_cast<Backwards*>(user)->calls++;
    CHECK(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % 16 == 0);
    while (count-- > 0) fn(arg, count);
  }
};

ImplTree parallel_matmul(const Problem& p, u8 dim, u32 size, const Target& target) {
  ImplTree tree = tiled(p.spec, dim, size, MicrokernelId::kScalarReduce);
  std::get<Loop>(tree.nodes[0].kind).parallel = true;
  tree.target = &target;
  return tree;
}

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("random trees") {
    int ran = 0;
    for (u32 seed = 0, last = static_cast<u32>(testing::rounds(6000)); seed < last; seed++) {
      CAPTURE(seed);
      Random random(seed);
      Problem p = random_problem(random);
      p.fill(random);
      ImplTree tree = random_tree(p.spec, random, static_cast<int>(pick(random, 1, 6)));
      for (const Target* base : targets()) {
        Target target = *base;
        target.processors = 3;
        tree.target = &target;
        if (!select_leaves(tree, 0, 0, random)) continue;
        Backwards pool;
        morello_executor executor = {sizeof(morello_executor), &pool, Backwards::parallel_for};
        std::string wrong = check_tree(tree, p, chance(random, 50) ? &executor : nullptr);
        CHECK_MESSAGE(wrong.empty(), wrong);
        ran++;
      }
    }
    CHECK(ran > testing::rounds(1000));
  }

  TEST_CASE("parallel loops") {
    for (const Target* base : targets())
      for (u32 processors : {2u, 3u, 8u})
        for (u32 m : {2u, 3u, 7u, 16u, 17u}) {
          Target target = *base;
          target.processors = processors;
          Problem p = matmul(m, 5, 6, Access::kOut);
          Random random(m);
          p.fill(random);
          for (u32 size : {1u, 2u, 3u}) {
            if (size >= m) continue;
            ImplTree tree = parallel_matmul(p, 0, size, target);
            Backwards pool;
            morello_executor executor = {sizeof(morello_executor), &pool, Backwards::parallel_for};
            for (const morello_executor* e : {static_cast<const morello_executor*>(nullptr),
                                              static_cast<const morello_executor*>(&executor)}) {
              std::string wrong = check_tree(tree, p, e);
              CHECK_MESSAGE(wrong.empty(), wrong);
            }
            CHECK(pool.calls == (m / size > 1 ? 2 : 0));
          }
        }
  }

  TEST_CASE("equal plans give equal code, which runs anywhere") {
    for (const Target* target : targets()) {
      Problem p = matmul(7, 21, 9, Access::kInOut);
      Random random(3);
      p.fill(random);
      ImplTree tree = in_registers(tile(p.spec, 0, 3, nullptr));
      tree.target = target;
      Code code = code_of(tree, p.views), again = code_of(tree, p.views);
      CHECK(code.bytes == again.bytes);
      auto first = CodeMemory::make(code.bytes), second = CodeMemory::make(again.bytes);
      REQUIRE((first.ok() && second.ok() && first->data() != second->data()));
      std::vector<float> a = p.data[2], b = p.data[2];
      void* operands[] = {p.data[0].data(), p.data[1].data(), a.data()};
      CHECK(call_with_canaries(first->data() + code.entry, operands, nullptr, nullptr));
      operands[2] = b.data();
      CHECK(call_with_canaries(second->data() + code.entry, operands, nullptr, nullptr));
      CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
    }
  }

  TEST_CASE("rows further apart than an instruction's displacement") {
    constexpr i64 kRow = i64{1} << 31;  // bytes
    constexpr u32 kRows = 5, kColumns = 21;
    size_t mapped = kRow * kRows;
    void* far = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
      MESSAGE("skipped: no address space");
      return;
    }
    Spec spec = matmul(kRows, kColumns, 2, Access::kOut).spec;  // becomes out[m,n] = in[m,n]
    spec.rank = 2;
    spec.size[2] = 0;
    spec.operand_count = 2;
    set_stages(spec, {stage_of_op(Op::kCopy, 0)});
    spec.operand[0] = spec.operand[2];
    spec.operand[0].access = Access::kIn;
    spec.operand[0].contig = 1;
    spec.operand[1] = spec.operand[0];
    spec.operand[1].access = Access::kOut;
    spec.operand[2] = Operand{};
    View view;
    view.dim[0].stride[0] = kRow / 4;
    view.dim[1].stride[0] = 1;
    Views views = {view, view};
    char* base = static_cast<char*>(far);
    for (const Target* target : targets())
      for (bool registers : {false, true}) {
        for (u32 i = 0; i < kRows; i++) {
          float* row = reinterpret_cast<float*>(base + i * kRow);
          for (u32 j = 0; j < kColumns; j++)
            row[j] = static_cast<float>(100 * i + j), row[j + 64] = 0;
        }
        ImplTree tree;
        if (registers) {
          tree = in_registers(spec);
          tree.nodes[1].kind = Select{static_cast<u16>(MicrokernelId::kMap)};
        } else {
          tree.nodes.push_back(leaf(spec, MicrokernelId::kMap));
        }
        tree.target = target;
        auto code = CodeMemory::make(code_of(tree, views).bytes);
        REQUIRE(code.ok());
        void* operands[] = {base, base + 64 * sizeof(float)};
        CHECK(call_with_canaries(code->data(), operands, nullptr, nullptr));
        for (u32 i = 0; i < kRows; i++) {
          const float* row = reinterpret_cast<const float*>(base + i * kRow);
          CHECK(std::memcmp(row, row + 64, kColumns * sizeof(float)) == 0);
        }
      }
    munmap(far, mapped);
  }

  TEST_CASE("text of plans") {
    Problem p = matmul(13, 24, 50, Access::kInOut);
    ImplTree tree = tiled(p.spec, 0, 6, MicrokernelId::kScalarReduce);
    auto plan = make_plan(tree, p.views);
    REQUIRE(plan.ok());
    CHECK(print(*plan) == R"(plan avx2: 3 operands, 0 bytes of scratch
kernel: c0 = operand 0, c1 = operand 1, c2 = operand 2
  loop 2: c0 += 1200, c2 += 576
    loop 6: c0 += 200, c2 += 96
      loop 24: c1 += 4, c2 += 4
        scalar_reduce muladd(0,1) [1,1,/50] c0(200,-,4) c1(-,4,96) += c2(96,4,-) | r0
  rest:
    loop 24: c1 += 4, c2 += 4
      scalar_reduce muladd(0,1) [1,/50] c0(-,4) c1(4,96) += c2(4,-) | r0
)");
    Problem q = matmul(6, 16, 50, Access::kInOut);
    plan = make_plan(in_registers(q.spec), q.views);
    REQUIRE(plan.ok());
    CHECK(print(*plan) == R"(plan avx2: 3 operands, 0 bytes of scratch
kernel: c0 = operand 0, c1 = operand 1, c2 = operand 2
  map copy(0) [6,16] c2(64,4) => r0(*,*) | r12
  outer_product muladd(0,1) [6,16,/50] c0(200,-,4) c1(-,4,64) += r0(*,*,-) | r12
  map copy(0) [6,16] r0(*,*) => c2(64,4) | r12
)");
    Target target = *fixed_target(Isa::kAvx512);
    target.processors = 4;
    plan = make_plan(parallel_matmul(p, 1, 5, target), p.views);
    REQUIRE(plan.ok());
    CHECK(print(*plan) == R"(plan avx512: 3 operands, 0 bytes of scratch
kernel: c0 = operand 0, c1 = operand 1, c2 = operand 2, c3 = scratch + 0
  parallel 4 in 4 of task 1: c1 += 20, c2 += 20
  rest:
    loop 13: c0 += 200, c2 += 96
      loop 4: c1 += 4, c2 += 4
        scalar_reduce muladd(0,1) [1,1,/50] c0(200,-,4) c1(-,4,96) += c2(96,4,-) | r0
task 1: c0 = outer c0, c1 = outer c1, c2 = outer c2
  each trip: c1 += 20, c2 += 20
    loop 13: c0 += 200, c2 += 96
      loop 5: c1 += 4, c2 += 4
        scalar_reduce muladd(0,1) [1,1,/50] c0(200,-,4) c1(-,4,96) += c2(96,4,-) | r0
)");
  }

  TEST_CASE("what cannot be planned") {
    Problem p = matmul(4, 4, 4, Access::kOut);
    ImplTree tree;
    tree.target = fixed_target(Isa::kAvx2);
    tree.nodes.push_back(leaf(p.spec, static_cast<MicrokernelId>(99)));
    const auto plan = make_plan(tree, p.views);
    REQUIRE(!plan.ok());
    CHECK(plan.error().status == MORELLO_INTERNAL);
  }
}

}  // namespace morello::testing
