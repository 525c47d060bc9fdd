// SPDX-License-Identifier: MIT
// Impl tree -> Plan: one walk, top-down, that gives addresses to buffers and turns tiles into
// steps.
#include "codegen/plan.hh"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/asks.hh"
#include "codegen/near.hh"
#include "codegen/nest.hh"
#include "codegen/place.hh"
#include "codegen/routines.hh"
#include "codegen/starts.hh"
#include "codegen/tile_sizes.hh"
#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "spec/border.hh"
#include "spec/diagonal.hh"
#include "spec/rescale.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

class Planner {
 public:
  explicit Planner(const ImplTree& tree)
      : tree_(tree), target_(*tree.target), routines_(plan_, target_) {}

  Result<Plan> run(const std::array<View, kMaxOperands>& root_views) {
    const Spec& spec = tree_.nodes[0].spec;
    plan_.target = target_.name;
    plan_.operand_count = spec.operand_count;
    plan_.functions.emplace_back();
    Places places;
    for (int o = 0; o < spec.operand_count; o++) {
      const i64 begin = begin_bytes(spec.operand[o], root_views[o]);
      places[o].cursor = cursor({Cursor::Base::kOperand, static_cast<u64>(o), begin});
      places[o].view = root_views[o];
      const Operand& x = spec.operand[o];
      const u64 bytes = footprint(spec, x).bytes, near = target_.at(Level::kL2).bytes;
      const bool few = volume(spec) < kFewUses * elements(spec, x);
      // What L2 holds is there when a kernel runs again.
      const u64 streamed = contraction_of(spec) ? near : 8 * near;
      places[o].passes = bytes > (few ? streamed : near / 2);
      places[o].comes_by_itself = few && bytes <= 8 * near;
    }
    std::vector<PlanId> body;
    if (!add_node(0, places, body)) return std::move(*error_);
    plan_.functions[0].body = std::move(body);
    routines_.finish();
    set_tile_sizes(plan_, target_);
    return std::move(plan_);
  }

 private:
  bool fail(NodeId node, const std::string& what) {
    error_ = Error{MORELLO_INTERNAL, "Impl node " + std::to_string(node) + ": " + what};
    return false;
  }

  PlanFunction& function() { return plan_.functions[function_]; }

  CursorId cursor(const Cursor& c) {
    auto& all = function().cursors;
    auto at = std::find(all.begin(), all.end(), c);
    if (at == all.end()) at = all.insert(at, c);
    return static_cast<CursorId>(at - all.begin());
  }

  PlanId add(PlanNode node) {
    plan_.nodes.push_back(std::move(node));
    return static_cast<PlanId>(plan_.nodes.size() - 1);
  }

  bool add_node(NodeId id, const Places& places, std::vector<PlanId>& out) {
    const size_t start = out.size();
    auto add = [&](const auto& kind) { return add_kind(id, kind, places, out); };
    if (!std::visit(add, tree_.nodes[id].kind)) return false;
    routines_.share(out, start);
    return true;
  }

  bool add_kind(NodeId id, const Move& move, const Places& places, std::vector<PlanId>& out) {
    const bool asks = start_asking(id, move, places);
    const bool near = begin_tile(id, move, places[move.operand]);
    const Spec& spec = tree_.nodes[id].spec;
    const bool ok = move.view ? add_children(id, places, nullptr, out)
                              : add_with_buffers(id, spec, {&move.placed, 1}, places, out);
    if (asks) asking_.reset();
    if (near) near_.end();
    results_.reset();
    return ok;
  }

  /// Apart, as moves are within moves, for which the stack has to have room: is its tile in L1?
  [[gnu::noinline]] bool begin_tile(NodeId id, const Move& move, const Place& place) {
    const Spec& spec = tree_.nodes[id].spec;
    results_ = result_lines(spec, move, place, function().cursors, target_);
    if (!move.view || move.placed.level != Level::kL1) return false;
    near_.begin(place.cursor, footprint(spec, move.placed).bytes);
    return true;
  }

