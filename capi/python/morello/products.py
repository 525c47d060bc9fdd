# SPDX-License-Identifier: MIT
"""Products of traced values, summed over what they share."""
from __future__ import annotations

import string
from typing import Any

import numpy as np

from .enums import Dtype, Status
from .errors import SpecError
from .trace import Traced, as_value, elementwise, reshape, result_type, unsupported, whole


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
    if not isinstance(subscripts, str):
        raise unsupported(f"einsum of lists of axes: write subscripts such as 'ij,jk->ik' first, not "
                          f"{type(subscripts).__name__}")
    text = subscripts.replace(" ", "")
    if len(operands) != 2 or "." in text:
        raise unsupported(f"einsum {subscripts!r}: the Spec language has those of two operands, without '...'")
    if "->" not in text:
        text += "->" + "".join(sorted(letter for letter in set(text) - {","} if text.count(letter) == 1))
    terms, result = text.split("->", 1)
    if terms.count(",") != 1:
        raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r} of 2 operands: it has to name the axes of each, "
                                              "as in 'ij,jk->ik'")
    for letter in result:
        if letter not in terms.replace(",", ""):
            raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r}: {letter} is in no operand")
        if result.count(letter) > 1:
            raise SpecError(Status.INVALID_SHAPE, f"einsum {subscripts!r}: {letter} is there twice in the result")
    return contract(text, *operands)


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
