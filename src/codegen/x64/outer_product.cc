// SPDX-License-Identifier: MIT
// out[m,v] += a[m,k] * b[k,v], out in registers: for each k, or group of neighbours along k,
// vectors of b times broadcasts of a.
#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/x64/dots.hh"
#include "codegen/x64/emitter.hh"
#include "cost/shared.hh"

namespace morello::x64 {
namespace {

class OuterProduct {
 public:
  OuterProduct(Vectors& as, const PlanCall& call)
      : as_(as),
        call_(call),
        roles_(*contraction_roles(call.spec)),
        dot_(*dot_of(call.spec, roles_, as.target())),
        correction_(call.first_free + dot_.spare),
        code_(as, dot_, type(roles_.a), type(roles_.b), type(call.spec.out_index()),
              call.first_free) {
    rows_ = roles_.rows;
    vecs_ = static_cast<u32>(ceil_div(roles_.columns, as.lanes()));
    extra_ = correction_ + (dot_.corrects ? vecs_ : 0);
    steps_ = roles_.depth / dot_.group;
    tile_ = call.operand[call.spec.out_index()].first_register;
    is_ready_ = ready_bytes(dot_, roles_, as_.target()) != 0;
  }

  void emit() {
    Lanes tail = part(vecs_ - 1);
    // With one row, b is the memory operand of the FMA, which for odd widths needs a mask, too.
    if (tail.masked() || fold_tail(tail))
      as_.set_mask(tail.count, extra_ + 1 + (rows_ == 1 ? 1 : held()));
    code_.begin();
    for (u32 j = 0; dot_.corrects && j < vecs_; j++) as_.zero(correction_ + j);
    a_ = pointer(roles_.a);
    b_ = pointer(roles_.b);
    if (is_ready_) make_ready();
    u64 chunk = unroll();
    const u64 groups_of_steps = groups_of_asks(chunk);
    // b's last row may end where its memory ends, in each of the tiles: that step is by itself.
    const u32 rest = roles_.depth % dot_.group;
    const bool apart = tail.masked() && rest == 0 && groups_of_steps == 1;
    const u64 before = steps_ - apart;
    if (apart) chunk = Assembler::unroll_but_last(steps_, chunk);
    std::vector<Assembler::Moving> pointers = {{a_, is_ready_ ? 4 : step_of(roles_.a)},
                                               {b_, step_of(roles_.b)}};
    if (groups_of_steps == 1 && spreads_asks()) {
      pointers.push_back({as_.moving_pointer(call_.ask.cursor), bytes_of_step()});
      asks_ = pointers.back().reg;
    }
    ask_between(groups_of_steps, [&](u64 groups) {
      as_.for_chunks(before / groups, chunk, pointers, [&](u64 count) {
        for (u64 k = 0; k < count; k++) emit_step(static_cast<i64>(k), dot_.group);
      });
    });
    u64 here = Assembler::behind_chunks(before, chunk);
    in_parts_ = tail.masked();
    if (apart) emit_step(static_cast<i64>(here++), dot_.group);
    if (rest != 0) emit_step(static_cast<i64>(here), rest);
    if (dot_.corrects) correct();
  }

 private:
  Dtype type(int operand) const { return call_.spec.operand[operand].dtype; }
  u32 held() const { return std::min(rows_, vecs_); }
  Lanes part(u32 j) const { return as_.part(roles_.columns, j); }
  bool fold_tail(Lanes tail) const {
    return rows_ == 1 && as_.avx512() && code_.is_f32() && !as_.folds(tail);
  }
  u32 tile(u32 i, u32 j) const { return tile_ + i * vecs_ + j; }
  i64 stride(int operand, u8 dim) const {
    return dim == kNoDim ? 0 : call_.operand[operand].stride[dim];
  }
  /// Bytes from one step to the next. Of b, the plan says it for groups.
  i64 step_of(int operand) const {
    return stride(operand, roles_.k) * (operand == roles_.a ? dot_.group : 1);
  }

