// SPDX-License-Identifier: MIT
// Graphs through the C interface: built value by value, they are what their text is.
#include <cmath>

#include "handles.hh"

namespace morello::testing {
namespace {

using GraphPtr = std::unique_ptr<morello_graph, Releaser<morello_graph_release>>;

struct Graph {
  ContextPtr context = make_context();
  GraphPtr graph = make<GraphPtr>([&](morello_graph** g, morello_error** e) {
    return morello_graph_create(context.get(), g, e);
  });

  uint32_t input(const std::vector<int64_t>& shape) {
    uint32_t value = 0;
    const morello_tensor t = f32(shape);
    REQUIRE(morello_graph_input(graph.get(), &t, &value, nullptr) == MORELLO_OK);
    return value;
  }
  uint32_t constant(double number) {
    uint32_t value = 0;
    REQUIRE(morello_graph_constant(graph.get(), number, &value, nullptr) == MORELLO_OK);
    return value;
  }
  uint32_t apply(const char* operation, const std::vector<uint32_t>& inputs) {
    uint32_t value = 0;
    REQUIRE(morello_graph_apply(graph.get(), operation, inputs.data(),
                                static_cast<uint32_t>(inputs.size()), &value,
                                nullptr) == MORELLO_OK);
    return value;
  }
  SpecPtr finish(uint32_t value, const morello_tensor* out = nullptr, int accumulate = 0) {
    return make<SpecPtr>([&](morello_spec** s, morello_error** e) {
      return morello_graph_finish(graph.get(), value, out, accumulate, s, e);
    });
  }
  bool is(const SpecPtr& spec, const std::string& text) {
    const SpecPtr other = parse_spec(context.get(), text);
    CAPTURE(text_of(morello_spec_print, spec.get()));
    return morello_spec_equal(spec.get(), other.get()) == 1 &&
           morello_spec_hash(spec.get()) == morello_spec_hash(other.get()) &&
           text_of(morello_spec_print, spec.get()) == text_of(morello_spec_print, other.get());
  }
};

TEST_SUITE_BEGIN("capi");

TEST_CASE("a graph that is built is the one of its text") {
  Graph g;
  const uint32_t q = g.input({2, 5, 4}), k = g.input({2, 4, 7}), v = g.input({2, 7, 3});
  const uint32_t s = g.apply("mul", {g.apply("matmul", {q, k}), g.constant(0.125)});
  const uint32_t y = g.apply("matmul", {g.apply("softmax axis=2", {s}), v});
  CHECK(
      g.is(g.finish(y),
           "s = matmul f32[2,5,4] f32[2,4,7] * 0.125; p = softmax s axis=2; matmul p f32[2,7,3]"));
  const morello_tensor out = f32({2, 5, 3});
  CHECK(g.is(g.finish(y, &out, 1),
             "matmul f32[2,5,4] f32[2,4,7] * 0.125 -> softmax axis=2 -> "
             "matmul f32[2,7,3] += f32[2,5,3]"));
}

TEST_CASE("a graph of one operation and steps is a plain Spec") {
  Graph g;
  const uint32_t a = g.input({4, 8}), b = g.input({8, 6}), c = g.input({6});
  const uint32_t y = g.apply("relu", {g.apply("add", {g.apply("matmul", {a, b}), c})});
  CHECK(g.is(g.finish(y), "matmul f32[4,8] f32[8,6] + f32[6] -> relu -> f32[4,6]"));
}

TEST_CASE("operands are those of the caller, in whatever order stages read them") {
  Graph g;
  const uint32_t a = g.input({2}), b = g.input({3, 2});
  const SpecPtr spec = g.finish(g.apply("sub", {b, a}));
  CHECK(g.is(spec, "a f32[2]; b f32[3,2]; sub b a"));
  CHECK_FALSE(g.is(spec, "sub f32[3,2] f32[2]"));
  CHECK(morello_spec_operand_count(spec.get()) == 3);
  float x[] = {1, 2}, y[] = {10, 20, 30, 40, 50, 60}, out[6];
  void* const operands[] = {x, y, out};
  REQUIRE(morello_spec_evaluate(spec.get(), operands, nullptr) == MORELLO_OK);
  for (int i = 0; i < 6; i++) CHECK(out[i] == y[i] - x[i % 2]);
  const KernelPtr kernel = synthesize(g.context.get(), spec.get());
  std::fill_n(out, 6, 0.0f);
  const size_t bytes[] = {sizeof(x), sizeof(y), sizeof(out)};
  REQUIRE(morello_kernel_run_checked(kernel.get(), operands, bytes, 3, nullptr, 0, nullptr,
                                     nullptr) == MORELLO_OK);
  for (int i = 0; i < 6; i++) CHECK(out[i] == y[i] - x[i % 2]);
}

TEST_CASE("single elements of a graph are those of the whole") {
  const ContextPtr c = make_context();
  const SpecPtr spec = parse_spec(c.get(), "x f32[5,7]; s = softmax x axis=1; mul s x += f32[5,7]");
  std::vector<float> x(35), out(35, 0.5f);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  void* const operands[] = {x.data(), out.data()};
  const int64_t elements[] = {34, 0, 8};
  double values[3];
  REQUIRE(morello_spec_evaluate_at(spec.get(), operands, elements, 3, values, nullptr) ==
          MORELLO_OK);
  REQUIRE(morello_spec_evaluate(spec.get(), operands, nullptr) == MORELLO_OK);
  for (int i = 0; i < 3; i++)
    CHECK(static_cast<float>(values[i]) == out[static_cast<size_t>(elements[i])]);
  const int64_t beyond = 35;
  CHECK(morello_spec_evaluate_at(spec.get(), operands, &beyond, 1, values, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_spec_flops(spec.get()) == 35 * 7 + 5);  // a reciprocal for each row
}

TEST_CASE("several outputs of a graph: inputs, then outputs as the caller has them") {
  Graph g;
  const uint32_t x = g.input({3, 5});
  const uint32_t y = g.apply("exp", {x}), s = g.apply("reduce_sum axis=1", {y});
  const uint32_t results[] = {s, y};
  const morello_tensor sums = f32({3});
  const morello_tensor* const outs[] = {&sums, nullptr};
  const auto finish = [&](const int* adds, morello_spec** spec, morello_error** e) {
    return morello_graph_finish_outputs(g.graph.get(), results, outs, adds, 2, spec, e);
  };
  const SpecPtr spec = make<SpecPtr>(
      [&](morello_spec** made, morello_error** e) { return finish(nullptr, made, e); });
  CHECK(g.is(spec, "y = exp f32[3,5]; s = reduce_sum y axis=1; s, y"));
  CHECK(morello_spec_operand_count(spec.get()) == 3);
  CHECK(morello_spec_output_count(spec.get()) == 2);
  morello_tensor tensor;
  REQUIRE(morello_spec_operand(spec.get(), 1, &tensor) == MORELLO_OK);
  CHECK(tensor.rank == 1);

  float in[15], sum[3], exps[15];
  for (int i = 0; i < 15; i++) in[i] = static_cast<float>(i) / 8 - 1;
  void* operands[] = {in, sum, exps};
  const size_t bytes[] = {sizeof in, sizeof sum, sizeof exps};
  REQUIRE(morello_spec_evaluate(spec.get(), operands, nullptr) == MORELLO_OK);
  const float first = sum[1], last = exps[14];
  double value = 0;
  const int64_t one = 1, fourteen = 14;
  CHECK(morello_spec_evaluate_at(spec.get(), operands, &one, 1, &value, nullptr) == MORELLO_OK);
  CHECK(static_cast<float>(value) == first);
  CHECK(morello_spec_evaluate_output_at(spec.get(), 1, operands, &fourteen, 1, &value, nullptr) ==
        MORELLO_OK);
  CHECK(static_cast<float>(value) == last);
  CHECK(morello_spec_evaluate_at(spec.get(), operands, &fourteen, 1, &value, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_spec_evaluate_output_at(spec.get(), 2, operands, &one, 1, &value, nullptr) ==
        MORELLO_INVALID_ARGUMENT);

  const KernelPtr kernel = synthesize(g.context.get(), spec.get());
  CHECK(morello_kernel_operand_count(kernel.get()) == 3);
  CHECK(morello_kernel_output_count(kernel.get()) == 2);
  CHECK(std::string(morello_kernel_name(kernel.get())).find("_3_3x5_") != std::string::npos);
  std::fill_n(sum, 3, 0.0f);
  std::fill_n(exps, 15, 0.0f);
  const auto run = [&](morello_error** e) {
    return morello_kernel_run_checked(kernel.get(), operands, bytes, 3, nullptr, 0, nullptr, e);
  };
  REQUIRE(run(nullptr) == MORELLO_OK);
  CHECK(sum[1] == doctest::Approx(first));
  CHECK(exps[14] == doctest::Approx(last));
  const auto message = [&] {
    morello_error* error = nullptr;
    CHECK(run(&error) == MORELLO_INVALID_ARGUMENT);
    const ErrorPtr own(error);
    return std::string(morello_error_message(error));
  };
  operands[1] = exps + 12;
  CHECK(message().find("operand 2 (output 1) shares memory with operand 1 (output 0)") !=
        std::string::npos);
  operands[1] = in;
  CHECK(message().find("operand 1 (output 0) shares memory with operand 0 (input 0)") !=
        std::string::npos);
  operands[1] = sum;
  operands[2] = in;
  CHECK(message().find("operand 2 (output 1) shares memory with operand 0 (input 0)") !=
        std::string::npos);

  const int adds[] = {0, 1};
  CHECK(g.is(
      make<SpecPtr>([&](morello_spec** made, morello_error** e) { return finish(adds, made, e); }),
      "y = exp f32[3,5]; s = reduce_sum y axis=1; s -> f32[3], y += f32[3,5]"));
}

TEST_CASE("several outputs of a graph: what is refused") {
  Graph g;
  const uint32_t x = g.input({3, 5}), y = g.apply("exp", {x}), z = g.apply("neg", {y});
  const auto refused = [&](std::vector<uint32_t> values, morello_status wanted) {
    morello_spec* spec = nullptr;
    morello_error* error = nullptr;
    const auto count = static_cast<uint32_t>(values.size());
    values.push_back(0);
    CHECK(morello_graph_finish_outputs(g.graph.get(), values.data(), nullptr, nullptr, count, &spec,
                                       &error) == wanted);
    const ErrorPtr own(error);
    return std::string(error ? morello_error_message(error) : "");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refused({y, z, y}, MORELLO_INVALID_ARGUMENT), "outputs 0 and 2 are the same value"));
  CHECK(has(refused({y, x}, MORELLO_INVALID_ARGUMENT), "values[1] is no result of an operation"));
  CHECK(has(refused({y, 9}, MORELLO_INVALID_ARGUMENT), "values[1] is 9; the graph has values 0"));
  CHECK(has(refused({}, MORELLO_INVALID_ARGUMENT), "`count` is 0"));
  CHECK(has(refused({y}, MORELLO_INVALID_ARGUMENT), "is not used"));
  const SpecPtr one = make<SpecPtr>([&](morello_spec** s, morello_error** e) {
    return morello_graph_finish_outputs(g.graph.get(), &z, nullptr, nullptr, 1, s, e);
  });
  CHECK(morello_spec_output_count(one.get()) == 1);
  CHECK(g.is(one, "exp f32[3,5] -> neg"));
  const uint32_t both[] = {y, z};
  const SpecPtr two = make<SpecPtr>([&](morello_spec** s, morello_error** e) {
    return morello_graph_finish_outputs(g.graph.get(), both, nullptr, nullptr, 2, s, e);
  });
  morello_spec* appended = nullptr;
  CHECK(morello_spec_append(g.context.get(), two.get(), MORELLO_OP_RELU, nullptr, &appended,
                            nullptr) == MORELLO_UNSUPPORTED);
}

TEST_CASE("a step is appended to a graph") {
  const ContextPtr c = make_context();
  const SpecPtr softmax = parse_spec(c.get(), "softmax f32[4,8] axis=1");
  const morello_tensor row = f32({8});
  const auto append = [&](const SpecPtr& to, int32_t op, const morello_tensor* operand) {
    return make<SpecPtr>([&](morello_spec** s, morello_error** e) {
      return morello_spec_append(c.get(), to.get(), op, operand, s, e);
    });
  };
  const SpecPtr spec = append(append(softmax, MORELLO_OP_MUL, &row), MORELLO_OP_RELU, nullptr);
  CHECK(morello_spec_equal(spec.get(),
                           parse_spec(c.get(), "softmax f32[4,8] axis=1 * f32[8] -> relu").get()) ==
        1);
}

TEST_CASE("windows that read other parts of equal tensors are other Specs") {
  const ContextPtr c = make_context();
  const auto equal = [&](const char* a, const char* b) {
    return morello_spec_equal(parse_spec(c.get(), a).get(), parse_spec(c.get(), b).get());
  };
  // One row of the input meets the first, second or third one of the weights.
  const char* second = "conv2d f32[1,3,1,4] f32[4,3,3,1] padding=1,0";
  CHECK(equal(second, "conv2d f32[1,3,1,4] f32[4,3,3,1] padding=1,0,1,0") == 1);
  CHECK(equal(second, "conv2d f32[1,3,1,4] f32[4,3,3,1] padding=0,0,2,0") == 0);
  CHECK(equal(second, "conv2d f32[1,3,1,4] f32[4,3,3,1] padding=2,0,0,0") == 0);
}

TEST_CASE("what graphs refuse leaves them as they were") {
  Graph g;
  const uint32_t a = g.input({4, 8}), b = g.input({9, 6}), two = g.constant(2);
  struct Case {
    const char* operation;
    std::vector<uint32_t> inputs;
    morello_status status;
    const char* part;  // of the message
  };
  const Case cases[] = {
      {"matmul", {a, b}, MORELLO_INVALID_SHAPE, "must be equal"},
      {"matmull", {a, b}, MORELLO_SYNTAX_ERROR, "unknown operation 'matmull'"},
      {"softmax", {a}, MORELLO_SYNTAX_ERROR, "axis="},
      {"softmax axis=2", {a}, MORELLO_INVALID_SHAPE, "no axis 2"},
      {"relu f32[3]", {a}, MORELLO_SYNTAX_ERROR, "the end of the operation"},
      {"relu", {}, MORELLO_INVALID_ARGUMENT, "has 0 inputs"},
      {"relu", {a, b}, MORELLO_INVALID_ARGUMENT, "has 2 inputs"},
      {"relu", {77}, MORELLO_INVALID_ARGUMENT, "inputs[0] is 77"},
      {"matmul", {a, two}, MORELLO_INVALID_ARGUMENT, "tensor or a value"},
      {"", {a}, MORELLO_SYNTAX_ERROR, "expected an operation"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.operation);
    uint32_t value = 12345;
    morello_error* err = nullptr;
    CHECK(morello_graph_apply(g.graph.get(), c.operation, c.inputs.data(),
                              static_cast<uint32_t>(c.inputs.size()), &value, &err) == c.status);
    const ErrorPtr own(err);
    CHECK(value == 12345);
    CAPTURE(morello_error_message(err));
    CHECK(contains(morello_error_message(err), c.part));
  }
  uint32_t value = 0;
  CHECK(morello_graph_apply(nullptr, "relu", &a, 1, &value, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_graph_apply(g.graph.get(), nullptr, &a, 1, &value, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_graph_apply(g.graph.get(), "relu", nullptr, 1, &value, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_graph_apply(g.graph.get(), "relu", &a, 1, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_graph_constant(nullptr, 1, &value, nullptr) == MORELLO_INVALID_ARGUMENT);
  const morello_tensor none = f32({0});
  CHECK(morello_graph_input(g.graph.get(), &none, &value, nullptr) == MORELLO_INVALID_SHAPE);
  CHECK(morello_graph_input(g.graph.get(), nullptr, &value, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_graph_create(nullptr, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);

  const uint32_t y = g.apply("relu", {a});
  const auto refused = [&](uint32_t result, const char* part) {
    const Failure failure = fail<morello_spec>([&](morello_spec** s, morello_error** e) {
      return morello_graph_finish(g.graph.get(), result, nullptr, 0, s, e);
    });
    CAPTURE(failure.message);
    return failure.status == MORELLO_INVALID_ARGUMENT && contains(failure.message, part);
  };
  CHECK(refused(y, "input 1 is not used"));
  CHECK(refused(a, "no result of an operation"));
  CHECK(refused(99, "the graph has values 0 to 3"));
  const uint32_t z = g.apply("reduce_sum axis=0,1", {b});
  CHECK(refused(y, "is not used"));
  CHECK(g.is(g.finish(g.apply("mul", {y, z})),
             "y = relu f32[4,8]; z = reduce_sum f32[9,6] axis=0,1; mul y z"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello::testing
