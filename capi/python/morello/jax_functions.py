# SPDX-License-Identifier: MIT
"""Kernels of functions that are written for JAX: its jaxpr, primitive by primitive."""
from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import composed, trace
from .arrays import numpy_dtype
from .enums import Dtype
from .extremes import top
from .indexing import cumulated, extreme_place, gather, gather_points, part, product
from .integers import divided
from .jax_windows import convolution, padded_between, pool, pool_gradient, preferred
from .joins import concatenate, stack, tile
from .jit import Jitted, _unflatten, check_options
from .products import contract
from .trace import Traced, as_traced, elementwise, reduce, unsupported

_ELEMENTWISE = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max", "min": "min", "neg": "neg",
    "abs": "abs", "sqrt": "sqrt", "rsqrt": "rsqrt", "square": "square", "exp": "exp", "exp2": "exp2", "log": "log",
    "tanh": "tanh", "logistic": "sigmoid", "erf": "erf", "sin": "sin", "cos": "cos", "floor": "floor", "ceil": "ceil",
}
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}
_TRUTH: dict[str, Callable[..., Traced]] = {
    "and": trace.both, "or": trace.either, "xor": trace.unlike, "not": trace.negated,
}
_REDUCTIONS = {"reduce_sum": "reduce_sum", "reduce_max": "reduce_max", "reduce_min": "reduce_min"}
_SAME = ("stop_gradient", "copy", "copy_p", "optimization_barrier", "sharding_constraint")
#: Where an array of one number is that number.
_ON_ELEMENTS = {*_ELEMENTWISE, *_COMPARISONS, *_TRUTH, "select_n", "clamp", "pow", "rem"}
_CALLS = ("pjit", "jit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call",
          "custom_vjp_call_jaxpr")


_MOST_STEPS = 256


def jit_jax(function: Callable[..., Any], **options: Any) -> Jitted:
    """As `jit`, of a function of jax.numpy and jax.nn, which is traced by jax.make_jaxpr. Returns NumPy arrays.

    Unlike JAX, nothing is rounded to bf16 or f16 between operations, but where the function converts. Raises SpecError
    with the name of a primitive that the Spec language does not have; ImportError without JAX.
    """
    import jax  # pylint: disable=import-outside-toplevel,unused-import  # noqa: F401
    check_options(options)
    return Jitted(function, options, _trace)


def _trace(function: Callable[..., Any], args: Any, leaves: Sequence[Traced]) -> Any:
    import jax  # pylint: disable=import-outside-toplevel

    def flat(*arrays: Any) -> Any:
        positional, named = _unflatten(args, arrays)
        return function(*positional, **named)
    describe: Callable[..., Any] = jax.ShapeDtypeStruct
    closed, shapes = jax.make_jaxpr(flat, return_shape=True)(
        *(describe(leaf.shape, np.dtype(np.bool_) if leaf.truth else numpy_dtype(leaf.element)) for leaf in leaves))
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), [
        x.traced() if isinstance(x, _Known) else x for x in _evaluate(closed, leaves)])


class _Known:
    """An array that depends on no argument."""

    def __init__(self, array: Any):
        # JAX has types that NumPy lacks, such as keys of random numbers.
        self.array = np.asarray(array) if isinstance(getattr(array, "dtype", None), (np.dtype, type(None))) else array
        self._traced: Traced | None = None

    def traced(self) -> Traced:
        """As an operand: one, however often it is read."""
        if self._traced is None:
            array = np.ascontiguousarray(self.array).reshape(self.array.shape)
            self._traced = as_traced(array if array.ndim else array.reshape(1))
            if not array.ndim:
                self._traced = trace.reshape(self._traced, ())
        return self._traced

    def number(self) -> Any:
        """All elements, if they are the same."""
        array = self.array
        if array.size:
            first = array.flat[0]
            same = array == first if first == first else array != array  # NaN is equal to nothing
            if same.all() and (array.dtype.kind != "f" or (np.signbit(array) == np.signbit(first)).all()):
                return first.item()
        return self.traced()


