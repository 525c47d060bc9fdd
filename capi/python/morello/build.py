# SPDX-License-Identifier: MIT
"""Specs of what was traced."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from .context import Context
from .enums import Layout, Status
from .errors import SpecError
from .graph import Graph, Value
from .spec import Spec
from .tensor import Tensor
from .trace import Traced, unsupported


def build(results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]], context: Context | None,
          outs: Sequence[Tensor] | None = None, accumulate: bool = False,
          free: Collection[Traced] = ()) -> tuple[Spec, list[Any]]:
    """The Spec of `results`, its outputs, and its operands: numbers of leaves, and arrays that were captured. outs:
    where they are written to, or added to, instead of row-major tensors of their own types. free: captured arrays
    whose layout the kernel chooses."""
    for result in results:
        if result.stored != result.shape:
            raise unsupported(f"a result that is broadcast from {result.stored} to {result.shape}")
    written = outs or [Tensor(result.element, result.shape) for result in results], accumulate
    try:
        return _build(results, leaves, context, written, False, free)
    except SpecError as refused:
        # A value has one order of axes in a graph: x @ x.T reads two, as two operands that are one array.
        if refused.status != Status.UNSUPPORTED:
            raise
        try:
            return _build(results, leaves, context, written, True, free)
        except SpecError:
            raise refused from None


def _build(results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]], context: Context | None,
           written: tuple[Sequence[Tensor], bool], split: bool,
           free: Collection[Traced]) -> tuple[Spec, list[Any]]:
    """split: what reads an array has an operand of its own."""
    order = reachable(*results)
    tensors = {id(leaf): (index, tensor) for index, (leaf, tensor) in enumerate(leaves)}
    operands: list[Any] = []
    known: dict[int, Value] = {}
    with Graph(context=context) as graph:
        def read(node: Traced) -> Value:
            if id(node) in known:
                return known[id(node)]
            if node.array is not None:
                layout = Layout.FREE if any(node is each for each in free) else Layout.ROW_MAJOR
                operand, tensor = node.array, Tensor(node.element, node.shape, layout)
            elif id(node) in tensors:
                operand, tensor = tensors[id(node)]
            else:
                raise unsupported("a value of another function that is being traced")
            operands.append(operand)
            value = graph.input(tensor)
            if not split:
                known[id(node)] = value
            return value
        if not split:
            for leaf, _ in leaves:
                if id(leaf) in order:
                    read(leaf)
        for key, node in order.items():
            if node.operation != "input":
                if any(isinstance(x, Traced) and x.final for x in node.inputs):
                    raise unsupported("a graph has no conversion to integers but that of its result")
                inputs = [read(x) if isinstance(x, Traced) else graph.constant(x) for x in node.inputs]
                known[key] = graph.apply(node.operation, inputs) if node.operation else inputs[0]
        if not operands and all(result.operation != "input" for result in results):
            raise unsupported("a function that reads none of its arrays")
        values: list[Value] = []
        for result in results:
            value = read(result)
            # An input, or what another output is: a copy.
            if value in values or all(node.operation in ("", "input") for node in reachable(result).values()):
                value = graph.apply("move", [value])
            values.append(value)
        tensors_out, adds = written
        if len(values) == 1:
            return graph.finish(values[0], tensors_out[0], accumulate=adds), operands
        return graph.finish_outputs(values, tensors_out, accumulate=[adds] * len(values)), operands


def reachable(*results: Traced) -> dict[int, Traced]:
    """What `results` need, inputs before those that read them."""
    order: dict[int, Traced] = {}
    stack: list[tuple[Traced, bool]] = [(result, False) for result in reversed(results)]
    while stack:
        node, done = stack.pop()
        if done:
            order.setdefault(id(node), node)
        elif id(node) not in order:
            stack.append((node, True))
            stack += [(x, False) for x in reversed(node.inputs) if isinstance(x, Traced)]
    return order
