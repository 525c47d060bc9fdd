// SPDX-License-Identifier: MIT
#include "compiler/build_kernel.hh"

#include <chrono>
#include <deque>
#include <utility>

#include "codegen/emit.hh"
#include "codegen/plan.hh"
#include "spec/operations.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

using Views = std::array<View, kMaxOperands>;
using Clock = std::chrono::steady_clock;

/// Adds the time since `start` to `sum`.
void add_time(u64& sum, Clock::time_point start) {
  const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  sum += static_cast<u64>(passed.count());
}

Result<Executable> make_executable(const Plan& plan, const Target& target, BuildOutput output) {
  Result<Code> code = emit(plan, target);
  if (!code) return code.error();
  Result<CodeMemory> memory = output == BuildOutput::kExecutable ? CodeMemory::make(code->bytes)
                                                                 : CodeMemory::keep(code->bytes);
  if (!memory) return std::move(memory.error());
  Executable executable;
  executable.functions = std::move(code->functions);
  executable.code = std::move(*memory);
  executable.entry = code->entry;
  executable.scratch_bytes = plan.scratch_bytes();
  return executable;
}

/// Before the tree of a program that a budget left: how far from the cheapest it can be.
std::string unproven_line(i64 cost, i64 bound) {
  const i64 cycles = bound / kUnitsPerCycle;
  std::string line = "not proven optimal: a budget ended the search; no program costs less than " +
                     std::to_string(cycles) + " cycles";
  if (bound > 0) {
    const i64 permille =
        static_cast<i64>(1000 * (static_cast<double>(cost - bound) / static_cast<double>(bound)));
    line += ", this one " + std::to_string(permille / 10) + "." + std::to_string(permille % 10) +
            "% more";
  }
  return line + "\n";
}

/// Searches know the canonical Spec alone: what has no program is named as users write it, too.
Error with_text(Error error, const Statement& statement) {
  if (error.status == MORELLO_NO_IMPLEMENTATION)
    error.message = "\"" + print(statement) + "\": " + error.message;
  return error;
}

/// Operands as the user numbers them, in place of those of the canonical Spec.
void take_in_order(Plan& plan, const std::array<u8, kMaxOperands>& argument) {
  for (PlanFunction& function : plan.functions)
    for (Cursor& cursor : function.cursors)
      if (cursor.base == Cursor::Base::kOperand) cursor.value = argument[cursor.value];
}

/// The source of a move as the user has it. The Spec takes what is free to be dense; of weights of
/// which padding leaves a part, runs are apart.
void set_runs(Spec& move, const View& view) {
  Operand& x = move.operand[source_of(move)];
  const int count = x.layout.count();
  i64 run = 1;
  for (x.contig = 0; x.contig < count; x.contig++) {
    const u8 d = x.layout.dim[count - 1 - x.contig];
    const i64 stride = view.dim[d].stride[0];
    if (stride != run) {
      set_pitch(x, static_cast<u64>(stride) * size_of(x.dtype));
      break;
    }
    run *= move.size[d];
  }
  forget_pitch(x);
}

/// Builds one kernel: what its steps share.
class Builder {
 public:
  Builder(const Target& target, const SearchOptions& options, const Table* table,
          BuildOutput output, Plan* piece)
      : target_(target), options_(options), table_(table), output_(output), piece_(piece) {}

  Result<BuiltKernel> build(const Statement& statement, const Lowered& lowered);

 private:
  Result<Plan> plan(const ImplTree& tree, const Views& views);
  Result<Executable> compile(const Plan& plan);
  std::optional<Error> add_program(const Lowered& lowered);
  void add_operands(const Statement& statement, const Lowered& lowered,
                    const std::vector<PackMove>& packs);
  Result<const ImplTree*> solve_pack(const Spec& move);
  Result<Executable> make_pack(const Lowered& lowered, const PackMove& pack);

  const Target& target_;
  const SearchOptions& options_;
  const Table* table_;
  const BuildOutput output_;
  Plan* const piece_;
  Kernel kernel_;
  BuildReport report_;
  std::deque<std::pair<Spec, ImplTree>> packs_;  // moves so far
};

Result<Plan> Builder::plan(const ImplTree& tree, const Views& views) {
  const Clock::time_point start = Clock::now();
  Result<Plan> plan = make_plan(tree, views);
  add_time(report_.plan_nanoseconds, start);
  return plan;
}

