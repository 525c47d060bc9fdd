# SPDX-License-Identifier: MIT
"""The table of ONNX's operators: elementwise ones and reductions."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import composed, trace
from .enums import Dtype
from .errors import SpecError
from .indexing import product
from .integers import divided
from .onnx_lowering import Node, Row, Value, numpy_of, traced_type
from .spec import Spec
from .trace import Traced, elementwise, unsupported

_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "square": np.square, "recip": np.reciprocal, "exp": np.exp,
    "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "clamp": np.clip,
}


def op(operation: str, *operands: Any) -> Any:
    """An elementwise operation; of numbers alone, a number."""
    if any(isinstance(x, Traced) for x in operands):
        return elementwise(operation, *operands)
    if operation not in _NUMBERS:
        raise unsupported(f"operation {operation} of constants")
    with np.errstate(all="ignore"):
        return _NUMBERS[operation](*map(np.float64, operands)).item()


@functools.cache
def _has(operation: str, operands: int) -> bool:
    """Whether the Spec language has an elementwise operation."""
    try:
        Spec("; ".join(f"x{i} f32[2]" for i in range(operands)) + f"; {operation} "
             + " ".join(f"x{i}" for i in range(operands)))
    except SpecError:
        return False
    return True


def later(operation: str, *operands: Any) -> Any:
    """An operation that a version of the Spec language may not have."""
    if not _has(operation, len(operands)):
        raise unsupported(f"no elementwise operation {operation!r}")
    return op(operation, *operands)


def _shaped(value: Any, node: Node) -> Traced:
    """The result of an elementwise operator: of the shape that all inputs broadcast to, numbers included."""
    shape = np.broadcast_shapes(*(value.shape for value in node.inputs if value is not None))
    return trace.broadcast_to(value, shape)


def pointwise(lower: Callable[..., Any], text: str) -> Row:
    """lower: of operands, and of attributes that the function has by name."""
    names = lower.__kwdefaults__ or {}

    def call(node: Node) -> Any:
        settings = {name: node.get(name, default) for name, default in names.items()}
        return _shaped(lower(*node.operands(), **settings), node)
    return Row(call, text)


def direct(operation: str) -> Row:
    return pointwise(lambda *operands: op(operation, *operands), f"`{operation}`")


def directly_later(operation: str) -> Row:
    return pointwise(lambda *operands: later(operation, *operands), f"`{operation}`")


def variadic(operation: str) -> Row:
    def call(node: Node) -> Any:
        return _shaped(functools.reduce(lambda a, b: op(operation, a, b), _some_traced(node.operands())), node)
    return Row(call, f"`{operation}`, of two at a time")


def _some_traced(operands: list[Any]) -> list[Any]:
    """The same with numbers at the end: two numbers are no operation."""
    return sorted(operands, key=lambda x: not isinstance(x, Traced))


def negative_part(x: Any) -> Any:
    return op("min", x, 0)


def truncated(x: Any) -> Any:
    """Toward zero; of a number, a number."""
    return trace.truncated(x) if isinstance(x, Traced) else float(math.trunc(x))


def softplus(x: Any) -> Any:
    return op("add", op("max", x, 0), op("log", op("add", op("exp", op("neg", op("abs", x))), 1)))


def expm1_below(x: Any) -> Any:
    """exp(min(x, 0)) - 1."""
    return op("sub", op("exp", negative_part(x)), 1)


def cosh(x: Any) -> Any:
    """Without an overflow before that of the result."""
    half = op("exp", op("mul", op("abs", x), 0.5))
    return op("add", op("mul", op("mul", half, 0.5), half), op("div", 0.5, op("square", half)))


def _sign(x: Any) -> Any:
    # Twice the largest power of two: 1e-45 becomes more than 1.
    return op("clamp", op("mul", op("mul", x, 2.0 ** 127), 2.0 ** 127), -1, 1)


def _asinh(x: Any) -> Any:
    size = op("abs", x)
    more, less = op("max", size, 1), op("min", size, 1)  # nothing is squared that overflows
    root = op("mul", more, op("sqrt", op("add", op("square", op("div", less, more)), 1)))
    return op("mul", _sign(x), op("log", op("add", size, root)))


def _div(node: Node) -> Any:
    a, b = node.operands()
    if node.floats():
        return _shaped(op("div", a, b), node)
    return _shaped(node.settled(divided("Div", a, b, toward_zero=True)[0]), node)


def _mod(node: Node) -> Any:
    if node.floats():
        raise unsupported("operator Mod of floats: valid are integers")
    a, b = node.operands()
    return _shaped(node.settled(divided("Mod", a, b, toward_zero=bool(node.get("fmod", 0)))[1]), node)


def _pow(node: Node) -> Any:
    exponent = node.operand(1)
    if isinstance(exponent, Traced):
        raise unsupported("operator Pow whose exponent is no constant")
    if not node.floats():
        raise unsupported("operator Pow of integers")
    return _shaped(composed.power(node.operand(0), exponent), node)


def _clip(node: Node) -> Any:
    x = node.operand(0)
    low = node.operand(1) if node.has(1) else node.get("min")
    high = node.operand(2) if node.has(2) else node.get("max")
    if low is not None:
        x = op("max", x, low)
    return x if high is None else op("min", x, high)


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return op("gelu_tanh" if approximate == "tanh" else "gelu", x)


def _prelu(node: Node) -> Any:
    x, slope = node.operand(0), node.operand(1)
    return _shaped(op("add", op("max", x, 0), op("mul", negative_part(x), slope)), node)


def _not(node: Node) -> Any:
    if node.op == "BitwiseNot":
        return op("sub", 255 if traced_type(node.type()) == Dtype.U8 else -1, node.operand(0))
    return op("sub", 1, node.operand(0))


def _logic(lower: Callable[[Any, Any], Any], text: str) -> Row:
    return Row(lambda node: _shaped(lower(*_some_traced(node.operands())), node), text)


def _where(node: Node) -> Any:
    condition = node.input(0)
    shape = np.broadcast_shapes(*(value.shape for value in node.inputs if value is not None))
    if condition.known and condition.value.size and (condition.value == condition.value.flat[0]).all():
        chosen = node.input(1 if condition.value.flat[0] else 2)
        if chosen.known:
            return Value(np.broadcast_to(chosen.value, shape), chosen.type)
        return trace.broadcast_to(chosen.value, shape)
    return trace.broadcast_to(later("select", *node.operands()), shape)


def _cast(node: Node) -> Any:
    import onnx  # pylint: disable=import-outside-toplevel
    source = node.input(0)
    to = node.get("to") if node.op == "Cast" else node.type(1)
    if source.known:
        return Value(source.value.astype(numpy_of(to)), to)
    return Value(converted(node, node.traced(), source.type, to, onnx.TensorProto.BOOL), to)


def converted(node: Node, x: Traced, given: int, to: int, truth: int) -> Traced:
    """ONNX truncates floats, and integers wrap."""
    source, target = traced_type(given), traced_type(to)
    if given == to:
        return x
    if to == truth:
        return trace.converted(later("not_equal", x, 0), Dtype.U8)
    if not target.is_integer:
        return trace.converted(x, target)
    if not source.is_integer:
        return trace.converted(truncated(x), target)
    if given == truth or target == Dtype.I32:
        return trace.converted(x, target)
    if source == Dtype.I32:
        raise unsupported("conversion of i32 to integers of 8 bits: the Spec language saturates, ONNX wraps")
    step = op("clamp", op("neg", x), 0, 1) if source == Dtype.I8 else op("clamp", op("sub", x, 127), 0, 1)
    wrapped = op("mul", step, 256 if source == Dtype.I8 else -256)
    return trace.converted(op("add", trace.converted(x, Dtype.I32), wrapped), target)


# -- Reductions

def reduction_axes(node: Node) -> list[int] | None:
    """None: of a reduction over no axis."""
    axes = node.listed(1, "axes")
    if axes:
        return axes
    return None if node.get("noop_with_empty_axes", 0) else list(range(len(node.shape())))


def reduction(before: Callable[[Any], Any] | None, operation: str, after: Callable[[Any], Any] | None,
              text: str) -> Row:
    def call(node: Node) -> Any:
        axes = reduction_axes(node)
        x: Any = node.traced()
        x = before(x) if before else x
        if axes is None:
            x = op("log", op("exp", x)) if operation == "logsumexp" else x
        else:
            keep = bool(node.get("keepdims", 1))
            x = node.settled(product(x, axes, keep)) if operation == "product" else trace.reduce(operation, x, axes, keep)
        return after(x) if after else x
    return Row(call, text, known=(1,))


OPERATORS: dict[str, Row] = {
    "Abs": direct("abs"), "Add": direct("add"), "Ceil": direct("ceil"), "Erf": direct("erf"), "Exp": direct("exp"),
    "Floor": direct("floor"), "Log": direct("log"), "Mul": direct("mul"), "Neg": direct("neg"),
    "Reciprocal": direct("recip"), "Relu": direct("relu"), "Round": direct("round"), "Sigmoid": direct("sigmoid"),
    "Sin": direct("sin"), "Cos": direct("cos"), "Tan": pointwise(lambda x: op("div", op("sin", x), op("cos", x)),
                                                                 "sin(x) / cos(x)"),
    "Sqrt": direct("sqrt"), "Sub": direct("sub"), "Tanh": direct("tanh"),
    "Max": variadic("max"), "Min": variadic("min"), "Sum": variadic("add"),
    "Mean": Row(lambda node: _shaped(op("mul", functools.reduce(lambda a, b: op("add", a, b), _some_traced(
        node.operands())), 1 / len(node.inputs)), node), "`add`, of two at a time, and `mul`"),
    "Div": Row(_div, "`div`; of integers its whole part, mended by `mul`, `sub`, `select` in kernels of their own, but of bytes"),
    "Mod": Row(_mod, "of integers: what `Div` leaves, or its quotient rounded down"),
    "Pow": Row(_pow, "`pow`, with a constant exponent"),
    "Clip": Row(_clip, "`max`, `min`"),
    "Sign": pointwise(_sign, "`clamp` of x * 2^254"),
    "Gelu": pointwise(_gelu, "`gelu`, `gelu_tanh`"),
    "LeakyRelu": pointwise(lambda x, *, alpha=0.01: op("add", op("max", x, 0), op("mul", negative_part(x), alpha)),
                           "max(x, 0) + alpha * min(x, 0)"),
    "PRelu": Row(_prelu, "max(x, 0) + slope * min(x, 0)"),
    "Elu": pointwise(lambda x, *, alpha=1.0: op("add", op("max", x, 0), op("mul", expm1_below(x), alpha)),
                     "max(x, 0) + alpha * (exp(min(x, 0)) - 1)"),
    "Selu": pointwise(lambda x, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875: op("mul", op(
        "add", op("max", x, 0), op("mul", expm1_below(x), alpha)), gamma), "gamma * elu(x)"),
    "Celu": pointwise(lambda x, *, alpha=1.0: op("add", op("max", x, 0), op("mul", expm1_below(
        op("mul", x, 1 / alpha)), alpha)), "max(x, 0) + alpha * (exp(min(x / alpha, 0)) - 1)"),
    "HardSigmoid": pointwise(lambda x, *, alpha=0.2, beta=0.5: op("clamp", op("add", op("mul", x, alpha), beta), 0, 1),
                             "clamp(alpha * x + beta, 0, 1)"),
    "HardSwish": pointwise(lambda x: op("mul", x, op("clamp", op("add", op("mul", x, 1 / 6), 0.5), 0, 1)),
                           "x * clamp(x / 6 + 0.5, 0, 1)"),
    "Softplus": pointwise(softplus, "max(x, 0) + log(1 + exp(-abs(x)))"),
    "Softsign": pointwise(lambda x: op("div", x, op("add", op("abs", x), 1)), "x / (1 + abs(x))"),
    "Mish": pointwise(lambda x: op("mul", x, op("tanh", softplus(x))), "x * tanh(softplus(x))"),
    "Swish": pointwise(lambda x, *, alpha=1.0: op("mul", x, op("sigmoid", op("mul", x, alpha))),
                       "x * sigmoid(alpha * x)"),
    "Cosh": pointwise(cosh, "by `exp`"),
    "Sinh": pointwise(lambda x: op("mul", op("tanh", x), cosh(x)), "tanh(x) * cosh(x)"),
    "ThresholdedRelu": pointwise(lambda x, *, alpha=1.0: later("select", later("greater", x, alpha), x, 0),
                                 "`greater`, `select`"),
    "Shrink": pointwise(lambda x, *, bias=0.0, lambd=0.5: later(
        "select", later("less", x, -lambd), op("add", x, bias), later("select", later("greater", x, lambd), op(
            "sub", x, bias), 0)), "`less`, `greater`, `select`"),
    "And": _logic(lambda a, b: op("min", a, b), "`min` of bytes"),
    "Or": _logic(lambda a, b: op("max", a, b), "`max` of bytes"),
    "Xor": _logic(lambda a, b: op("abs", op("sub", a, b)), "`sub`, `abs` of bytes"),
    "Not": Row(_not, "1 - x"), "BitwiseNot": Row(_not, "-1 - x, 255 - x"),
    "Equal": directly_later("equal"), "Less": directly_later("less"), "Greater": directly_later("greater"),
    "LessOrEqual": directly_later("less_equal"), "GreaterOrEqual": directly_later("greater_equal"),
    "IsNaN": pointwise(lambda x: later("not_equal", x, x), "`not_equal` of x and x"),
    "IsInf": pointwise(lambda x, *, detect_negative=1, detect_positive=1: later(
        "equal", op("abs", x) if detect_negative and detect_positive else x,
        math.inf if detect_positive else -math.inf) if detect_negative or detect_positive else op("mul", later(
            "equal", x, 0), 0), "`equal` to infinity"),
    "Where": Row(_where, "`select`; nothing if one condition is known for all"),
    "Cast": Row(_cast, "`cast`, or the conversion of a result, toward zero"),
    "CastLike": Row(_cast, "as Cast"),

    "ReduceSum": reduction(None, "reduce_sum", None, "`reduce_sum`"),
    "ReduceMean": reduction(None, "mean", None, "`mean`"),
    "ReduceMax": reduction(None, "reduce_max", None, "`reduce_max`"),
    "ReduceMin": reduction(None, "reduce_min", None, "`reduce_min`"),
    "ReduceProd": reduction(None, "product", None, "`mul` of parts of an axis, until one element is left"),
    "ReduceL1": reduction(lambda x: op("abs", x), "reduce_sum", None, "`abs`, `reduce_sum`"),
    "ReduceL2": reduction(lambda x: op("square", x), "reduce_sum", lambda x: op("sqrt", x),
                          "`square`, `reduce_sum`, `sqrt`"),
    "ReduceSumSquare": reduction(lambda x: op("square", x), "reduce_sum", None, "`square`, `reduce_sum`"),
    "ReduceLogSum": reduction(None, "reduce_sum", lambda x: op("log", x), "`reduce_sum`, `log`"),
    "ReduceLogSumExp": reduction(None, "logsumexp", None, "`logsumexp`"),

    "Asinh": pointwise(_asinh, "by `log`, `sqrt`"),
    "Acosh": pointwise(lambda x: op("log", op("add", x, op("mul", op("sqrt", op("sub", x, 1)), op("sqrt", op(
        "add", x, 1))))), "by `log`, `sqrt`"),
    "Atanh": pointwise(lambda x: op("mul", op("log", op("div", op("add", 1, x), op("sub", 1, x))), 0.5), "by `log`"),
}
