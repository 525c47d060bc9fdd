// SPDX-License-Identifier: MIT
// Plan -> machine code: frames, homes of cursors and counters, loops, parallel loops. The
// microkernels' own code comes from their emitters.
#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "codegen/emit.hh"
#include "codegen/tile_sizes.hh"
#include "codegen/x64/emitter.hh"
#include "codegen/x64/index.hh"
#include "codegen/x64/vectors.hh"
#include "morello/morello.h"

namespace morello {
namespace x64 {
namespace {

using Reg64 = Assembler::Reg64;

/// How often a value is used, to give the busiest ones registers. Saturates.
using Weight = double;

class KernelEmitter {
 public:
  KernelEmitter(const Plan& plan, const Target& target)
      : plan_(plan), as_(target), labels_(plan.functions.size()), tiles_(uses_tiles(plan)) {}

  Code emit() {
    for (u32 f = 0; f < plan_.functions.size(); f++) emit_function(f);
    as_.write_constants();
    as_.ready();
    return {{as_.getCode(), as_.getCode() + as_.getSize()}, 0, std::move(functions_)};
  }

 private:
  // -- What a function needs

  void measure(const std::vector<PlanId>& ids, u32 depth, Weight times) {
    for (PlanId id : ids) {
      const PlanNode& node = plan_.nodes[id];
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        Weight inside = times * static_cast<Weight>(loop->trips);
        if (loop->trips > 1) measure_counter(depth, inside);
        for (const CursorStep& s : loop->steps) cursor_weight_[s.cursor] += inside;
        for (const CursorStep& s : loop->before_last) cursor_weight_[s.cursor] += times;
        measure(loop->body, depth + (loop->trips > 1), inside);
        measure(loop->rest, depth, times);
      } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
        has_calls_ = true;
        measure_counter(depth, times);
        for (const Cursor& c : plan_.functions[parallel->function].cursors)
          if (c.base == Cursor::Base::kOuter) cursor_weight_[c.value] += times;
        cursor_weight_[parallel->scratch] += times;
        measure(parallel->rest, depth, times);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        has_calls_ = true;
        for (CursorId c : invoke->cursors) cursor_weight_[c] += times;
      } else if (const auto* index = std::get_if<PlanIndex>(&node)) {
        for (CursorId c : {index->cursor, index->index}) cursor_weight_[c] += times;
      } else if (std::holds_alternative<PlanCall>(node)) {
        const PlanCall& call = std::get<PlanCall>(node);
        for (int o = 0; o < call.spec.operand_count; o++)
          if (!call.operand[o].in_registers) cursor_weight_[call.operand[o].cursor] += times;
        for (const PlanAsk* ask : {&call.ask, &call.results})
          if (ask->rows != 0) cursor_weight_[ask->cursor] += times;
        const Emitter& emitter = *find_emitter(call.id);
        most_registers_ = std::max(most_registers_, emitter.registers(call));
        if (emitter.room) room_ = std::max(room_, emitter.room(call, as_.target()));
      }
    }
  }

  void measure_counter(u32 depth, Weight times) {
    if (counter_weight_.size() <= depth) counter_weight_.resize(depth + 1);
    counter_weight_[depth] += times;
  }

  /// Gives the general registers that no microkernel needs to the busiest cursors and counters;
  /// first those that need not be saved.
  void assign_homes() {
    std::vector<Reg64> free = {as_.rdi, as_.rsi, as_.rdx, as_.r10,
                               as_.r9,  as_.r8,  as_.rcx, as_.rax};
    u32 needed = std::max<u32>(most_registers_, 3);  // the arguments arrive in the first three
    std::vector<Reg64> kept = {as_.rbx, as_.rbp, as_.r12, as_.r13, as_.r14, as_.r15};
    saved_.clear();
    for (; free.size() < needed; kept.pop_back()) {  // elementwise chains of many operands
      free.push_back(kept.back());
      saved_.push_back(kept.back());
    }
    std::vector<Reg64> homes;
    if (!has_calls_)
      homes.assign(free.rbegin(), free.rend() - std::min<size_t>(needed, free.size()));
    if (!has_calls_) free.resize(std::min<size_t>(needed, free.size()));
    size_t unsaved = homes.size();
    homes.insert(homes.end(), kept.begin(), kept.end());

    size_t cursors = cursor_weight_.size();
    std::vector<Weight> weight = cursor_weight_;
    weight.insert(weight.end(), counter_weight_.begin(), counter_weight_.end());
    std::vector<size_t> order(weight.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return weight[a] > weight[b]; });

