// SPDX-License-Identifier: MIT
// Specs through the C interface: text and builders give equal ones; asking, comparing, evaluating.
#include <cmath>
#include <limits>

#include "handles.hh"

namespace morello::testing {
namespace {

using Build = morello_status (*)(morello_context*, morello_spec**, morello_error**);

struct BuiltAndText {
  std::string text;
  Build build;
};

const morello_tensor kM4K8 = f32({4, 8});
const morello_tensor kK8N16 = f32({8, 16});
const morello_tensor kM4N16 = f32({4, 16});

/// Each builder call, and the text that must mean the same.
const BuiltAndText kPairs[] = {
    {"matmul f32[4,8] f32[8,16] -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       return morello_spec_matmul(c, &kM4K8, &kK8N16, &kM4N16, 0, s, e);
     }},
    {"matmul f32[4,8] f32[8,16] += f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       return morello_spec_matmul(c, &kM4K8, &kK8N16, &kM4N16, 1, s, e);
     }},
    {"matmul f32[4,8] f32[8,16]{0,1} -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor b = f32({8, 16}, MORELLO_LAYOUT_COLUMN_MAJOR);
       return morello_spec_matmul(c, &kM4K8, &b, &kM4N16, 0, s, e);
     }},
    {"matmul f32[4,8] f32[8,16]{*} -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor b = f32({8, 16}, MORELLO_LAYOUT_FREE);
       return morello_spec_matmul(c, &kM4K8, &b, &kM4N16, 0, s, e);
     }},
    {"matmul f32[3,4,8] f32[3,8,16] -> f32[3,4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor a = f32({3, 4, 8}), b = f32({3, 8, 16}), out = f32({3, 4, 16});
       return morello_spec_matmul(c, &a, &b, &out, 0, s, e);
     }},
    {"einsum \"mk,nk->mn\" f32[4,8] f32[16,8] -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor b = f32({16, 8});
       return morello_spec_einsum(c, "mk,nk->mn", &kM4K8, &b, &kM4N16, 0, s, e);
     }},
    {"relu f32[4,16] -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       return morello_spec_unary(c, MORELLO_OP_RELU, &kM4N16, &kM4N16, s, e);
     }},
    {"recip f32[] -> f32[]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor scalar = f32({});
       return morello_spec_unary(c, MORELLO_OP_RECIP, &scalar, &scalar, s, e);
     }},
    {"sub f32[4,16] f32[16] -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor row = f32({16});
       return morello_spec_binary(c, MORELLO_OP_SUB, &kM4N16, &row, &kM4N16, s, e);
     }},
    {"reduce_max f32[4,16] axis=1 -> f32[4]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor out = f32({4});
       return morello_spec_reduce(c, MORELLO_OP_MAX, 1, &kM4N16, &out, 0, s, e);
     }},
    {"reduce_sum f32[4,16] axis=0 += f32[16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor out = f32({16});
       return morello_spec_reduce(c, MORELLO_OP_ADD, 0, &kM4N16, &out, 1, s, e);
     }},
    {"move f32[4,16] -> f32[4,16]{0,1}",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor out = f32({4, 16}, MORELLO_LAYOUT_COLUMN_MAJOR);
       return morello_spec_move(c, &kM4N16, &out, s, e);
     }},
    {"transpose f32[2,3,5] perm=2,0,1 -> f32[5,2,3]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor in = f32({2, 3, 5}), out = f32({5, 2, 3});
       const uint32_t permutation[] = {2, 0, 1};
       return morello_spec_transpose(c, permutation, &in, &out, s, e);
     }},
    {"fill 1.5 -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       return morello_spec_fill(c, 1.5f, &kM4N16, s, e);
     }},
    {"matmul f32[4,8] f32[8,16] + bias f32[16] -> relu -> f32[4,16]",
     [](morello_context* c, morello_spec** s, morello_error** e) {
       const morello_tensor bias = f32({16});
       morello_spec *head = nullptr, *biased = nullptr;
       morello_status status = morello_spec_matmul(c, &kM4K8, &kK8N16, &kM4N16, 0, &head, e);
       if (status == MORELLO_OK)
         status = morello_spec_append(c, head, MORELLO_OP_ADD, &bias, &biased, e);
       if (status == MORELLO_OK)
         status = morello_spec_append(c, biased, MORELLO_OP_RELU, nullptr, s, e);
       morello_spec_release(head);
       morello_spec_release(biased);
       return status;
     }},
};

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("builder calls give the Specs that text gives") {
  const ContextPtr context = make_context();
  std::vector<SpecPtr> all;
  for (const BuiltAndText& pair : kPairs) {
    CAPTURE(pair.text);
    const SpecPtr parsed = parse_spec(context.get(), pair.text);
    SpecPtr built = make<SpecPtr>(
        [&](morello_spec** s, morello_error** e) { return pair.build(context.get(), s, e); });
    CHECK(morello_spec_equal(parsed.get(), built.get()) == 1);
    CHECK(morello_spec_hash(parsed.get()) == morello_spec_hash(built.get()));
    const std::string text = text_of(morello_spec_print, built.get());
    CHECK(text == text_of(morello_spec_print, parsed.get()));
    const SpecPtr again = parse_spec(context.get(), text);
    CHECK(morello_spec_equal(again.get(), built.get()) == 1);
    CHECK(text_of(morello_spec_print, again.get()) == text);
    all.push_back(std::move(built));
  }
  for (size_t i = 0; i < all.size(); i++)
    for (size_t j = 0; j < i; j++) {
      CAPTURE(kPairs[i].text);
      CAPTURE(kPairs[j].text);
      CHECK(morello_spec_equal(all[i].get(), all[j].get()) == 0);
      CHECK(morello_spec_hash(all[i].get()) != morello_spec_hash(all[j].get()));
    }
}

