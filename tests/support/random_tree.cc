// SPDX-License-Identifier: MIT
#include "random_tree.hh"

#include <algorithm>
#include <vector>

#include "impl/microkernel_id.hh"
#include "spec/roles.hh"
#include "spec/terms.hh"
#include "stages.hh"

namespace morello::testing {
namespace {

constexpr Op kUnary[] = {Op::kRelu, Op::kNeg, Op::kAbs, Op::kSquare, Op::kCopy};
constexpr Op kBinary[] = {Op::kAdd, Op::kSub,     Op::kMul,    Op::kMax,
                          Op::kMin, Op::kFastMax, Op::kFastMin};
constexpr Op kReducing[] = {Op::kAdd, Op::kMax, Op::kMin};

Layout in_order(DimMask dims) {
  Layout l;
  for (u8 d = 0; d < kMaxDims; d++)
    if (has_dim(dims, d)) l.append(d);
  return l;
}

/// The dimensions of `dims` in a random order.
Layout random_layout(DimMask dims, Random& random) {
  Layout l = in_order(dims);
  std::shuffle(l.dim.begin(), l.dim.begin() + l.count(), random);
  return l;
}

class ProblemMaker {
 public:
  ProblemMaker(Random& random, u32 max_size) : random_(random), max_size_(max_size) {}

  Problem make() {
    Spec& s = problem_.spec;
    s.rank = static_cast<u8>(pick(random_, 1, 4));
    u32 max_size = s.rank < 4 ? max_size_ : std::min(max_size_, 19u);
    for (int d = 0; d < s.rank; d++) s.size[d] = pick(random_, 2, max_size);
    bool reduces = chance(random_, 60);
    DimMask outer = s.all_dims();
    if (reduces) outer = static_cast<DimMask>((1u << pick(random_, 0, s.rank - 1u)) - 1);
    int inputs = 0;
    std::vector<Stage> stages = {head(outer, inputs)};
    if (stages[0].op == Op::kFill) stages[0].constant = bits_of(0.5f);
    while (stages.size() < kMaxStages && inputs < kMaxOperands - 1 && chance(random_, 40)) {
      Stage stage = stage_of_op(kUnary[pick(random_, 0, 4)], kPrevious);
      if (chance(random_, 50)) {
        stage = stage_of_op(kBinary[pick(random_, 0, 6)], kPrevious, static_cast<Ref>(inputs));
        if (chance(random_, 30)) std::swap(stage.in[0], stage.in[1]);
        add_operand(inputs++, some_of(outer), Access::kIn);
      }
      stages.push_back(stage);
    }
    bool accumulate = is_reduction(stages[0]) && stages.size() == 1 && chance(random_, 40);
    s.operand_count = static_cast<u8>(inputs + 1);
    add_operand(inputs, outer, accumulate ? Access::kInOut : Access::kOut);
    set_stages(s, stages);
    return std::move(problem_);
  }

 private:
  DimMask some_of(DimMask dims) { return static_cast<DimMask>(dims & pick(random_, 0, 63)); }

  Stage head(DimMask outer, int& inputs) {
    Spec& s = problem_.spec;
    DimMask reduced = static_cast<DimMask>(s.all_dims() & ~outer);
    if (reduced) {
      Op op = chance(random_, 60) ? Op::kMulAdd : kReducing[pick(random_, 0, 2)];
      bool product = op == Op::kMulAdd;
      DimMask first = product ? static_cast<DimMask>(some_of(outer) | reduced) : s.all_dims();
      add_operand(inputs++, first, Access::kIn);
      if (!product) return stage_of_op(op, 0, kNoRef, reduced);
      add_operand(inputs++, static_cast<DimMask>((outer & ~first) | some_of(outer) | reduced),
                  Access::kIn);
      return stage_of_op(op, 0, 1, reduced);
    }
    if (chance(random_, 15)) return stage_of_op(Op::kFill);
    const Op op = kUnary[pick(random_, 0, 4)];
    add_operand(inputs++, chance(random_, 50) ? outer : some_of(outer), Access::kIn);
    return stage_of_op(op, 0);
  }

