# SPDX-License-Identifier: MIT
"""Programs of traced functions: the kernels of what is no single Spec."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .arrays import numpy_dtype
from .build import build, reachable
from .context import Context
from .enums import Dtype, Layout
from .errors import Error, SpecError, mendable
from .joins import JOINS, kept_together
from .kernel import Kernel, compile as compile_spec
from .partition import Reads, kept_as, kind_of, weights_of
from .program import Input, Place, Program, Step
from .sketch import Sketch
from .spec import Spec
from .tensor import Tensor
from .trace import Traced
from .writer import Writer


def cheapest(make: Callable[[Writer], Program], options: dict[str, Any]) -> Program:
    """What `make` writes down, with channels as the slowest or as the fastest axis of values between kernels with
    windows, which is predicted to cost less. It is called for each, and once before, without kernels, to know what is
    concatenated."""
    kernels: dict[str, Kernel] = {}
    sketch = Sketch()
    make(sketch)
    writer = Writer(options, False, kernels, sketch.plan)
    program = make(writer)
    if not writer.has_windows:
        return program.pack()
    try:
        other = make(Writer(options, True, kernels, sketch.plan))
    except Error as error:
        mendable(error)
        return program.pack()
    return min(program, other, key=lambda each: each.cost).pack()


def is_several(results: Sequence[Traced]) -> bool:
    """Whether that is known without asking: what is read ends a kernel."""
    order = reachable(*results)
    return any(kind_of(node) in JOINS or any(isinstance(x, Traced) and x.final for x in node.inputs)
               for node in order.values())


def settled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `compile`, with one context for all kernels."""
    rest = dict(options)
    settings = {name: rest.pop(name) for name in ("max_isa", "cache_directory") if name in rest}
    if settings and rest.get("context") is not None:
        raise ValueError("max_isa and cache_directory are settings of the context that is given")
    if settings:
        rest["context"] = Context(**settings)
    return rest


def program_of(results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]], options: Mapping[str, Any]) -> Program:
    """The program that computes `results` of `leaves`, its inputs."""
    return cheapest(lambda writer: _written(writer, results, leaves), settled(options))


def buildable(results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]],
              context: Context | None) -> tuple[Spec, list[Any]]:
    """The one Spec of `results`, in which factors of products that are known lie as its kernel will choose, if there is
    such a one."""
    try:
        return build(results, leaves, context, free=weights_of(results))
    except SpecError:
        return build(results, leaves, context)


def compiled(results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]],
             options: Mapping[str, Any]) -> tuple[Spec, list[Any], Kernel]:
    """Its operands and its kernel as well."""
    spec, operands = buildable(results, leaves, options.get("context"))
    try:
        return spec, operands, compile_spec(spec, **options)
    except Error as error:
        mendable(error)
        if all(tensor.layout != Layout.FREE for tensor in spec.operands):
            raise
        spec, operands = build(results, leaves, options.get("context"))
        return spec, operands, compile_spec(spec, **options)


def program_of_kernel(kernel: Kernel, spec: Spec, operands: Sequence[Any], inputs: Sequence[Tensor],
                      threads: int) -> Program:
    """That of one kernel; operands: numbers of inputs, arrays, and what is packed."""
    writer = Writer({}, False, {})
    places = [writer.place(writer.input(tensor)) for tensor in inputs]
    outs = tuple(writer.buffer(out.dtype, out.shape) for out in spec.outputs)
    read = tuple(places[x] if isinstance(x, int) else x for x in operands)
    return _ended(writer, [Step(kernel, spec, read, outs)], inputs, outs, threads)


def _ended(writer: Writer, steps: Sequence[Step], tensors: Sequence[Tensor], outs: Sequence[Place],
           threads: int) -> Program:
    inputs = [Input(f"input {i}", tensor.shape, numpy_dtype(tensor.dtype), tensor.strides)
              for i, tensor in enumerate(tensors)]
    return Program(steps, writer.slots, inputs, [(out, out.example.dtype) for out in outs], threads)


def _written(writer: Writer, results: Sequence[Traced], leaves: Sequence[tuple[Traced, Tensor]]) -> Program:
    made = {id(leaf): writer.input(tensor) for leaf, tensor in leaves}
    order = _copied(results, made)
    for node in order:
        writer.rooms.number(node)
    values = [made[id(result)] for result in results]
    read = {id(x) for node in order for x in node.inputs}
    ends = [node for node in order if kind_of(node) in JOINS or node.final and id(node) in read]
    # As all writers have it, whatever they make of the parts.
    types = {id(node): kept_together(_sources(node), [kept_as(part) for part in _sources(node)]) for node in ends}
    # What is written one after another: what is in a join, or a value itself.
    needs = [*(_sources(node) if kind_of(node) in JOINS else [node] for node in ends), *([value] for value in values)]
    reads = Reads(needs)
    for i, node in enumerate(ends):
        writer.expect_in(reads, i)
        if kind_of(node) in JOINS:
            _join(writer, node, types[id(node)])
        else:
            writer.keep(node)
    outs = []
    writer.expect(values, [])
    writer.together([(value, result.element) for value, result in zip(values, results)])
    for i, (value, result) in enumerate(zip(values, results), len(ends)):
        writer.expect_in(reads, i)
        outs.append(writer.output(value, result.element))
    return _ended(writer, writer.steps, [tensor for _, tensor in leaves], outs, int(writer.options.get("threads", 1)))


def _copied(results: Sequence[Traced], made: dict[int, Traced]) -> list[Traced]:
    """Values of its own for a writer, which changes them: by the ids of these, and in their order without those that
    there are."""
    order: list[Traced] = []
    for key, node in reachable(*results).items():
        if key not in made:
            inputs = [made[id(x)] if isinstance(x, Traced) else x for x in node.inputs]
            made[key] = Traced(node.operation, inputs, node.shape, node.element, node.stored, node.array)
            made[key].final, made[key].light = node.final, node.light
            order.append(made[key])
    return order


def _sources(node: Traced) -> list[Traced]:
    return [x for x in node.inputs if isinstance(x, Traced)]


def _join(writer: Writer, node: Traced, dtype: Dtype) -> None:
    parts = _sources(node)
    if kind_of(node) == "concatenate":
        axis = int(node.operation.partition("axis=")[2])
        joined = writer.concatenated(parts, dtype, node.shape, axis)
    elif kind_of(node) == "spread":
        joined = writer.leaf(parts[0])
    else:
        sides = [side.split(":") for side in node.operation.partition("sides=")[2].split(",")]
        joined = writer.padded(parts[0], [(int(low), int(high)) for low, high in sides], node.inputs[1])
    writer.become(node, writer.place(joined))