    std::vector<Home> home(weight.size());
    slots_ = 0;
    size_t used = 0;
    for (size_t i : order) {
      if (weight[i] == 0) break;
      if (used == homes.size()) {
        home[i].slot = slots_++;
        continue;
      }
      home[i].gpr = homes[used].getIdx();
      if (used >= unsaved) saved_.push_back(homes[used]);
      used++;
    }
    counters_.assign(home.begin() + static_cast<long>(cursors), home.end());
    home.resize(cursors);
    homes_ = home;
    as_.set_homes(std::move(home));
    as_.set_free_registers(std::move(free));
  }

  // -- Functions

  void emit_function(u32 f) {
    const PlanFunction& function = plan_.functions[f];
    const bool kernel = f < plan_.kernels, task = !kernel && !function.routine;
    if (!kernel && function.body.empty()) return;  // a routine that nothing needs any more
    cursor_weight_.assign(function.cursors.size(), 0);
    counter_weight_.clear();
    most_registers_ = room_ = 0;
    has_calls_ = false;
    invokes_ = false;
    constexpr Weight kManyTrips = 1000;
    if (task) measure_counter(0, kManyTrips);
    for (const CursorStep& s : function.steps) cursor_weight_[s.cursor] += kManyTrips;
    measure(function.body, task, task ? kManyTrips : 1);
    assign_homes();

    as_.begin_function();
    as_.align(kCodeAlignment);
    as_.L(labels_[f]);
    const morello_code_kind callee = task ? MORELLO_CODE_TASK : MORELLO_CODE_ROUTINE;
    functions_.push_back({kernel ? MORELLO_CODE_ENTRY : callee, here(), 0, {}});
    enter(function);
    if (!task) {
      function.routine ? start_routine(function) : start_kernel(function);
      emit_nodes(function.body, 0, true);
    } else {
      start_task(f);
      Xbyak::Label top;
      as_.L(top);
      emit_nodes(function.body, 1, false);
      for (const CursorStep& s : function.steps) as_.advance(homes_[s.cursor], s.bytes);
      count_down(counters_[0], top);
    }
    leave(function.routine);
  }

  u32 here() const { return static_cast<u32>(as_.getSize()); }

  /// From here on the frame has `bytes`, the return address included; `pushed`: what it has grown
  /// by.
  void note_frame(u32 bytes, const Reg64* pushed = nullptr) {
    constexpr i32 kDwarf[] = {0, 2, 1, 3, 7, 6, 4, 5};  // rax, rcx, .. in the order of the encoding
    i32 saved = -1;
    if (pushed != nullptr)
      saved = pushed->getIdx() < 8 ? kDwarf[pushed->getIdx()] : pushed->getIdx();
    functions_.back().steps.push_back({here(), bytes, saved});
  }

  void enter(const PlanFunction&) {
    u32 frame = 8;
    note_frame(frame);
    for (const Reg64& r : saved_) {
      as_.push(r);
      note_frame(frame += 8, &r);
    }
    as_.set_room(slots_);
    slots_ += static_cast<u32>(ceil_div(room_, 8));
    executor_slot_ = slots_;
    argument_slot_ = slots_ + has_calls_;
    u32 slots = argument_slot_ + (has_calls_ ? most_arguments() : 0);
    // At calls the stack is aligned to 16 bytes: 8 for the return address, 8 per saved register.
    if (has_calls_ && (1 + saved_.size() + slots) % 2 != 0) slots++;
    frame_bytes_ = 8 * slots;
    if (frame_bytes_ == 0) return;
    as_.sub(as_.rsp, frame_bytes_);
    note_frame(frame + frame_bytes_);
    // The page that guards a stack's end is not passed over.
    constexpr u32 kPage = 4096;
    for (u32 at = kPage; at < frame_bytes_; at += kPage)
      as_.test(as_.dword[as_.rsp + frame_bytes_ - at], as_.eax);
  }

