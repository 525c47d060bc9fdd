# SPDX-License-Identifier: MIT
"""Threads for kernels that were compiled for more than one."""
from __future__ import annotations

import os
import threading
from typing import Any

from ._library import Handle, create, lib


class Pool(Handle):
    """`threads` - 1 worker threads (0: one per processor); a kernel's caller is the last one. Kernels of several
    threads take turns. In a forked child it cannot be used."""

    def __init__(self, threads: int = 0):
        super().__init__(create("pool", lambda out, err: lib.morello_pool_create(threads, out, err)))


_lock = threading.Lock()
_pools: dict[tuple[int, int], Pool] = {}


def shared_pool(threads: int) -> Pool:
    """The one of this process for kernels of so many threads."""
    key = os.getpid(), threads
    with _lock:
        if key not in _pools:
            _pools[key] = Pool(threads)
        return _pools[key]


def executor_of(pool: Any) -> Any:
    return lib.morello_pool_executor(pool)