def _evaluate(closed: Any, inputs: Sequence[Any]) -> list[Any]:
    """What a closed jaxpr comes to: traced values, and what is known."""
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_Known, closed.consts)))
    values.update(zip(jaxpr.invars, inputs))

    def read(atom: Any) -> Any:
        if not hasattr(atom, "val"):
            return values[atom]
        numbers = isinstance(atom.aval.dtype, np.dtype)
        return _Known(np.asarray(atom.val, atom.aval.dtype) if numbers else atom.val)
    summed, quotients = _summed(jaxpr), _Quotients()
    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        unsigned = len(operands) == 1 and isinstance(operands[0], Traced) and operands[0].element == Dtype.U8
        if unsigned and equation.params.get("new_dtype") == np.uint32 and equation.outvars[0] in summed:
            results = [trace.astype(operands[0], np.int32)]
        else:
            results = _apply(equation, operands, quotients)
        for result, variable in zip(results, equation.outvars):
            if isinstance(result, Traced) and variable.aval.dtype == np.bool_:
                result.truth = True
        values.update(zip(equation.outvars, results))
    return [read(atom) for atom in jaxpr.outvars]


def _summed(jaxpr: Any) -> set[Any]:
    """Variables that are summed, and read by nothing else: JAX makes uint32 of uint8 for that."""
    readers: dict[Any, list[str]] = {variable: [""] for variable in jaxpr.outvars if not hasattr(variable, "val")}
    for equation in jaxpr.eqns:
        for atom in equation.invars:
            if not hasattr(atom, "val"):
                readers.setdefault(atom, []).append(equation.primitive.name)
    return {variable for variable, names in readers.items() if set(names) == {"reduce_sum"}}


def _nothing(variable: Any) -> _Known:
    """An array without elements, as functions of JAX make them."""
    return _Known(np.zeros(variable.aval.shape, variable.aval.dtype))


_Quotients = dict[Any, tuple[list[Any], tuple[Traced, Traced]]]


def _apply(equation: Any, operands: list[Any], quotients: _Quotients) -> list[Any]:
    name, params = equation.primitive.name, equation.params
    if name in _CALLS:
        inner = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
        return _evaluate(inner if hasattr(inner, "consts") else _Closed(inner), operands)
    if equation.outvars and all(0 in getattr(variable.aval, "shape", ()) for variable in equation.outvars):
        return [_nothing(variable) for variable in equation.outvars]
    if name == "concatenate":
        operands = [x for x in operands if isinstance(x, Traced) or x.array.size]
    if not any(isinstance(x, Traced) for x in operands):
        return _computed(equation, [x.array for x in operands])
    if name == "scan":
        return _scan(equation, operands)
    if name == "cond":
        return _cond(equation, operands)
    single = name in _ON_ELEMENTS
    operands = [x if isinstance(x, Traced) else x.number() if single or not x.array.ndim else x.traced() for x in operands]
    if name == "split":
        ends = np.cumsum(params["sizes"]).tolist()
        return [part(operands[0], params["axis"], slice(end - size, end)) if size else _nothing(variable)
                for end, size, variable in zip(ends, params["sizes"], equation.outvars)]
    if name == "unstack":
        axis = params["axis"]
        return [trace.squeeze(part(operands[0], axis, slice(i, i + 1)), axis) for i in range(operands[0].shape[axis])]
    if name == "top_k":
        return [*top(operands[0], params["k"], params.get("axis", -1), True, concatenate)]
    if name in ("div", "rem") and np.issubdtype(equation.outvars[0].aval.dtype, np.integer):
        result = _division(name, operands, quotients)
    elif name in _ELEMENTWISE:
        result = elementwise(_ELEMENTWISE[name], *operands)
    elif name in _COMPARISONS:
        result = trace.compare(_COMPARISONS[name], *operands)
    elif name in _TRUTH and equation.outvars[0].aval.dtype == np.bool_:
        result = _TRUTH[name](*operands)
    elif name in _REDUCTIONS:
        result = reduce(_REDUCTIONS[name], operands[0], params["axes"])
    elif name in _SAME:
        result = operands[0]
    elif name in _PRIMITIVES:
        result = _PRIMITIVES[name](params, *operands)
    else:
        raise _no_operation(equation)
    wanted = equation.outvars[0].aval.shape
    return [trace.broadcast_to(result, wanted) if single and result.shape != wanted else result]


