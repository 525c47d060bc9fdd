# SPDX-License-Identifier: MIT
"""Contexts: settings that several kernels share."""
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from ._library import Handle, create, ffi, initialized, lib, path_of, string
from .enums import Isa


class Context(Handle):
    """Settings, and a directory in which kernels are kept for the next process. Any number of threads may
    use one at once.

    max_isa: kernels use no feature that this one does not list, whatever the CPU has.
    read_machine: search for this machine's caches instead of the fixed model of a machine.
    table_memory: most bytes that loading a table may take; 0: 256 MiB.
    cache_directory: where kernels are kept (docs/stored-kernels.md); None: $MORELLO_CACHE_DIR; "": nowhere.
    cache_bytes: most bytes of kernels in it; 0: 256 MiB.
    tools: who is told of kernels: names with commas between them, of "gdb", "unwind", "map" and "jitdump"
        (docs/tools.md); None: $MORELLO_TOOLS, or else "gdb"; "": nobody.
    log: called with a level (1: warning, 2: information) and a line, by the threads that compile. What it raises
        is lost.
    """

    def __init__(self, *, max_isa: Isa | str | None = None, read_machine: bool = False, table_memory: int = 0,
                 cache_directory: str | os.PathLike[str] | None = None, cache_bytes: int = 0,
                 tools: str | None = None,
                 log: Callable[[int, str], None] | None = None):
        options = initialized("context_options")
        options.max_isa = Isa.of(max_isa)
        options.read_machine = read_machine
        options.table_memory = table_memory
        options.cache_bytes = cache_bytes
        keep: list[Any] = []
        if cache_directory is not None:
            keep.append(ffi.new("char[]", path_of(cache_directory)))
            options.cache_directory = keep[-1]
        if tools is not None:
            keep.append(ffi.new("char[]", tools.encode()))
            options.tools = keep[-1]
        if log is not None:
            told = log
            keep.append(ffi.callback("void(void *, int32_t, const char *)",
                                     lambda _, level, message: told(level, string(message)),
                                     onerror=lambda *_: None))
            options.log = keep[-1]
        self._keep = keep
        super().__init__(create("context", lambda out, err: lib.morello_context_create(options, out, err)))


_default_lock = threading.Lock()
_default: Context | None = None


def default_context() -> Context:
    """The one that is used where none is given: with default settings, made at its first use."""
    global _default  # pylint: disable=global-statement
    with _default_lock:
        if _default is None:
            _default = Context()
        return _default