  /// Instructions of one step along k.
  u32 step_length() const {
    u32 pass = (rows_ + dot_.corrects) * vecs_ * dot_.instructions + rows_ + vecs_;
    if (code_.is_f32() && rows_ == 1) pass = 1 + vecs_;
    if (embeds()) pass = 1 + rows_;
    return pass * dot_.passes;
  }
  /// A loop body large enough to hide the loop, small enough for the caches of decoded
  /// instructions. Where time counts, 48 are too few: rows of a that come from memory come up to
  /// 20% slower, perhaps as prefetchers go by the step of each instruction.
  u64 unroll() const {
    const bool is_short = steps_ < 8;  // the end of a loop would be predicted wrong
    const u32 most_instructions = call_.rare && !is_short ? 48 : 192;
    u64 u = 1;
    while (u < 8 && 2 * u * step_length() <= most_instructions) u *= 2;
    return u;
  }
  /// One vector per row: the instruction itself broadcasts a.
  bool embeds() const { return code_.embeds_a() && vecs_ == 1 && rows_ > 1 && part(0).width >= 4; }

  Assembler::Reg64 pointer(int operand) {
    CursorId cursor = call_.operand[operand].cursor;
    bool moves = steps_ >= 2 * unroll() || (operand == roles_.a && is_ready_);
    return moves ? as_.moving_pointer(cursor) : as_.pointer(cursor);
  }

  /// Rows of a as the steps take them, to the stack, where a_ points to then: a run of lanes for
  /// each row and pass. Behind the elements are zeros, and no byte is read.
  void make_ready() {
    const Assembler::Reg64 to = as_.take();
    as_.lea(to, as_.room());
    const u32 vector = as_.target().vector_bytes, depth = roles_.depth, whole = depth / vector;
    const i64 row = stride(roles_.a, roles_.m), ready_row = ready_at(1, 0);
    const auto part = [&](u32 i, u32 at, i64 behind) {
      const u32 bytes = at < whole * vector ? vector : std::min(16u, depth - at);
      const Assembler::Vec v = as_.vec(extra_, bytes == vector ? as_.lanes() : 4);
      for (u32 pass = 0; pass < dot_.passes; pass++) {
        const i64 from = i * row + at - behind;
        bytes == vector ? as_.vmovups(v, as_.at(a_, from))
                        : as_.load_bytes(extra_, bytes, a_, from);
        code_.make_a_ready(extra_, static_cast<u32>(v.getBit()) / 32, pass, dot_.group);
        as_.vmovups(as_.at(to, ready_at(i, pass) + at - behind), v);
      }
    };
    const auto vectors = [&](u32 i, u32 count) {
      for (u32 j = 0; j < count; j++) part(i, j * vector, 0);
    };
    const auto rest = [&](u32 i, i64 behind) {
      for (u32 at = whole * vector; at < depth; at += 16) part(i, at, behind);
    };
    i64 passed = 0;  // by the pointer
    if (rows_ > whole) {
      as_.for_chunks(rows_, 1, {{a_, row}, {to, ready_row}}, [&](u64) {
        vectors(0, whole);
        rest(0, 0);
      });
      if (rows_ > 1) passed = rows_ * ready_row;
    } else {
      as_.for_chunks(whole, 1, {{a_, vector}, {to, vector}}, [&](u64) {
        for (u32 i = 0; i < rows_; i++) vectors(i, 1);
      });
      if (whole > 1) passed = i64{whole} * vector;
      for (u32 i = 0; i < rows_; i++) rest(i, passed);
    }
    as_.advance(to, -passed);
    a_ = to;
  }
  i64 ready_at(u32 i, u32 pass) const {
    return static_cast<i64>((i * dot_.passes + pass) * ready_row_bytes(roles_.depth));
  }

  i64 a_at(u32 i, i64 k) const { return i * stride(roles_.a, roles_.m) + k * step_of(roles_.a); }
  i64 b_at(u32 j, i64 k) const {
    const u32 vector = as_.lanes() * dot_.group * size_of(type(roles_.b));
    return static_cast<i64>(j) * vector + k * step_of(roles_.b);
  }

