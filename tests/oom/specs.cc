// SPDX-License-Identifier: MIT
// Scenarios: contexts, Specs by text and by builders, and calls with bad arguments.
#include <algorithm>

#include "world.hh"

namespace morello::testing {
namespace {

using E = morello_error**;

/// Allocates nothing: it is part of calls.
morello_tensor tensor(std::initializer_list<int64_t> shape,
                      int32_t layout = MORELLO_LAYOUT_ROW_MAJOR) {
  morello_tensor t{};
  t.dtype = MORELLO_F32;
  t.layout = layout;
  t.rank = static_cast<uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), t.shape);
  return t;
}

std::string printed(const morello_spec* spec) {
  std::string text(morello_spec_print(spec, nullptr, 0), '\0');
  morello_spec_print(spec, text.data(), text.size() + 1);
  return text;
}

/// A builder must make the Spec of that text.
Scenario builder(const std::string& name, const std::string& text,
                 std::function<morello_status(morello_spec**, E)> make) {
  return making<morello_spec>(
      "morello_spec_" + name, {"morello_spec_" + name}, std::move(make), morello_spec_release,
      [text](const morello_spec* spec) {
        return morello_spec_equal(spec, spec_of(text)) != 0 ? "" : "made " + printed(spec);
      });
}

Scenario parsing(const std::string& text) {
  return making<morello_spec>(
      "parse " + text.substr(0, text.find(' ')), {"morello_spec_parse"},
      [text](morello_spec** s, E e) { return morello_spec_parse(context(), text.c_str(), s, e); },
      morello_spec_release,
      [text](const morello_spec* spec) {
        return morello_spec_equal(spec, spec_of(text)) != 0 ? "" : "made " + printed(spec);
      });
}

Scenario refusing(const std::string& text, morello_status expected) {
  Scenario s = parsing(text);
  s.name = "refuse " + text.substr(0, 30);
  s.expected = expected;
  s.check = [failed = s.check_failed] { return failed(); };
  return s;
}

}  // namespace

