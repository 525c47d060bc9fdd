// SPDX-License-Identifier: MIT
// Tiles that are copied, or read in L1 as they are, are asked for by what computes with the tile
// before: plans are run on paper, line by line.
#include "codegen/asks.hh"

#include <doctest/doctest.h>

#include <set>

#include "harness.hh"

namespace morello {
namespace {

using testing::plan_of;

/// Runs a plan without computing: which lines of operand `watched` copies read, or, `in_place`, all
/// read for the first time; and which calls asked for before.
class DryRun {
 public:
  DryRun(const Plan& plan, u64 watched, bool in_place = false)
      : plan_(plan), watched_(watched), in_place_(in_place) {
    run(plan.functions[0].body, start(plan.functions[0]));
  }

  u64 read = 0;          // lines that copies without an `ahead` of their own read
  u64 asked_before = 0;  // of these
  u64 asks = 0;          // lines that calls asked for
  u64 in_order = 0;      // of these: the one before was the line before, or the same one
  u64 distinct() const { return asked_.size(); }

 private:
  std::set<i64> asked_;  // lines, by their number from the start of the operand

  /// Addresses: of the watched operand from its beginning on; of others none.
  struct Address {
    bool watched = false;
    i64 bytes = 0;
  };
  using Frame = std::vector<Address>;

  Frame start(const PlanFunction& function) const {
    Frame frame;
    for (const Cursor& c : function.cursors)
      frame.push_back({c.base == Cursor::Base::kOperand && c.value == watched_, 0});
    return frame;
  }

  void run(const std::vector<PlanId>& list, Frame frame) {
    for (PlanId id : list) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        Frame inside = frame;
        for (u64 i = 0; i < loop->trips; i++) {
          run(loop->body, inside);
          for (const CursorStep& s : loop->steps) inside[s.cursor].bytes += s.bytes;
          for (const CursorStep& s : loop->before_last)
            if (i + 2 == loop->trips) inside[s.cursor].bytes += s.bytes;
        }
        for (const CursorStep& s : loop->before_last) inside[s.cursor].bytes -= s.bytes;
        run(loop->rest, inside);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        const PlanFunction& routine = plan_.functions[invoke->function];
        Frame inside;
        for (const Cursor& c : routine.cursors) inside.push_back(frame[invoke->cursors[c.value]]);
        run(routine.body, inside);
      } else if (const auto* computes = std::get_if<PlanCall>(&node)) {
        call(*computes, frame);
      } else {
        REQUIRE(std::holds_alternative<PlanTiles>(node));
      }
    }
  }

  void ask_for(const PlanAsk& ask, const Frame& frame) {
    if (ask.rows == 0 || !frame[ask.cursor].watched) return;
    for (u32 row = 0; row < ask.rows; row++)
      for (u32 line = 0; line < ask.lines; line++) {
        const i64 at =
            frame[ask.cursor].bytes + ask.bytes + row * ask.pitch + i64{line} * i64{kLineBytes};
        const i64 asked = at / i64{kLineBytes};
        asked_.insert(asked);
        asks++;
        in_order += asked - last_ == 0 || asked - last_ == 1;
        last_ = asked;
      }
  }

  void call(const PlanCall& call, const Frame& frame) {
    ask_for(call.ask, frame);
    ask_for(call.results, frame);
    if (can_ask(call.id) && !in_place_) return;
    for (int o = 0; o < call.spec.operand_count; o++) {
      const PlanOperand& x = call.operand[o];
      if (x.in_registers || !frame[x.cursor].watched) continue;
      if (x.ahead == 0 || in_place_) read_lines(call.spec, x, 0, frame[x.cursor].bytes);
    }
  }

  void read_lines(const Spec& spec, const PlanOperand& x, int dim, i64 at) {
    while (dim < spec.rank && x.stride[dim] == 0) dim++;
    if (dim == spec.rank) {
      if (at % i64{kLineBytes} != 0) return;  // its first element stands for a line
      if (in_place_ && !found_.insert(at / i64{kLineBytes}).second) return;
      read++;
      asked_before += asked_.count(at / i64{kLineBytes});
      return;
    }
    for (u32 i = 0; i < spec.size[dim]; i++) read_lines(spec, x, dim + 1, at + i * x.stride[dim]);
  }

  const Plan& plan_;
  u64 watched_;
  bool in_place_;
  i64 last_ = 0;         // that was asked for
  std::set<i64> found_;  // lines that were read, in place
};