  /// @param elements  of the group that there are.
  void emit_step(i64 k, u32 elements) {
    elements_ = elements;
    for (pass_ = 0; pass_ < code_.passes(elements); pass_++) {
      if (rows_ == 1)
        one_row(k);
      else if (embeds() && elements == dot_.group)
        one_column(k);
      else if (rows_ >= vecs_)
        hold_b(k);
      else
        hold_a(k);
    }
  }

  /// Of each line of b one place, in the next tile. In turns with the loads: all asks of a step at
  /// once have what it reads wait for them.
  void fetch_ahead(u32 j, i64 k) {
    if (asks_ && pass_ == 0 && elements_ == dot_.group) ask_in_step(j, k);
    const i64 ahead = call_.operand[roles_.b].ahead;
    if (ahead != 0 && pass_ == 0 && b_at(j, 0) % kLineBytes == 0)
      as_.prefetch(b_, b_at(j, k) + ahead);
  }

  static constexpr u32 kAsksAtOnce = 12;

  /// Lines are asked for a few at a time, for what a core can have under way is needed for the
  /// factors as well: 12 before so many steps cost nothing, 24 a little, 200 wait for one another
  /// (Zen 5).
  u64 groups_of_asks(u64 chunk) const {
    const PlanAsk& ask = call_.ask;
    u64 groups = 1;
    const auto divides = [&](u64 g) {
      return steps_ % (g * chunk) == 0 && steps_ / (g * chunk) >= 2 &&
             (ask.rows % g == 0 || ask.lines % g == 0);
    };
    while (u64{ask.rows} * ask.lines > groups * kAsksAtOnce && divides(2 * groups)) groups *= 2;
    return groups;
  }

  /// Asks of one run that no groups of steps share: each step has some of them, in turns with its
  /// loads.
  bool spreads_asks() const {
    return call_.ask.rows == 1 && call_.ask.lines > kAsksAtOnce && steps_ > 1;
  }
  /// Where the next step's begin: perhaps inside of a line, which is asked for by both.
  i64 bytes_of_step() const { return i64{call_.ask.lines} * kLineBytes / steps_; }
  void ask_in_step(u32 j, i64 k) {
    const u32 lines = static_cast<u32>(ceil_div(call_.ask.lines, steps_));
    for (u32 i = j * lines / vecs_; i < (j + 1) * lines / vecs_; i++)
      as_.prefetch(*asks_, call_.ask.bytes + k * bytes_of_step() + i64{i} * kLineBytes);
  }

  /// `work(groups)` in a loop of so many trips, each of which begins with its part of the asks.
  template <class F>
  void ask_between(u64 groups, F work) {
    PlanAsk part = call_.ask;
    if (part.rows == 0 || asks_) return work(groups);
    const bool by_rows = part.rows % groups == 0;
    u32& divided = by_rows ? part.rows : part.lines;
    divided = static_cast<u32>(divided / groups);
    const i64 step = i64{divided} * (by_rows ? part.pitch : i64{kLineBytes});
    const Assembler::Reg64 at =
        groups > 1 ? as_.moving_pointer(part.cursor) : as_.pointer(part.cursor);
    Xbyak::Label top;
    Assembler::Reg64 counter;
    if (groups > 1) {
      counter = as_.take();
      as_.mov(counter, groups);
      as_.L(top);
    }
    for (u32 row = 0; row < part.rows; row++)
      for (u32 line = 0; line < part.lines; line++)
        as_.prefetch(at, part.bytes + row * part.pitch + i64{line} * kLineBytes);
    if (groups > 1) as_.advance(at, step);
    work(groups);
    if (groups == 1) return;
    as_.dec(counter);
    as_.jnz(top, Assembler::T_NEAR);
  }

  void load_a(u32 index, u32 i, i64 k) {
    if (is_ready_)
      return as_.vbroadcastss(as_.vec(index, part(0).width),
                              as_.at(a_, ready_at(i, pass_) + 4 * k));
    code_.broadcast_a(index, part(0).width, a_, a_at(i, k), stride(roles_.a, roles_.k), pass_,
                      elements_, steps_ > 0);
  }
  void load_b(u32 index, u32 j, i64 k) {
    fetch_ahead(j, k);
    code_.load(index, part(j), type(roles_.b), b_, b_at(j, k), pass_, elements_, in_parts_);
    if (!dot_.corrects) return;
    const u32 width = part(j).width;
    code_.add_correction(as_.vec(correction_ + j, width), as_.vec(index, width));
  }