def _division(name: str, operands: list[Any], quotients: _Quotients) -> Traced:
    """Toward zero; by 0, as XLA has it, all bits are set. Of the same numbers, as in x // y, both come from one division."""
    key = tuple((isinstance(x, Traced), id(x) if isinstance(x, Traced) else x) for x in operands)
    if key not in quotients:  # which keep operands, whose ids stay theirs
        ones = 255 if any(getattr(x, "element", None) == Dtype.U8 for x in operands) else -1
        a, b = operands
        quotients[key] = operands, divided(name, a, b, toward_zero=True, by_zero=(ones, None))
    return quotients[key][1][name == "rem"]


def _computed(equation: Any, arrays: list[Any]) -> list[Any]:
    """Of what is known, by JAX itself."""
    if equation.primitive.name == "broadcast_in_dim":  # without a copy
        order, sizes = _broadcast_sizes(equation.params, arrays[0].shape)
        return [_Known(np.broadcast_to(arrays[0].transpose(order).reshape(sizes), equation.params["shape"]))]
    given = [array.astype(atom.aval.dtype, copy=False) if isinstance(array, np.ndarray) else array
             for array, atom in zip(arrays, equation.invars)]
    results = equation.primitive.bind(*given, **equation.params)
    return [_Known(result) for result in (results if equation.primitive.multiple_results else [results])]


class _Closed:
    """A jaxpr that is not closed has no constants."""

    def __init__(self, jaxpr: Any):
        self.jaxpr = jaxpr
        self.consts: tuple[Any, ...] = ()


def _no_operation(equation: Any) -> Exception:
    operands = ", ".join(str(atom.aval.str_short()) for atom in equation.invars)
    return unsupported(f"JAX's primitive {equation.primitive.name!r} of {operands}: the Spec language has no such "
                       "operation")


def _broadcast_sizes(params: Any, shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """The order of the operand's axes in the result, and its sizes there."""
    axes, sizes = params["broadcast_dimensions"], [1] * len(params["shape"])
    for axis, size in zip(axes, shape):
        sizes[axis] = size
    return sorted(range(len(axes)), key=lambda i: axes[i]), sizes


def _broadcast(params: Any, x: Any) -> Traced:
    order, sizes = _broadcast_sizes(params, x.shape)
    return trace.broadcast_to(trace.reshape(trace.transpose(x, order) if x.ndim else x, sizes), params["shape"])


def _reshape(params: Any, x: Any) -> Traced:
    order = params.get("dimensions")  # the axes are read in this one
    return trace.reshape(x if order is None else trace.transpose(x, order), params["new_sizes"])


def _dot_general(params: Any, a: Any, b: Any) -> Traced:
    (left_sums, right_sums), (left_batch, right_batch) = params["dimension_numbers"]
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in a.shape]
    right = [next(letters) for _ in b.shape]
    for mine, other in ((left_sums, right_sums), (left_batch, right_batch)):
        for i, j in zip(mine, other):
            right[j] = left[i]
    result = [left[i] for i in left_batch]
    result += [letter for i, letter in enumerate(left) if i not in (*left_sums, *left_batch)]
    result += [letter for i, letter in enumerate(right) if i not in (*right_sums, *right_batch)]
    return preferred(params, contract(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b), a)


def _round(params: Any, x: Any) -> Traced:
    if int(params["rounding_method"]) != 1:
        raise unsupported("JAX's primitive 'round' away from zero: the Spec language rounds ties to even")
    return elementwise("round", x)


def _clamp(_params: Any, low: Any, x: Any, high: Any) -> Traced:
    if not isinstance(x, Traced):
        return elementwise("min", elementwise("max", low, x), high)
    return elementwise("clamp", x, low, high)


def _select(_params: Any, which: Any, *cases: Any) -> Traced:
    if len(cases) == 2:
        return composed.where(which, cases[1], cases[0])
    result = cases[0]
    for i, each in enumerate(cases[1:], 1):
        result = composed.where(trace.compare("equal", which, i), each, result)
    return as_traced(result)


def _convert(params: Any, x: Any) -> Traced:
    target = np.dtype(params["new_dtype"])
    return trace.compare("not_equal", x, 0) if target == np.bool_ else trace.astype(x, target)


