# SPDX-License-Identifier: MIT
"""Graphs of ONNX, node by node: what does not depend on inputs is computed by ONNX's own evaluator, the rest written
down as operations of the Spec language, by the table of `onnx_operators`."""
from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import trace
from .arrays import dtype_of
from .build import reachable
from .enums import Dtype
from .errors import SpecError
from .writer import Writer
from .tensor import Tensor
from .trace import Traced, unsupported


@dataclasses.dataclass
class Value:
    """A tensor of the model: an array if it is known, else what is traced; and ONNX's type of its elements, as
    truth values are bytes here. of: what stands for its numbers. unsigned: of signed bytes the same as unsigned ones, 128
    more, which instructions multiply with signed ones."""
    value: Any
    type: int
    of: Quantized | None = None
    unsigned: Value | None = None

    @property
    def known(self) -> bool:
        return not isinstance(self.value, Traced)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class Quantized:
    """Of a tensor of numbers the integers that stand for them: a number is (x - zero) * scale. Scales and zero points are
    numbers, or run along the axis."""
    x: Value
    scale: Value
    zero: Value | None
    axis: int


Lower = Callable[["Node"], Any]  # a value, or one for each output


@dataclasses.dataclass(frozen=True)
class Row:
    """An operator: how it is lowered, what that comes to in words, and which inputs have to be known. lower: None, or
    what returns None, if it is the operators of ONNX's own definition."""
    lower: Lower | None
    text: str
    known: tuple[int, ...] = ()


def numpy_of(element: int) -> np.dtype[Any]:
    import onnx  # pylint: disable=import-outside-toplevel
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element))


def traced_type(element: int) -> Dtype:
    """The element type that stands for one of ONNX."""
    import onnx  # pylint: disable=import-outside-toplevel
    if element == onnx.TensorProto.BOOL:
        return Dtype.U8
    if element == onnx.TensorProto.INT64:  # of numbers that fit 32 bits
        return Dtype.I32
    found = dtype_of(numpy_of(element)) if element not in _FOREIGN else None
    if found is None:
        raise unsupported(f"type {onnx.TensorProto.DataType.Name(element).lower()}: element types are "
                          f"{', '.join(d.text for d in Dtype)}, bool and int64")
    return found


_FOREIGN = (0, 8)  # undefined, string
_ENDS = (-2 ** 63, 2 ** 63 - 1)


def narrowed(array: Any) -> Any:
    """Integers of 64 bits as such of 32; all else as it is."""
    if array.dtype != np.int64:
        return array
    found = array.astype(np.int32)
    if (found != array).any():
        raise unsupported(f"a tensor of int64 with numbers beyond 32 bits, {array.min()} to {array.max()}")
    return found


class Node:
    """A node whose inputs are there: what rows of the table are given."""

    def __init__(self, lowering: Lowering, proto: Any, inputs: Sequence[Value | None], version: int):
        import onnx  # pylint: disable=import-outside-toplevel
        self.lowering, self.proto, self.inputs, self.version = lowering, proto, list(inputs), version
        self.op = proto.op_type
        self.outputs = len(proto.output)
        self.attributes = {each.name: onnx.helper.get_attribute_value(each) for each in proto.attribute}

    @property
    def writer(self) -> Writer:
        return self.lowering.writer

    def get(self, name: str, default: Any = None) -> Any:
        found = self.attributes.get(name, default)
        return found.decode() if isinstance(found, bytes) else found

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int) -> Value:
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise unsupported(f"{self.op} without its input {index}")
        return value

    def optional(self, index: int) -> Value | None:
        return self.inputs[index] if self.has(index) else None

    def wants(self, index: int) -> bool:
        """Whether an output is used."""
        return index < self.outputs and self.proto.output[index] != ""

    def shape(self, index: int = 0) -> tuple[int, ...]:
        return self.input(index).shape

    def type(self, index: int = 0) -> int:
        return self.input(index).type

    def floats(self, index: int = 0) -> bool:
        return not traced_type(self.type(index)).is_integer

    def known(self, index: int, what: str = "") -> Any:
        value = self.input(index)
        if not value.known:
            raise unsupported(f"{self.op} whose {what or f'input {index}'} is known only when it runs")
        return value.value

    def listed(self, index: int, name: str) -> list[int] | None:
        """Integers that are an attribute or, since a later version, an input."""
        if self.has(index):
            return [int(x) for x in self.known(index, name).reshape(-1)]
        found = self.get(name)
        return None if found is None else [int(x) for x in ([found] if isinstance(found, int) else found)]

    def operand(self, index: int) -> Any:
        """Of an elementwise operation: a traced value, or a number if all elements are that."""
        return self.lowering.operand(self.input(index))

    def operands(self) -> list[Any]:
        return [self.operand(i) for i in range(len(self.inputs)) if self.has(i)]

    def traced(self, index: int = 0) -> Traced:
        """A tensor with axes."""
        return self.lowering.traced(self.input(index))

    def settled(self, value: Traced) -> Traced:
        """A value in which there are conversions to integers, which end kernels: these are written."""
        operands = [id(each.value) for each in self.inputs if each is not None and not each.known]
        self.writer.awaited.update(operands)  # which all of its kernels read
        for each in reachable(value).values():
            if each.final and each is not value:
                self.writer.keep(each)
        self.writer.awaited.subtract(operands)
        return value

    def view(self, value: Any, view: Callable[[Any], Any]) -> Traced:
        return self.writer.view(trace.as_traced(value), view)


