// SPDX-License-Identifier: MIT
// Specs that cannot be: each a distinct status, with a message that says where, and what would be
// valid.
#include "handles.hh"

namespace morello::testing {
namespace {

struct BadText {
  std::string text;
  morello_status status;
  uint32_t column;
  std::vector<std::string> parts;  // of the message
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (; times > 0; times--) all += text;
  return all;
}

const BadText kBadTexts[] = {
    {"", MORELLO_SYNTAX_ERROR, 1, {"operation", "matmul"}},
    {"matmull f32[4,8] f32[8,16] -> f32[4,16]", MORELLO_SYNTAX_ERROR, 1, {"matmull", "matmul"}},
    {"matmul f32[4,8 f32[8,16] -> f32[4,16]", MORELLO_SYNTAX_ERROR, 16, {"expected", "]"}},
    {"matmul f32[4,8] f32[8,16] -> f32[4,16] x", MORELLO_SYNTAX_ERROR, 40, {"end"}},
    {"matmul f32[4,8] \xff[8,16] -> f32[4,16]", MORELLO_SYNTAX_ERROR, 17, {}},
    {"relu f32[0] -> f32[0]", MORELLO_INVALID_SHAPE, 10, {"0"}},
    {"relu f32[-3] -> f32[-3]", MORELLO_INVALID_SHAPE, 10, {"-3"}},
    {"matmul f32[4,8] f32[9,16] -> f32[4,16]", MORELLO_INVALID_SHAPE, 21, {"9", "8"}},
    {"matmul f32[4,8] f32[8,16] -> f32[4,17]", MORELLO_INVALID_SHAPE, 36, {"17", "16"}},
    {"reduce_sum f32[4,8] axis=2 -> f32[4]", MORELLO_INVALID_SHAPE, 26, {"axis 2"}},
    {"relu f32[65536,65536] -> f32[65536,65536]", MORELLO_SIZE_OVERFLOW, 0, {"2147483647"}},
    {"relu f32[99999999999999999999] -> f32[1]", MORELLO_SIZE_OVERFLOW, 10, {"64 bits"}},
    {"matmul f33[4,8] f32[8,16] -> f32[4,16]",
     MORELLO_UNKNOWN_DTYPE,
     8,
     {"f33", "f32, bf16, f16, i8, u8, i32"}},
    {"relu f32[4,8]{0,0} -> f32[4,8]", MORELLO_INVALID_LAYOUT, 17, {"axis 0"}},
    {"relu f32[4,8]{0} -> f32[4,8]", MORELLO_INVALID_LAYOUT, 0, {"2"}},
    {"relu f32[4,8] -> f32[4,8]{*}", MORELLO_INVALID_LAYOUT, 0, {"output"}},
    {"fill 300 -> u8[4]", MORELLO_INVALID_ARGUMENT, 6, {"300", "0 to 255"}},
    {"matmul u8[4,8] i8[8,16] * f32[8] -> u8[4,16]", MORELLO_INVALID_SHAPE, 31, {"8", "16"}},
    {"relu f32[1,1,1,1,1,1,1,1,1] -> f32[1]", MORELLO_UNSUPPORTED, 0, {"8"}},
    {"relu f32[4]" + repeated(" -> neg", 16) + " -> f32[4]", MORELLO_UNSUPPORTED, 0, {"15"}},
};

struct BadTensor {
  std::string what;
  void (*spoil)(morello_tensor& a, morello_tensor& b, morello_tensor& out);
  morello_status status;
  std::vector<std::string> parts;
};

const BadTensor kBadTensors[] = {
    {"zero size",
     [](auto& a, auto&, auto&) { a.shape[0] = 0; },
     MORELLO_INVALID_SHAPE,
     {"a.shape[0] is 0", "1 or more"}},
    {"negative size",
     [](auto&, auto& b, auto&) { b.shape[1] = -16; },
     MORELLO_INVALID_SHAPE,
     {"b.shape[1] is -16"}},
    {"smallest size",
     [](auto&, auto&, auto& out) { out.shape[1] = INT64_MIN; },
     MORELLO_INVALID_SHAPE,
     {"out.shape[1]"}},
    {"sizes that do not fit",
     [](auto&, auto& b, auto&) { b.shape[0] = 9; },
     MORELLO_INVALID_SHAPE,
     {"9", "8"}},
    {"too many elements",
     [](auto& a, auto&, auto&) { a.shape[0] = a.shape[1] = 1 << 16; },
     MORELLO_SIZE_OVERFLOW,
     {"`a`", "2147483647"}},
    {"overflow",
     [](auto&, auto& b, auto&) { b.shape[0] = b.shape[1] = INT64_MAX; },
     MORELLO_SIZE_OVERFLOW,
     {"`b`"}},
    {"dtype 0",
     [](auto& a, auto&, auto&) { a.dtype = 0; },
     MORELLO_UNKNOWN_DTYPE,
     {"a.dtype is 0", "1 (f32), 2 (bf16)", "6 (i32)"}},
    {"dtype 77",
     [](auto&, auto&, auto& out) { out.dtype = 77; },
     MORELLO_UNKNOWN_DTYPE,
     {"out.dtype is 77"}},
    {"layout 9",
     [](auto& a, auto&, auto&) { a.layout = 9; },
     MORELLO_INVALID_LAYOUT,
     {"a.layout is 9", "strided (2)"}},
    {"negative stride",
     [](auto& a, auto&, auto&) { a.layout = MORELLO_LAYOUT_STRIDED, a.strides[1] = -1; },
     MORELLO_INVALID_LAYOUT,
     {"axis 1", "stride -1", "negative"}},
    {"overlapping output",
     [](auto&, auto&, auto& out) {
       out.layout = MORELLO_LAYOUT_STRIDED;
       out.strides[0] = 15;
       out.strides[1] = 1;
     },
     MORELLO_INVALID_LAYOUT,
     {"output", "15"}},
    {"free output",
     [](auto&, auto&, auto& out) { out.layout = MORELLO_LAYOUT_FREE; },
     MORELLO_INVALID_LAYOUT,
     {"output"}},
    {"rank 9",
     [](auto& a, auto&, auto&) { a.rank = 9; },
     MORELLO_UNSUPPORTED,
     {"a.rank is 9", "8"}},
    {"rank 1",
     [](auto& a, auto&, auto&) { a.rank = 1, a.shape[1] = 0; },
     MORELLO_INVALID_SHAPE,
     {"2 axes"}},
    {"entries past the rank",
     [](auto& a, auto&, auto&) { a.shape[4] = 3; },
     MORELLO_INVALID_ARGUMENT,
     {"a.shape[4] is 3", "0"}},
    {"strides past the rank",
     [](auto& a, auto&, auto&) {
       a.layout = MORELLO_LAYOUT_STRIDED;
       a.strides[0] = 8, a.strides[1] = 1, a.strides[5] = 2;
     },
     MORELLO_INVALID_ARGUMENT,
     {"a.strides[5] is 2"}},
    {"reserved",
     [](auto&, auto& b, auto&) { b.reserved0 = 1; },
     MORELLO_INVALID_ARGUMENT,
     {"b.reserved0 is 1"}},
};

void check_failure(const Failure& failure, morello_status status,
                   const std::vector<std::string>& parts) {
  CAPTURE(failure.message);
  CHECK(std::string(morello_status_string(failure.status)) == morello_status_string(status));
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(contains(failure.message, part));
  }
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("bad text") {
  const ContextPtr context = make_context();
  for (const BadText& bad : kBadTexts) {
    CAPTURE(bad.text);
    const Failure failure = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
      return morello_spec_parse(context.get(), bad.text.c_str(), s, e);
    });
    check_failure(failure, bad.status, bad.parts);
    CHECK(failure.line == 1);
    CHECK(failure.column >= 1);
    if (bad.column != 0) CHECK(failure.column == bad.column);
  }
}