TEST_SUITE("codegen") {
  TEST_CASE("copies of far tiles find their lines asked for, each about once") {
    struct Case {
      const char* spec;
      Isa isa;
      u64 operand;
    };
    for (const Case& c :
         {Case{"matmul f32[64,512] f32[512,2048]", Isa::kAvx2, 1},
          Case{"matmul f32[64,768] f32[768,3072]", Isa::kAvx512, 1},
          Case{"matmul f32[48,1024] f32[1024,1024]", Isa::kAvx2, 1},
          Case{"matmul f32[60,1024] f32[1024,2048]", Isa::kAvx512, 1},
          Case{"matmul f32[64,512] f32[512,2048] + bias f32[2048] -> relu", Isa::kAvx512, 1}}) {
      INFO(std::string(c.spec), " on ", fixed_target(c.isa)->name);
      const DryRun run(plan_of(c.spec, *fixed_target(c.isa)), c.operand);
      CAPTURE(run.read);
      CAPTURE(run.asked_before);
      CAPTURE(run.asks);
      REQUIRE(run.read > 0);
      CHECK(run.asked_before * 100 >= run.read * 90);  // not the first of all
      CHECK(run.asks * 100 <= run.read * 150);
    }
  }

  TEST_CASE("panels that tile registers read again are asked for, each line about once") {
    const Target& amx = *find_target("avx512_amx");
    for (const char* spec : {"matmul bf16[100,1024] bf16[1024,4096]{*} -> f32[100,4096]",
                             "matmul u8[200,2048] i8[2048,2048]{*} -> i32[200,2048]"}) {
      INFO(std::string(spec));
      const u64 lines = std::string(spec)[7] == 'b' ? 131072 : 65536;
      const DryRun run(plan_of(spec, amx), 1);
      CAPTURE(run.asks);
      CHECK(run.distinct() * 100 >= lines * 85);  // not the first of all
      CHECK(run.asks * 100 <= lines * 120);
    }
    // In one read there is no time but that of the read itself.
    CHECK(DryRun(plan_of("matmul bf16[32,1024] bf16[1024,4096]{*} -> f32[32,4096]", amx), 1).asks ==
          0);
  }

  TEST_CASE("far tiles that are read as they are find their lines asked for") {
    for (const char* spec :
         {"matmul f32[13,845] f32[845,2656]", "matmul f32[12,3000] f32[3000,1008]"}) {
      INFO(std::string(spec));
      const DryRun run(plan_of(spec, *fixed_target(Isa::kAvx2)), 1, true);
      CAPTURE(run.read);
      CAPTURE(run.asked_before);
      CAPTURE(run.asks);
      REQUIRE(run.read > 0);
      CHECK(run.asked_before * 100 >= run.read * 80);
      CHECK(run.asks * 100 <= run.read * 150);
    }
  }

  TEST_CASE("short rows that are read in turns are asked for in the order of memory") {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const Target& target = *fixed_target(isa);
      for (const char* spec : {"matmul bf16[1,4096] bf16[4096,768] -> f32[1,768]",
                               "matmul f32[2,6016] i8[6016,1536] -> f32[2,1536]",
                               "matmul bf16[1,4096] bf16[4096,4096] -> f32[1,4096]",
                               "matmul f32[1,8192] f32[8192,1024]"}) {
        INFO(std::string(spec), " on ", target.name);
        const DryRun run(plan_of(spec, target), 1, true);
        CAPTURE(run.read);
        CAPTURE(run.asked_before);
        CAPTURE(run.asks);
        REQUIRE(run.read > 0);
        CHECK(run.asked_before * 100 >= run.read * 90);
        CHECK(run.asks * 100 <= run.read * 150);
        CHECK(run.in_order * 100 >= run.asks * 90);
      }
    }
  }

  TEST_CASE("lines of results are asked for before a tile of them is computed, each about once") {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512})
      for (const char* spec :
           {"matmul f32[256,64] f32[64,3136]", "matmul f32[128,128] f32[128,128] -> relu",
            "matmul bf16[96,256] bf16[256,480] -> f32[96,480]",
            "conv2d f32[1,8,8,64] f32[1,1,64,64] nhwc"}) {
        INFO(std::string(spec), " on ", fixed_target(isa)->name);
        const DryRun run(plan_of(spec, *fixed_target(isa)), 2, true);
        CAPTURE(run.read);
        CAPTURE(run.asked_before);
        CAPTURE(run.asks);
        REQUIRE(run.read > 0);
        CHECK(run.asked_before == run.read);
        CHECK(run.asks * 100 <= run.read * 150);
      }
    // Little to compute; sums that are read first.
    CHECK(DryRun(plan_of("matmul f32[512,2] f32[2,512]", *fixed_target(Isa::kAvx2)), 2).asks == 0);
    CHECK(
        DryRun(plan_of("matmul f32[64,64] f32[64,64] += f32[64,64]", *fixed_target(Isa::kAvx2)), 2)
            .asks == 0);
  }

  TEST_CASE("what L2 holds, and tiles with too little to compute, are not asked for by others") {
    for (const Target& target : fixed_targets()) {
      INFO(target.name);
      for (u64 operand : {0u, 1u}) {
        CHECK(DryRun(plan_of("matmul f32[128,128] f32[128,128]", target), operand).asks == 0);
        if (operand == 0)  // no factors
          CHECK(DryRun(plan_of("reduce_sum f32[2000,1500] axis=0", target), operand).asks == 0);
        CHECK(DryRun(plan_of("matmul f32[2,1024] f32[1024,1024]", target), operand).asks == 0);
      }
    }
  }
}

}  // namespace
}  // namespace morello