  u32 most_arguments() const {
    size_t most = 0;
    for (const PlanFunction& f : plan_.functions) most = std::max(most, f.cursors.size() + 1);
    return static_cast<u32>(most);
  }

  void leave(bool routine) {
    if ((as_.wide() || invokes_) && !routine) as_.vzeroupper();
    if (tiles_ && !routine) as_.tilerelease();
    u32 frame = 8 * static_cast<u32>(1 + saved_.size());
    if (frame_bytes_) {
      as_.add(as_.rsp, frame_bytes_);
      note_frame(frame);
    }
    for (size_t i = saved_.size(); i-- > 0;) {
      as_.pop(saved_[i]);
      note_frame(frame -= 8);
    }
    as_.ret();
    functions_.back().end = here();
  }

  /// rdi: operands, rsi: scratch, rdx: executor.
  void start_kernel(const PlanFunction& function) {
    if (has_calls_) as_.mov(as_.slot(executor_slot_), as_.rdx);
    for (size_t c = 0; c < function.cursors.size(); c++) {
      if (cursor_weight_[c] == 0) continue;
      const Cursor& cursor = function.cursors[c];
      if (cursor.base == Cursor::Base::kOperand)
        set_home(homes_[c], as_.rdi, 8 * static_cast<i64>(cursor.value), true);
      else
        set_home(homes_[c], as_.rsi, static_cast<i64>(cursor.value), false);
      as_.advance(homes_[c], cursor.begin);
    }
  }

  /// rdi: the arguments.
  void start_routine(const PlanFunction& function) {
    for (size_t c = 0; c < function.cursors.size(); c++)
      if (cursor_weight_[c] != 0)
        set_home(homes_[c], as_.rdi, 8 * static_cast<i64>(function.cursors[c].value), true);
  }

  /// home = base + bytes, or what is there.
  void set_home(const Home& home, const Reg64& base, i64 bytes, bool load) {
    Reg64 r = home.gpr >= 0 ? Reg64(home.gpr) : as_.r11;
    Assembler::Address from = as_.at(base, bytes);
    load ? as_.mov(r, from) : as_.lea(r, from);
    if (home.gpr < 0) as_.mov(as_.slot(home.slot), r);
  }

  /// rdi: the outer cursors that the task uses, then the scratch memory of task 0; rsi: number of
  /// the task.
  void start_task(u32 f) {
    const PlanFunction& function = plan_.functions[f];
    const PlanParallel& parallel = parallel_of(f);
    find_range(parallel);
    set_counter(counters_[0]);
    u32 argument = 0;
    for (size_t c = 0; c < function.cursors.size(); c++) {
      if (function.cursors[c].base != Cursor::Base::kOuter) continue;
      i64 step = 0;
      for (const CursorStep& s : function.steps)
        if (s.cursor == c) step += s.bytes;
      if (cursor_weight_[c] != 0) start_cursor(homes_[c], argument, step);
      argument++;
    }
    // rsi = scratch memory of this task
    as_.mov(as_.r11, function.scratch_bytes);
    as_.imul(as_.rsi, as_.r11);
    as_.add(as_.rsi, as_.ptr[as_.rdi + 8 * static_cast<int>(argument)]);
    for (size_t c = 0; c < function.cursors.size(); c++)
      if (function.cursors[c].base == Cursor::Base::kScratch && cursor_weight_[c] != 0)
        set_home(homes_[c], as_.rsi, static_cast<i64>(function.cursors[c].value), false);
  }

  /// rdx = first trip of task rsi, r11 = its number of trips; overwrites rax, rcx.
  void find_range(const PlanParallel& parallel) {
    auto first_trip = [&](const Reg64& task) {  // rax = task * trips / tasks
      as_.mov(as_.rax, parallel.trips);
      as_.imul(as_.rax, task);
      as_.xor_(as_.edx, as_.edx);
      as_.div(as_.rcx);
    };
    as_.mov(as_.rcx, parallel.tasks);
    as_.lea(as_.r11, as_.ptr[as_.rsi + 1]);
    first_trip(as_.r11);
    as_.mov(as_.r11, as_.rax);
    first_trip(as_.rsi);
    as_.sub(as_.r11, as_.rax);
    as_.mov(as_.rdx, as_.rax);
  }

