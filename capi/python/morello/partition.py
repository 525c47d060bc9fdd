# SPDX-License-Identifier: MIT
"""What is said of traced values: what is in them, what of that costs much, and where it may be cut."""
from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence

import numpy as np

from .build import reachable
from .enums import Dtype
from .program import View
from .trace import Traced

MOVES = ("reshape", "transpose", "")
LIGHT = (*MOVES, "cast")  # besides operations on single elements
PRODUCTS = ("matmul", "einsum", "conv2d")
MOST = 64  # operations: no kernel has so many, whatever is simplified; who asks it takes long to say so
FUNCTIONS = ("exp", "exp2", "log", "tanh", "sigmoid", "erf", "gelu", "gelu_tanh", "silu", "sin", "cos", "pow")
WINDOWS = ("conv2d", "max_pool", "avg_pool")


def kind_of(node: Traced) -> str:
    return node.operation.partition(" ")[0]


def known_in(order: dict[int, Traced]) -> set[int]:
    """Values that depend on no input."""
    known: set[int] = set()
    for key, node in order.items():
        sources = [x for x in node.inputs if isinstance(x, Traced)]
        if node.array is not None or (sources and all(id(x) in known for x in sources)):
            known.add(key)
    return known


def weights_of(values: Sequence[Traced]) -> list[Traced]:
    """Arrays that one product reads, as a factor: their kernel may choose how they lie in memory."""
    readers: dict[int, list[Traced]] = {}
    order = reachable(*values)
    for node in order.values():
        for x in node.inputs:
            readers.setdefault(id(x), []).append(node)
    return [node for key, node in order.items() if node.array is not None and node.ndim > 1
            and len(readers.get(key, ())) == 1 and kind_of(readers[key][0]) in PRODUCTS]


def dear_in(order: dict[int, Traced]) -> list[Traced]:
    """Values that cost more than operations on single elements of what is in memory."""
    dear: dict[int, Traced] = {}
    for key, node in order.items():
        light = node.light or kind_of(node) in LIGHT
        if node.operation != "input" and (not light or any(id(x) in dear for x in node.inputs)):
            dear[key] = node
    return list(dear.values())


def functions_in(value: Traced, read: Mapping[int, int]) -> list[Traced]:
    """What is in a value besides it, takes functions of single elements, and is `read` elsewhere: the last ones first."""
    order = reachable(value)
    costly: set[int] = set()
    for key, node in order.items():
        if kind_of(node) in FUNCTIONS or any(id(x) in costly for x in node.inputs):
            costly.add(key)
    return [node for key, node in reversed(order.items())
            if key in costly and read[key] > 0 and node is not value and is_whole(node)]


def is_whole(node: Traced) -> bool:
    return node.stored == node.shape and not node.final


class Reads:
    """What is read where, of values that are written one after another."""

    def __init__(self, needs: Sequence[Sequence[Traced]]):
        self._needs = needs
        self._last: dict[int, int] = {}  # of those, the last one in which a value is
        self._asked: dict[int, int] = {}  # or which it is
        self._readers: dict[int, list[Traced]] = {}
        for i in reversed(range(len(needs))):
            stack = list(needs[i])
            for value in stack:
                self._asked.setdefault(id(value), i)
            while stack:
                node = stack.pop()
                if id(node) in self._last:
                    continue
                self._last[id(node)] = i
                for x in node.inputs:
                    if isinstance(x, Traced):
                        self._readers.setdefault(id(x), []).append(node)
                        stack.append(x)

    def after(self, index: int, places: Container[int]) -> list[int]:
        """Ids of what is in one, and read, or asked for, after that by what is not in `places` yet."""
        mine = reachable(*self._needs[index])
        return [key for key in mine if self._asked.get(key, -1) > index or any(
            self._last[id(reader)] > index and id(reader) not in mine and id(reader) not in places
            for reader in self._readers.get(key, ()))]


def shared_in(value: Traced, part: Traced) -> Traced | None:
    """The last value that is in a part of another, is read elsewhere in that too, and costs much."""
    inside = reachable(part)
    elsewhere = {id(x) for key, node in reachable(value).items() if key not in inside for x in node.inputs}
    found = [node for node in dear_in(inside) if id(node) in elsewhere and node is not part and is_whole(node)]
    return found[-1] if found else None