def _gather(params: Any, x: Any, index: Any) -> Traced:
    """As jnp.take, x[ids], x[i, j] and jnp.take_along_axis make it: whole axes but those of the index, or elements of
    one axis where the others are the index's own."""
    numbers, mode = params["dimension_numbers"], params["mode"].name
    axes = tuple(numbers.start_index_map)
    others = tuple(i for i in range(x.ndim) if i not in axes)
    batches = tuple(numbers.operand_batching_dims)
    by_elements = bool(batches) and batches == others == tuple(numbers.start_indices_batching_dims)
    sizes = tuple(1 if i in axes or by_elements else size for i, size in enumerate(x.shape))
    if index.shape[-1] != len(axes) or tuple(numbers.collapsed_slice_dims) != tuple(sorted(axes)) or not axes \
            or tuple(params["slice_sizes"]) != sizes or bool(batches) != by_elements or mode == "ONE_HOT":
        raise unsupported(f"JAX's primitive 'gather' of slices {params['slice_sizes']} of {x!r} at {index!r}: the Spec "
                          "language has that of whole axes, or of elements along one")
    ids = [trace.reshape(part(index, index.ndim - 1, slice(i, i + 1)), index.shape[:-1]) for i in range(len(axes))]
    single = len(axes) == 1
    result = gather(x, ids[0], axes[0], by_elements) if single else gather_points(x, ids, axes)
    first = axes[0] if single else 0
    if mode == "FILL_OR_DROP":
        inside: Any = None
        for each, axis in zip(ids, axes):
            within = trace.both(trace.compare("greater_equal", each, 0), trace.compare("less", each, x.shape[axis]))
            inside = within if inside is None else trace.both(inside, within)
        if not by_elements:
            inside = trace.reshape(inside, [1] * first + list(index.shape[:-1]) + [1] * (len(others) - first))
        result = composed.where(inside, result, _filling(params["fill_value"], x.element))
    if by_elements:
        return result
    # The axes of ids stand where the axis was, or first, and in JAX where there is none of x.
    count = index.ndim - 1
    of_ids, of_x = iter(range(first, first + count)), iter([*range(first), *range(first + count, result.ndim)])
    return trace.transpose(result, [next(of_x if i in numbers.offset_dims else of_ids) for i in range(result.ndim)])


def _slice(params: Any, x: Any) -> Traced:
    steps = params["strides"] or [1] * x.ndim
    for axis, bounds in enumerate(zip(params["start_indices"], params["limit_indices"], steps)):
        x = part(x, axis, slice(*bounds))
    return as_traced(x)


def _dynamic_slice(params: Any, x: Any, *starts: Any) -> Traced:
    """Wholly inside, as JAX has it, wherever it should start."""
    for axis, (start, size) in enumerate(zip(starts, params["slice_sizes"])):
        last = x.shape[axis] - size
        if not isinstance(start, Traced) or last == 0:
            first = 0 if last == 0 else min(max(start, 0), last)
            x = part(x, axis, slice(first, first + size))
            continue
        places = trace.reshape(elementwise("clamp", start, 0, last), (1,))
        x = gather(x, places if size == 1 else elementwise("add", places, np.arange(size, dtype=np.int32)), axis)
    return as_traced(x)


def _dynamic_update_slice(_params: Any, x: Any, update: Any, *starts: Any) -> Traced:
    """x with the update in it, wholly inside, wherever that should start."""
    inside: Any = None
    for axis, (start, size) in enumerate(zip(starts, update.shape)):
        whole = x.shape[axis]
        if size == whole:
            continue
        first = elementwise("clamp", start, 0, whole - size) if isinstance(start, Traced) \
            else min(max(start, 0), whole - size)
        places = np.arange(whole, dtype=np.int32)
        distance = elementwise("sub", places, first) if isinstance(first, Traced) else trace.as_traced(places - first)
        within = trace.both(trace.compare("greater_equal", distance, 0), trace.compare("less", distance, size))
        within = trace.reshape(within, [whole if i == axis else 1 for i in range(x.ndim)])
        inside = within if inside is None else trace.both(inside, within)
        update = gather(update, distance, axis)  # what is outside is the nearest place, and not taken
    return as_traced(update) if inside is None else composed.where(inside, update, x)


def _pad(params: Any, x: Any, number: Any) -> Traced:
    return padded_between(as_traced(x), params["padding_config"], number)


