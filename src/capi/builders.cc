// SPDX-License-Identifier: MIT
// The builder calls: Specs without text. Each fills a Statement; lower() checks it.
#include <algorithm>
#include <limits>

#include "capi/spec.hh"
#include "capi/tensor.hh"

using namespace morello;

namespace {

/// A tensor argument and the name that messages give it.
struct TensorArgument {
  const char* name;
  const morello_tensor* tensor;
};

std::optional<Error> add_tensors(Statement& statement,
                                 std::initializer_list<TensorArgument> arguments) {
  for (const TensorArgument& a : arguments) {
    Result<Tensor> tensor = to_tensor(a.tensor, a.name);
    if (!tensor) return std::move(tensor.error());
    statement.tensors.push_back(std::move(*tensor));
  }
  return std::nullopt;
}

/// The common part of the builders: NULL checks, tensors, lowering.
Result<Done> build(const morello_context* context, Statement statement,
                   std::initializer_list<TensorArgument> arguments, morello_spec** spec) {
  if (auto e = find_null({{"context", context}, {"spec", spec}})) return *e;
  for (const TensorArgument& a : arguments)
    if (auto e = find_null({{a.name, a.tensor}})) return *e;
  if (auto e = add_tensors(statement, arguments)) return *e;
  return make_spec(std::move(statement), spec);
}

/// The operation of that number, if it is one that `fits`; else an error that lists those that do.
Result<Op> to_op(int32_t number, bool (*fits)(Op)) {
  std::string valid;
  for (const Elementwise& e : kElementwise) {
    const auto known = static_cast<int32_t>(e.op);
    if (!fits(e.op)) continue;
    if (known == number) return e.op;
    valid +=
        (valid.empty() ? "" : ", ") + std::string(e.number) + " (" + std::to_string(known) + ")";
  }
  return invalid_argument("argument `op` is " + std::to_string(number) + "; valid are " + valid);
}

/// Numbers from the least to the greatest of a binary operation count as binary: an unknown one
/// among them is refused with those that its other arguments fit.
constexpr bool is_binary_number(int32_t op) {
  const auto number = [](const Elementwise& e) { return static_cast<int32_t>(e.op); };
  int32_t least = std::numeric_limits<int32_t>::max(), greatest = 0;
  for (const Elementwise& e : kElementwise) {
    if (e.inputs != 2) continue;
    least = std::min(least, number(e));
    greatest = std::max(greatest, number(e));
  }
  for (const Elementwise& e : kElementwise)
    if (number(e) == op) return e.inputs == 2;
  return least <= op && op <= greatest;
}

}  // namespace

morello_status morello_spec_matmul(const morello_context* context, const morello_tensor* a,
                                   const morello_tensor* b, const morello_tensor* out,
                                   int accumulate, morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    Statement s;
    s.head = Statement::Head::kMatmul;
    s.accumulate = accumulate != 0;
    return build(context, std::move(s), {{"a", a}, {"b", b}, {"out", out}}, spec);
  });
}

morello_status morello_spec_einsum(const morello_context* context, const char* subscripts,
                                   const morello_tensor* a, const morello_tensor* b,
                                   const morello_tensor* out, int accumulate, morello_spec** spec,
                                   morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"subscripts", subscripts}})) return *e;
    Statement s;
    s.head = Statement::Head::kEinsum;
    s.subscripts = subscripts;
    s.accumulate = accumulate != 0;
    return build(context, std::move(s), {{"a", a}, {"b", b}, {"out", out}}, spec);
  });
}

morello_status morello_spec_unary(const morello_context* context, int32_t op,
                                  const morello_tensor* in, const morello_tensor* out,
                                  morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    const Result<Op> known = to_op(op, is_unary);
    if (!known) return known.error();
    Statement s;
    s.head = Statement::Head::kUnary;
    s.op = *known;
    return build(context, std::move(s), {{"in", in}, {"out", out}}, spec);
  });
}

