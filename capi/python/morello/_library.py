# SPDX-License-Identifier: MIT
"""The library of this package, and how its functions are called. cffi releases the GIL for every call."""
from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from ._abi import ffi as ffi
from .enums import Status
from .errors import Error, error_of

ABI_VERSION = 0  # the one that these modules are written for
lib: Any = ffi.dlopen(str(pathlib.Path(__file__).with_name("libmorello.so")))
if lib.morello_abi_version() != ABI_VERSION:
    raise ImportError(f"libmorello.so has ABI {lib.morello_abi_version()}; this package is for {ABI_VERSION}")

Self = TypeVar("Self", bound="Handle")


def string(text: Any) -> str:
    """Of a C string."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "replace")


def text_of(function: Callable[[Any, int], int]) -> str:
    """Calls one of C's text functions: for the length, then for the text."""
    size = function(ffi.NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    function(buffer, size)
    return string(buffer)


def saved_bytes(save: Callable[[Any, int, Any, Any], int]) -> bytes:
    """Calls one of C's functions that write bytes: for the length, then for them."""
    length, err = ffi.new("size_t *"), ffi.new("morello_error **")
    check(save(ffi.NULL, 0, length, err), err)
    buffer = ffi.new("char[]", length[0])
    check(save(buffer, length[0], length, err), err)
    return bytes(ffi.buffer(buffer))


def path_of(path: str | os.PathLike[str]) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path with a zero byte")
    return name


def check(status: int, err: Any = None) -> None:
    """Raises what `status`, and the error object if there is one, say."""
    if status == Status.OK:
        return
    error = err[0] if err is not None else ffi.NULL
    if error == ffi.NULL:
        raise error_of(status, string(lib.morello_status_string(status)))
    try:
        raise error_of(status, string(lib.morello_error_message(error)), lib.morello_error_line(error),
                       lib.morello_error_column(error))
    finally:
        lib.morello_error_release(error)


def create(kind: str, make: Callable[[Any, Any], int]) -> Any:
    """A new object of C, such as "spec", that is released when Python is done with it."""
    out, err = ffi.new(f"morello_{kind} **"), ffi.new("morello_error **")
    check(make(out, err), err)
    return ffi.gc(out[0], getattr(lib, f"morello_{kind}_release"))


def initialized(kind: str) -> Any:
    """A struct that grows, filled by its `_init` function."""
    struct = ffi.new(f"morello_{kind} *")
    getattr(lib, f"morello_{kind}_init")(struct, ffi.sizeof(f"morello_{kind}"))
    return struct


def filled(kind: str, fill: Callable[[Any, int], int]) -> Any:
    """A struct that a function fills."""
    struct = ffi.new(f"morello_{kind} *")
    check(fill(struct, ffi.sizeof(f"morello_{kind}")))
    return struct


class Handle:
    """Owns an object of C. Calls that run when it is closed keep the object until they have ended."""

    def __init__(self, pointer: Any):
        self._pointer = pointer

    @property
    def pointer(self) -> Any:
        pointer = self._pointer
        if pointer is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return pointer

    def close(self) -> None:
        """Gives the object up; it can be closed again, but not used. Without it, Python does so in time."""
        self._pointer = None

    def __enter__(self: Self) -> Self:
        self.pointer  # pylint: disable=pointless-statement
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Cancel:
    """Ends searches and precomputes from any thread: those that have it, now or later, until it is reset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._switches: list[Any] = []

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for switch in self._switches:
                switch[0] = 1

    def reset(self) -> None:
        """Lets later calls run again."""
        with self._lock:
            self._cancelled = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def _add(self, switch: Any) -> None:
        with self._lock:
            self._switches.append(switch)
            if self._cancelled:
                switch[0] = 1

    def _remove(self, switch: Any) -> None:
        with self._lock:
            self._switches = [other for other in self._switches if other is not switch]


class Watch:
    """What one long call needs to report and to be ended: fields of its options. The callback also is
    where a KeyboardInterrupt arrives; whatever is raised there ends the call, and is raised after it."""

    def __init__(self, options: Any, kind: str, cancel: Cancel | None, report: Callable[[Any], None] | None):
        self._switch = ffi.new("int32_t *")
        self._cancel = cancel
        self._raised: BaseException | None = None
        self._callback: Any = ffi.callback(f"void(void *, const morello_{kind} *)",
                                      lambda _, progress: report(progress[0]) if report else None,
                                      onerror=self._failed)
        options.cancel = self._switch
        options.progress = self._callback

    def _failed(self, _kind: type[BaseException], error: BaseException, _trace: TracebackType) -> None:
        self._raised = self._raised or error
        self._switch[0] = 1

    def call(self, function: Callable[[], Any]) -> Any:
        if self._cancel:
            self._cancel._add(self._switch)
        try:
            result = function()
        except Error:
            if self._raised is not None:
                raise self._raised from None
            raise
        finally:
            self._callback = None  # which refers to this object
            if self._cancel:
                self._cancel._remove(self._switch)
        if self._raised is not None:
            raise self._raised
        return result
