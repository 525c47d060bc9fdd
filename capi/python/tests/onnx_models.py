# SPDX-License-Identifier: MIT
"""Small models for tests, and what ONNX's own evaluator makes of them."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import morello.onnx

make = helper.make_node


def info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(nodes, inputs, outputs, weights=(), opset=21):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(x, name) for name, x in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(model, *arrays, kernels=None, tolerance=1e-4, **options):
    """Against ONNX's own evaluator."""
    program = morello.onnx.compile(model, **options)
    got = program(*arrays)
    want = ReferenceEvaluator(model).run(None, dict(zip(program.inputs, arrays)))
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    if kernels is not None:
        assert len(program.specs) == kernels, [str(spec) for spec in program.specs]
    return program