  /// Dense or with rows apart; the output's dimensions are in order, as canonical Specs have them.
  void add_operand(int index, DimMask dims, Access access) {
    Spec& s = problem_.spec;
    Layout layout = access == Access::kIn ? random_layout(dims, random_) : in_order(dims);
    Operand& o = s.operand[index];
    o = dense_operand(s, Dtype::kF32, Level::kMemory, access, dims, layout);
    View& view = problem_.views[index];
    view = dense_view(s, o);
    u64 elements = dense_elements(s, o);
    int rank = layout.count();
    if (rank > 0 && chance(random_, 30)) {
      o.contig = static_cast<u8>(pick(random_, 0, static_cast<u32>(rank) - 1));
      i64 stride = 1;
      for (int i = rank - 1; i >= 0; i--) {
        if (i == rank - 1 - o.contig) stride += pick(random_, 1, 3);
        view.dim[layout.dim[i]].stride[0] = stride;
        stride *= s.size[layout.dim[i]];
      }
      elements = static_cast<u64>(stride);
    }
    problem_.data[index].assign(elements, 0);
  }

  Random& random_;
  u32 max_size_;
  Problem problem_;
};

class TreeMaker {
 public:
  explicit TreeMaker(Random& random) : random_(random) {}

  ImplTree make(const Spec& spec, int depth) {
    tree_.target = fixed_target(Isa::kAvx2);
    grow(spec, depth);
    return std::move(tree_);
  }

 private:
  NodeId grow(const Spec& spec, int depth) {
    NodeId id = static_cast<NodeId>(tree_.nodes.size());
    tree_.nodes.push_back({spec, Select{static_cast<u16>(MicrokernelId::kScalarMap)}, {}, 10, {}});
    if (depth <= 0) return id;
    switch (pick(random_, 0, 3)) {
      case 0:
        grow_loop(id, depth - 1);
        break;
      case 1:
        grow_move(id, depth - 1);
        break;
      case 2:
        if (spec.stage_count > 1)
          grow_bufferize(id, depth - 1);
        else
          grow_accumulate(id, depth - 1);
        break;
      default:
        grow_in_place(id, depth - 1);
        break;
    }
    return id;
  }

  void add_child(NodeId id, const Spec& spec, const Binding& binding, int depth, u64 times = 1) {
    NodeId child = grow(spec, depth);
    ImplNode& node = tree_.nodes[id];
    node.children.push_back({child, binding});
    node.cost += static_cast<i64>(times) * tree_.nodes[child].cost;
    node.peaks = max_of(node.peaks, tree_.nodes[child].peaks);
  }

  void grow_loop(NodeId id, int depth) {
    Spec spec = tree_.nodes[id].spec;
    if (spec.rank == 0) return;
    u8 dim = static_cast<u8>(pick(random_, 0, spec.rank - 1u));
    u32 size = pick(random_, 1, spec.size[dim] - 1);
    bool splits = has_dim(spec.reduced(), dim);
    if (!may_tile(spec, dim, size) || (splits && !has_dim(fold_dims(spec), dim))) return;
    for (int o = 0; o < spec.operand_count; o++)
      if (spec.operand[o].level == Level::kRegister && has_dim(spec.operand[o].dims, dim)) return;
    Loop loop{dim, size, spec.size[dim] / size, false};
    loop.parallel = !spec.serial && !has_dim(spec.reduced(), dim) && chance(random_, 50);
    tree_.nodes[id].kind = loop;
    for (u32 piece : {size, spec.size[dim] % size}) {
      if (piece == 0) continue;
      Binding binding;
      Spec child = tile(spec, dim, piece, &binding);
      child.serial = child.serial || loop.parallel;
      add_child(id, child, binding, depth, piece == size ? loop.trips : 1);
    }
  }