TEST_CASE("errors name the line of a text of several lines") {
  const ContextPtr context = make_context();
  const Failure failure = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
    return morello_spec_parse(context.get(), "matmul f32[4,8]\n  f32[9,16] -> f32[4,16]", s, e);
  });
  CHECK(failure.status == MORELLO_INVALID_SHAPE);
  CHECK(failure.line == 2);
  CHECK(failure.column == 7);
}

TEST_CASE("bad tensors") {
  const ContextPtr context = make_context();
  for (const BadTensor& bad : kBadTensors) {
    CAPTURE(bad.what);
    morello_tensor a = f32({4, 8}), b = f32({8, 16}), out = f32({4, 16});
    bad.spoil(a, b, out);
    const Failure failure = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
      return morello_spec_matmul(context.get(), &a, &b, &out, 0, s, e);
    });
    check_failure(failure, bad.status, bad.parts);
    CHECK(failure.line == 0);
    CHECK(failure.column == 0);
  }
}

TEST_CASE("a column-major tensor has two axes") {
  const ContextPtr context = make_context();
  const morello_tensor in = f32({4}, MORELLO_LAYOUT_COLUMN_MAJOR), out = f32({4});
  const Failure failure = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
    return morello_spec_move(context.get(), &in, &out, s, e);
  });
  check_failure(failure, MORELLO_INVALID_LAYOUT, {"in.layout", "row-major"});
}