std::vector<Scenario> spec_scenarios() {
  std::vector<Scenario> all;
  all.push_back(making<morello_context>(
      "morello_context_create", {"morello_context_create", "morello_context_release"},
      [](morello_context** c, E e) { return morello_context_create(nullptr, c, e); },
      morello_context_release));
  Scenario bad_context = all.back();
  bad_context.name = "bad morello_context_options";
  bad_context.call = [](E e) {
    morello_context_options options;
    morello_context_options_init(&options, sizeof options);
    options.max_isa = 77;
    morello_context* none = nullptr;
    return morello_context_create(&options, &none, e);
  };
  bad_context.expected = MORELLO_INVALID_ARGUMENT;
  bad_context.check = bad_context.check_failed;
  all.push_back(bad_context);

  all.push_back(parsing("matmul f32[4,5] f32[5,6]{*} + f32[6] -> relu -> f32[4,6]"));
  all.push_back(parsing("einsum \"bmk,bkn->bmn\" f32[2,4,5] f32[2,5,6] += f32[2,4,6]"));
  all.push_back(parsing("reduce_sum f32[4,5]{strides=7,1} axis=1 -> f32[4]"));
  all.push_back(parsing("transpose f32[4,5] -> f32[5,4]"));
  all.push_back(refusing("matmul f32[4,5] f32[5,6] -> f32[4,", MORELLO_SYNTAX_ERROR));
  all.push_back(refusing("matmul f32[4,5] f32[6,6] -> f32[4,6]", MORELLO_INVALID_SHAPE));
  all.push_back(refusing("relu f33[4,5] -> f32[4,6]", MORELLO_UNKNOWN_DTYPE));

  all.push_back(
      builder("matmul", "matmul f32[4,5] f32[5,6]{*} += f32[4,6]", [](morello_spec** s, E e) {
        const auto a = tensor({4, 5}), c = tensor({4, 6});
        const auto b = tensor({5, 6}, MORELLO_LAYOUT_FREE);
        return morello_spec_matmul(context(), &a, &b, &c, 1, s, e);
      }));
  all.push_back(builder("einsum", "einsum \"bmk,bkn->bmn\" f32[2,4,5] f32[2,5,6] -> f32[2,4,6]",
                        [](morello_spec** s, E e) {
                          const auto a = tensor({2, 4, 5}), b = tensor({2, 5, 6});
                          const auto c = tensor({2, 4, 6});
                          return morello_spec_einsum(context(), "bmk,bkn->bmn", &a, &b, &c, 0, s,
                                                     e);
                        }));
  all.push_back(builder("unary", "relu f32[4,5]{0,1} -> f32[4,5]", [](morello_spec** s, E e) {
    const auto a = tensor({4, 5}, MORELLO_LAYOUT_COLUMN_MAJOR), c = tensor({4, 5});
    return morello_spec_unary(context(), MORELLO_OP_RELU, &a, &c, s, e);
  }));
  all.push_back(builder("binary", "add f32[4,5] f32[5] -> f32[4,5]", [](morello_spec** s, E e) {
    const auto a = tensor({4, 5}), b = tensor({5}), c = tensor({4, 5});
    return morello_spec_binary(context(), MORELLO_OP_ADD, &a, &b, &c, s, e);
  }));
  all.push_back(
      builder("reduce", "reduce_max f32[4,5] axis=0 -> f32[5]", [](morello_spec** s, E e) {
        const auto a = tensor({4, 5}), c = tensor({5});
        return morello_spec_reduce(context(), MORELLO_OP_MAX, 0, &a, &c, 0, s, e);
      }));
  all.push_back(builder("move", "move f32[4,5] -> f32[4,5]{0,1}", [](morello_spec** s, E e) {
    const auto a = tensor({4, 5}), c = tensor({4, 5}, MORELLO_LAYOUT_COLUMN_MAJOR);
    return morello_spec_move(context(), &a, &c, s, e);
  }));
  all.push_back(builder("transpose", "transpose f32[4,5] -> f32[5,4]", [](morello_spec** s, E e) {
    const auto a = tensor({4, 5}), c = tensor({5, 4});
    const uint32_t axes[] = {1, 0};
    return morello_spec_transpose(context(), axes, &a, &c, s, e);
  }));
  all.push_back(builder("fill", "fill 1.5 -> f32[4,5]", [](morello_spec** s, E e) {
    const auto c = tensor({4, 5});
    return morello_spec_fill(context(), 1.5f, &c, s, e);
  }));
  static const morello_spec* const relu = spec_of("relu f32[4,5] -> f32[4,5]");
  all.push_back(builder("append", "relu f32[4,5] + f32[5] -> f32[4,5]", [](morello_spec** s, E e) {
    const auto b = tensor({5});
    return morello_spec_append(context(), relu, MORELLO_OP_ADD, &b, s, e);
  }));
  all.push_back(making<morello_spec>(
      "graph",
      {"morello_graph_create", "morello_graph_input", "morello_graph_constant",
       "morello_graph_apply", "morello_graph_finish", "morello_graph_release"},
      [](morello_spec** s, E e) {
        morello_graph* graph = nullptr;
        const auto a = tensor({4, 5}), b = tensor({5, 6});
        uint32_t v[5];
        morello_status status = morello_graph_create(context(), &graph, e);
        const auto next = [&](auto call) {
          if (status == MORELLO_OK) status = call();
        };
        next([&] { return morello_graph_input(graph, &a, &v[0], e); });
        next([&] { return morello_graph_input(graph, &b, &v[1], e); });
        next([&] { return morello_graph_apply(graph, "matmul", &v[0], 2, &v[2], e); });
        next([&] { return morello_graph_constant(graph, 0.5, &v[3], e); });
        next([&] { return morello_graph_apply(graph, "mul", &v[2], 2, &v[4], e); });
        next([&] { return morello_graph_apply(graph, "softmax axis=1", &v[4], 1, &v[0], e); });
        next([&] { return morello_graph_finish(graph, v[0], nullptr, 0, s, e); });
        morello_graph_release(graph);
        return status;
      },
      morello_spec_release,
      [](const morello_spec* spec) {
        const auto text = "matmul f32[4,5] f32[5,6] * 0.5 -> softmax axis=1 -> f32[4,6]";
        return morello_spec_equal(spec, spec_of(text)) != 0 ? "" : "made " + printed(spec);
      }));
  all.push_back(making<morello_spec>(
      "graph with several outputs", {"morello_graph_finish_outputs"},
      [](morello_spec** s, E e) {
        morello_graph* graph = nullptr;
        const auto a = tensor({4, 5}), b = tensor({4, 5});
        const morello_tensor* const outs[] = {&b, nullptr};
        const int adds[] = {1, 0};
        uint32_t x = 0, v[2];
        morello_status status = morello_graph_create(context(), &graph, e);
        const auto next = [&](auto call) {
          if (status == MORELLO_OK) status = call();
        };
        next([&] { return morello_graph_input(graph, &a, &x, e); });
        next([&] { return morello_graph_apply(graph, "exp", &x, 1, &v[0], e); });
        next([&] { return morello_graph_apply(graph, "reduce_sum axis=1", &v[0], 1, &v[1], e); });
        next([&] { return morello_graph_finish_outputs(graph, v, outs, adds, 2, s, e); });
        morello_graph_release(graph);
        return status;
      },
      morello_spec_release,
      [](const morello_spec* spec) {
        const auto text = "y = exp f32[4,5]; s = reduce_sum y axis=1; y += f32[4,5], s -> f32[4]";
        return morello_spec_equal(spec, spec_of(text)) != 0 ? "" : "made " + printed(spec);
      }));
  Scenario bad_tensor = builder("unary", "", [](morello_spec** s, E e) {
    auto a = tensor({4, 5}), c = tensor({4, 6});
    return morello_spec_unary(context(), MORELLO_OP_RELU, &a, &c, s, e);
  });
  bad_tensor.name = "bad shape for a builder";
  bad_tensor.expected = MORELLO_INVALID_SHAPE;
  bad_tensor.check = bad_tensor.check_failed;
  all.push_back(bad_tensor);
  for (const Scenario& s : all)  // the Specs to compare with
    if (s.name.rfind("refuse", 0) != 0 && s.name.rfind("bad", 0) != 0) {
      s.begin();
      need(s.call(nullptr) == s.expected, s.name);
      need(s.check().empty(), s.name);
      s.end();
    }
  return all;
}

}  // namespace morello::testing