  bool add_kind(NodeId id, const Block& block, const Places& places, std::vector<PlanId>& out) {
    return add_with_buffers(id, tree_.nodes[id].spec, block.buffers(), places, out);
  }

  bool add_kind(NodeId id, const Pad& pad, const Places& places, std::vector<PlanId>& out) {
    const ImplNode& node = tree_.nodes[id];
    const Spec whole = with_borders_inside(node.spec, pad.operand);
    const u64 before = scratch_used_, bytes = size_of(pad.padded.dtype);
    Buffers buffers;
    reserve_scratch(dense_elements(whole, pad.padded) * bytes);
    bool ok = true;
    for (size_t c = 0; ok && c < node.children.size(); c++) {
      const u64 begin = c == 1 ? inner_offset(node.spec, pad.operand, pad.padded) * bytes : 0;
      buffers[0].cursor = cursor({Cursor::Base::kScratch, before + begin});
      buffers[0].view = c == 0 ? border_run(whole, pad.padded) : dense_view(whole, pad.padded);
      ok = add_child(id, node.children[c], places, &buffers, out);
    }
    scratch_used_ = before;
    return ok;
  }

  bool add_kind(NodeId id, const Choose& choose, const Places& places, std::vector<PlanId>& out) {
    Places chosen = places;
    chosen[choose.operand].view = dense_view(tree_.nodes[id].spec, choose.placed);
    return add_children(id, chosen, nullptr, out);
  }

  bool add_child(NodeId parent, const Edge& edge, const Places& places, const Buffers* buffers,
                 std::vector<PlanId>& out, const Loop* loop = nullptr) {
    const Spec& child = tree_.nodes[edge.node].spec;
    Places bound;
    for (int o = 0; o < child.operand_count; o++) {
      u8 from = edge.binding.operand[o];
      const bool made = is_new_buffer(from);
      if (made ? !buffers : from >= tree_.nodes[parent].spec.operand_count)
        return fail(edge.node, "operand " + std::to_string(o) + " is bound to none of its parent");
      bound[o] = made ? (*buffers)[from - new_buffer(0)] : places[from];
      bound[o].view = bind_view(bound[o].view, child, edge.binding);
      if (loop != nullptr)
        bound[o].passes = passes_in(*loop, tree_.nodes[parent].spec.operand[from], bound[o].passes);
    }
    return add_node(edge.node, bound, out);
  }

  bool add_children(NodeId id, const Places& places, const Buffers* buffers,
                    std::vector<PlanId>& out) {
    const i64 before = asking_ ? asking_->bytes : 0;
    bool ok = true;
    for (const Edge& edge : tree_.nodes[id].children) {
      if (!ok) break;
      ok = add_child(id, edge, places, buffers, out);
      // What comes behind asks for what comes behind.
      if (asking_) asking_->bytes += asking_->asks.step(edge.node);
    }
    if (asking_) asking_->bytes = before;
    return ok;
  }

  /// Where a tile is copied from far away: what computes with it asks for the next one meanwhile.
  /// A copy that did so itself would wait, for so many lines exceed what a core can have under way.
  /// The same where runs that are apart are read in L1 as they are: the first of several
  /// microkernels would ask for what it reads some hundred cycles later.
  [[gnu::noinline]] bool start_asking(NodeId id, const Move& move, const Places& places) {
    const ImplNode& node = tree_.nodes[id];
    const Place& from = places[move.operand];
    const MoveChildren children = move_children(node);
    if (asking_ || move.placed.level == Level::kRegister) return false;
    if (move.view ? move.placed.access != Access::kIn : children.in < 0) return false;
    if (from.passes == 0 || from.passes > kMostPasses) return false;
    const auto [loop, bytes] = loops_.next(from.cursor);
    const auto tile = asked_tile(node.spec, move.operand, from.view);
    if (bytes == 0 || !tile) return false;
    const Asked asked = how_asked(tree_, id, *tile, from.comes_by_itself);
    if (asked == Asked::kNot) return false;
    BodyAsks asks(tree_, node.children[children.body].node, *tile, asked);
    if (!asks.are_worth_it()) return false;
    Cursor walking = function().cursors[from.cursor];
    walking.asks = loop + 1;
    asking_.emplace(Asking{std::move(asks), from.cursor, cursor(walking), bytes});
    walks_.push_back({function_, from.cursor, asking_->cursor, true});
    return true;
  }

