// SPDX-License-Identifier: MIT
#include "kernel_case.hh"

#include <cstring>
#include <limits>

#include "abi_call.hh"
#include "impl/interpret.hh"
#include "rounds.hh"
#include "search/synthesize.hh"

namespace morello::testing {
namespace {

std::string take(morello_error* error) {
  ErrorPtr own(error);
  return std::string(morello_status_string(morello_error_status(error))) + ": " +
         morello_error_message(error);
}

std::string text_of(size_t (*print)(const morello_kernel*, char*, size_t),
                    const morello_kernel* kernel) {
  std::string text(print(kernel, nullptr, 0), ' ');
  print(kernel, text.data(), text.size() + 1);
  return text;
}

}  // namespace

std::string repeat_command(const KernelRequest& r) {
  std::string command =
      "repeat: MORELLO_TEST_SPEC='" + r.text + "' MORELLO_TEST_ISA=" + isa_text(r.isa);
  command += " MORELLO_TEST_SEED=" + std::to_string(r.seed);
  if (r.threads > 1) command += " MORELLO_TEST_THREADS=" + std::to_string(r.threads);
  if (r.values != Values::kUniform)
    command += " MORELLO_TEST_VALUES=" + std::to_string(static_cast<int>(r.values));
  return command + " tests/kernel/morello-kernel --test-case='one kernel'";
}

KernelCase::KernelCase(const KernelRequest& request) : request_(request) { wrong_ = make(); }

std::string KernelCase::make() {
  morello_error* error = nullptr;
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, &error) != MORELLO_OK) return take(error);
  context_.reset(context);
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, request_.text.c_str(), &spec, &error) != MORELLO_OK)
    return take(error);
  spec_.reset(spec);
  Result<Statement> statement = parse(request_.text);
  if (!statement) return statement.error().message;
  Result<Lowered> lowered = lower(*statement);
  if (!lowered) return lowered.error().message;
  lowered_ = *lowered;

  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = request_.isa;
  options.threads = request_.threads;
  options.memory_budget = request_.memory_budget;
  morello_kernel* kernel = nullptr;
  morello_status status = morello_synthesize(context, spec, &options, &kernel, &error);
  skipped_ = status == MORELLO_BUDGET_EXCEEDED;
  if (status != MORELLO_OK) return take(error);
  kernel_.reset(kernel);
  return make_trial();
}

std::string KernelCase::make_trial() {
  const Spec& spec = lowered_.spec;
  std::mt19937_64 random(request_.seed);
  trial_.operand_count = spec.operand_count;
  trial_.dtype = spec.out().dtype;
  std::array<const void*, kMaxOperands> pointers{};
  for (int o = 0; o < spec.operand_count; o++) {
    trial_.data[o].resize(lowered_.bytes[o]);
    pointers[o] = trial_.data[o].data();
  }
  fill(trial_, spec, request_.values, random);
  if (spec.out().access == Access::kOut)  // NaN, or all bits set
    std::fill(trial_.output().begin(), trial_.output().end(), '\xff');
  trial_.expected = expect(spec, lowered_.view, pointers.data(),
                           denormals_of(*fixed_target(static_cast<Isa>(request_.isa))));
  std::string wrong = check_evaluate(trial_.data);
  if (!wrong.empty()) return "morello_spec_evaluate: " + wrong;
  for (int o = 0; o < spec.operand_count; o++) {
    if (spec.operand[o].free_layout && wrong.empty()) wrong = pack(o);
    size_t bytes = morello_kernel_operand_size(kernel_.get(), static_cast<u32>(o));
    if (bytes != trial_.data[o].size())
      return "operand " + std::to_string(o) + " should have " + std::to_string(bytes) + " bytes";
  }
  return wrong;
}

/// The reference that users have agrees with ours, and leaves the inputs alone.
std::string KernelCase::check_evaluate(std::array<Bytes, kMaxOperands> data) const {
  std::array<void*, kMaxOperands> pointers{};
  for (int o = 0; o < trial_.operand_count; o++) pointers[o] = data[o].data();
  morello_error* error = nullptr;
  if (morello_spec_evaluate(spec_.get(), pointers.data(), &error) != MORELLO_OK) return take(error);
  int out = trial_.operand_count - 1;
  for (int o = 0; o < out; o++)
    if (std::memcmp(data[o].data(), trial_.data[o].data(), data[o].size()) != 0)
      return "input " + std::to_string(o) + " was changed";
  return compare(trial_.expected, trial_.dtype, data[out].data());
}

