// SPDX-License-Identifier: MIT
// Stages of a graph -> canonical Spec. What is computed twice is one stage, what changes nothing is
// none, sums of products are contractions, and stages follow one another as the results need them,
// depth first: whatever order the nodes were written in. Outputs are operands in the order of the
// stages that write them: the last stage writes the last one.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "spec/canonical.hh"
#include "spec/draft.hh"
#include "spec/graph.hh"
#include "spec/graph_rules.hh"
#include "spec/roles.hh"
#include "support/number.hh"

namespace morello {
namespace {

using Kind = Source::Kind;

class Lowering {
 public:
  Lowering(const Statement& s, const GraphBuilder& graph)
      : statement_(s), graph_(graph), stages_(graph.stages()) {
    for (int i = 0; i < output_count(s); i++) {
      const GraphOutput& output = output_of(s, i);
      const int tensor = static_cast<int>(s.tensors.size()) - output_count(s) + i;
      outputs_.push_back({graph.value(output.node).source, output.node, tensor, output.accumulate});
    }
    for (GraphStage& stage : stages_) {
      stage.reduce = graph.dims().atoms(stage.reduce);
      std::sort(stage.reduce.begin(), stage.reduce.end());
    }
  }

  MaybeFault run(Lowered& lowered) {
    do {
      forward();
    } while (fuse());
    leave_rounding_to_outputs();
    finish();
    if (auto f = check_counts()) return f;
    if (auto f = check_gathers()) return f;
    Draft draft = make_draft();
    if (auto f = add_borders(draft)) return f;
    if (auto f = add_diagonal(draft)) return f;
    std::vector<int> arguments = inputs_;
    for (const Output& output : outputs_) arguments.push_back(output.tensor);
    if (auto f = place_operands(statement_, arguments, draft, lowered)) return f;
    for (size_t o = 0; o < inputs_.size(); o++)
      lowered.view[o].begin = graph_.uses()[static_cast<size_t>(inputs_[o])].begin;
    fill_in(draft, lowered.spec);
    if (auto f = check_gathers(lowered.spec)) return f;
    return name_diagonal(draft, lowered.spec);
  }

 private:
  struct Output {
    Source result;
    int node = 0;    // whose value it is
    int tensor = 0;  // of the Statement
    bool accumulate = false;
  };

  GraphStage& at(const Source& s) { return stages_[static_cast<size_t>(s.index)]; }
  Dtype dtype_of(const Output& output) const {
    return statement_.tensors[static_cast<size_t>(output.tensor)].dtype;
  }
  Dtype dtype_of(const Source& s) const {
    return s.kind == Kind::kTensor ? statement_.tensors[static_cast<size_t>(s.index)].dtype
                                   : computed_[static_cast<size_t>(s.index)];
  }
  bool integer(const Source& s) const {
    return s.kind == Kind::kNumber ? is_i32(s.number) : is_integer(dtype_of(s));
  }
  Dtype computed(const GraphStage& stage) const {
    if (stage.rounds) return *stage.rounds;
    if (stage.op == Op::kGather) return computed_in(dtype_of(stage.in[0]));
    bool all = has_integers(stage.op);
    for (const Source& in : stage.in)
      if (in.kind != Kind::kNone) all &= integer(in);
    return all ? Dtype::kI32 : Dtype::kF32;
  }

  /// What a stage comes to that changes nothing.
  std::optional<Source> unchanged(const GraphStage& stage) const {
    const Source &x = stage.in[0], &y = stage.in[1];
    if (stage.rounds) {
      // f32 holds all floats.
      const bool same =
          !integer(x) && (*stage.rounds == Dtype::kF32 || dtype_of(x) == *stage.rounds);
      return same ? std::optional(x) : std::nullopt;
    }
    if (y.kind == Kind::kNone && is_binary(stage.op) && stage.reduce.empty()) return x;
    if (y.kind != Kind::kNumber) return std::nullopt;
    const bool same = (stage.op == Op::kMul && is_number(y, 1)) ||
                      (stage.op == Op::kSub && is_number(y, 0)) ||
                      (stage.op == Op::kDiv && is_number(y, 1) && !integer(x)) ||
                      (stage.op == Op::kAdd && is_number(y, integer(x) ? 0.0 : -0.0));
    return same ? std::optional(x) : std::nullopt;
  }

