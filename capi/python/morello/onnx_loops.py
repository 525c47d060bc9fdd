# SPDX-License-Identifier: MIT
"""ONNX's operators that go step by step: kernels for each step, one after another."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import trace
from .enums import Dtype
from .onnx_lowering import Lowering, Node, Row, Value
from .onnx_moves import concatenated
from .onnx_operators import op
from .program import Place, at
from .products import einsum
from .trace import Traced, unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence


def scan(lowering: Lowering, proto: Any, inputs: Sequence[Value | None], opsets: Mapping[str, int],
         values: Mapping[str, Value], functions: Mapping[tuple[str, str], Any]) -> list[Value]:
    """Scan: its body for each element along the axes."""
    node = Node(lowering, proto, inputs, 0)
    body, count = node.attributes["body"], node.get("num_scan_inputs")
    given = [value for value in inputs if value is not None]
    states, scanned = given[:-count], given[-count:]
    axes = [axis % len(x.shape) for axis, x in zip(node.get("scan_input_axes") or [0] * count, scanned)]
    backward = node.get("scan_input_directions") or [0] * count
    steps = scanned[0].shape[axes[0]]
    collected: list[list[Value]] = [[] for _ in body.output[len(states):]]
    for step in range(steps):
        parts = [_element(lowering, x, axis, steps - 1 - step if back else step)
                 for x, axis, back in zip(scanned, axes, backward)]
        found = lowering.graph(body, opsets, {**values, **dict(zip((x.name for x in body.input), states + parts))},
                               functions)
        results = [found[each.name] for each in body.output]
        for result in results:
            if not result.known:
                lowering.writer.place(result.value)
        states = results[:len(states)]
        for values_of, result in zip(collected, results[len(states):]):
            values_of.append(result)
    out_axes = node.get("scan_output_axes") or [0] * len(collected)
    reversed_ = node.get("scan_output_directions") or [0] * len(collected)
    return states + [_stacked(node, each[::-1] if back else each, axis)
                     for each, axis, back in zip(collected, out_axes, reversed_)]


def _element(lowering: Lowering, x: Value, axis: int, index: int) -> Value:
    place = (slice(None),) * axis + (index,)
    if x.known:
        return Value(np.asarray(x.value[place]), x.type)
    return Value(lowering.writer.view(lowering.traced(x), at(*place, ...)), x.type)


def _stacked(node: Node, values: list[Value], axis: int) -> Value:
    if all(value.known for value in values):
        return Value(np.stack([value.value for value in values], axis), values[0].type)
    axis %= len(values[0].shape) + 1
    longer = [Value(trace.expand_dims(node.lowering.traced(value), axis), value.type) for value in values]
    return Value(concatenated(node, longer, axis), values[0].type)


# -- Recurrent layers

_ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}


class Layer:
    """One direction of RNN, GRU or LSTM: views of its weights, and what is computed ahead for all steps."""

    def __init__(self, node: Node, x: Traced, direction: int, gates: int, activations: list[str]):
        self.node, self.hidden = node, node.get("hidden_size")
        self.activations = activations
        self.weights = self.part(1, direction)
        self.recurrent = self.part(2, direction)
        size = gates * self.hidden
        self.bias = self.part(3, direction) if node.has(3) else None
        self.input = einsum("tbi,gi->tbg", x, self.weights)
        if self.bias is not None:
            self.input = op("add", self.input, self.cut(self.bias, 0, size))
        node.writer.place(self.input)
        self.again = None if self.bias is None else self.cut(self.bias, size, 2 * size)

    def part(self, index: int, direction: int) -> Traced:
        return self.node.view(self.node.traced(index), at(direction))

    def cut(self, x: Traced, start: int, stop: int) -> Traced:
        """Of the last axis."""
        return self.node.view(x, at(..., slice(start, stop)))

    def gate(self, x: Traced, index: int) -> Traced:
        return self.cut(x, index * self.hidden, (index + 1) * self.hidden)

    def act(self, which: int, x: Any) -> Any:
        return op(self.activations[which], x)

    def sums(self, step: int, state: Traced, first: int, last: int) -> Any:
        """Input and state times the weights of some gates."""
        given = self.node.view(self.input, at(step))
        start, stop = first * self.hidden, last * self.hidden
        weights = self.node.view(self.recurrent, at(slice(start, stop)))
        result = op("add", self.cut(given, start, stop), einsum("bh,gh->bg", state, weights))
        return result if self.again is None else op("add", result, self.cut(self.again, start, stop))


def _rnn(layer: Layer, step: int, state: list[Traced], _direction: int) -> list[Any]:
    return [layer.act(0, layer.sums(step, state[0], 0, 1))]


def _gru(layer: Layer, step: int, state: list[Traced], _direction: int) -> list[Any]:
    h = state[0]
    both = layer.act(0, layer.sums(step, h, 0, 2))
    layer.node.writer.place(both)
    update, reset = layer.gate(both, 0), layer.gate(both, 1)
    if layer.node.get("linear_before_reset", 0):
        n = layer.hidden
        weights = layer.node.view(layer.recurrent, at(slice(2 * n, None)))
        inner: Any = einsum("bh,gh->bg", h, weights)
        if layer.again is not None:
            inner = op("add", inner, layer.gate(layer.again, 2))
        given = layer.node.view(layer.input, at(step))
        fresh = layer.act(1, op("add", layer.gate(given, 2), op("mul", reset, inner)))
    else:
        fresh = layer.act(1, layer.sums(step, op("mul", reset, h), 2, 3))
    return [op("add", op("mul", op("sub", 1, update), fresh), op("mul", update, h))]


def _lstm(layer: Layer, step: int, state: list[Traced], direction: int) -> list[Any]:
    node, (h, c) = layer.node, state
    sums = layer.sums(step, h, 0, 4)
    node.writer.place(sums)
    gates: list[Any] = [layer.gate(sums, i) for i in range(4)]  # input, output, forget, cell
    peep = layer.part(7, direction) if node.has(7) else None
    if peep is not None:
        for i in (0, 2):
            gates[i] = op("add", gates[i], op("mul", layer.gate(peep, i), c))
    cell = op("add", op("mul", layer.act(0, gates[2]), c), op("mul", layer.act(0, gates[0]), layer.act(1, gates[3])))
    node.writer.place(cell)
    if peep is not None:
        gates[1] = op("add", gates[1], op("mul", layer.gate(peep, 1), cell))
    return [op("mul", layer.act(0, gates[1]), layer.act(2, cell)), cell]


_LAYERS = {"RNN": (_rnn, 1, ["tanh"]), "GRU": (_gru, 3, ["sigmoid", "tanh"]),
           "LSTM": (_lstm, 4, ["sigmoid", "tanh", "tanh"])}


def recurrent(node: Node) -> Any:
    step_of, gates, usual = _LAYERS[node.op]
    x, hidden, batch_first = node.traced(0), node.get("hidden_size"), bool(node.get("layout", 0))
    if batch_first:
        x = trace.transpose(x, (1, 0, 2))
    steps, batch = x.shape[0], x.shape[1]
    if node.has(4) and (node.known(4, "sequence_lens") != steps).any():
        raise unsupported(f"operator {node.op} of sequences of different lengths")
    if node.get("clip") or node.get("input_forget", 0):
        raise unsupported(f"operator {node.op} that clips, or couples gates")
    directions = {"forward": [0], "reverse": [1], "bidirectional": [0, 1]}[node.get("direction", "forward")]
    names = [each.decode().lower() for each in node.get("activations") or []]
    if any(name not in _ACTIVATIONS for name in names):
        raise unsupported(f"operator {node.op} with activations {', '.join(names)}")
    writer = node.writer
    shape = (batch, steps, len(directions), hidden) if batch_first else (steps, len(directions), batch, hidden)
    whole = writer.buffer(Dtype.F32, shape)
    last: list[list[Value]] = [[], []]
    for d, back in enumerate(directions):
        layer = Layer(node, x, d, gates, names[d * len(usual):(d + 1) * len(usual)] or usual)
        state = [_initial(node, index, d, (batch, hidden), batch_first) for index in ((5, 6) if gates == 4 else (5,))]
        for step in (range(steps)[::-1] if back else range(steps)):
            result, *rest = step_of(layer, step, state, d)
            place = whole.view(at(slice(None), step, d) if batch_first else at(step, d))
            writer.write(result, place)
            state = [writer.written(place), *rest]
        for values, value in zip(last, state):
            values.append(Value(value, node.type()))
    ends = [_stacked(node, values, 1 if batch_first else 0) for values in last if values]
    return [Value(writer.written(whole), node.type()), *ends]


def _initial(node: Node, index: int, direction: int, shape: tuple[int, int], batch_first: bool) -> Traced:
    if node.has(index):
        return node.view(node.traced(index), at(slice(None), direction) if batch_first else at(direction))
    zeros: Place = node.writer.buffer(Dtype.F32, shape)
    node.writer.fill(0, zeros)
    return node.writer.written(zeros)


_TEXT = "kernels for each step: `einsum`, `add`, activations"
LOOPS: dict[str, Row] = {
    **{name: Row(recurrent, _TEXT, known=(4,)) for name in _LAYERS},
    "Scan": Row(None, "the kernels of its body for each step"),
    "LinearAttention": Row(None, "the operators of its definition, for each step"),
}