/// Replaces the data of an operand whose layout was free by its packed form.
std::string KernelCase::pack(int operand) {
  size_t bytes = morello_kernel_operand_size(kernel_.get(), static_cast<u32>(operand));
  Guarded from(trial_.data[operand].size(), Guarded::Side::kEnd);
  Guarded to(bytes, Guarded::Side::kEnd);
  std::memcpy(from.data(), trial_.data[operand].data(), from.size());
  struct Job {
    const morello_kernel* kernel;
    int operand;
    void *from, *to;
    morello_status status;
  } job{kernel_.get(), operand, from.data(), to.data(), MORELLO_OK};
  Crash crash = catch_crash(
      [](void* p) {
        Job* j = static_cast<Job*>(p);
        j->status = morello_kernel_pack(j->kernel, j->operand, j->from, j->to);
      },
      &job);
  if (crash.signal) return "packing operand " + std::to_string(operand) + " crashed";
  if (job.status != MORELLO_OK || !from.intact() || !to.intact())
    return "packing operand " + std::to_string(operand) + " failed or wrote outside";
  const char* packed = static_cast<const char*>(to.data());
  trial_.data[operand].assign(packed, packed + bytes);
  return "";
}

Call KernelCase::call(const morello_executor* executor) const {
  Call c;
  c.function = morello_kernel_function(kernel());
  c.scratch_bytes = morello_kernel_scratch_size(kernel());
  c.executor = executor;
  return c;
}

std::string KernelCase::check_runs(const morello_executor* executor) const {
  Call direct = call(executor), checked = direct;
  checked.kernel = kernel();
  Bytes first, second;
  std::string wrong = run(trial_, direct, Guarded::Side::kEnd, &first);
  if (!wrong.empty()) return "operands against the page after them: " + wrong;
  wrong = run(trial_, checked, Guarded::Side::kStart, &second);
  if (!wrong.empty()) return "operands against the page before them: " + wrong;
  if (first != second) return "two runs differ";
  return "";
}

std::string KernelCase::check_tree() const {
  Target target =
      with_machine(*fixed_target(static_cast<Isa>(request_.isa)), 0, 0, request_.threads);
  SearchOptions options;
  options.threads = request_.threads;
  options.memory_budget_bytes = request_.memory_budget;
  Result<ImplTree> tree = synthesize(lowered_.spec, target, options, nullptr);
  if (!tree) return "search: " + tree.error().message;
  std::string wrong = validate(*tree);
  if (!wrong.empty()) return "invalid Impl tree: " + wrong;
  std::string text = text_of(morello_kernel_print, kernel());
  if (text.starts_with("not proven optimal")) text.erase(0, text.find('\n') + 1);
  if (print(*tree) != text) return "two searches found different programs:\n" + print(*tree);
  auto data = trial_.data;
  std::vector<OperandMemory> memory;
  for (int o = 0; o < trial_.operand_count; o++)
    memory.push_back({data[o].data(), data[o].size() / size_of(lowered_.spec.operand[o].dtype)});
  Result<InterpretStats> stats = interpret(*tree, lowered_.view, memory);
  if (!stats) return "interpreter: " + stats.error().message;
  wrong = compare(trial_.expected, trial_.dtype, data[trial_.operand_count - 1].data());
  return wrong.empty() ? "" : "interpreter: " + wrong;
}

Outcome check_kernel(const KernelRequest& request, bool with_tree, std::string& wrong) {
  set_crash_note(repeat_command(request));
  KernelCase c(request);
  if (c.skipped()) return Outcome::kSkipped;
  wrong = c.wrong();
  if (wrong.empty()) wrong = c.check_runs();
  if (wrong.empty() && with_tree) wrong = c.check_tree();
  if (wrong.empty()) return Outcome::kRight;
  wrong += '\n' + repeat_command(request);
  if (c.kernel())
    wrong += '\n' + text_of(morello_kernel_print, c.kernel()) +
             text_of(morello_kernel_print_plan, c.kernel());
  return Outcome::kWrong;
}

std::string check_emission(const std::string& text, morello_isa isa) {
  morello_error* error = nullptr;
  morello_context* context = nullptr;
  if (morello_context_create(nullptr, &context, &error) != MORELLO_OK) return take(error);
  const ContextPtr kept_context(context);
  morello_spec* spec = nullptr;
  if (morello_spec_parse(context, text.c_str(), &spec, &error) != MORELLO_OK) return take(error);
  const SpecPtr kept_spec(spec);
  morello_options options;
  morello_options_init(&options, sizeof options);
  options.target = isa;
  options.effort = MORELLO_EFFORT_QUICK;
  options.code_only = 1;
  morello_kernel* kernel = nullptr;
  if (morello_synthesize(context, spec, &options, &kernel, &error) != MORELLO_OK)
    return take(error);
  const KernelPtr kept_kernel(kernel);
  return "";
}

}  // namespace morello::testing