  /// Replaces stages by equal ones before them, and by what they read if they do nothing.
  void forward() {
    std::vector<GraphStage> before = std::move(stages_);
    std::vector<Source> now(before.size());
    auto moved = [&](const Source& s) {
      return s.kind == Kind::kStage ? now[static_cast<size_t>(s.index)] : s;
    };
    stages_.clear();
    computed_.clear();
    for (size_t i = 0; i < before.size(); i++) {
      GraphStage& stage = before[i];
      for (Source& in : stage.in) in = moved(in);
      normalise(stage);
      if (stage.op == Op::kExp && is_never_positive(stages_, computed_, stage.in[0]))
        stage.op = Op::kDecay;
      if (const auto same = unchanged(stage)) {
        now[i] = *same;
        continue;
      }
      const Dtype dtype = computed(stage);
      for (Source& in : stage.in)
        if (in.kind == Kind::kNumber && dtype != Dtype::kI32)
          in.number = rounded(Dtype::kF32, in.number);
      const auto known = std::find_if(stages_.begin(), stages_.end(), [&](const GraphStage& s) {
        return s.op == stage.op && s.in == stage.in && s.reduce == stage.reduce &&
               s.rounds == stage.rounds;
      });
      now[i] = {Kind::kStage, static_cast<int>(known - stages_.begin()), 0};
      if (known != stages_.end()) continue;
      stages_.push_back(std::move(stage));
      computed_.push_back(dtype);
    }
    for (Output& output : outputs_) output.result = moved(output.result);
  }

  /// Stages that the results need, each after those that it reads.
  std::vector<int> in_order() {
    std::vector<int> order;
    std::vector<char> seen(stages_.size());
    auto visit = [&](auto&& self, const Source& s) -> void {
      if (s.kind != Kind::kStage || seen[static_cast<size_t>(s.index)]) return;
      seen[static_cast<size_t>(s.index)] = 1;
      for (const Source& in : at(s).in) self(self, in);
      order.push_back(s.index);
    };
    for (const Output& output : outputs_) visit(visit, output.result);
    return order;
  }

  /// How often the value of each stage is read, or is a result.
  std::vector<int> count_readers(const std::vector<int>& order) const {
    std::vector<int> readers(stages_.size());
    auto count = [&](const Source& s) {
      if (s.kind == Kind::kStage) readers[static_cast<size_t>(s.index)]++;
    };
    for (int s : order)
      for (const Source& in : stages_[static_cast<size_t>(s)].in) count(in);
    for (const Output& output : outputs_) count(output.result);
    return readers;
  }

  /// An output rounds as a cast would that nothing else reads.
  void leave_rounding_to_outputs() {
    const std::vector<int> readers = count_readers(in_order());
    for (Output& output : outputs_) {
      const Dtype out = dtype_of(output);
      if (output.result.kind == Kind::kStage && is_narrow_float(out) &&
          at(output.result).rounds == out && readers[static_cast<size_t>(output.result.index)] == 1)
        output.result = at(output.result).in[0];
    }
  }

  /// Makes one stage of two that nothing reads in between. False if there is nothing to do.
  bool fuse() {
    const std::vector<int> order = in_order();
    const std::vector<int> readers = count_readers(order);
    for (int s : order) {
      GraphStage& stage = stages_[static_cast<size_t>(s)];
      const Source inner = stage.in[0];
      if (inner.kind != Kind::kStage || readers[static_cast<size_t>(inner.index)] != 1) continue;
      if (computed_[static_cast<size_t>(s)] != dtype_of(inner)) continue;
      const GraphStage& first = at(inner);
      if (stage.op == Op::kAdd && stage.in[1].kind == Kind::kNone) {
        const bool product =
            first.op == Op::kSquare || (first.op == Op::kMul && first.in[1].kind != Kind::kNumber);
        if (!product) continue;
        stage.op = Op::kMulAdd;
        stage.in = {first.in[0], first.op == Op::kSquare ? first.in[0] : first.in[1], {}};
        return true;
      }
      if (stage.op == Op::kMul && stage.in[1].kind == Kind::kNumber && first.op == Op::kMul &&
          first.in[1].kind == Kind::kNumber && dtype_of(inner) == Dtype::kF32) {
        const double factor = rounded(Dtype::kF32, stage.in[1].number * first.in[1].number);
        if (!std::isnormal(static_cast<float>(factor))) continue;
        stage.in = {first.in[0], Source{Kind::kNumber, 0, factor}, {}};
        return true;
      }
    }
    return false;
  }