  /// A loop of a body that asks: each trip asks for what comes behind the last one's.
  void step_asks(NodeId body, std::vector<CursorStep>& steps) {
    const i64 bytes = asking_ ? asking_->asks.step(body) : 0;
    if (bytes != 0) steps.push_back({asking_->cursor, bytes});
  }

  /// A loop around such bodies, which were begun after the first `walks`, moves asks with what they
  /// ask for; in the last trip of the innermost one, to where the one around it begins next.
  void follow(size_t walks, PlanLoop& loop) {
    for (; walks < walks_.size(); walks++) {
      AskWalk& walk = walks_[walks];
      const i64 bytes = step_of(loop.steps, walk.from);
      if (walk.function != function_ || bytes == 0) continue;
      const bool innermost = std::exchange(walk.inside, false);
      if (step_of(loop.steps, walk.cursor) != 0) continue;
      loop.steps.push_back({walk.cursor, bytes});
      const i64 next = loops_.next(walk.from).bytes;
      if (innermost && loop.trips > 1 && loop.rest.empty() && next != 0)
        loop.before_last.push_back({walk.cursor, next - static_cast<i64>(loop.trips) * bytes});
    }
  }

  /// Registers and scratch memory are stacks: a node's buffers live as long as its children run.
  /// @param spec  over whose dimensions the buffers are described.
  bool add_with_buffers(NodeId id, const Spec& spec, std::span<const Operand> operands,
                        const Places& places, std::vector<PlanId>& out) {
    const u16 registers_before = registers_used_;
    const u64 scratch_before = scratch_used_;
    Buffers buffers;
    for (size_t i = 0; i < operands.size(); i++)
      if (!make_buffer(id, spec, operands[i], buffers[i])) return false;
    bool ok = add_children(id, places, &buffers, out);
    registers_used_ = registers_before;
    scratch_used_ = scratch_before;
    return ok;
  }

  bool make_buffer(NodeId id, const Spec& spec, const Operand& operand, Place& place) {
    place.view = dense_view(spec, operand);
    const u32 element_bytes = size_of(operand.dtype);
    if (operand.level != Level::kRegister) {
      place.cursor = cursor({Cursor::Base::kScratch, scratch_used_});
      reserve_scratch(dense_elements(spec, operand) * element_bytes);
      return true;
    }
    const u64 count = vectors(spec, operand, target_.lanes(element_bytes));
    place.in_registers = true;
    place.first_register = registers_used_;
    if (registers_used_ + count > target_.vector_registers)
      return fail(id, "its register tile does not fit");
    registers_used_ = static_cast<u16>(registers_used_ + count);
    return true;
  }

  void reserve_scratch(u64 bytes) {
    scratch_used_ += round_up(bytes, kScratchAlignment);
    u64& peak = function().scratch_bytes;
    peak = std::max(peak, scratch_used_);
  }