class Lowering:
    """A model so far: kernels that are written down, and values by name."""

    def __init__(self, writer: Writer, rows: Mapping[str, Row], scan: Callable[..., list[Value]]):
        self.writer = writer
        self.scan = scan
        self.rows = rows
        self.names: list[str] = []  # of operators that were lowered
        self._copies: dict[int, tuple[Value, Any]] = {}

    def operand(self, value: Value) -> Any:
        if not value.known:
            return self.traced(value, True)
        array = value.value
        traced_type(value.type)
        if array.size and array.dtype != object and (array == array.flat[0]).all():
            if array.dtype == np.int64:
                if array.flat[0] not in _ENDS:
                    return int(narrowed(array.flat[0]))
                return int(np.clip(array.flat[0], -2 ** 31, 2 ** 31 - 1))  # whose ends stand for those
            return array.flat[0].item() if array.dtype.kind in "biuf" else float(array.flat[0])
        return self.traced(value)

    def traced(self, value: Value, broadcast: bool = False) -> Traced:
        """As a tensor with axes. broadcast: or as one that is repeated along some of them."""
        if value.known:
            if id(value) not in self._copies:
                dtype = traced_type(value.type)
                array = np.require(value.value, requirements=["C", "A"])
                array = array.view(np.uint8) if array.dtype == bool else narrowed(array)
                if not array.size:
                    raise unsupported(f"a tensor of shape {list(array.shape)}, which has no elements")
                self._copies[id(value)] = value, Traced("input", (), array.shape, dtype, array=array)
            found: Traced = self._copies[id(value)][1]
            return found
        result: Traced = value.value
        # A conversion to integers ends a kernel, and only elementwise operations broadcast.
        if result.final or (result.stored != result.shape and not broadcast):
            return self.writer.leaf(result)
        return result

    def graph(self, graph: Any, opsets: Mapping[str, int], outer: Mapping[str, Value],
              functions: Mapping[tuple[str, str], Any], wanted: Sequence[str] | None = None) -> dict[str, Value]:
        """Values by name, of a GraphProto or FunctionProto whose inputs are in `outer`. wanted: outputs; None: all."""
        import onnx  # pylint: disable=import-outside-toplevel
        values = dict(outer)
        for tensor in getattr(graph, "initializer", ()):
            values.setdefault(tensor.name, Value(onnx.numpy_helper.to_array(tensor), tensor.data_type))
        needed = _needed(graph, wanted)
        reads = collections.Counter(name for proto in needed for name in _read(proto))
        self._await(values, reads)
        for proto in needed:
            inputs = [values[name] if name else None for name in proto.input]
            self._await(values, {name: -times for name, times in collections.Counter(_read(proto)).items()})
            results = self.node(proto, inputs, opsets, values, functions)
            made = {name: result for name, result in zip(proto.output, results) if name}
            self._await(made, reads)
            for result in made.values():
                if not result.known:
                    self.writer.rooms.number(result.value)
            values.update(made)
        return values

    def _await(self, values: Mapping[str, Value], times: Mapping[str, int]) -> None:
        """Counts operations that are not written down yet and read these values, by name."""
        for name in values.keys() & times.keys():
            if values[name] is not None and not values[name].known:
                self.writer.awaited[id(values[name].value)] += times[name]

    def node(self, proto: Any, inputs: Sequence[Value | None], opsets: Mapping[str, int], values: Mapping[str, Value],
             functions: Mapping[tuple[str, str], Any]) -> Sequence[Value]:
        import onnx  # pylint: disable=import-outside-toplevel
        given = [value for value in inputs if value is not None]
        local = functions.get((proto.domain, proto.op_type))
        if local is not None:
            return self._body(local, proto, inputs, opsets, functions)
        if proto.op_type in ("Shape", "Size") and given and not proto.domain:
            return [_shape_of(proto, given[0])]
        if proto.op_type == "If" and given[0].known:
            return self._branch(proto, bool(given[0].value), opsets, values, functions)
        if proto.op_type == "Scan" and opsets.get("", 1) > 8:  # before, it had a batch and lengths
            return self.scan(self, proto, inputs, opsets, values, functions)
        graphs = any(each.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for each in proto.attribute)
        if all(value.known for value in given) and not graphs and not proto.op_type.startswith("Random"):
            folded = self._fold(proto, inputs, opsets)
            if proto.op_type == "DequantizeLinear":
                node = Node(self, proto, inputs, opsets.get("", 1))
                folded[0].of = Quantized(node.input(0), node.input(1), node.optional(2), node.get("axis", 1))
            return folded
        row = self.rows.get(proto.op_type) if proto.domain in ("", "ai.onnx", "ai.onnx.preview") else None
        opset = opsets.get(proto.domain or "", 1)
        try:
            schema = onnx.defs.get_schema(proto.op_type, opset, proto.domain)
        except onnx.defs.SchemaError:
            raise unsupported(f"operator {proto.op_type} of domain {proto.domain!r}") from None
        results = None if row is None or row.lower is None else row.lower(Node(self, proto, inputs, schema.since_version))
        if results is None:
            body = _function_body(schema, proto, inputs, opset)
            if body is None:
                raise unsupported(f"operator {proto.op_type}")
            return self._body(body, proto, inputs, opsets, functions, schema)
        self.names.append(proto.op_type)
        types = _types(schema, proto, inputs, opsets)
        return [result if isinstance(result, Value) else Value(result, types.get(name, given[0].type))
                for name, result in zip(proto.output, results if isinstance(results, (list, tuple)) else [results])]

    def _body(self, body: Any, proto: Any, inputs: Sequence[Value | None], opsets: Mapping[str, int],
              functions: Mapping[tuple[str, str], Any], schema: Any = None) -> list[Value]:
        """Inlines a function."""
        import onnx  # pylint: disable=import-outside-toplevel
        attributes = {name: each.default_value for name, each in (schema.attributes if schema else {}).items()
                      if each.default_value.type}
        attributes.update((each.name, each) for each in body.attribute_proto)
        attributes.update((each.name, each) for each in proto.attribute)
        filled = onnx.FunctionProto()
        filled.CopyFrom(body)
        _fill(filled.node, attributes)
        outer = {name: value for name, value in zip(body.input, inputs) if value is not None}
        outer.update((name, None) for name in body.input if name not in outer)  # type: ignore[misc]
        imports = {**opsets, **{each.domain: each.version for each in body.opset_import}}
        values = self.graph(filled, imports, outer, functions,
                            [inner for inner, name in zip(body.output, proto.output) if name])
        return [values[inner] if name else _unused() for inner, name in zip(body.output, proto.output)]

    def _branch(self, proto: Any, condition: bool, opsets: Mapping[str, int], values: Mapping[str, Value],
                functions: Mapping[tuple[str, str], Any]) -> list[Value]:
        name = "then_branch" if condition else "else_branch"
        graph = next(each.g for each in proto.attribute if each.name == name)
        found = self.graph(graph, opsets, values, functions)
        return [found[each.name] for each in graph.output]

    def _fold(self, proto: Any, inputs: Sequence[Value | None], opsets: Mapping[str, int]) -> list[Value]:
        import onnx  # pylint: disable=import-outside-toplevel
        import onnx.reference  # pylint: disable=import-outside-toplevel
        given = {name: value.value for name, value in zip(proto.input, inputs) if value is not None}
        wanted = [name for name in proto.output if name]
        # A function: of a node by itself the evaluator takes the newest version, whatever the model says. That is what
        # there is of operators whose older versions it does not have.
        function = onnx.helper.make_function("", "Fold", list(given), wanted, [proto],
                                             [onnx.helper.make_opsetid(*each) for each in opsets.items()])
        try:
            try:
                results = onnx.reference.ReferenceEvaluator(function).run(None, given, attributes={})
            except (NotImplementedError, RuntimeError):
                results = onnx.reference.ReferenceEvaluator(proto).run(None, given)
        except Exception as error:
            if proto.op_type != "GatherElements":
                raise unsupported(f"operator {proto.op_type} of constants: {error}") from error
            results = [_elements(*given.values(), **{each.name: each.i for each in proto.attribute})]
        found: dict[str, Value] = {"": _unused()}
        for name, result in zip(wanted, results):
            if not isinstance(result, (np.ndarray, np.generic)):
                raise unsupported(f"operator {proto.op_type}: a {type(result).__name__}, where tensors are known")
            array = np.asarray(result)
            found[name] = Value(array, onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
        return [found[name] for name in proto.output]


def _elements(x: Any, index: Any, axis: int = 0) -> Any:
    """GatherElements of an index with shorter axes, which ONNX's own evaluator does not have."""
    part = tuple(slice(None if i == axis % x.ndim else size) for i, size in enumerate(index.shape))
    return np.take_along_axis(x[part], index, axis)


def _unused() -> Value:
    """An output that nobody reads."""
    return Value(np.empty(0, np.float32), 1)


def _needed(graph: Any, wanted: Sequence[str] | None) -> list[Any]:
    """The nodes that outputs depend on."""
    if wanted is None:
        wanted = [each.name for each in graph.output]
    names, kept = set(wanted), []
    for node in reversed(graph.node):
        if names.intersection(node.output):
            kept.append(node)
            names.update(_read(node))
    return kept[::-1]


def _read(node: Any) -> list[str]:
    """Names that a node reads, those that its graphs take from outside included."""
    names = list(node.input)
    for each in node.attribute:
        if each.HasField("g"):
            names += [each_name for inner in each.g.node for each_name in _read(inner)]
            names += [output.name for output in each.g.output]
    return names


def _shape_of(proto: Any, value: Value) -> Value:
    import onnx  # pylint: disable=import-outside-toplevel
    ends = {each.name: each.i for each in proto.attribute}
    shape = np.array(value.shape, np.int64)
    part = np.array(shape.prod(), np.int64) if proto.op_type == "Size" else shape[ends.get("start"):ends.get("end")]
    return Value(part, onnx.TensorProto.INT64)


def _fill(nodes: Any, attributes: Mapping[str, Any]) -> None:
    """Puts attributes of the call in place of references to them."""
    for node in nodes:
        kept = []
        for each in node.attribute:
            if each.ref_attr_name:
                if each.ref_attr_name in attributes:
                    copy = type(each)()
                    copy.CopyFrom(attributes[each.ref_attr_name])
                    copy.name = each.name
                    kept.append(copy)
                continue
            if each.HasField("g"):
                _fill(each.g.node, attributes)
            kept.append(each)
        copies = [type(each).FromString(each.SerializeToString()) for each in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def _type_proto(value: Value) -> Any:
    import onnx  # pylint: disable=import-outside-toplevel
    return onnx.helper.make_tensor_type_proto(value.type, value.shape)


def _function_body(schema: Any, proto: Any, inputs: Sequence[Value | None], opset: int) -> Any:
    import onnx  # pylint: disable=import-outside-toplevel
    body = None
    if schema.has_function:
        body = schema.function_body
    elif schema.has_context_dependent_function:
        types = [(onnx.TypeProto() if value is None else _type_proto(value)).SerializeToString() for value in inputs]
        version = max(v for v in schema.context_dependent_function_opset_versions if v <= opset)
        text = schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
        body = onnx.FunctionProto.FromString(text)
    return body


def _types(schema: Any, proto: Any, inputs: Sequence[Value | None], opsets: Mapping[str, int]) -> dict[str, int]:
    """ONNX's element types of the outputs."""
    import onnx  # pylint: disable=import-outside-toplevel
    known = {name: _type_proto(value) for name, value in zip(proto.input, inputs) if value is not None}
    data = {name: onnx.numpy_helper.from_array(value.value) for name, value in zip(proto.input, inputs)
            if value is not None and value.known and value.value.dtype.kind == "i"}
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    try:
        found = onnx.shape_inference.infer_node_outputs(schema, proto, known, data, opset_imports=imports)
    except Exception:  # pylint: disable=broad-exception-caught  # what it cannot infer is the type of the first input
        return {}
    return {name: each.tensor_type.elem_type for name, each in found.items() if each.tensor_type.elem_type}


def input_of(writer: Writer, name: str, shape: Sequence[int], element: int) -> Value:
    if 0 in shape:  # all of its elements are known
        writer.unread()
        return Value(np.empty(tuple(shape), numpy_of(element)), element)
    try:
        return Value(writer.input(Tensor(traced_type(element), tuple(shape))), element)
    except SpecError as error:
        raise unsupported(f"input {name}: {error.message}") from None