  void grow_move(NodeId id, int depth) {
    Spec spec = tree_.nodes[id].spec;
    u8 index = static_cast<u8>(pick(random_, 0, spec.operand_count - 1u));
    Operand from = spec.operand[index];
    if (from.level == Level::kRegister) return;
    bool output = index == spec.out_index();
    u32 nearest = output && !from.layout.packed() ? 0 : 1;
    Level to = static_cast<Level>(pick(random_, nearest, static_cast<u32>(from.level)));
    Move move;
    move.operand = index;
    move.placed = from;
    if (to == Level::kRegister) {
      move.placed.dtype = spec.stage[spec.stage_count - 1].dtype;
      if (is_read(spec, index) && move.placed.dtype != from.dtype) return;
    }
    move.placed.level = to;
    move.view = to != Level::kRegister && to < from.level && chance(random_, 25);
    Spec body = spec;
    Binding binding = identity_binding();
    if (!move.view) {
      Layout layout = output ? plain_layout(from.layout) : random_layout(from.dims, random_);
      if (!output && layout.count() > 0 && chance(random_, 40)) {
        u8 dim = layout.dim[pick(random_, 0, static_cast<u32>(layout.count()) - 1)];
        u8 panel = static_cast<u8>(pick(random_, 2, 8));
        if (panel < spec.size[dim]) layout.append(dim, panel);
      }
      move.placed = dense_operand(spec, move.placed.dtype, to, from.access, from.dims, layout);
      binding.operand[index] = new_buffer(0);
    }
    body.operand[index] = move.placed;
    forget_pitch(body.operand[index]);
    drop_windows(body);
    if (!move.view && from.access == Access::kIn) merge_terms(body, binding);
    tree_.nodes[id].kind = move;
    Binding copy;
    if (!move.view && from.access != Access::kOut) {
      Spec in = move_spec(spec, index, move.placed, true, &copy);
      add_child(id, in, copy, depth / 2);
    }
    add_child(id, body, binding, depth);
    if (!move.view && output) {
      Spec out = move_spec(spec, index, move.placed, false, &copy);
      add_child(id, out, copy, depth / 2);
    }
  }

  /// out = 0; out += ...
  void grow_accumulate(NodeId id, int depth) {
    Spec spec = tree_.nodes[id].spec;
    Op op = spec.stage[0].op;
    if (spec.stage_count != 1 || !is_reduction(spec.stage[0]) ||
        spec.out().access != Access::kOut || op == Op::kMax || op == Op::kMin ||
        spec.out().dtype != spec.stage[0].dtype)
      return;
    tree_.nodes[id].kind = Block{};
    add_fill(id, spec, depth);
    Spec accumulate = spec;
    accumulate.out().access = Access::kInOut;
    add_child(id, accumulate, identity_binding(), depth);
  }

  void add_fill(NodeId id, const Spec& spec, int depth) {
    Spec fill = over_output(spec);
    fill.operand_count = 1;
    Stage zero = stage_of_op(Op::kFill);
    zero.dtype = spec.stage[0].dtype;
    set_stages(fill, {zero});
    fill.operand[0] = spec.out();
    Binding binding = identity_binding();
    binding.operand[0] = static_cast<u8>(spec.out_index());
    add_child(id, fill, binding, depth);
  }

  /// The sizes of the output's dimensions, which come first; nothing else.
  static Spec over_output(const Spec& spec) {
    Spec s;
    for (int d = 0; d < spec.rank; d++)
      if (has_dim(spec.out().dims, d)) s.size[s.rank++] = spec.size[d];
    s.serial = spec.serial;
    return s;
  }

  /// The first stage into a buffer, the others from there.
  void grow_bufferize(NodeId id, int depth) {
    Spec spec = tree_.nodes[id].spec;
    Layout layout = plain_layout(spec.out().layout);
    Operand buffer = dense_operand(spec, computed_dtype(spec), Level::kL1, Access::kOut,
                                   spec.out().dims, layout);
    if (spec.out().access != Access::kOut) return;
    tree_.nodes[id].kind = Block{1, {buffer}};
    Binding head_binding, tail_binding;
    forget_pitch(buffer);
    Spec head = first_of(spec, buffer, new_buffer(0), &head_binding);
    buffer.access = Access::kIn;
    Spec tail = tail_of(spec, buffer, new_buffer(0), &tail_binding);
    add_child(id, head, head_binding, depth);
    add_child(id, tail, tail_binding, depth);
  }

