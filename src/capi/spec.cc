// SPDX-License-Identifier: MIT
// Specs: parsing, printing, comparing, describing, and the reference evaluation.
#include "capi/spec.hh"

#include <algorithm>

#include "capi/operands.hh"
#include "capi/tensor.hh"
#include "impl/evaluate.hh"
#include "spec/roles.hh"

namespace morello {
namespace {

/// Two Specs are equal if they ask for the same computation on the same tensors, however they were
/// stated: a matmul may equal an einsum.
bool equal(const morello_spec& a, const morello_spec& b) noexcept {
  if (!(a.lowered.spec == b.lowered.spec) || a.statement.tensors != b.statement.tensors ||
      a.lowered.argument != b.lowered.argument)
    return false;
  if (a.sized.has_value() != b.sized.has_value() ||
      (a.sized && (a.sized->largest() != b.sized->largest() || a.sized->axes() != b.sized->axes())))
    return false;
  for (int o = 0; o < a.lowered.spec.operand_count; o++)
    if (a.lowered.view[o] != b.lowered.view[o]) return false;
  return true;
}

/// Of what equal() compares; views follow from the rest in all but contrived cases.
u64 hash_of(const morello_spec& spec) {
  u64 hash = morello::hash_of(spec.lowered.spec);
  const auto mix = [&](i64 value) {
    hash = (hash ^ static_cast<u64>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  if (spec.sized) mix(spec.sized->largest());
  for (const Tensor& tensor : spec.statement.tensors) {
    mix(static_cast<i64>(tensor.shape.size()));
    for (i64 size : tensor.shape) mix(size);
    for (i64 stride : tensor.strides) mix(stride);
  }
  return hash;
}

/// What is wrong with the pointers to the elements of all operands.
std::optional<Error> check_operands(const Statement& statement, void* const* operands) {
  if (auto e = check_list(operands)) return e;
  const auto count = static_cast<u32>(statement.tensors.size());
  for (u32 i = 0; i < count; i++) {
    const OperandName name{i, count, static_cast<u32>(output_count(statement))};
    if (auto e = check_pointer(name, operands[i], size_of(statement.tensors[i].dtype))) return e;
  }
  return std::nullopt;
}

/// The user's operands in the order of those of the canonical Spec.
std::array<void*, kMaxOperands> in_order(const Lowered& lowered, void* const* operands) {
  std::array<void*, kMaxOperands> ordered{};
  for (size_t o = 0; o < lowered.spec.operand_count; o++)
    ordered[o] = operands[lowered.argument[o]];
  return ordered;
}

/// The operand of the canonical Spec that an output is.
int operand_of(const morello_spec& spec, u32 output) {
  const size_t tensor =
      spec.statement.tensors.size() - static_cast<size_t>(output_count(spec.statement)) + output;
  size_t o = 0;
  while (spec.lowered.argument[o] != tensor) o++;
  return static_cast<int>(o);
}

/// The first stage of a chain runs over all dimensions, whatever its operands have; a stage of a
/// graph over those that it reads or combines.
double flops(const Spec& s) noexcept {
  const bool chain = is_chain(s);
  double sum = 0;
  for (int i = 0; i < s.stage_count; i++) {
    const Stage& stage = s.stage[i];
    DimMask dims = static_cast<DimMask>(dims_of(s, value_of(i)) | stage.reduce);
    if (chain) dims = static_cast<DimMask>(i == 0 ? s.all_dims() : s.all_dims() & ~s.reduced());
    double points = 1;
    for (int d = 0; d < s.rank; d++)
      if (has_dim(dims, d)) points *= s.size[d];
    if (stage.op == Op::kMulAdd) sum += 2 * points;
    if (elementwise_inputs(stage.op) > 0) sum += points;
  }
  return sum;
}

}  // namespace

Result<Done> make_spec(Statement statement, morello_spec** spec, std::optional<Sized> sized) {
  Result<Lowered> lowered = lower(statement);
  if (!lowered) return std::move(lowered.error());
  auto made = std::make_unique<morello_spec>();
  made->text = sized ? sized->text() : print(statement);
  made->sized = std::move(sized);
  made->statement = std::move(statement);
  made->lowered = *lowered;
  made->hash = hash_of(*made);
  *spec = made.release();
  return Done{};
}

}  // namespace morello

using namespace morello;

morello_status morello_spec_parse(const morello_context* context, const char* text,
                                  morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"text", text}, {"spec", spec}})) return *e;
    std::optional<Sized> sized;
    if (has_run_time_size(text)) {
      Result<Sized> parsed = Sized::parse(text);
      if (!parsed) return std::move(parsed.error());
      sized = std::move(*parsed);
    }
    Result<Statement> statement = sized ? sized->at(sized->largest()) : parse(text);
    if (!statement) return std::move(statement.error());
    Result<Done> made = make_spec(std::move(*statement), spec, std::move(sized));
    // What only lowering finds concerns the whole text.
    if (!made && made.error().line == 0) made.error().line = made.error().column = 1;
    return made;
  });
}