Result<Executable> Builder::compile(const Plan& plan) {
  const Clock::time_point start = Clock::now();
  Result<Executable> executable = make_executable(plan, target_, output_);
  add_time(report_.emit_nanoseconds, start);
  return executable;
}

/// The kernel's own program, as far as it is to be made.
std::optional<Error> Builder::add_program(const Lowered& lowered) {
  Result<Plan> made = plan(report_.tree, lowered.view);
  if (!made) return std::move(made.error());
  take_in_order(*made, lowered.argument);
  report_.plan_text = print(*made);
  if (piece_ != nullptr) {
    *piece_ = std::move(*made);
    return std::nullopt;
  }
  Result<Executable> executable = compile(*made);
  if (!executable) return std::move(executable.error());
  kernel_.executable = std::move(*executable);
  return std::nullopt;
}

/// Weights of a graph are often of one shape: their packs are one program, and found once. What
/// runs once, beside kernels that run often, is worth no effort.
Result<const ImplTree*> Builder::solve_pack(const Spec& move) {
  for (const auto& [spec, tree] : packs_)
    if (spec == move) return &tree;
  SearchOptions options = options_;
  options.progress = nullptr;  // which is about the kernel's own program
  if (options.effort != kExactEffort) options.effort = kLeastEffort;
  SolveStats stats;
  Result<ImplTree> tree = solve(move, target_, options, table_, stats);
  accumulate(report_.solving, stats);
  if (!tree) return std::move(tree.error());
  return &packs_.emplace_back(move, std::move(*tree)).second;
}

/// The program that copies an operand from row-major to where the kernel expects it: a move like
/// any other, found in the same way.
Result<Executable> Builder::make_pack(const Lowered& lowered, const PackMove& pack) {
  Views views{};
  views[0] = bind_view(lowered.view[pack.operand], pack.spec, pack.binding);
  views[0].begin = lowered.view[pack.operand].begin;
  views[1] = dense_view(pack.spec, pack.spec.out());
  Spec move = pack.spec;
  set_runs(move, views[0]);
  const Result<const ImplTree*> tree = solve_pack(move);
  if (!tree) return tree.error();
  const Result<Plan> made = plan(**tree, views);
  return made ? compile(*made) : made.error();
}

void Builder::add_operands(const Statement& statement, const Lowered& lowered,
                           const std::vector<PackMove>& packs) {
  kernel_.operands.resize(lowered.spec.operand_count);
  kernel_.outputs = static_cast<u32>(output_count(statement));
  for (size_t o = 0; o < kernel_.operands.size(); o++) {
    const Tensor& tensor = statement.tensors[lowered.argument[o]];
    const u32 element = size_of(tensor.dtype);
    KernelOperand& operand = kernel_.operands[lowered.argument[o]];
    operand.bytes = lowered.bytes[o];
    operand.alignment = element;
    operand.shape = tensor.shape;
    // A free layout that left nothing to choose, such as that of a column, is row-major.
    operand.strides =
        tensor.kind == Tensor::Kind::kFree ? row_major_strides(tensor.shape) : tensor.strides;
  }
  for (const KernelOperand& operand : kernel_.operands) kernel_.checks.add(operand.alignment);
  for (const PackMove& pack : packs) {
    KernelOperand& operand = kernel_.operands[lowered.argument[pack.operand]];
    operand.bytes = dense_elements(lowered.spec, pack.placed) * operand.alignment;
  }
}

Result<BuiltKernel> Builder::build(const Statement& statement, const Lowered& lowered) {
  Result<ImplTree> solved = solve(lowered.spec, target_, options_, table_, report_.solving);
  if (!solved) return with_text(solved.error(), statement);
  const ImplTree* tree = &report_.tree;
  report_.tree = std::move(*solved);
  const SearchStats& search = report_.solving.search;
  kernel_.name = kernel_name(statement, target_);
  if (!search.optimal) report_.impl_text = unproven_line(tree->nodes[0].cost, search.bound);
  report_.impl_text += print(*tree);
  kernel_.target = target_.number;
  kernel_.spec = print(statement);
  kernel_.estimate = {tree->nodes[0].cost, search.bound, search.optimal};
  const std::vector<PackMove> packs = pack_moves(*tree);
  add_operands(statement, lowered, packs);
  if (output_ == BuildOutput::kProgram) return BuiltKernel{std::move(kernel_), std::move(report_)};
  if (std::optional<Error> error = add_program(lowered)) return std::move(*error);
  for (const PackMove& move : packs) {
    Result<Executable> pack = make_pack(lowered, move);
    if (!pack) return std::move(pack.error());
    kernel_.operands[lowered.argument[move.operand]].pack = std::move(*pack);
  }
  return BuiltKernel{std::move(kernel_), std::move(report_)};
}

