# SPDX-License-Identifier: MIT
"""Specs of what was traced."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .context import Context
from .enums import Status
from .errors import SpecError
from .graph import Graph, Value
from .spec import Spec
from .tensor import Tensor
from .trace import Traced, unsupported


def build(result: Traced, leaves: Sequence[tuple[Traced, Tensor]], context: Context | None,
          out: Tensor | None = None, accumulate: bool = False) -> tuple[Spec, list[Any]]:
    """The Spec of `result`, and its operands: numbers of leaves, and arrays that were captured. out: where it is
    written to, or added to, instead of a row-major tensor of its own type."""
    if result.stored != result.shape:
        raise unsupported(f"a result that is broadcast from {result.stored} to {result.shape}")
    written = out or Tensor(result.element, result.shape), accumulate
    try:
        return _build(result, leaves, context, written, False)
    except SpecError as refused:
        # A value has one order of axes in a graph: x @ x.T reads two, as two operands that are one array.
        if refused.status != Status.UNSUPPORTED:
            raise
        try:
            return _build(result, leaves, context, written, True)
        except SpecError:
            raise refused from None


def _build(result: Traced, leaves: Sequence[tuple[Traced, Tensor]], context: Context | None,
           written: tuple[Tensor, bool], split: bool) -> tuple[Spec, list[Any]]:
    """split: what reads an array has an operand of its own."""
    order = reachable(result)
    tensors = {id(leaf): (index, tensor) for index, (leaf, tensor) in enumerate(leaves)}
    operands: list[Any] = []
    known: dict[int, Value] = {}
    with Graph(context=context) as graph:
        def read(node: Traced) -> Value:
            if id(node) in known:
                return known[id(node)]
            if node.array is not None:
                operand, tensor = node.array, Tensor(node.element, node.shape)
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
                inputs = [read(x) if isinstance(x, Traced) else graph.constant(x) for x in node.inputs]
                known[key] = graph.apply(node.operation, inputs) if node.operation else inputs[0]
        if not operands and result.operation != "input":
            raise unsupported("a function that reads none of its arrays")
        value = read(result)
        if all(node.operation in ("", "input") for node in order.values()):
            value = graph.apply("move", [value])
        return graph.finish(value, written[0], accumulate=written[1]), operands


def reachable(result: Traced) -> dict[int, Traced]:
    """What `result` needs, inputs before those that read them."""
    order: dict[int, Traced] = {}
    stack: list[tuple[Traced, bool]] = [(result, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.setdefault(id(node), node)
        elif id(node) not in order:
            stack.append((node, True))
            stack += [(x, False) for x in reversed(node.inputs) if isinstance(x, Traced)]
    return order