  /// From one part of `size` elements of a dimension to what is behind it.
  bool add_steps(NodeId id, u8 along, u32 size, const Places& places,
                 std::vector<CursorStep>& steps) {
    const Spec& spec = tree_.nodes[id].spec;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& operand = spec.operand[o];
      if (has_dim(operand.dims, along)) {
        if (places[o].in_registers) return fail(id, "its loop tiles a register tile");
        if (size % places[o].view.dim[along].aligned() != 0)
          return fail(id, "its tile starts inside a block");
      }
      const i64 bytes = bytes_to_part(spec, places, o, along, size, false) -
                        bytes_to_part(spec, places, o, along, size, true);
      if (bytes != 0) steps.push_back({places[o].cursor, bytes});
    }
    return true;
  }

  /// A loop of one trip, and what is left; inside of another, where the first part begins later.
  bool add_kind(NodeId id, const Divide& divide, const Places& places, std::vector<PlanId>& out) {
    const ImplNode& node = tree_.nodes[id];
    PlanLoop begin{1, {}, {}, {}, {}}, made{1, {}, {}, {}, {}};
    for (int o = 0; o < node.spec.operand_count; o++)
      if (const i64 bytes = bytes_to_part(node.spec, places, o, divide.dim, divide.size, true);
          bytes != 0)
        begin.steps.push_back({places[o].cursor, bytes});
    const size_t walks = walks_.size();
    if (!add_steps(id, divide.dim, divide.size, places, made.steps)) return false;
    step_asks(node.children[0].node, made.steps);
    if (!add_child(id, node.children[0], places, nullptr, made.body) ||
        !add_child(id, node.children[1], places, nullptr, made.rest))
      return false;
    follow(walks, made);
    const PlanId parts = add(std::move(made));
    if (begin.steps.empty()) {
      out.push_back(parts);
    } else {
      begin.rest.push_back(parts);
      out.push_back(add(std::move(begin)));
    }
    return true;
  }

  bool add_kind(NodeId id, const Mask& mask, const Places& places, std::vector<PlanId>& out) {
    const ImplNode& node = tree_.nodes[id];
    const u64 before = scratch_used_, bytes = size_of(mask.mask.dtype);
    Buffers buffers;
    buffers[0].view = mask_view(node.spec);
    reserve_scratch(mask_elements(node.spec) * bytes);
    bool ok = true;
    for (size_t c = 0; ok && c < node.children.size(); c++) {
      const u64 begin = mask_begin(node.spec, static_cast<int>(c)) * bytes;
      buffers[0].cursor = cursor({Cursor::Base::kScratch, before + begin});
      ok = add_child(id, node.children[c], places, &buffers, out);
    }
    scratch_used_ = before;
    return ok;
  }

  /// There and back: the index is there still.
  bool add_kind(NodeId id, const Index& index, const Places& places, std::vector<PlanId>& out) {
    Places at = places;
    std::optional<PlanIndex> step = index_step(tree_.nodes[id].spec, index.stage, at);
    if (!step) return add_children(id, places, nullptr, out);
    out.push_back(add(*step));
    if (!add_children(id, at, nullptr, out)) return false;
    step->bytes = -step->bytes;
    out.push_back(add(*step));
    return true;
  }

  bool add_kind(NodeId id, const Rescale& x, const Places& places, std::vector<PlanId>& out) {
    const Spec& spec = tree_.nodes[id].spec;
    const Rescaled r = *rescaled(spec, x.most, x.size, x.held_in);
    Places split = places;
    for (int o = 0; o < spec.operand_count; o++) split[o].view = view_of_blocks(r, places[o].view);
    return add_with_buffers(id, r.whole, rescale_buffers(r, x.level).all(), split, out);
  }

  bool add_kind(NodeId id, const Loop& loop, const Places& places, std::vector<PlanId>& out) {
    const ImplNode& node = tree_.nodes[id];
    std::vector<CursorStep> steps;
    if (!add_steps(id, loop.dim, loop.tile, places, steps)) return false;
    u64 tasks = std::min<u64>(loop.trips, target_.processors);
    // Tasks keep no vector registers for one another: below a register tile a loop is an ordinary
    // one.
    if (loop.parallel && tasks > 1 && function_ == 0 && registers_used_ == 0)
      return add_parallel(id, loop, tasks, std::move(steps), places, out);

    PlanLoop made{loop.trips, std::move(steps), {}, {}, {}};
    const size_t walks = walks_.size();
    step_asks(node.children[0].node, made.steps);
    results_.reset();  // of what is computed once
    const bool has_rest = node.children.size() > 1;
    loops_.enter({made.steps, loop.trips, has_rest});
    bool ok = add_child(id, node.children[0], places, nullptr, made.body, &loop);
    loops_.enter_rest();
    ok = ok && (!has_rest || add_child(id, node.children[1], places, nullptr, made.rest));
    loops_.leave();
    if (!ok) return false;
    follow(walks, made);
    if (made.trips == 1 && made.rest.empty())
      out.insert(out.end(), made.body.begin(), made.body.end());
    else
      out.push_back(add(std::move(made)));
    return true;
  }

  // Of its own, so that loops within loops have no room for its places on the stack.
  [[gnu::noinline]] bool add_parallel(NodeId id, const Loop& loop, u64 tasks,
                                      std::vector<CursorStep> steps, const Places& places,
                                      std::vector<PlanId>& out) {
    const ImplNode& node = tree_.nodes[id];
    u64 scratch_before = std::exchange(scratch_used_, 0);
    function_ = static_cast<u32>(plan_.functions.size());
    plan_.functions.emplace_back();
    Places inner = places;
    for (int o = 0; o < node.spec.operand_count; o++)
      inner[o].cursor = cursor({Cursor::Base::kOuter, places[o].cursor});
    for (const CursorStep& step : steps)
      function().steps.push_back({cursor({Cursor::Base::kOuter, step.cursor}), step.bytes});
    std::vector<PlanId> body;
    Nest loops = std::exchange(loops_, Nest());
    loops_.enter({function().steps, loop.trips, false});
    const size_t walks = walks_.size();
    bool ok = add_child(id, node.children[0], inner, nullptr, body);
    loops_ = std::move(loops);
    PlanLoop trips{1, std::move(function().steps), {}, {}, {}};  // of a task, whose last is any
    follow(walks, trips);
    function().steps = std::move(trips.steps);
    function().body = std::move(body);
    u64 task_bytes = function().scratch_bytes;
    u32 made = std::exchange(function_, 0);
    scratch_used_ = scratch_before;
    if (!ok) return false;

    PlanParallel parallel{made, tasks, loop.trips, 0, std::move(steps), {}};
    parallel.scratch = cursor({Cursor::Base::kScratch, scratch_used_});
    reserve_scratch(tasks * task_bytes);
    scratch_used_ = scratch_before;
    if (node.children.size() > 1 &&
        !add_child(id, node.children[1], places, nullptr, parallel.rest))
      return false;
    out.push_back(add(std::move(parallel)));
    return true;
  }

  bool add_kind(NodeId id, const Select& select, const Places& places, std::vector<PlanId>& out) {
    const Spec& spec = tree_.nodes[id].spec;
    PlanCall call;
    call.id = static_cast<MicrokernelId>(select.microkernel);
    if (name_of(call.id).empty())
      return fail(id, "unknown microkernel " + std::to_string(select.microkernel));
    call.first_free = registers_used_;
    call.spec = in_code(spec);
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& operand = spec.operand[o];
      PlanOperand& at = call.operand[o];
      if ((operand.level == Level::kRegister) != places[o].in_registers)
        return fail(id, "operand " + std::to_string(o) + " is not at the level it should be");
      if (places[o].in_registers && operand.dims != (spec.all_dims() & ~spec.reduced()))
        return fail(id, "operand " + std::to_string(o) + " is a register tile that is broadcast");
      at.in_registers = places[o].in_registers;
      at.first_register = places[o].first_register;
      at.cursor = places[o].cursor;
      for (int d = 0; d < spec.rank; d++) {
        const DimView& dim = places[o].view.dim[d];
        if (!has_dim(operand.dims, d)) continue;
        const u32 block = fast_block(operand);
        const bool blocks = block > 1 && d == operand.layout.fastest();
        if (blocks ? dim.block[0] != block || dim.block[1] != 0 : !dim.plain())
          return fail(id, "operand " + std::to_string(o) + " spans several blocks");
        if (d == unit_dim(operand) && !at.in_registers && dim.stride[0] != 1)
          return fail(id, "operand " + std::to_string(o) + " is not contiguous where it says so");
        at.stride[d] = dim.stride[blocks] * static_cast<i64>(size_of(operand.dtype));
      }
      const bool asked = asking_ && asking_->from == at.cursor;
      if (operand.access == Access::kIn && places[o].passes > 0 &&
          places[o].passes <= kMostPasses && !asked &&
          (!places[o].comes_by_itself || comes_late(spec, o, call.id)) &&
          footprint(spec, operand).bytes <= target_.at(Level::kL2).bytes / 4)
        at.ahead = loops_.ahead(at.cursor, footprint(spec, operand), is_one_run(spec, operand));
    }
    for (int o = 0; o < spec.operand_count; o++)
      if (near_.asks(call, o, places[o], function().cursors))
        call.operand[o].next = loops_.next_trip(places[o].cursor);
    if (asking_ && asking_->asks.may_be_by(call.id)) {
      call.ask = asking_->asks.of(id);
      call.ask.cursor = asking_->cursor;
      call.ask.bytes = asking_->bytes;
    }
    if (results_) call.results = *std::exchange(results_, std::nullopt);
    if (const auto* fill = out.empty() ? nullptr : std::get_if<PlanCall>(&plan_.nodes[out.back()]);
        fill != nullptr && takes_over(*fill, call))
      out.pop_back();
    return cut(id, call, microkernel(call.id).portions(spec), 0, out);
  }

  /// Loops over the dimensions that the microkernel takes in portions, from `dim` on.
  bool cut(NodeId id, const PlanCall& call, const Portions& portions, int dim,
           std::vector<PlanId>& out) {
    while (dim < call.spec.rank && (portions[dim] == 0 || call.spec.size[dim] <= portions[dim]))
      dim++;
    if (dim == call.spec.rank) {
      out.push_back(add(call));
      return true;
    }
    u32 size = call.spec.size[dim], portion = portions[dim];
    PlanLoop made;
    made.trips = size / portion;
    for (int o = 0; o < call.spec.operand_count; o++) {
      if (call.operand[o].in_registers)
        return fail(id, "its microkernel cannot have register tiles");
      // Elements of a block are one step.
      const Operand& x = call.spec.operand[o];
      const u32 block = has_dim(x.dims, dim) && x.layout.fastest() == dim ? fast_block(x) : 1;
      if (call.operand[o].stride[dim] != 0)
        made.steps.push_back(
            {call.operand[o].cursor, call.operand[o].stride[dim] * (portion / block)});
    }
    PlanCall part = call;
    part.spec.size[dim] = portion;
    if (!cut(id, part, portions, dim + 1, made.body)) return false;
    part.spec.size[dim] = size % portion;
    if (size % portion != 0 && !cut(id, part, portions, dim + 1, made.rest)) return false;
    out.push_back(add(std::move(made)));
    return true;
  }

  const ImplTree& tree_;
  const Target& target_;
  Plan plan_;
  Routines routines_;
  std::optional<Asking> asking_;
  std::optional<PlanAsk> results_;  // of what the register tile at hand is written to
  std::vector<AskWalk> walks_;
  std::optional<Error> error_;
  NearTiles near_{target_};
  Nest loops_;              // around the node, in its function
  u32 function_ = 0;        // the one that nodes are added to
  u64 scratch_used_ = 0;    // of it
  u16 registers_used_ = 0;  // by the register tiles around the node
};

}  // namespace

Result<Plan> make_plan(const ImplTree& tree, const std::array<View, kMaxOperands>& root_views) {
  return Planner(tree).run(root_views);
}

}  // namespace morello