int64_t morello_spec_largest_size(const morello_spec* spec) {
  return spec == nullptr || !spec->sized ? 0 : spec->sized->largest();
}

morello_status morello_spec_at_size(const morello_spec* spec, int64_t size, morello_spec** fixed,
                                    morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"spec", spec}, {"fixed", fixed}})) return *e;
    if (!spec->sized) return invalid_argument("the Spec has no run-time size");
    if (auto e = check_size(size, spec->sized->largest())) return *e;
    Result<Statement> statement = spec->sized->at(size);
    if (!statement) return std::move(statement.error());
    return make_spec(std::move(*statement), fixed);
  });
}

size_t morello_spec_print(const morello_spec* spec, char* buffer, size_t size) {
  return copy_text(spec == nullptr ? std::string_view() : spec->text, buffer, size);
}

int morello_spec_equal(const morello_spec* a, const morello_spec* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return equal(*a, *b);
}

uint64_t morello_spec_hash(const morello_spec* spec) { return spec == nullptr ? 0 : spec->hash; }

uint32_t morello_spec_operand_count(const morello_spec* spec) {
  return spec == nullptr ? 0 : spec->lowered.spec.operand_count;
}

morello_status morello_spec_operand(const morello_spec* spec, uint32_t index,
                                    morello_tensor* tensor) {
  return guarded_status([&] {
    if (spec == nullptr || tensor == nullptr || index >= spec->statement.tensors.size())
      return MORELLO_INVALID_ARGUMENT;
    *tensor = from_tensor(spec->statement.tensors[index]);
    return MORELLO_OK;
  });
}

uint32_t morello_spec_output_count(const morello_spec* spec) {
  return spec == nullptr ? 0 : static_cast<uint32_t>(output_count(spec->statement));
}

double morello_spec_flops(const morello_spec* spec) {
  return spec == nullptr ? 0 : flops(spec->lowered.spec);
}

morello_status morello_spec_evaluate(const morello_spec* spec, void* const* operands,
                                     morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"spec", spec}})) return *e;
    if (auto e = check_operands(spec->statement, operands)) return *e;
    evaluate(spec->lowered.spec, spec->lowered.view, in_order(spec->lowered, operands).data());
    return Done{};
  });
}

static morello_status evaluate_output(const morello_spec* spec, uint32_t output,
                                      void* const* operands, const int64_t* elements, size_t count,
                                      double* values, morello_error** err) noexcept {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"spec", spec}})) return *e;
    const auto outputs = static_cast<u32>(output_count(spec->statement));
    if (output >= outputs)
      return invalid_argument("argument `output` is " + std::to_string(output) +
                              "; the number of outputs is " + std::to_string(outputs));
    if (auto e = check_operands(spec->statement, operands)) return *e;
    if (count == 0) return Done{};
    if (auto e = find_null({{"elements", elements}, {"values", values}})) return *e;
    const size_t good = evaluate_at(spec->lowered.spec, spec->lowered.view,
                                    in_order(spec->lowered, operands).data(),
                                    operand_of(*spec, output), {elements, count}, values);
    if (good == count) return Done{};
    return invalid_argument("elements[" + std::to_string(good) + "] is " +
                            std::to_string(elements[good]) +
                            "; no element of the output has that offset");
  });
}

morello_status morello_spec_evaluate_at(const morello_spec* spec, void* const* operands,
                                        const int64_t* elements, size_t count, double* values,
                                        morello_error** err) {
  return evaluate_output(spec, 0, operands, elements, count, values, err);
}

morello_status morello_spec_evaluate_output_at(const morello_spec* spec, uint32_t output,
                                               void* const* operands, const int64_t* elements,
                                               size_t count, double* values, morello_error** err) {
  return evaluate_output(spec, output, operands, elements, count, values, err);
}

morello_spec* morello_spec_retain(const morello_spec* spec) { return retain(spec); }
void morello_spec_release(morello_spec* spec) { release(spec); }
