// SPDX-License-Identifier: MIT
// Kernels with a run-time size: every size up to the bound, with operands of exactly that size
// against inaccessible pages.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "../support/graph_reference.hh"
#include "../support/random_statement.hh"
#include "../support/reference.hh"
#include "graph_case.hh"
#include "kernel_case.hh"
#include "rounds.hh"
#include "spec/check.hh"
#include "spec/sized.hh"

namespace morello {
namespace {

using namespace testing;

std::string take(morello_error* error) {
  const ErrorPtr own(error);
  return error ? morello_error_message(error) : "no memory for an error";
}

struct SizedCase {
  ContextPtr context;
  SpecPtr spec;
  KernelPtr kernel;

  std::string make(const std::string& text, morello_isa isa, u32 threads) {
    morello_error* error = nullptr;
    morello_context* c = nullptr;
    morello_spec* s = nullptr;
    morello_kernel* k = nullptr;
    if (morello_context_create(nullptr, &c, &error) != MORELLO_OK) return take(error);
    context.reset(c);
    if (morello_spec_parse(c, text.c_str(), &s, &error) != MORELLO_OK) return take(error);
    spec.reset(s);
    morello_options options = default_options();
    options.target = isa;
    options.threads = threads;
    options.effort = MORELLO_EFFORT_QUICK;
    if (morello_synthesize(c, s, &options, &k, &error) != MORELLO_OK) return take(error);
    kernel.reset(k);
    return "";
  }
};

/// Values, and what one run of this size must make of them.
std::string make_trial(const Statement& s, const SizedCase& c, u64 seed, morello_isa isa,
                       Trial& trial) {
  const Result<Lowered> lowered = lower(s);
  if (!lowered) return lowered.error().message;
  std::mt19937_64 random(seed);
  trial.operand_count = static_cast<int>(s.tensors.size());
  trial.dtype = s.tensors.back().dtype;
  Trial canonical;
  canonical.operand_count = trial.operand_count;
  for (int o = 0; o < trial.operand_count; o++) canonical.data[o].resize(lowered->bytes[o]);
  fill(canonical, lowered->spec, Values::kUniform, random);
  for (int o = 0; o < trial.operand_count; o++)
    if (lowered->spec.operand[o].access == Access::kOut)
      std::fill(canonical.data[o].begin(), canonical.data[o].end(), '\xff');
  for (int o = 0; o < trial.operand_count; o++)
    trial.data[lowered->argument[o]] = canonical.data[o];
  if (s.head == Statement::Head::kGraph) {
    const std::vector<std::vector<char>> data(trial.data.begin(),
                                              trial.data.begin() + trial.operand_count);
    double greatest = 1;
    const std::vector<Array> results = graph_results_of(s, data, &greatest);
    for (size_t o = 0; o < results.size(); o++) {
      const size_t tensor = s.tensors.size() - results.size() + o;
      const std::vector<i64> offsets = offsets_of(s.tensors[tensor]);
      std::vector<Expected> expected;
      for (size_t i = 0; i < offsets.size(); i++)
        expected.push_back({offsets[i], results[o].at[i], greatest * 1e-5});
      if (o + 1 == results.size())
        trial.expected = std::move(expected);
      else
        trial.earlier.push_back(
            {static_cast<int>(tensor), s.tensors[tensor].dtype, std::move(expected)});
    }
  } else {
    std::array<const void*, kMaxOperands> pointers{};
    for (int o = 0; o < trial.operand_count; o++) pointers[o] = canonical.data[o].data();
    trial.expected = expect(lowered->spec, lowered->view, pointers.data(),
                            denormals_of(*fixed_target(static_cast<Isa>(isa))));
  }
  for (int o = 0; o < trial.operand_count; o++) {
    if (s.tensors[o].kind != Tensor::Kind::kFree) continue;
    Bytes packed(morello_kernel_operand_size(c.kernel.get(), static_cast<u32>(o)));
    if (morello_kernel_pack(c.kernel.get(), static_cast<u32>(o), trial.data[o].data(),
                            packed.data()) != MORELLO_OK)
      return "cannot pack";
    trial.data[o] = std::move(packed);
  }
  return "";
}

/// "" if all sizes, or every `step`-th and the largest, are right.
std::string wrong(const std::string& text, morello_isa isa, u64 seed, u32 threads = 1,
                  i64 step = 1) {
  SizedCase c;
  if (std::string bad = c.make(text, isa, threads); !bad.empty()) return text + ": " + bad;
  const Result<Sized> sized = Sized::parse(text);
  if (!sized) return text + ": " + sized.error().message;
  if (morello_kernel_largest_size(c.kernel.get()) != sized->largest()) return "another bound";
  ReverseExecutor reverse;
  Call call;
  call.function = reinterpret_cast<morello_kernel_fn>(
      reinterpret_cast<void*>(morello_kernel_sized_function(c.kernel.get())));
  call.scratch_bytes = morello_kernel_scratch_size(c.kernel.get());
  call.executor = threads > 1 ? reverse.get() : nullptr;
  for (i64 size = 1; size <= sized->largest();
       size = size == sized->largest() ? size + 1 : std::min(size + step, sized->largest())) {
    const Result<Statement> s = sized->at(size);
    if (!s) return s.error().message;
    Trial trial;
    std::string bad = make_trial(*s, c, seed, isa, trial);
    call.size = size;
    call.kernel = nullptr;
    if (bad.empty()) bad = run(trial, call, Guarded::Side::kEnd);
    call.kernel = c.kernel.get();
    if (bad.empty()) bad = run(trial, call, Guarded::Side::kStart);
    bad += reverse.wrong();
    if (!bad.empty())
      return text + ", " + isa_text(isa) + ", size " + std::to_string(size) + ": " + bad + "\n" +
             text_of(morello_kernel_print, static_cast<const morello_kernel*>(c.kernel.get()));
  }
  return "";
}

/// Makes run-time sizes of the axes of one dimension of the output, the outermost or any. "" if
/// there is none.
std::string with_run_time_size(const Statement& s, std::mt19937_64& random) {
  Space space;
  if (check(s, space)) return "";
  const std::vector<int>& out = space.axes[s.tensors.size() - 1];
  if (out.empty()) return "";
  const int dim = out[random() % 4 == 0 ? random() % out.size() : 0];
  if (dim == kBroadcast || space.size[dim] < 2) return "";
  const std::string text = print(s);
  std::string made;
  size_t tensor = 0, axis = 0;
  bool in_shape = false, first = true;
  for (size_t at = 0; at < text.size(); at++) {
    const char c = text[at];
    const bool number = c >= '0' && c <= '9';
    if (c == '[') in_shape = true, axis = 0;
    if (c == ']') in_shape = false, tensor++;
    if (c == ',' && in_shape) axis++;
    if (!in_shape || !number || space.axes[tensor][axis] != dim) {
      made += c;
      continue;
    }
    while (text[at + 1] >= '0' && text[at + 1] <= '9') at++;
    made += first ? "?<=" + std::to_string(space.size[dim]) : "?";
    first = false;
  }
  return made;
}

TEST_SUITE_BEGIN("kernel");

TEST_CASE("every run-time size") {
  const std::string texts[] = {
      "matmul f32[?<=40,19] f32[19,33] -> f32[?,33]",
      "matmul f32[?<=150,48] f32[48,64] + f32[64] -> relu -> f32[?,64]",
      "matmul f32[?<=30,16] f32[16,40]{*} -> f32[?,40]",
      "matmul f32[?<=30,16] f32[16,40]{0,1} += f32[?,40]",
      "matmul f32[3,17] f32[17,?<=20]{strides=31,1} -> f32[3,?]{strides=29,1}",
      "matmul f32[?<=2,5] f32[5,7]",
      "matmul bf16[?<=21,16] bf16[16,32]{*} -> bf16[?,32]",
      "matmul u8[?<=21,16] i8[16,32] -> i32[?,32]",
      "einsum \"bmk,bkn->bmn\" f32[?<=9,4,8] f32[?,8,16] -> f32[?,4,16]",
      "relu f32[?<=37,5] -> f32[?,5]",
      "add f32[?<=37,5] f32[5] -> f32[?,5]",
      "add f32[?<=9,5] f32[?,5]{strides=0,1} -> f32[?,5]",
      "exp f32[?<=100] -> f32[?]",
      "reduce_sum f32[?<=33,19] axis=1 -> f32[?]",
      "fill 3 -> f32[?<=19,3]",
      "transpose f32[?<=12,5] -> f32[5,?]{strides=20,1}",
      "softmax f32[?<=20,37] axis=1",
      "layernorm f32[?<=17,33] f32[33] f32[33] axis=1",
      "attention q f32[?<=9,8] k f32[17,8] v f32[17,12]",
      "matmul x f32[?<=13,19] f32[19,33]{*} -> relu -> matmul f32[33,9]{*} + f32[9]",
      "conv2d f32[?<=5,3,9,9] f32[4,3,3,3] padding=1,1",
      "x = relu f32[?<=7,12]; reshape x shape=?,3,4",
      "x f32[?<=17,33]; s = reduce_sum x axis=1; m = reduce_max x axis=1; m, s",
      "y = matmul f32[?<=9,19] f32[19,33]{*}; z = relu y; z -> f32[?,33], y -> f32[?,33]",
  };
  for (morello_isa isa : usable_isas())
    for (const std::string& text : texts) CHECK(wrong(text, isa, 1) == "");
}

TEST_CASE("run-time sizes with threads") {
  for (morello_isa isa : usable_isas()) {
    CHECK(wrong("matmul f32[?<=96,64] f32[64,256] -> f32[?,256]", isa, 1, 3, 7) == "");
    CHECK(wrong("softmax f32[?<=64,100] axis=1", isa, 1, 4, 5) == "");
  }
}

TEST_CASE("random statements with a run-time size") {
  RandomStatementOptions options;
  options.max_elements = 1 << 11;
  options.max_flops = 1 << 14;
  u64 some = 0;
  const std::vector<u64> all = seeds(400);
  for (morello_isa isa : usable_isas())
    for (u64 seed : all) {
      std::mt19937_64 random(seed);
      options.free_layouts = seed % 3 == 0;
      options.other_dtypes = seed % 5 == 0;
      const Statement statement = random_statement(random, options);
      const std::string text = with_run_time_size(statement, random);
      if (text.find('?') == std::string::npos || !Sized::parse(text)) continue;
      some++;
      set_note("random statements with a run-time size", seed, isa);
      REQUIRE_MESSAGE(wrong(text, isa, seed) == "",
                      repeat_command("random statements with a run-time size", seed, isa));
    }
  CHECK(10 * some >= all.size());
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
