# SPDX-License-Identifier: MIT
"""Models of ONNX: `morello.onnx.compile(model)`. Needs the package `onnx`."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .onnx_layers import LAYERS
from .onnx_linear import LINEAR
from .onnx_loops import LOOPS, scan
from .onnx_lowering import Lowering, Row, Value, input_of, numpy_of, traced_type
from .onnx_moves import MOVES
from .onnx_operators import OPERATORS
from .onnx_program import Program, Writer
from .trace import unsupported

__all__ = ["Program", "Row", "compile", "operators"]


def operators() -> dict[str, Row]:
    """The table: what each operator of ONNX becomes."""
    return {**OPERATORS, **MOVES, **LAYERS, **LINEAR, **LOOPS}


def compile(model: Any, constants: Mapping[str, Any] | None = None,  # pylint: disable=redefined-builtin
            **options: Any) -> Program:
    """Makes the kernels of a model, or of the name of its file: one where it fits one Spec, else several that run one
    after another. Outputs that share operations are those of one kernel, if there is one.

    constants: arrays for inputs of the graph, which are known from now on and no inputs of the program; what shapes
    follow from has to be known. `options` are those of `morello.compile`. Raises SpecError with the operator or type
    that the Spec language does not have; ImportError without the package onnx.
    """
    import onnx  # pylint: disable=import-outside-toplevel
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(model)
    writer = Writer(options)
    lowering = Lowering(writer, operators(), scan)
    graph, given = model.graph, dict(constants or {})
    values: dict[str, Value] = {}
    inputs, names = [], []
    unknown = set(given) - {each.name for each in graph.input}
    if unknown:
        raise ValueError(f"constants for {', '.join(sorted(unknown))}: the graph has no such inputs")
    initialized = {tensor.name for tensor in graph.initializer}
    for each in graph.input:
        kind = each.type.WhichOneof("value")
        if kind != "tensor_type":
            raise unsupported(f"input {each.name} is a {str(kind).removesuffix('_type')}, and no tensor")
        tensor = each.type.tensor_type
        if each.name in given:
            values[each.name] = Value(np.asarray(given[each.name]), tensor.elem_type)
        elif each.name not in initialized:
            if not tensor.HasField("shape") or not all(d.HasField("dim_value") for d in tensor.shape.dim):
                raise unsupported(f"input {each.name} has sizes that the model does not say")
            shape = [d.dim_value for d in tensor.shape.dim]
            values[each.name] = input_of(writer, each.name, shape, tensor.elem_type)
            names.append(each.name)
            inputs.append((tuple(shape), numpy_of(tensor.elem_type)))
    opsets = {"" if each.domain == "ai.onnx" else each.domain: each.version for each in model.opset_import}
    functions = {(each.domain, each.name): each for each in model.functions}
    values = lowering.graph(graph, opsets, values, functions)
    computed = [values[each.name] for each in graph.output if not values[each.name].known]
    writer.together([(value.value, traced_type(value.type)) for value in computed])
    outputs: list[tuple[Any, Any]] = []
    for each in graph.output:
        value = values[each.name]
        if value.known:
            outputs.append((value.value, None))
            continue
        outputs.append((writer.output(value.value, traced_type(value.type)), numpy_of(value.type)))
    return Program(writer, names, inputs, outputs)

