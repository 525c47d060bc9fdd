// SPDX-License-Identifier: MIT
// The entry of a code with a run-time size: which piece is next is looked up, so a call costs a few
// nanoseconds more than that of the piece.
#include <new>

#include "codegen/emit.hh"
#include "codegen/x64/assembler.hh"

namespace morello {
namespace x64 {
namespace {

class PiecesEmitter {
 public:
  PiecesEmitter(const Code& pieces, std::span<const u32> sizes, std::span<const u8> next,
                std::span<const i64> steps, const Target& target)
      : pieces_(pieces), sizes_(sizes), next_(next), steps_(steps), as_(target) {}

  Code emit() {
    functions_.push_back({MORELLO_CODE_ENTRY, 0, 0, {}});
    emit_entry();
    functions_.back().end = here();
    emit_tables();
    add_pieces();
    as_.ready();
    return {{as_.getCode(), as_.getCode() + as_.getSize()}, 0, std::move(functions_)};
  }

 private:
  u32 here() const { return static_cast<u32>(as_.getSize()); }

  void note_frame(u32 bytes, i32 saved = -1) {
    functions_.back().steps.push_back({here(), bytes, saved});
  }

  /// rdi: operands, rsi: scratch, rdx: executor, rcx: rows.
  void emit_entry() {
    struct Saved {
      Assembler::Reg64 reg;
      i32 dwarf;
    };
    const Saved saved[] = {{as_.rbx, 3},  {as_.rbp, 6},  {as_.r12, 12},
                           {as_.r13, 13}, {as_.r14, 14}, {as_.r15, 15}};
    u32 frame = 8;
    note_frame(frame);
    for (const Saved& s : saved) {
      as_.push(s.reg);
      note_frame(frame += 8, s.dwarf);
    }
    // At calls the stack is aligned to 16 bytes, and 7 words are on it.
    const u32 slots = static_cast<u32>(steps_.size()) | 1;
    as_.sub(as_.rsp, 8 * slots);
    note_frame(frame + 8 * slots);
    emit_loop();
    as_.add(as_.rsp, 8 * slots);
    note_frame(frame);
    for (size_t i = std::size(saved); i-- > 0;) {
      as_.pop(saved[i].reg);
      note_frame(frame -= 8);
    }
    as_.ret();
  }

  void emit_loop() {
    for (u32 o = 0; o < steps_.size(); o++) {
      as_.mov(as_.rax, as_.ptr[as_.rdi + static_cast<int>(8 * o)]);
      as_.mov(as_.slot(o), as_.rax);
    }
    as_.mov(as_.r12, as_.rsi);
    as_.mov(as_.r13, as_.rdx);
    as_.mov(as_.rbx, as_.rcx);
    as_.lea(as_.r14, as_.ptr[as_.rip + next_label_]);
    as_.lea(as_.r15, as_.ptr[as_.rip + pieces_label_]);
    Xbyak::Label top, done;
    as_.L(top);
    as_.movzx(as_.eax, as_.byte[as_.r14 + as_.rbx]);
    as_.mov(as_.ebp, as_.dword[as_.r15 + as_.rax * 8]);
    as_.mov(as_.eax, as_.dword[as_.r15 + as_.rax * 8 + 4]);
    as_.add(as_.rax, as_.r15);
    as_.mov(as_.rdi, as_.rsp);
    as_.mov(as_.rsi, as_.r12);
    as_.mov(as_.rdx, as_.r13);
    as_.call(as_.rax);
    as_.sub(as_.rbx, as_.rbp);
    as_.jz(done, Assembler::T_NEAR);
    for (u32 o = 0; o < steps_.size(); o++) {
      if (steps_[o] == 0) continue;
      as_.mov(as_.rax, static_cast<u64>(steps_[o]));
      as_.imul(as_.rax, as_.rbp);
      as_.add(as_.slot(o), as_.rax);
    }
    as_.jmp(top, Assembler::T_NEAR);
    as_.L(done);
  }

  /// Of each piece: rows, and where its code is, from the table on.
  void emit_tables() {
    as_.align(kCodeAlignment);
    as_.L(pieces_label_);
    const size_t tables = 8 * sizes_.size() + next_.size();
    const auto begin = static_cast<u32>(round_up(tables, kCodeAlignment));
    size_t piece = 0;
    for (const CodeFunction& function : pieces_.functions) {
      if (function.kind != MORELLO_CODE_ENTRY) continue;
      as_.dd(sizes_[piece++]);
      as_.dd(begin + function.begin);
    }
    as_.L(next_label_);
    as_.db(next_.data(), next_.size());
  }

  void add_pieces() {
    while (here() % kCodeAlignment != 0) as_.db(0xcc);
    const u32 at = here();
    as_.db(pieces_.bytes.data(), pieces_.bytes.size());
    for (CodeFunction function : pieces_.functions) {
      if (function.kind == MORELLO_CODE_ENTRY) function.kind = MORELLO_CODE_ROUTINE;
      function.begin += at;
      function.end += at;
      for (morello_frame_step& step : function.steps) step.offset += at;
      functions_.push_back(std::move(function));
    }
  }

  const Code& pieces_;
  std::span<const u32> sizes_;
  std::span<const u8> next_;
  std::span<const i64> steps_;
  Assembler as_;
  Xbyak::Label pieces_label_, next_label_;
  std::vector<CodeFunction> functions_;
};

}  // namespace
}  // namespace x64

Result<Code> emit_pieces(const Plan& plan, std::span<const u32> sizes, std::span<const u8> next,
                         std::span<const i64> steps, const Target& target) {
  const Result<Code> pieces = emit(plan, target);
  if (!pieces) return pieces.error();
  try {
    return x64::PiecesEmitter(*pieces, sizes, next, steps, target).emit();
  } catch (const Xbyak::Error& e) {
    if (static_cast<int>(e) == Xbyak::ERR_CANT_ALLOC) throw std::bad_alloc();
    return Error{MORELLO_INTERNAL, std::string("the pieces cannot be emitted: ") + e.what()};
  }
}

}  // namespace morello