TEST_CASE("equal means the same computation on the same tensors") {
  const ContextPtr c = make_context();
  const SpecPtr matmul = parse_spec(c.get(), "matmul f32[4,8] f32[8,16] -> f32[4,16]");
  const SpecPtr einsum =
      parse_spec(c.get(), "einsum \"ab,bc->ac\" f32[4,8] f32[8,16] -> f32[4,16]");
  CHECK(morello_spec_equal(matmul.get(), einsum.get()) == 1);
  CHECK(morello_spec_hash(matmul.get()) == morello_spec_hash(einsum.get()));
  const SpecPtr flat = parse_spec(c.get(), "relu f32[64] -> f32[64]");
  const SpecPtr square = parse_spec(c.get(), "relu f32[8,8] -> f32[8,8]");
  CHECK(morello_spec_equal(flat.get(), square.get()) == 0);
  CHECK(morello_spec_equal(flat.get(), nullptr) == 0);
}

TEST_CASE("operands are described as they were given") {
  const ContextPtr c = make_context();
  const SpecPtr spec =
      parse_spec(c.get(), "matmul f32[4,8]{0,1} f32[8,16]{*} + f32[16] -> f32[4,16]");
  REQUIRE(morello_spec_operand_count(spec.get()) == 4);
  morello_tensor t{};
  REQUIRE(morello_spec_operand(spec.get(), 0, &t) == MORELLO_OK);
  CHECK(t.dtype == MORELLO_F32);
  CHECK(t.layout == MORELLO_LAYOUT_COLUMN_MAJOR);
  CHECK(t.rank == 2);
  CHECK(t.shape[0] == 4);
  CHECK(t.strides[0] == 1);
  CHECK(t.strides[1] == 4);
  REQUIRE(morello_spec_operand(spec.get(), 1, &t) == MORELLO_OK);
  CHECK(t.layout == MORELLO_LAYOUT_FREE);
  REQUIRE(morello_spec_operand(spec.get(), 2, &t) == MORELLO_OK);
  CHECK(t.rank == 1);
  CHECK(t.shape[0] == 16);
  REQUIRE(morello_spec_operand(spec.get(), 3, &t) == MORELLO_OK);
  CHECK(t.layout == MORELLO_LAYOUT_ROW_MAJOR);
  CHECK(t.strides[0] == 16);
  const morello_tensor before = t;
  CHECK(morello_spec_operand(spec.get(), 4, &t) == MORELLO_INVALID_ARGUMENT);
  CHECK(t.strides[0] == before.strides[0]);
  CHECK(morello_spec_operand(spec.get(), 0, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_spec_operand(nullptr, 0, &t) == MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("a described operand builds the same Spec again") {
  const ContextPtr c = make_context();
  const morello_tensor in = f32({4, 8}, MORELLO_LAYOUT_STRIDED, {10, 1});
  const morello_tensor out = f32({4, 8}, MORELLO_LAYOUT_STRIDED, {1, 5});
  const auto build = [&](const morello_tensor& a, const morello_tensor& b) {
    return make<SpecPtr>([&](morello_spec** s, morello_error** e) {
      return morello_spec_unary(c.get(), MORELLO_OP_SQRT, &a, &b, s, e);
    });
  };
  const SpecPtr spec = build(in, out);
  morello_tensor a{}, b{};
  REQUIRE(morello_spec_operand(spec.get(), 0, &a) == MORELLO_OK);
  REQUIRE(morello_spec_operand(spec.get(), 1, &b) == MORELLO_OK);
  CHECK(a.layout == MORELLO_LAYOUT_STRIDED);
  CHECK(a.strides[0] == 10);
  CHECK(morello_spec_equal(spec.get(), build(a, b).get()) == 1);
}

TEST_CASE("floating-point operations are counted") {
  const ContextPtr c = make_context();
  const auto flops = [&](const std::string& text) {
    return morello_spec_flops(parse_spec(c.get(), text).get());
  };
  CHECK(flops("matmul f32[4,8] f32[8,16] -> f32[4,16]") == 2.0 * 4 * 8 * 16);
  CHECK(flops("matmul f32[4,8] f32[8,16] + f32[16] -> relu -> f32[4,16]") ==
        2.0 * 4 * 8 * 16 + 2 * 64);
  CHECK(flops("reduce_sum f32[4,16] axis=1 -> f32[4]") == 64);
  CHECK(flops("relu f32[10] -> f32[10]") == 10);
  CHECK(flops("move f32[10] -> f32[10]") == 0);
  CHECK(flops("fill 0 -> f32[10]") == 0);
  CHECK(morello_spec_flops(nullptr) == 0);
}

TEST_CASE("text output has snprintf's contract") {
  const ContextPtr c = make_context();
  const SpecPtr spec = parse_spec(c.get(), "relu f32[10] -> f32[10]");
  const std::string whole = text_of(morello_spec_print, spec.get());
  for (size_t size = 1; size <= whole.size() + 2; size++) {
    std::vector<char> buffer(size + 1, '#');
    CHECK(morello_spec_print(spec.get(), buffer.data(), size) == whole.size());
    CHECK(std::string(buffer.data()) == whole.substr(0, size - 1));
    CHECK(buffer[size] == '#');
  }
  char byte = '#';
  CHECK(morello_spec_print(spec.get(), &byte, 0) == whole.size());
  CHECK(byte == '#');
  CHECK(morello_spec_print(nullptr, &byte, 1) == 0);
  CHECK(byte == '\0');
}

TEST_CASE("the reference computes in double precision") {
  const ContextPtr c = make_context();
  const SpecPtr spec =
      parse_spec(c.get(), "matmul f32[2,3] f32[3,2]{*} + f32[2] -> relu -> f32[2,2]");
  float a[] = {1, 2, 3, -4, 5, 1e8f}, b[] = {1, 0, 0, 1, 1, 1}, bias[] = {0.5f, -1e9f};
  float out[4] = {NAN, NAN, NAN, NAN};
  void* operands[] = {a, b, bias, out};
  REQUIRE(morello_spec_evaluate(spec.get(), operands, nullptr) == MORELLO_OK);
  CHECK(out[0] == 4.5f);
  CHECK(out[1] == 0.0f);
  CHECK(out[2] == static_cast<float>(1e8 - 4 + 0.5));
  CHECK(out[3] == 0.0f);
}

TEST_CASE("the reference can be asked for single elements") {
  const ContextPtr c = make_context();
  const SpecPtr spec = parse_spec(c.get(), "matmul f32[2,3] f32[3,2] += f32[2,2]{strides=5,2}");
  float a[] = {1, 2, 3, -4, 5, 1e8f}, b[] = {1, 0, 0, 1, 1, 1};
  float out[] = {10, 7, 20, 7, 7, 30, 7, 40};
  const std::vector<float> before(std::begin(out), std::end(out));
  void* operands[] = {a, b, out};
  const auto at = [&](std::vector<int64_t> elements, std::vector<double>* values) {
    values->assign(elements.size() + 1, 99);
    morello_error* err = nullptr;
    const morello_status status = morello_spec_evaluate_at(spec.get(), operands, elements.data(),
                                                           elements.size(), values->data(), &err);
    CHECK(values->back() == 99);
    values->pop_back();
    const ErrorPtr own(err);
    return Failure{status, err == nullptr ? "" : morello_error_message(err), 0, 0};
  };
  std::vector<double> values;
  CHECK(at({7, 0, 2, 0}, &values).status == MORELLO_OK);
  CHECK(values == std::vector<double>{static_cast<float>(40 + 5 + 1e8), 14, 25, 14});
  CHECK(at({}, &values).status == MORELLO_OK);
  for (const int64_t none : {int64_t{-1}, int64_t{1}, int64_t{3}, int64_t{4}, int64_t{6},
                             int64_t{8}, INT64_MAX, INT64_MIN}) {
    const Failure failure = at({0, none}, &values);
    CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
    CHECK(contains(failure.message, "elements[1] is " + std::to_string(none)));
    CHECK(values == std::vector<double>{99, 99});  // untouched
  }
  CHECK(std::equal(before.begin(), before.end(), out));
  CHECK(morello_spec_evaluate_at(spec.get(), operands, nullptr, 1, values.data(), nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_spec_evaluate_at(spec.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
        MORELLO_NULL_OPERAND);
}

TEST_CASE("the reference refuses pointers that cannot be") {
  const ContextPtr c = make_context();
  const SpecPtr spec = parse_spec(c.get(), "relu f32[2] -> f32[2]");
  alignas(4) char bytes[16] = {};
  float out[2] = {7, 7};
  const auto evaluate = [&](void* const* operands) {
    morello_error* err = nullptr;
    const morello_status status = morello_spec_evaluate(spec.get(), operands, &err);
    const ErrorPtr own(err);
    return Failure{status, morello_error_message(err), 0, 0};
  };
  void* null_input[] = {nullptr, out};
  const Failure null = evaluate(null_input);
  CHECK(null.status == MORELLO_NULL_OPERAND);
  CHECK(contains(null.message, "operand 0 (input 0)"));
  void* odd_input[] = {bytes + 1, out};
  const Failure odd = evaluate(odd_input);
  CHECK(odd.status == MORELLO_MISALIGNED);
  CHECK(contains(odd.message, "4 bytes"));
  CHECK(evaluate(nullptr).status == MORELLO_NULL_OPERAND);
  CHECK(out[0] == 7);
}

TEST_CASE("a Spec outlives its context, and its last owner releases it") {
  ContextPtr c = make_context();
  SpecPtr spec = parse_spec(c.get(), "relu f32[2] -> f32[2]");
  c.reset();
  const SpecPtr second(morello_spec_retain(spec.get()));
  CHECK(second.get() == spec.get());
  spec.reset();
  CHECK(text_of(morello_spec_print, second.get()) == "relu f32[2] -> f32[2]");
  CHECK(morello_spec_retain(nullptr) == nullptr);
  morello_spec_release(nullptr);
}

TEST_SUITE_END();

}  // namespace morello::testing