def moved_in(value: Traced, part: Traced) -> Traced | None:
    """What a part only moves, if it is computed and read elsewhere in the value as well: both are views of it."""
    source = part.inputs[0]
    if not isinstance(source, Traced) or source.operation in ("", "input") or not is_whole(source):
        return None
    readers = [node for node in reachable(value).values() if any(x is source for x in node.inputs)]
    return source if len(readers) > 1 else None


def inner_products(value: Traced) -> list[Traced]:
    """Products without others in them that are in factors of others, or repeated along axes, each with the operations
    on its elements that nothing else reads."""
    order = reachable(value)
    readers: dict[int, list[Traced]] = {}
    with_products: set[int] = set()
    factors: set[int] = set()
    for key, node in order.items():
        sources = [x for x in node.inputs if isinstance(x, Traced)]
        for x in sources:
            readers.setdefault(id(x), []).append(node)
        if kind_of(node) in PRODUCTS or any(id(x) in with_products for x in sources):
            with_products.add(key)
    for key, node in reversed(order.items()):
        if key in factors or kind_of(node) in PRODUCTS:
            factors.update(id(x) for x in node.inputs if isinstance(x, Traced))
    found: list[Traced] = []
    for key in with_products:
        top = order[key]
        if kind_of(top) not in PRODUCTS or any(id(x) in with_products for x in top.inputs):
            continue
        while len(readers.get(id(top), ())) == 1 and (reader := readers[id(top)][0]).light and is_whole(reader) \
                and reader is not value and reader.shape == top.shape \
                and not any(id(x) in with_products for x in reader.inputs if x is not top):
            top = reader
        repeated = any(math.prod(reader.stored) > top.size for reader in readers.get(id(top), ()) if reader.light)
        if key in factors or repeated:
            found.append(top)
    places = list(order)
    return sorted(found, key=lambda each: places.index(id(each)))


def replaced(value: Traced, others: dict[int, Traced]) -> Traced:
    """A value with others in place of some in it, by their ids. Those in memory are the same."""
    made: dict[int, Traced] = dict(others)
    for key, node in reachable(value).items():
        if key not in made:
            made[key] = node
            if node.operation != "input":
                inputs = [made[id(x)] if isinstance(x, Traced) else x for x in node.inputs]
                made[key] = Traced(node.operation, inputs, node.shape, node.element, node.stored)
                made[key].final, made[key].light = node.final, node.light
    return made[id(value)]


def slice_of(node: Traced) -> View | None:
    """Of a gather of places that are known, at equal distances in their order: the view that it is."""
    if kind_of(node) != "gather" or node.inputs[1].array is None or node.inputs[1].ndim != 1:
        return None
    places = node.inputs[1].array
    axis = int(node.operation.partition("axis=")[2])
    step = int(places[1]) - int(places[0]) if len(places) > 1 else 1
    if step < 1 or (np.diff(places) != step).any() or places[0] < 0 or places[-1] >= node.inputs[0].shape[axis]:
        return None
    start, stop = int(places[0]), int(places[-1]) + 1
    return lambda array: array[(slice(None),) * axis + (slice(start, stop, step),)]


def view_of(node: Traced) -> View:
    shape = node.shape
    if node.operation.startswith("transpose"):
        order = [int(axis) for axis in node.operation.split("perm=")[1].split(",")]
        return lambda array: array.transpose(order)
    if node.operation.startswith("reshape"):
        return lambda array: array.reshape(shape)
    return broadcast_view(shape)


def source_view(node: Traced, source: Traced) -> View:
    """The way back: of what a node makes of a source, that."""
    if node.operation.startswith("transpose"):
        order = [int(axis) for axis in node.operation.split("perm=")[1].split(",")]
        return lambda array: array.transpose([order.index(axis) for axis in range(len(order))])
    shape = source.shape
    return lambda array: array.reshape(shape)


def broadcast_view(shape: Sequence[int]) -> View:
    return lambda array: np.broadcast_to(array, shape)


def kept_as(value: Traced) -> Dtype:
    """The type of a buffer between kernels: that which a value is computed in, unless it was rounded to another."""
    kind = value.operation.split(" ", 1)[0]
    if value.final or kind in ("cast", "input"):
        return value.element
    if kind in (*MOVES, "gather", "gather_elements", "spread") and isinstance(value.inputs[0], Traced) and value.inputs[0].element == value.element:
        return kept_as(value.inputs[0])
    return Dtype.I32 if value.element.is_integer else Dtype.F32


def is_large(*values: Traced) -> bool:
    return sum(node.operation != "input" and kind_of(node) not in LIGHT for node in reachable(*values).values()) > MOST