  void correct() {
    for (u32 i = 0; i < rows_; i++)
      for (u32 j = 0; j < vecs_; j++) {
        const Assembler::Vec sum = as_.vec(tile(i, j), part(j).width);
        as_.vpsubd(sum, sum, as_.vec(correction_ + j, part(j).width));
      }
  }

  void one_row(i64 k) {
    u32 a = extra_, b = extra_ + 1;
    load_a(a, 0, k);
    for (u32 j = 0; j < vecs_; j++) {
      Lanes l = part(j);
      Assembler::Vec acc = as_.vec(tile(0, j), l.width), x = as_.vec(a, l.width);
      if (code_.folds_b(l) && elements_ == dot_.group) {
        fetch_ahead(j, k);
        code_.add(acc, x, as_.at(b_, b_at(j, k)));
      } else if (fold_tail(l) && !in_parts_) {
        fetch_ahead(j, k);
        code_.add(acc | as_.k1, x, as_.at(b_, b_at(j, k)));
      } else {
        load_b(b, j, k);
        code_.add(acc, x, as_.vec(b, l.width));
      }
    }
  }

  void one_column(i64 k) {
    Lanes l = part(0);
    Assembler::Vec b = as_.vec(extra_, l.width);
    load_b(extra_, 0, k);
    for (u32 i = 0; i < rows_; i++)
      code_.add_embedded(as_.vec(tile(i, 0), l.width), b, as_.at(as_.ptr_b, a_, a_at(i, k)));
  }

  void hold_b(i64 k) {
    u32 a = extra_ + vecs_;
    for (u32 j = 0; j < vecs_; j++) load_b(extra_ + j, j, k);
    for (u32 i = 0; i < rows_; i++) {
      load_a(a, i, k);
      for (u32 j = 0; j < vecs_; j++) add(i, j, a, extra_ + j);
    }
  }

  void hold_a(i64 k) {
    u32 b = extra_ + rows_;
    for (u32 i = 0; i < rows_; i++) load_a(extra_ + i, i, k);
    for (u32 j = 0; j < vecs_; j++) {
      load_b(b, j, k);
      for (u32 i = 0; i < rows_; i++) add(i, j, extra_ + i, b);
    }
  }

  void add(u32 i, u32 j, u32 a, u32 b) {
    u32 width = part(j).width;
    code_.add(as_.vec(tile(i, j), width), as_.vec(a, width), as_.vec(b, width));
  }

  Vectors& as_;
  const PlanCall& call_;
  ContractionRoles roles_;
  const Dot& dot_;
  u32 correction_, extra_;  // registers of sums that are subtracted last, and that hold factors
  DotCode code_;
  u32 rows_, vecs_, steps_, tile_, pass_ = 0, elements_ = 1;
  bool is_ready_;                         // a is on the stack: ready_bytes()
  bool in_parts_ = false;                 // the step at hand loads no byte behind b's elements
  Assembler::Reg64 a_, b_;                // of the factors, or of what is ready of a
  std::optional<Assembler::Reg64> asks_;  // of each step
};

u32 registers(const PlanCall& call) {
  const ContractionRoles roles = *contraction_roles(call.spec);
  const u32 to_stack = size_of(call.spec.operand[roles.a].dtype) == 1;
  return (call.ask.rows != 0 ? 5 : 3) + to_stack;
}
u32 room(const PlanCall& call, const Target& target) {
  const ContractionRoles roles = *contraction_roles(call.spec);
  return static_cast<u32>(ready_bytes(*dot_of(call.spec, roles, target), roles, target));
}
void emit(Vectors& as, const PlanCall& call) { OuterProduct(as, call).emit(); }

}  // namespace

extern const Emitter kOuterProduct = {MicrokernelId::kOuterProduct, registers, emit, room};

}  // namespace morello::x64