  /// Puts the stages in order, and inputs in that of their first use.
  void finish() {
    const std::vector<int> order = in_order();
    std::vector<GraphStage> ordered;
    std::vector<Dtype> dtypes;
    std::vector<int> now(stages_.size());
    for (int s : order) {
      now[static_cast<size_t>(s)] = static_cast<int>(ordered.size());
      ordered.push_back(stages_[static_cast<size_t>(s)]);
      dtypes.push_back(computed_[static_cast<size_t>(s)]);
      for (Source& in : ordered.back().in) {
        if (in.kind == Kind::kStage) in.index = now[static_cast<size_t>(in.index)];
        if (in.kind == Kind::kTensor) operand_of(in.index);
      }
    }
    for (Output& output : outputs_)
      if (output.result.kind == Kind::kStage)
        output.result.index = now[static_cast<size_t>(output.result.index)];
    stages_ = std::move(ordered);
    computed_ = std::move(dtypes);
    write_outputs();
  }

  int operand_of(int tensor) {
    const auto known = std::find(inputs_.begin(), inputs_.end(), tensor);
    const int operand = static_cast<int>(known - inputs_.begin());
    if (known == inputs_.end()) inputs_.push_back(tensor);
    return operand;
  }

  /// Gives each output a stage of its own, whose value is what is written to it.
  void write_outputs() {
    std::vector<int> order(stages_.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int> readers = count_readers(order);
    for (Output& output : outputs_) {
      Source& value = output.result;
      if (value.kind == Kind::kTensor) {
        operand_of(value.index);
        append(output, {Op::kCopy, {value}, {}, {}}, copied_in(dtype_of(value), dtype_of(output)));
      } else if (output.accumulate && goes_on(output, readers[static_cast<size_t>(value.index)])) {
        continue;
      }
      if (output.accumulate) add_to(output);
      // What is computed in i32 is rounded to f32 before it is to a float of 16 bits.
      if (dtype_of(value) == Dtype::kI32 && is_narrow_float(dtype_of(output)))
        append(output, {Op::kCopy, {value}, {}, {}}, Dtype::kF32);
    }
    std::vector<const Output*> writers;
    for (const Output& output : outputs_) writers.push_back(&writer_of(output.result));
    for (size_t i = 0; i < outputs_.size(); i++)
      if (writers[i] != &outputs_[i])
        append(outputs_[i], {Op::kCopy, {outputs_[i].result}, {}, {}},
               computed_in(dtype_of(outputs_[i].result)));
    std::sort(outputs_.begin(), outputs_.end(),
              [](const Output& a, const Output& b) { return a.result.index < b.result.index; });
  }

  /// Of the outputs with this value, the one that its stage writes: others are copies. One of the
  /// value's own type holds it, so that what reads the value may read that.
  const Output& writer_of(const Source& value) const {
    const Output* writer = nullptr;
    for (const Output& output : outputs_) {
      if (output.result != value) continue;
      if (dtype_of(output) == dtype_of(value)) return output;
      if (writer == nullptr) writer = &output;
    }
    return *writer;
  }

  void append(Output& output, GraphStage stage, Dtype dtype) {
    stages_.push_back(std::move(stage));
    computed_.push_back(dtype);
    output.result = {Kind::kStage, static_cast<int>(stages_.size()) - 1, 0};
  }

  /// A reduction that nothing else reads goes on from what the output held; to all else it is
  /// added.
  bool goes_on(const Output& output, int readers) {
    const GraphStage& last = at(output.result);
    return !last.reduce.empty() && last.op != Op::kGather && readers == 1 &&
           dtype_of(output.result) == dtype_of(output);
  }
  void add_to(Output& output) {
    const GraphStage& last = at(output.result);
    const Source out{Kind::kTensor, output.tensor, 0};
    GraphStage sum{Op::kAdd, {output.result, out}, {}, {}};
    if (!last.reduce.empty() && (is_greatest(last.op) || is_least(last.op)))
      sum = {last.op, {out, output.result}, {}, {}};
    const Dtype dtype = computed(sum);
    append(output, std::move(sum), dtype);
  }

  MaybeFault check_counts() const {
    if (stages_.size() > kMaxStages)
      return fault(MORELLO_UNSUPPORTED, {}, "the graph has ", stages_.size(),
                   " scalar operations after simplification; at most ", kMaxStages,
                   " are supported");
    return std::nullopt;
  }

  MaybeFault check_gathers() const {
    for (const GraphStage& stage : stages_)
      if (stage.op == Op::kGather && stage.reduce.size() > 1)
        return fault(MORELLO_UNSUPPORTED, {},
                     "an axis that is gathered from is reshaped into several");
    return std::nullopt;
  }
  static MaybeFault check_gathers(const Spec& spec) {
    for (int s = 0; s < spec.stage_count; s++)
      if (const Stage& stage = spec.stage[s];
          stage.op == Op::kGather && (stage.reduce & ~dims_of(spec, stage.in[0])) != 0)
        return fault(MORELLO_UNSUPPORTED, {},
                     "gathers along an axis with stride 0; pass the input with its elements");
    return std::nullopt;
  }

  /// Each dimension in the order in which operands have them, from slow to fast.
  Draft make_draft() {
    Draft draft;
    draft.outputs = static_cast<int>(outputs_.size());
    draft.operands = static_cast<int>(inputs_.size()) + draft.outputs;
    auto dim_of = [&](int atom) -> Draft::Dim& {
      const auto [known, fresh] = dim_.emplace(atom, draft.dims.size());
      if (fresh) draft.dims.push_back({graph_.dims().size(atom), 0, {}});
      return draft.dims[known->second];
    };
    auto place = [&](size_t operand, const std::vector<std::pair<int, i64>>& strides) {
      std::vector<std::pair<i64, int>> all;
      for (const auto& use : strides) {
        i64 stride = use.second;
        const std::vector<int> atoms = graph_.dims().atoms({use.first});
        for (size_t i = atoms.size(); i-- > 0; stride *= graph_.dims().size(atoms[i]))
          all.push_back({stride, atoms[i]});
      }
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      for (const auto& entry : all) dim_of(entry.second).stride[operand] = entry.first;
    };
    for (size_t o = 0; o < inputs_.size(); o++)
      place(o, graph_.uses()[static_cast<size_t>(inputs_[o])].strides);
    for (size_t o = 0; o < outputs_.size(); o++) {
      const Tensor& out = statement_.tensors[static_cast<size_t>(outputs_[o].tensor)];
      std::vector<std::pair<int, i64>> strides;
      for (size_t a = 0; a < out.shape.size(); a++) {
        const std::vector<int> atoms =
            graph_.dims().atoms(graph_.value(outputs_[o].node).axes[a].dims);
        i64 stride = out.strides[a];
        for (size_t i = atoms.size(); i-- > 0; stride *= graph_.dims().size(atoms[i]))
          strides.push_back({atoms[i], stride});
      }
      place(inputs_.size() + o, strides);
    }
    for (const GraphStage& stage : stages_)
      for (int atom : stage.reduce) dim_of(atom);
    add_roles(draft);
    return draft;
  }

  /// Windows past the ends of an axis keep their two dimensions.
  MaybeFault add_borders(Draft& draft) const {
    for (size_t o = 0; o < inputs_.size(); o++)
      for (const GraphBuilder::Use::Border& b :
           graph_.uses()[static_cast<size_t>(inputs_[o])].borders) {
        const std::vector<int> outer = graph_.dims().atoms({b.outer}),
                               inner = graph_.dims().atoms({b.inner});
        const auto w = draft.bordered.size();
        if (outer.size() != 1 || inner.size() != 1)
          return fault(MORELLO_UNSUPPORTED, {},
                       "an axis of windows with padding is reshaped into several");
        if (w == kMaxWindows)
          return fault(MORELLO_UNSUPPORTED, {}, "more than ", kMaxWindows, " axes have padding");
        draft.dims[dim_.at(outer[0])].window = static_cast<u8>(2 * w + 1);
        draft.dims[dim_.at(inner[0])].window = static_cast<u8>(2 * w + 2);
        draft.bordered.push_back({static_cast<int>(o), b.window, b.stride});
      }
    return std::nullopt;
  }

  /// All stages that keep keep the same.
  MaybeFault add_diagonal(Draft& draft) {
    const std::vector<GraphBuilder::Keeping>& all = graph_.keeping();
    if (all.empty()) return std::nullopt;
    const std::vector<int> rows = graph_.dims().atoms(all[0].rows),
                           columns = graph_.dims().atoms(all[0].columns);
    const Place place{Place::Kind::kNode, all.back().node};
    if (rows.size() > 1 || columns.size() != 1)
      return fault(MORELLO_UNSUPPORTED, place, "an axis of a causal mask is reshaped into several");
    for (const GraphBuilder::Keeping& other : all)
      if (graph_.dims().atoms(other.rows) != rows ||
          graph_.dims().atoms(other.columns) != columns || other.kept != all[0].kept)
        return fault(MORELLO_UNSUPPORTED, place,
                     "a graph has one causal mask: this one has other axes, or another offset");
    if (inputs_.size() + outputs_.size() == kMaxOperands)
      return fault(MORELLO_UNSUPPORTED, place, "a graph with a causal mask has ", kMaxOperands,
                   " tensors, outputs included; at most ", kMaxOperands - 1, " are supported");
    if (!rows.empty()) draft.dims[dim_.at(rows[0])].diagonal = Draft::kRow;
    draft.dims[dim_.at(columns[0])].diagonal = Draft::kColumn;
    kept_ = static_cast<u32>(all[0].kept);
    return std::nullopt;
  }

  MaybeFault name_diagonal(const Draft& draft, Spec& spec) const {
    if (kept_ == 0) return std::nullopt;
    spec.diagonal = {kNoDim, 0, 0, kept_};
    DimMask dims = 0;
    for (u8 d = 0; d < draft.dims.size(); d++) {
      if (draft.dims[d].diagonal == 0) continue;
      (draft.dims[d].diagonal == Draft::kRow ? spec.diagonal.row : spec.diagonal.column) = d;
      dims = static_cast<DimMask>(dims | 1u << d);
    }
    for (int s = 0; s < spec.stage_count; s++)
      if (spec.stage[s].op == Op::kKeep && (dims & ~dims_of(spec, value_of(s))) != 0)
        return fault(MORELLO_UNSUPPORTED, {Place::Kind::kNode, graph_.keeping().back().node},
                     "a causal mask over an axis with stride 0; pass the input with its elements");
    return std::nullopt;
  }

  void add_roles(Draft& draft) {
    std::vector<std::vector<char>> has(stages_.size(), std::vector<char>(draft.dims.size()));
    for (size_t s = 0; s < stages_.size(); s++) {
      for (const Source& in : stages_[s].in)
        for (size_t d = 0; d < draft.dims.size(); d++) {
          if (in.kind == Kind::kStage) has[s][d] |= has[static_cast<size_t>(in.index)][d];
          if (in.kind == Kind::kTensor) has[s][d] |= draft.dims[d].stride[ref_of(in)] != 0;
        }
      for (int atom : stages_[s].reduce) {
        has[s][dim_.at(atom)] = 0;
        draft.dims[dim_.at(atom)].roles |= 2u << 2 * s;
      }
      for (size_t d = 0; d < draft.dims.size(); d++)
        if (has[s][d]) draft.dims[d].roles |= 1u << 2 * s;
    }
  }

  /// The operand that a tensor is: an input, or an output that is added to.
  size_t operand_at(int tensor) const {
    const auto input = std::find(inputs_.begin(), inputs_.end(), tensor);
    if (input != inputs_.end()) return static_cast<size_t>(input - inputs_.begin());
    size_t o = 0;
    while (outputs_[o].tensor != tensor) o++;
    return inputs_.size() + o;
  }

  Ref ref_of(const Source& s) const {
    switch (s.kind) {
      case Kind::kNone:
        break;
      case Kind::kNumber:
        return kConstant;
      case Kind::kStage:
        return value_of(s.index);
      case Kind::kTensor:
        return static_cast<Ref>(operand_at(s.index));
    }
    return kNoRef;
  }

  void fill_in(const Draft& draft, Spec& spec) const {
    spec.stage_count = static_cast<u8>(stages_.size());
    for (size_t s = 0; s < stages_.size(); s++) {
      const GraphStage& from = stages_[s];
      DimMask reduce = 0;
      for (size_t d = 0; d < draft.dims.size(); d++)
        if (draft.dims[d].roles & 2u << 2 * s) reduce = static_cast<DimMask>(reduce | 1u << d);
      Stage& stage = spec.stage[s] =
          make_stage(from.op, ref_of(from.in[0]), ref_of(from.in[1]), reduce, ref_of(from.in[2]));
      stage.dtype = computed_[s];
      for (const Source& in : from.in)
        if (in.kind == Kind::kNumber) stage.constant = bits_of_number(stage.dtype, in.number);
    }
    for (size_t o = 0; o < outputs_.size(); o++)
      spec.stage[outputs_[o].result.index].out = static_cast<Ref>(inputs_.size() + o);
  }

  const Statement& statement_;
  const GraphBuilder& graph_;
  std::vector<GraphStage> stages_;
  std::vector<Dtype> computed_;  // of each stage
  std::vector<Output> outputs_;  // at last in the order of the stages that write them
  std::vector<int> inputs_;      // tensors by first use
  std::map<int, size_t> dim_;    // of atoms, in the draft before it is merged
  u32 kept_ = 0;                 // of the diagonal; 0: there is none
};

}  // namespace

MaybeFault lower_graph(const Statement& statement, Lowered& lowered) {
  GraphBuilder graph(statement);
  if (auto f = graph.run()) return f;
  if (auto f = graph.find_repeated_axis()) return f;
  return Lowering(statement, graph).run(lowered);
}

}  // namespace morello