  /// The first stage into the output, the others in place.
  void grow_in_place(NodeId id, int depth) {
    Spec spec = tree_.nodes[id].spec;
    if (spec.stage_count < 2 || spec.out().access != Access::kOut) return;
    if (spec.out().dtype != computed_dtype(spec)) return;  // it would be rounded
    tree_.nodes[id].kind = Block{};
    Binding head_binding, tail_binding;
    Spec head = first_of(spec, spec.out(), static_cast<u8>(spec.out_index()), &head_binding);
    Spec tail = tail_of(spec, spec.out(), static_cast<u8>(spec.out_index()), &tail_binding);
    add_child(id, head, head_binding, depth);
    add_child(id, tail, tail_binding, depth);
  }

  static Spec first_of(const Spec& spec, const Operand& out, u8 out_slot, Binding* binding) {
    Spec head = spec;
    Stage stage = spec.stage[0];
    *binding = identity_binding();
    u8 used = 0;
    for (Ref& input : stage.in) {
      if (!is_operand(input)) continue;
      binding->operand[used] = input;
      head.operand[used] = spec.operand[input];
      input = used++;
    }
    head.operand[used] = out;
    binding->operand[used++] = out_slot;
    head.operand_count = used;
    set_stages(head, {stage});
    for (int o = used; o < kMaxOperands; o++) head.operand[o] = Operand{};
    return head;
  }

  /// The later stages; the value of the first one is in `from`, which is the output itself (in
  /// place) or an input.
  static Spec tail_of(const Spec& spec, const Operand& from, u8 from_slot, Binding* binding) {
    Spec tail = over_output(spec);
    u8 used = 0;
    bool in_place = from_slot == spec.out_index();
    auto add = [&](const Operand& operand, u8 slot) {
      tail.operand[used] = operand;
      binding->operand[used] = slot;
      return static_cast<Ref>(used++);
    };
    for (u8 d = 0; d < tail.rank; d++) binding->dim[d] = d;
    Ref first = kPrevious;
    std::vector<Stage> stages;
    for (int s = 1; s < spec.stage_count; s++) {
      Stage& stage = stages.emplace_back(spec.stage[s]);
      for (Ref& input : stage.in) {
        if (is_value(input)) {
          if (s == 1 && !in_place && first == kPrevious) first = add(from, from_slot);
          input = kPrevious;
        } else if (is_operand(input)) {
          input = add(spec.operand[input], input);
        }
      }
    }
    Ref out = add(spec.out(), static_cast<u8>(spec.out_index()));
    if (in_place) {
      tail.operand[out].access = Access::kInOut;
      first = out;
    }
    for (Ref& input : stages[0].in)
      if (input == kPrevious) input = first;
    tail.operand_count = used;
    set_stages(tail, stages);
    return tail;
  }

  Random& random_;
  ImplTree tree_;
};

}  // namespace

void Problem::fill(Random& random) {
  std::uniform_real_distribution<float> value(-1, 1);
  for (std::vector<float>& d : data)
    for (float& x : d) x = value(random);
}

std::vector<OperandMemory> Problem::memory() {
  std::vector<OperandMemory> m;
  for (int o = 0; o < spec.operand_count; o++) m.push_back({data[o].data(), data[o].size()});
  return m;
}

std::array<void*, kMaxOperands> Problem::pointers() {
  std::array<void*, kMaxOperands> p{};
  for (int o = 0; o < spec.operand_count; o++) p[o] = data[o].data();
  return p;
}

Problem random_problem(Random& random, u32 max_size) {
  return ProblemMaker(random, max_size).make();
}

ImplTree random_tree(const Spec& spec, Random& random, int depth) {
  return TreeMaker(random).make(spec, depth);
}

}  // namespace morello::testing
