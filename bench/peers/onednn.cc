// SPDX-License-Identifier: MIT
// oneDNN, of version 2 or 3, whichever headers this module is compiled with. Bias, ReLU and sums
// are fused, as it can.
#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>

#include "peer.hh"

namespace morello::bench {
namespace {

using dnnl::memory;

/// One primitive with its arguments; the data comes with each call.
struct Primitive {
  dnnl::matmul run;
  dnnl::stream stream;
  std::unordered_map<int, memory> arguments;
};

memory::data_type type_of(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
      return memory::data_type::f32;
    case MORELLO_BF16:
      return memory::data_type::bf16;
    case MORELLO_I8:
      return memory::data_type::s8;
    case MORELLO_U8:
      return memory::data_type::u8;
    default:
      return memory::data_type::s32;
  }
}

memory::desc describe(const Matmul& p, int64_t rows, int64_t columns, const Matrix& matrix,
                      int32_t dtype) {
  if (p.batch == 1) {
    return {{rows, columns}, type_of(dtype), {matrix.row_stride, matrix.column_stride}};
  }
  return {{p.batch, rows, columns},
          type_of(dtype),
          {matrix.batch_stride, matrix.row_stride, matrix.column_stride}};
}

memory::desc any_weights(const Matmul& p) {
  const auto any = memory::format_tag::any;
  if (p.batch == 1) return {{p.k, p.n}, type_of(p.b_type), any};
  return {{p.batch, p.k, p.n}, type_of(p.b_type), any};
}

dnnl::matmul::primitive_desc plan(const dnnl::engine& engine, const Matmul& p,
                                  const memory::desc& weights) {
  const memory::desc source = describe(p, p.m, p.k, p.a, p.a_type);
  const memory::desc result = describe(p, p.m, p.n, p.c, p.c_type);
  const memory::desc bias{{1, p.n}, memory::data_type::f32, memory::format_tag::ab};
  dnnl::post_ops steps;
  if (p.accumulate) steps.append_sum(1.0f);
#if DNNL_VERSION_MAJOR >= 3
  if (p.relu) steps.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  if (p.relu) steps.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(steps);
#if DNNL_VERSION_MAJOR >= 3
  if (p.bias) return {engine, source, weights, bias, result, attributes};
  return {engine, source, weights, result, attributes};
#else
  if (p.bias) return {{source, weights, bias, result}, attributes, engine};
  return {{source, weights, result}, attributes, engine};
#endif
}

Method method_of(const dnnl::engine& engine, const Matmul& p,
                 const dnnl::matmul::primitive_desc& planned, const std::string& name, int a = 0,
                 int b = 1) {
  auto primitive = std::make_shared<Primitive>();
  primitive->run = dnnl::matmul(planned);
  primitive->stream = dnnl::stream(engine);
  const auto add = [&](int number, const memory::desc& desc) {
    primitive->arguments.emplace(number, memory(desc, engine, nullptr));
  };
  add(DNNL_ARG_SRC, planned.src_desc());
  add(DNNL_ARG_WEIGHTS, planned.weights_desc());
  if (p.bias)
    add(DNNL_ARG_BIAS, memory::desc{{1, p.n}, memory::data_type::f32, memory::format_tag::ab});
  add(DNNL_ARG_DST, planned.dst_desc());

  Method method{name + ", " + planned.impl_info_str()};
  const bool bias = p.bias;
  method.run = [primitive, bias, a, b](void* const* operands) {
    auto& arguments = primitive->arguments;
    arguments.at(DNNL_ARG_SRC).set_data_handle(operands[a]);
    arguments.at(DNNL_ARG_WEIGHTS).set_data_handle(operands[b]);
    if (bias) arguments.at(DNNL_ARG_BIAS).set_data_handle(operands[2]);
    arguments.at(DNNL_ARG_DST).set_data_handle(operands[bias ? 3 : 2]);
    primitive->run.execute(primitive->stream, arguments);
    primitive->stream.wait();
  };
  return method;
}

Offer offer(const dnnl::engine& engine, const Problem& problem) {
  if (!problem.matmul) return refuse("no such operation");
  const Matmul& p = *problem.matmul;
  const memory::desc given = describe(p, p.k, p.n, p.b, p.b_type);
  try {
    if (!p.free_weights) {
      // What has a column-major result, it computes without any optimization.
      const ByRows rows = by_rows(p);
      const Matmul& q = rows.matmul;
      const memory::desc weights = describe(q, q.k, q.n, q.b, q.b_type);
      return {{method_of(engine, q, plan(engine, q, weights), "as given", rows.a, rows.b)}, ""};
    }
    const auto planned = plan(engine, p, any_weights(p));
    Method method = method_of(engine, p, planned, "packed");
    method.packed_bytes = planned.weights_desc().get_size();
    method.pack = [engine, given, planned](const void* from, void* to) {
      memory source(given, engine, const_cast<void*>(from));
      memory packed(planned.weights_desc(), engine, to);
      dnnl::stream stream(engine);
      dnnl::reorder(source, packed).execute(stream, source, packed);
      stream.wait();
    };
    return {{method}, ""};
  } catch (const dnnl::error& error) {
    return refuse(error.what());
  }
}

}  // namespace

MORELLO_BENCH_MODULE morello_bench_peers(const Setting&, std::vector<Peer>* peers) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl_version_t* version = dnnl_version();
  const std::string number = std::to_string(version->major) + "." + std::to_string(version->minor);
  peers->push_back({"oneDNN " + number, "oneDNN " + number + "." + std::to_string(version->patch),
                    [engine](const Problem& problem) { return offer(engine, problem); }});
}

}  // namespace morello::bench