  void set_counter(const Home& home) {
    if (home.gpr >= 0)
      as_.mov(Reg64(home.gpr), as_.r11);
    else
      as_.mov(as_.slot(home.slot), as_.r11);
  }

  /// home = argument + rdx * step
  void start_cursor(const Home& home, u32 argument, i64 step) {
    if (step != 0) {
      as_.mov(as_.r11, static_cast<u64>(step));
      as_.imul(as_.r11, as_.rdx);
      as_.add(as_.r11, as_.ptr[as_.rdi + static_cast<int>(8 * argument)]);
    } else {
      as_.mov(as_.r11, as_.ptr[as_.rdi + static_cast<int>(8 * argument)]);
    }
    set_counter(home);
  }

  const PlanParallel& parallel_of(u32 f) const {
    for (const PlanNode& node : plan_.nodes)
      if (const auto* p = std::get_if<PlanParallel>(&node); p && p->function == f) return *p;
    throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  }

  // -- Nodes

  /// `last`: nothing of the function comes after these nodes, so that cursors need not be moved
  /// back.
  void emit_nodes(const std::vector<PlanId>& ids, u32 depth, bool last) {
    for (size_t i = 0; i < ids.size(); i++) {
      const PlanNode& node = plan_.nodes[ids[i]];
      bool end = last && i + 1 == ids.size();
      if (const auto* loop = std::get_if<PlanLoop>(&node)) {
        emit_loop(*loop, depth, end);
      } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
        emit_parallel(*parallel, depth, end);
      } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
        emit_invoke(*invoke);
      } else if (const auto* tiles = std::get_if<PlanTiles>(&node)) {
        emit_tile_sizes(as_, tiles->sizes);
      } else if (const auto* index = std::get_if<PlanIndex>(&node)) {
        emit_index(as_, *index, homes_[index->cursor]);
      } else {
        const PlanCall& call = std::get<PlanCall>(node);
        ask_for_results(call.results);
        find_emitter(call.id)->emit(as_, call);
        as_.write_rare();
        as_.forget_orders();
        as_.release_all();
      }
    }
  }

  /// Stores wait in a queue, which is full before lines have come from far away.
  void ask_for_results(const PlanAsk& tile) {
    if (tile.rows == 0) return;
    const Reg64 at = as_.pointer(tile.cursor);
    for (u32 row = 0; row < tile.rows; row++)
      for (u32 line = 0; line < tile.lines; line++)
        as_.prefetch_to_write(at, tile.bytes + row * tile.pitch + i64{line} * kLineBytes);
    as_.release_all();
  }

  void emit_loop(const PlanLoop& loop, u32 depth, bool end) {
    if (loop.trips > 1) {
      const Home& counter = counters_[depth];
      as_.mov(as_.r11, loop.trips);
      set_counter(counter);
      Xbyak::Label top;
      as_.L(top);
      emit_nodes(loop.body, depth + 1, false);
      for (const CursorStep& s : loop.steps) as_.advance(homes_[s.cursor], s.bytes);
      if (!loop.before_last.empty()) step_before_last(loop, counter);
      count_down(counter, top);
    } else {
      emit_nodes(loop.body, depth, false);
      for (const CursorStep& s : loop.steps) as_.advance(homes_[s.cursor], s.bytes);
    }
    emit_nodes(loop.rest, depth, end);
    if (!end) move_back(loop.steps, loop.trips);
    if (!end) move_back(loop.before_last, 1);
  }

  /// At the end of a trip.
  void step_before_last(const PlanLoop& loop, const Home& counter) {
    Xbyak::Label others;
    if (counter.gpr >= 0)
      as_.cmp(Reg64(counter.gpr), 2);
    else
      as_.cmp(as_.slot(counter.slot), 2);
    as_.jne(others, Assembler::T_NEAR);
    for (const CursorStep& s : loop.before_last) as_.advance(homes_[s.cursor], s.bytes);
    as_.L(others);
  }

  void count_down(const Home& counter, Xbyak::Label& top) {
    if (counter.gpr >= 0)
      as_.dec(Reg64(counter.gpr));
    else
      as_.dec(as_.slot(counter.slot));
    as_.jnz(top, Assembler::T_NEAR);
  }

  void move_back(const std::vector<CursorStep>& steps, u64 trips) {
    for (const CursorStep& s : steps)
      as_.advance(homes_[s.cursor], -s.bytes * static_cast<i64>(trips));
  }

  void emit_parallel(const PlanParallel& parallel, u32 depth, bool end) {
    store_arguments(parallel);
    as_.vzeroupper();  // code further down may run before this call, in an earlier trip of a loop
    Xbyak::Label alone, done, top;
    const Home& counter = counters_[depth];
    as_.mov(as_.rax, as_.slot(executor_slot_));
    as_.test(as_.rax, as_.rax);
    as_.jz(alone, Assembler::T_NEAR);
    as_.mov(as_.rdi, as_.ptr[as_.rax + static_cast<int>(offsetof(morello_executor, user))]);
    as_.mov(as_.rsi, parallel.tasks);
    as_.lea(as_.rdx, as_.ptr[as_.rip + labels_[parallel.function]]);
    as_.lea(as_.rcx, as_.slot(argument_slot_));
    as_.call(as_.ptr[as_.rax + static_cast<int>(offsetof(morello_executor, parallel_for))]);
    as_.jmp(done, Assembler::T_NEAR);
    as_.L(alone);
    as_.xor_(as_.r11d, as_.r11d);
    as_.L(top);
    set_counter(counter);
    as_.mov(as_.rsi, as_.r11);
    as_.lea(as_.rdi, as_.slot(argument_slot_));
    as_.call(labels_[parallel.function]);
    if (counter.gpr >= 0)
      as_.mov(as_.r11, Reg64(counter.gpr));
    else
      as_.mov(as_.r11, as_.slot(counter.slot));
    as_.inc(as_.r11);
    as_.cmp(as_.r11, static_cast<u32>(parallel.tasks));
    as_.jb(top, Assembler::T_NEAR);
    as_.L(done);
    move_back(parallel.steps, -parallel.trips);
    emit_nodes(parallel.rest, depth, end);
    if (!end) move_back(parallel.steps, parallel.trips);
  }

  void emit_invoke(const PlanInvoke& invoke) {
    u32 argument = 0;
    for (CursorId c : invoke.cursors) store_argument(argument++, c);
    as_.lea(as_.rdi, as_.slot(argument_slot_));
    as_.call(labels_[invoke.function]);
    invokes_ = true;
  }

  void store_arguments(const PlanParallel& parallel) {
    u32 argument = 0;
    for (const Cursor& c : plan_.functions[parallel.function].cursors)
      if (c.base == Cursor::Base::kOuter)
        store_argument(argument++, static_cast<CursorId>(c.value));
    store_argument(argument, parallel.scratch);
  }

  void store_argument(u32 argument, CursorId cursor) {
    const Home& home = homes_[cursor];
    Reg64 r = home.gpr >= 0 ? Reg64(home.gpr) : as_.r11;
    if (home.gpr < 0) as_.mov(r, as_.slot(home.slot));
    as_.mov(as_.slot(argument_slot_ + argument), r);
  }

  const Plan& plan_;
  Vectors as_;
  std::vector<Xbyak::Label> labels_;
  std::vector<CodeFunction> functions_;
  const bool tiles_;  // callers and other functions find them as they were: not in use
  // Of the function at hand:
  std::vector<Weight> cursor_weight_, counter_weight_;
  std::vector<Home> homes_, counters_;
  std::vector<Reg64> saved_;
  u32 most_registers_ = 0, room_ = 0, slots_ = 0, frame_bytes_ = 0, executor_slot_ = 0,
      argument_slot_ = 0;
  bool has_calls_ = false;
  bool invokes_ = false;  // a routine, which may have used wide vectors
};

}  // namespace
}  // namespace x64

Result<Code> emit(const Plan& plan, const Target& target) {
  try {
    return x64::KernelEmitter(plan, target).emit();
  } catch (const Xbyak::Error& e) {
    if (static_cast<int>(e) == Xbyak::ERR_CANT_ALLOC) throw std::bad_alloc();
    return Error{MORELLO_INTERNAL, std::string("the plan cannot be emitted: ") + e.what()};
  }
}

}  // namespace morello
