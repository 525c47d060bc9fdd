# SPDX-License-Identifier: MIT
"""Products of traced values, summed over what they share."""
from __future__ import annotations

import itertools
import math
import string
from typing import Any

import numpy as np

from .enums import Dtype, Status
from .errors import SpecError
from .trace import Traced, as_value, elementwise, reduce, reshape, result_type, transpose, unsupported, whole


def contract(subscripts: str, a: Any, b: Any) -> Traced:
    """A product of two values, summed over the letters that the result lacks."""
    left, right = whole("einsum", a), whole("einsum", b)
    terms, result = subscripts.split("->")
    sizes: dict[str, int] = {}
    for term, value in zip(terms.split(","), (left, right)):
        if len(term) != value.ndim:
            raise SpecError(Status.INVALID_SHAPE, f"einsum: {term!r} for {value!r}")
        for letter, size in zip(term, value.shape):
            if sizes.setdefault(letter, size) != size:
                raise SpecError(Status.INVALID_SHAPE, f"{subscripts}: {letter} is {sizes[letter]} and {size}")
    dtype = result_type("einsum", [left, right])
    return Traced(f'einsum "{subscripts}"', [left, right], [sizes[letter] for letter in result],
                  Dtype.I32 if dtype.is_integer else dtype)


def einsum(subscripts: Any, *operands: Any) -> Traced:
    """numpy.einsum, pair by pair: of those that are left the two whose product has the fewest elements."""
    if not isinstance(subscripts, str):
        raise unsupported(f"einsum of lists of axes: write subscripts such as 'ij,jk->ik' first, not "
                          f"{type(subscripts).__name__}")
    values = [whole("einsum", x) for x in operands]
    terms, result = _terms(subscripts, [value.ndim for value in values])
    sizes = {letter: size for term, value in zip(terms, values) for letter, size in zip(term, value.shape)}
    while len(values) > 2:
        def kept(pair: tuple[int, int]) -> str:
            others = {*result, *(letter for i, term in enumerate(terms) if i not in pair for letter in term)}
            return "".join(letter for letter in dict.fromkeys(terms[pair[0]] + terms[pair[1]]) if letter in others)
        i, j = min(itertools.combinations(range(len(values)), 2),
                   key=lambda pair: math.prod(sizes[letter] for letter in kept(pair)))
        term = kept((i, j))
        product = contract(f"{terms[i]},{terms[j]}->{term}", values[i], values[j])
        values = [value for k, value in enumerate(values) if k not in (i, j)] + [product]
        terms = [each for k, each in enumerate(terms) if k not in (i, j)] + [term]
    if len(values) == 2:
        return contract(f"{terms[0]},{terms[1]}->{result}", *values)
    summed = [axis for axis, letter in enumerate(terms[0]) if letter not in result]
    value = reduce("reduce_sum", values[0], summed) if summed else values[0]
    rest = [letter for letter in terms[0] if letter in result]
    return transpose(value, [rest.index(letter) for letter in result])


def _terms(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with some for '...'."""
    text = subscripts.replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r} of {len(ndims)} operands: it has to name the axes of "
                                              "each, as in 'ij,jk->ik'")
    free = [letter for letter in string.ascii_letters if letter not in text]
    more = [ndim - len(term) + 3 if "..." in term else 0 for term, ndim in zip(terms, ndims)]
    names = "".join(free[:max(more, default=0)])
    terms = [term.replace("...", names[len(names) - count:]) for term, count in zip(terms, more)]
    joined = "".join(terms)
    if not arrow:
        result = names + "".join(sorted(x for x in set(joined) if joined.count(x) == 1 and x not in names))
    result = result.replace("...", names)
    for term, ndim in zip(terms, ndims):
        if len(term) != ndim or "." in term:
            raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r}: {term!r} for a value with {ndim} axes")
        if len(set(term)) != len(term):
            raise unsupported(f"einsum {subscripts!r}: a letter is there twice in {term!r}, for a diagonal")
    for letter in result:
        if letter not in joined:
            raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r}: {letter} is in no operand")
        if result.count(letter) > 1:
            raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r}: {letter} is there twice in the result")
    return terms, result


def matmul(a: Any, b: Any) -> Traced:
    left, right = whole("matmul", a), whole("matmul", b)
    if not left.shape or not right.shape:
        raise SpecError(Status.INVALID_SHAPE, "matmul of a scalar")
    if left.shape[-1] != right.shape[max(right.ndim - 2, 0)]:
        raise SpecError(Status.INVALID_SHAPE, f"matmul of {left!r} and {right!r}: sizes that are summed differ")
    if left.ndim == right.ndim >= 2 and left.shape[:-2] == right.shape[:-2]:
        dtype = result_type("matmul", [left, right])
        return Traced("matmul", [left, right], [*left.shape[:-1], right.shape[-1]],
                      Dtype.I32 if dtype.is_integer else dtype)
    letters = iter(string.ascii_lowercase)
    inner, rows, columns = next(letters), next(letters), next(letters)
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    names = [next(letters) for _ in batch]
    terms, values = [], []
    for value, matrix in ((left, rows + inner if left.ndim > 1 else inner),
                          (right, inner + columns if right.ndim > 1 else inner)):
        outer = value.shape[:-2]
        mine = names[len(names) - len(outer):]
        kept = [i for i, size in enumerate(outer) if size == batch[len(batch) - len(outer) + i]]
        values.append(reshape(value, [outer[i] for i in kept] + list(value.shape[len(outer):])))
        terms.append("".join(mine[i] for i in kept) + matrix)
    result = "".join(names) + (rows if left.ndim > 1 else "") + (columns if right.ndim > 1 else "")
    return contract(f"{terms[0]},{terms[1]}->{result}", *values)


def dot(a: Any, b: Any) -> Traced:
    left, right = as_value(a), as_value(b)
    if not getattr(left, "shape", ()) or not getattr(right, "shape", ()):
        return elementwise("mul", left, right)
    if right.ndim > 2:
        raise unsupported("dot of more than two axes: write matmul or einsum")
    return matmul(left, right)