def _erfc(_params: Any, x: Any) -> Traced:
    """2 gelu(v) / v of v = -sqrt(2) x, which has all digits where 1 - erf(x) has none."""
    v = elementwise("clamp", elementwise("mul", x, -math.sqrt(2)), -20.0, 20.0)
    ratio = elementwise("div", elementwise("mul", elementwise("gelu", v), 2.0), v)
    return composed.where(trace.compare("less", elementwise("abs", v), 2.0 ** -26), 1.0, ratio)


def _chosen(ids: Any, size: int) -> Traced:
    """[.., ids, size], where each of them is."""
    return trace.compare("equal", trace.expand_dims(ids, -1), np.arange(size, dtype=np.int32))


def _scatter_add(params: Any, x: Any, index: Any, updates: Any) -> Traced:
    """What is added where integers say, as for the gradient of a gather: slices along an axis, by a product with ones at
    these places, where what is not finite spreads along its column, by products with zeros; elements of a matrix,
    likewise; or elements along an axis where the others are the index's own."""
    numbers = params["dimension_numbers"]
    axes, window = tuple(numbers.scatter_dims_to_operand_dims), tuple(numbers.update_window_dims)
    batches = tuple(getattr(numbers, "operand_batching_dims", ()))
    others = [i for i in range(x.ndim) if i not in axes]
    if index.ndim == 1:  # one place
        index, window = trace.reshape(index, (1, *index.shape)), tuple(i + 1 for i in window)
        updates = trace.reshape(updates, (1, *updates.shape)) if isinstance(updates, Traced) else as_traced(np.full(
            1, updates, numpy_dtype(x.element)))
    said = index.shape[-1] == len(axes) and tuple(numbers.inserted_window_dims) == tuple(sorted(axes)) \
        and (not window or [updates.shape[i] for i in window] == [x.shape[i] for i in others])
    ids = [trace.reshape(part(index, index.ndim - 1, slice(i, i + 1)), index.shape[:-1]) for i in range(len(axes))]
    if params["mode"].name == "CLIP":
        ids = [elementwise("clamp", each, 0, x.shape[axis] - 1) for each, axis in zip(ids, axes)]
    nothing: float = 0 if x.element.is_integer else 0.0
    if said and len(axes) == 1 and batches == tuple(others) and batches and not window and index.ndim == x.ndim + 1:
        order = list(numbers.scatter_indices_batching_dims)
        order += [i for i in range(x.ndim) if i not in order]
        chosen = _chosen(trace.transpose(ids[0], order), x.shape[axes[0]])
        there = composed.where(chosen, trace.expand_dims(trace.transpose(updates, order), -1), nothing)
        sums = reduce("reduce_sum", there, x.ndim - 1)
    elif said and len(axes) == 1 and not batches and len(window) == len(others):
        front = [i for i in range(updates.ndim) if i not in window]
        rows = trace.reshape(trace.transpose(updates, [*front, *window]), (math.prod(index.shape[:-1]), -1))
        sums = contract("ij,ik->kj", rows, _chosen(trace.reshape(ids[0], (-1,)), x.shape[axes[0]]))
        sums = trace.reshape(sums, [x.shape[axes[0]], *(x.shape[i] for i in others)])
        return elementwise("add", x, trace.transpose(sums, np.argsort([axes[0], *others]).tolist()))
    elif said and len(axes) == x.ndim == 2 and not batches and not window:
        rows, columns = (_chosen(trace.reshape(each, (-1,)), x.shape[axis]) for each, axis in zip(ids, axes))
        there = composed.where(columns, trace.reshape(updates, (-1, 1)), nothing)
        sums = contract("ij,ik->jk", rows, there)
        return elementwise("add", x, sums if axes == (0, 1) else trace.transpose(sums, (1, 0)))
    else:
        raise unsupported(f"JAX's primitive 'scatter-add' of {updates!r} to {x!r} at {index!r}: the Spec language has that "
                          "of slices along one axis, of elements of a matrix, and of elements along one axis (as of "
                          "jnp.take_along_axis); jax.nn.one_hot and a product say others")
    return elementwise("add", x, trace.transpose(sums, np.argsort([*others, *axes]).tolist()))


