# SPDX-License-Identifier: MIT
"""Models of ONNX: `morello.onnx.compile(model)`. Needs the package `onnx`."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .onnx_extremes import EXTREMES
from .onnx_indices import INDICES
from .onnx_layers import LAYERS
from .onnx_linear import LINEAR
from .onnx_loops import LOOPS, scan
from .onnx_lowering import Lowering, Row, Value, input_of, numpy_of, traced_type
from .onnx_moves import MOVES
from .onnx_operators import OPERATORS
from .onnx_products import PRODUCTS
from .program import Input, Program
from .programs import cheapest, settled
from .trace import unsupported
from .writer import Writer

__all__ = ["Program", "Row", "compile", "operators"]


def operators() -> dict[str, Row]:
    """The table: what each operator of ONNX becomes."""
    return {**OPERATORS, **MOVES, **INDICES, **EXTREMES, **PRODUCTS, **LAYERS, **LINEAR, **LOOPS}


def compile(model: Any, constants: Mapping[str, Any] | None = None,  # pylint: disable=redefined-builtin
            sizes: Mapping[str, int] | None = None, effort: int | str = "quick", **options: Any) -> Program:
    """Makes the kernels of a model, or of the name of its file: one where it fits one Spec, else several that run one
    after another. Outputs that share operations are those of one kernel, if there is one. What depends on no input is
    computed now, factors of products among it lie in memory as their kernels choose, and so do the axes of values between
    kernels with windows: channels are the slowest axis or the fastest, which is predicted to cost less.

    constants: arrays for inputs of the graph, which are known from now on and no inputs of the program; what shapes
    follow from has to be known. sizes: of axes to which the model gives names, such as {"batch": 1}. effort: of each
    search; "exact" takes minutes for a model of dozens of kernels. `options` are those of
    `morello.compile`. Raises SpecError with the operator or type that the Spec language does not have; ImportError
    without the package onnx.
    """
    import onnx  # pylint: disable=import-outside-toplevel
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(model)
    options["effort"] = effort
    given = dict(constants or {}), dict(sizes or {})
    return cheapest(lambda writer: _compiled(model, *given, writer), settled(options))


def _shape_of(name: str, tensor: Any, sizes: Mapping[str, int]) -> list[int]:
    """Of an input of the graph."""
    if not tensor.HasField("shape"):
        raise unsupported(f"input {name} has a number of axes that the model does not say")
    shape: list[int] = []
    for axis, dim in enumerate(tensor.shape.dim):
        size = dim.dim_value if dim.HasField("dim_value") else sizes.get(dim.dim_param)
        if size is None:
            raise unsupported(f"input {name} has sizes that the model does not say: " + (
                f"sizes={{\"{dim.dim_param}\": ..}} does" if dim.dim_param else f"that of axis {axis}, which has no name"))
        shape.append(int(size))
    return shape


def _compiled(model: Any, given: dict[str, Any], sizes: dict[str, int], writer: Writer) -> Program:
    """What a writer makes of a model."""
    lowering = Lowering(writer, operators(), scan)
    graph = model.graph
    values: dict[str, Value] = {}
    inputs: list[Input] = []
    unknown = set(given) - {each.name for each in graph.input}
    if unknown:
        raise ValueError(f"constants for {', '.join(sorted(unknown))}: the graph has no such inputs")
    axes = {dim.dim_param for each in graph.input for dim in each.type.tensor_type.shape.dim if dim.dim_param}
    if set(sizes) - axes:
        raise ValueError(f"sizes of {', '.join(sorted(set(sizes) - axes))}: the inputs have axes "
                         f"{', '.join(sorted(axes)) or 'without names'}")
    initialized = {tensor.name for tensor in graph.initializer}
    for each in graph.input:
        kind = each.type.WhichOneof("value")
        if kind != "tensor_type":
            raise unsupported(f"input {each.name} is a {str(kind).removesuffix('_type')}, and no tensor")
        tensor = each.type.tensor_type
        if each.name in given:
            values[each.name] = Value(np.array(given[each.name]), tensor.elem_type)
        elif each.name not in initialized:
            shape = _shape_of(each.name, tensor, sizes)
            values[each.name] = input_of(writer, each.name, shape, tensor.elem_type)
            inputs.append(Input(each.name, tuple(shape), numpy_of(tensor.elem_type)))
    opsets = {"" if each.domain == "ai.onnx" else each.domain: each.version for each in model.opset_import}
    functions = {(each.domain, each.name): each for each in model.functions}
    values = lowering.graph(graph, opsets, values, functions)
    computed = [values[each.name] for each in graph.output if not values[each.name].known]
    writer.together([(value.value, traced_type(value.type)) for value in computed])
    outputs: list[tuple[Any, Any]] = []
    for i, each in enumerate(graph.output):
        value = values[each.name]
        if value.known:
            outputs.append((value.value, None))
            continue
        later = [values[other.name].value for other in graph.output[i + 1:] if not values[other.name].known]
        writer.expect([value.value], [[other] for other in later])
        outputs.append((writer.output(value.value, traced_type(value.type)), numpy_of(value.type)))
    return Program(writer.steps, writer.slots, inputs, outputs, int(writer.options.get("threads", 1)))