morello_status morello_spec_binary(const morello_context* context, int32_t op,
                                   const morello_tensor* a, const morello_tensor* b,
                                   const morello_tensor* out, morello_spec** spec,
                                   morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    const Result<Op> known = to_op(op, is_binary);
    if (!known) return known.error();
    Statement s;
    s.head = Statement::Head::kBinary;
    s.op = *known;
    return build(context, std::move(s), {{"a", a}, {"b", b}, {"out", out}}, spec);
  });
}

morello_status morello_spec_reduce(const morello_context* context, int32_t op, uint32_t axis,
                                   const morello_tensor* in, const morello_tensor* out,
                                   int accumulate, morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    const Result<Op> known = to_op(op, can_reduce);
    if (!known) return known.error();
    Statement s;
    s.head = Statement::Head::kReduce;
    s.op = *known;
    s.axis = axis;
    s.accumulate = accumulate != 0;
    return build(context, std::move(s), {{"in", in}, {"out", out}}, spec);
  });
}

morello_status morello_spec_move(const morello_context* context, const morello_tensor* in,
                                 const morello_tensor* out, morello_spec** spec,
                                 morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    Statement s;
    s.head = Statement::Head::kMove;
    return build(context, std::move(s), {{"in", in}, {"out", out}}, spec);
  });
}

morello_status morello_spec_transpose(const morello_context* context, const uint32_t* permutation,
                                      const morello_tensor* in, const morello_tensor* out,
                                      morello_spec** spec, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"permutation", permutation}, {"in", in}, {"out", out}})) return *e;
    Statement s;
    s.head = Statement::Head::kTranspose;
    // A rank out of range is refused with the tensors; until then, read no more than there may be.
    if (in->rank <= MORELLO_MAX_RANK) s.permutation.assign(permutation, permutation + in->rank);
    return build(context, std::move(s), {{"in", in}, {"out", out}}, spec);
  });
}

morello_status morello_spec_fill(const morello_context* context, float value,
                                 const morello_tensor* out, morello_spec** spec,
                                 morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    Statement s;
    s.head = Statement::Head::kFill;
    s.fill_value = value;
    return build(context, std::move(s), {{"out", out}}, spec);
  });
}

morello_status morello_spec_append(const morello_context* context, const morello_spec* spec,
                                   int32_t op, const morello_tensor* operand,
                                   morello_spec** appended, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"spec", spec}, {"appended", appended}}))
      return *e;
    const bool binary = is_binary_number(op);
    const Result<Op> known = to_op(op, binary ? is_binary : is_unary);
    if (!known) return known.error();
    if (binary && operand == nullptr)
      return invalid_argument(
          "argument `operand` is NULL; a binary operation needs its second input");
    if (!binary && operand != nullptr)
      return invalid_argument(
          "argument `operand` must be NULL: a unary operation has no other input");
    if (spec->sized)
      return Error{MORELLO_UNSUPPORTED,
                   "nothing can be appended to a Spec with a run-time size; add it to the text"};
    if (!spec->statement.outputs.empty())
      return Error{MORELLO_UNSUPPORTED,
                   "nothing can be appended to a Spec with several outputs; add it to the text"};
    Statement s = spec->statement;
    Step step{*known, -1};
    if (s.head == Statement::Head::kGraph) {
      Node node;
      node.operation = binary ? Operation::kBinary : Operation::kUnary;
      node.op = *known;
      node.inputs = {{Node::Input::Kind::kNode, static_cast<int>(s.nodes.size()) - 1, 0}};
      if (binary)
        node.inputs.push_back(
            {Node::Input::Kind::kTensor, static_cast<int>(s.tensors.size()) - 1, 0});
      s.nodes.push_back(std::move(node));
    }
    if (operand != nullptr) {
      Result<Tensor> tensor = to_tensor(operand, "operand");
      if (!tensor) return std::move(tensor.error());
      step.operand = static_cast<int>(s.tensors.size()) - 1;  // just before the output
      s.tensors.insert(s.tensors.end() - 1, std::move(*tensor));
    }
    if (s.head != Statement::Head::kGraph) s.steps.push_back(step);
    return make_spec(std::move(s), appended);
  });
}