def _cond(equation: Any, operands: list[Any]) -> list[Any]:
    """All branches, of which one is taken, element by element."""
    which, *rest = operands
    branches = equation.params["branches"]
    if isinstance(which, _Known):
        return _evaluate(branches[min(max(int(which.array), 0), len(branches) - 1)], rest)
    results = list(zip(*(_evaluate(branch, rest) for branch in branches)))
    index = elementwise("clamp", which, 0, len(branches) - 1)
    return [_select({}, index, *(x if isinstance(x, Traced) else x.traced() for x in cases)) for cases in results]


def _scan(equation: Any, operands: list[Any]) -> list[Any]:
    """Step after step, as many as there are."""
    params = equation.params
    consts, carried, length = params["num_consts"], params["num_carry"], params["length"]
    if not 0 < length <= _MOST_STEPS:
        raise unsupported(f"JAX's primitive 'scan' of {length} steps, which are written down one after another: valid are "
                          f"1 to {_MOST_STEPS}")
    fixed, state, rows = operands[:consts], operands[consts:consts + carried], operands[consts + carried:]
    made: list[list[Any]] = []
    for step in range(length)[::-1] if params["reverse"] else range(length):
        given = [row[step] if isinstance(row, Traced) else _Known(row.array[step]) for row in rows]
        results = _evaluate(params["jaxpr"], [*fixed, *state, *given])
        state = results[:carried]
        made.append(results[carried:])
    if params["reverse"]:
        made.reverse()
    return [*state, *(stack([x if isinstance(x, Traced) else x.traced() for x in of_steps]) for of_steps in zip(*made))]


def _reverse(params: Any, x: Any) -> Traced:
    for axis in params["dimensions"]:
        x = part(x, axis, slice(None, None, -1))
    return as_traced(x)


def _filling(given: Any, element: Dtype) -> Any:
    """What stands for elements outside: NaN, the least of signed integers, or the most of others."""
    if given is not None:
        return np.asarray(given).item()
    if not element.is_integer:
        return math.nan
    limits = np.iinfo(numpy_dtype(element))
    return int(limits.min or limits.max)


_PRIMITIVES: dict[str, Callable[..., Traced]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": lambda params, x: trace.squeeze(x, params["dimensions"]),
    "expand_dims": lambda params, x: trace.expand_dims(x, params["dimensions"]),
    "transpose": lambda params, x: trace.transpose(x, params["permutation"]),
    "convert_element_type": _convert,
    "select_n": _select,
    "integer_pow": lambda params, x: composed.power(x, params["y"]),
    "pow": lambda _params, x, y: composed.power(x, y),
    "erfc": _erfc,
    "expm1": lambda _params, x: composed.expm1(x),
    "log1p": lambda _params, x: composed.log1p(x),
    "sign": lambda _params, x: composed.sign(x),
    "is_finite": lambda _params, x: composed.is_finite(x),
    "tan": lambda _params, x: elementwise("div", elementwise("sin", x), elementwise("cos", x)),
    "reduce_or": lambda params, x: composed.holds("reduce_max", x, params["axes"]),
    "reduce_and": lambda params, x: composed.holds("reduce_min", x, params["axes"]),
    "reduce_prod": lambda params, x: product(x, params["axes"]),
    "argmax": lambda params, x: extreme_place("reduce_max", x, *params["axes"]),
    "argmin": lambda params, x: extreme_place("reduce_min", x, *params["axes"]),
    "stack": lambda params, *parts: stack(parts, params["axis"]),
    "tile": lambda params, x: tile(x, params["reps"]),
    "cumsum": lambda params, x: cumulated("add", x, params["axis"], params["reverse"]),
    "cumprod": lambda params, x: cumulated("mul", x, params["axis"], params["reverse"]),
    "cummax": lambda params, x: cumulated("max", x, params["axis"], params["reverse"]),
    "cummin": lambda params, x: cumulated("min", x, params["axis"], params["reverse"]),
    "concatenate": lambda params, *parts: concatenate(parts, params["dimension"]),
    "pad": _pad,
    "dot_general": _dot_general,
    "conv_general_dilated": convolution,
    "reduce_window_max": lambda params, x: pool("max", params, x),
    "reduce_window_min": lambda params, x: pool("min", params, x),
    "reduce_window_sum": lambda params, x: pool("sum", params, x),
    "select_and_scatter_add": pool_gradient,
    "scatter-add": _scatter_add,
    "gather": _gather,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "rev": _reverse,
    "round": _round,
    "clamp": _clamp,
}