void append_shape(std::string& name, const std::vector<i64>& shape) {
  for (size_t axis = 0; axis < shape.size(); axis++)
    name += (axis == 0 ? "_" : "x") + std::to_string(shape[axis]);
  if (shape.empty()) name += "_scalar";
}

void append_matmul(std::string& name, const Statement& s) {
  const std::vector<i64>& a = s.tensors.front().shape;
  const std::vector<i64>& c = s.tensors.back().shape;
  const size_t rank = c.size();
  i64 batch = 1;
  for (size_t axis = 0; axis + 2 < rank; axis++) batch *= c[axis];
  name += "matmul_";
  if (batch > 1) name += "b" + std::to_string(batch);
  name += "m" + std::to_string(c[rank - 2]) + "n" + std::to_string(c[rank - 1]) + "k" +
          std::to_string(a[a.size() - 1]);
}

/// "bmk_bkn_bmn_b2m4k8n16"
void append_einsum(std::string& name, const Statement& s) {
  std::string sizes;
  size_t tensor = 0, axis = 0;
  for (char c : s.subscripts) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ',' || c == '>') {
      name += '_';
      tensor++;
      axis = 0;
    }
    if (!is_letter) continue;
    name += c;
    const i64 size = s.tensors[tensor == 2 ? s.tensors.size() - 1 : tensor].shape[axis++];
    if (sizes.find(c) == std::string::npos) sizes += c + std::to_string(size);
  }
  name += "_" + sizes;
}

void append_head(std::string& name, const Statement& s) {
  using Head = Statement::Head;
  switch (s.head) {
    case Head::kMatmul:
      return append_matmul(name, s);
    case Head::kEinsum:
      name += "einsum_";
      return append_einsum(name, s);
    case Head::kUnary:
    case Head::kBinary:
    case Head::kTernary:
      name += name_of(s.op);
      break;
    case Head::kReduce:
      name += "reduce_" + std::string(name_of(s.op)) + "_axis" + std::to_string(s.axis);
      return append_shape(name, s.tensors.front().shape);
    case Head::kMove:
      name += "move";
      break;
    case Head::kTranspose:
      name += "transpose";
      break;
    case Head::kFill:
      name += "fill";
      break;
    case Head::kGraph:
      name += "graph";
      for (const Node& node : s.nodes)
        name += "_" + std::string(find_operation(node.operation, node.op)->name);
      break;
  }
  for (auto out = s.tensors.end() - output_count(s); out != s.tensors.end(); ++out)
    append_shape(name, out->shape);
}

}  // namespace

void accumulate(SolveStats& sum, const SolveStats& part) {
  sum.search.specs += part.search.specs;
  sum.search.states += part.search.states;
  sum.search.expanded += part.search.expanded;
  sum.search.previews += part.search.previews;
  sum.search.misfits += part.search.misfits;
  sum.search.advances += part.search.advances;
  sum.search.memo_hits += part.search.memo_hits;
  sum.search.borrowed += part.search.borrowed;
  sum.search.bytes = std::max(sum.search.bytes, part.search.bytes);
  sum.search.microseconds += part.search.microseconds;
  sum.lookup_nanoseconds += part.lookup_nanoseconds;
  sum.search_nanoseconds += part.search_nanoseconds;
}

Result<BuiltKernel> build_kernel(const Statement& statement, const Lowered& lowered,
                                 const Target& target, const SearchOptions& options,
                                 const Table* table, BuildOutput output, Plan* piece) {
  return Builder(target, options, table, output, piece).build(statement, lowered);
}

std::string kernel_name(const Statement& statement, const Target& target) {
  std::string name = "morello_";
  append_head(name, statement);
  for (const Step& step : statement.steps) name += "_" + std::string(name_of(step.op));
  return name + "_" + std::string(target.name);
}

}  // namespace morello
