# SPDX-License-Identifier: MIT
"""Synthesizes fast kernels for tensor computations.

A Spec says in one line what to compute; `compile` searches all programs that morello's rewrite rules build for
it, and makes machine code of the cheapest; what it returns is called with arrays:

>>> import numpy as np
>>> import morello
>>> kernel = morello.compile("matmul f32[4,8] f32[8,16] -> f32[4,16]")
>>> kernel(np.ones((4, 8), np.float32), np.full((8, 16), 2, np.float32))[0, 0]
np.float32(16.0)

`jit` makes Specs of Python functions. docs/python.md says more.
"""
from ._library import Cancel
from .arrays import Array, Packed
from .context import Context
from .cpu import CpuInfo, cpu_info, version
from .enums import Dtype, Effort, Isa, Layout, Status, TableReason, TableUse
from .errors import Error, OperandError, SpecError
from .functions import (attention, avg_pool, conv2d, erf, fast_max, fast_min, gelu, gelu_tanh, layernorm, log_softmax,
                        logsumexp, max_pool, relu, rmsnorm, rsqrt, scaled_matmul, sigmoid, silu, softmax, take, where)
from .graph import Graph, Value
from .jax_functions import jit_jax
from .jit import Jitted, jit
from .kernel import Kernel, Progress, SearchStats, compile  # pylint: disable=redefined-builtin
from .pool import Pool
from .program import Program
from .spec import Spec
from .table import PrecomputeProgress, Table, TableInfo, Verification, precompute, precompute_table
from .tensor import Tensor
from .trace import Traced

__version__ = version()

__all__ = [
    "Array", "Cancel", "Context", "CpuInfo", "Dtype", "Effort", "Error", "Graph", "Isa", "Jitted", "Kernel", "Layout",
    "OperandError", "Packed", "Pool", "PrecomputeProgress", "Program", "Progress", "SearchStats", "Spec", "SpecError", "Status",
    "Table", "TableInfo", "TableReason", "TableUse", "Tensor", "Traced", "Value", "Verification", "attention",
    "avg_pool", "compile", "conv2d", "cpu_info", "erf", "fast_max", "fast_min", "gelu", "gelu_tanh", "jit", "jit_jax",
    "layernorm", "log_softmax", "logsumexp", "max_pool", "precompute", "precompute_table", "relu",
    "rmsnorm", "rsqrt", "scaled_matmul", "sigmoid", "silu", "softmax", "take", "version", "where",
]