TEST_CASE("bad operations, axes, subscripts and permutations") {
  const ContextPtr context = make_context();
  morello_context* c = context.get();
  const morello_tensor in = f32({4, 8}), row = f32({8}), column = f32({4});
  using S = morello_spec**;
  using E = morello_error**;
  for (int32_t op : {-1, 0, 16, 28, 40, 256 + 1, INT32_MAX})
    check_failure(
        fail<morello_spec>([&](S s, E e) { return morello_spec_unary(c, op, &in, &in, s, e); }),
        MORELLO_INVALID_ARGUMENT, {"`op`", "MORELLO_OP_RELU"});
  for (int32_t op : {-1, 0, 1, 15, 24, 256 + 16})
    check_failure(fail<morello_spec>(
                      [&](S s, E e) { return morello_spec_binary(c, op, &in, &row, &in, s, e); }),
                  MORELLO_INVALID_ARGUMENT, {"`op`", "MORELLO_OP_ADD"});
  for (int32_t op : {1, 17, 18, 19})
    check_failure(fail<morello_spec>([&](S s, E e) {
                    return morello_spec_reduce(c, op, 1, &in, &column, 0, s, e);
                  }),
                  MORELLO_INVALID_ARGUMENT, {"`op`", "MORELLO_OP_MAX"});
  for (uint32_t axis : {2u, 6u, UINT32_MAX})
    check_failure(fail<morello_spec>([&](S s, E e) {
                    return morello_spec_reduce(c, MORELLO_OP_ADD, axis, &in, &column, 0, s, e);
                  }),
                  MORELLO_INVALID_SHAPE, {"axis"});
  const uint32_t twice[] = {1, 1}, far[] = {0, 2};
  for (const uint32_t* permutation : {twice, far})
    check_failure(fail<morello_spec>([&](S s, E e) {
                    return morello_spec_transpose(c, permutation, &in, &in, s, e);
                  }),
                  MORELLO_INVALID_SHAPE, {"axis"});
  for (const char* subscripts : {"", "mk,kn", "mk,kn->mnx", "m1,1n->mn", "mk,kn->mn,", "->->->"})
    check_failure(fail<morello_spec>([&](S s, E e) {
                    return morello_spec_einsum(c, subscripts, &in, &in, &in, 0, s, e);
                  }),
                  MORELLO_SYNTAX_ERROR, {});
  const std::string endless(100000, 'a');
  const Failure failure = fail<morello_spec>(
      [&](S s, E e) { return morello_spec_einsum(c, endless.c_str(), &in, &in, &in, 0, s, e); });
  CHECK(failure.message.size() < 1000);
}

TEST_CASE("what append refuses") {
  const ContextPtr context = make_context();
  morello_context* c = context.get();
  const SpecPtr spec = parse_spec(c, "relu f32[4,8]" + repeated(" -> neg", 15) + " -> f32[4,8]");
  const SpecPtr head = parse_spec(c, "relu f32[4,8] -> f32[4,8]");
  const morello_tensor row = f32({8}), wide = f32({9});
  const auto append = [&](const morello_spec* to, int32_t op, const morello_tensor* operand) {
    return fail<morello_spec>([&](morello_spec** s, morello_error** e) {
      return morello_spec_append(c, to, op, operand, s, e);
    });
  };
  check_failure(append(spec.get(), MORELLO_OP_RELU, nullptr), MORELLO_UNSUPPORTED, {"15"});
  check_failure(append(head.get(), MORELLO_OP_ADD, nullptr), MORELLO_INVALID_ARGUMENT,
                {"`operand`"});
  check_failure(append(head.get(), MORELLO_OP_RELU, &row), MORELLO_INVALID_ARGUMENT, {"`operand`"});
  check_failure(append(head.get(), 99, &row), MORELLO_INVALID_ARGUMENT, {"`op`"});
  check_failure(append(head.get(), MORELLO_OP_ADD, &wide), MORELLO_INVALID_SHAPE, {"9"});
  CHECK(text_of(morello_spec_print, head.get()) == "relu f32[4,8] -> f32[4,8]");
}

TEST_CASE("NULL arguments are named") {
  const ContextPtr context = make_context();
  morello_context* c = context.get();
  const morello_tensor t = f32({4, 4});
  using S = morello_spec**;
  using E = morello_error**;
  const auto names = [](const char* name, auto call) {
    check_failure(fail<morello_spec>(call), MORELLO_INVALID_ARGUMENT,
                  {"`" + std::string(name) + "`"});
  };
  names("context", [&](S s, E e) { return morello_spec_parse(nullptr, "", s, e); });
  names("text", [&](S s, E e) { return morello_spec_parse(c, nullptr, s, e); });
  names("context", [&](S s, E e) { return morello_spec_matmul(nullptr, &t, &t, &t, 0, s, e); });
  names("a", [&](S s, E e) { return morello_spec_matmul(c, nullptr, &t, &t, 0, s, e); });
  names("b", [&](S s, E e) { return morello_spec_matmul(c, &t, nullptr, &t, 0, s, e); });
  names("out", [&](S s, E e) { return morello_spec_matmul(c, &t, &t, nullptr, 0, s, e); });
  names("subscripts",
        [&](S s, E e) { return morello_spec_einsum(c, nullptr, &t, &t, &t, 0, s, e); });
  names("in", [&](S s, E e) { return morello_spec_unary(c, 1, nullptr, &t, s, e); });
  names("in", [&](S s, E e) { return morello_spec_reduce(c, 16, 0, nullptr, &t, 0, s, e); });
  names("permutation", [&](S s, E e) { return morello_spec_transpose(c, nullptr, &t, &t, s, e); });
  names("out", [&](S s, E e) { return morello_spec_fill(c, 0, nullptr, s, e); });
  names("spec", [&](S s, E e) { return morello_spec_append(c, nullptr, 1, nullptr, s, e); });
  CHECK(morello_spec_parse(c, "", nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_spec_fill(c, 0, &t, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
}

TEST_SUITE_END();

}  // namespace morello::testing
