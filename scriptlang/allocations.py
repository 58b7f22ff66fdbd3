"""Limits what numpy allocates: while a run has limits, numpy asks before it allocates an array.

An operator of the Python engine consists of numpy calls, and only numpy knows what they allocate.
numpy lets a program replace its allocator, for the current context, by a table of C functions (NEP
49). Ours are in the native engine's extension module (cpp_loader/python/numpy_memory.cpp). They
count what the run of the thread may still allocate, check its time limit, and call numpy's own. If
they refuse, numpy raises MemoryError, which becomes LimitError here.

They are written in C since numpy calls them at any time, with and without the GIL, and since an
exception raised by a signal handler in there would leave numpy with a half-made array. Without the
extension module, or with an unexpected numpy, arrays are counted after they are made, and what
operators ask for with `limits.reserve` is counted before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any

from .errors import LimitError
from .lazy_numpy import np
from .limits import asking, check_time, deadline
from .records import record

native: ModuleType | None = None
"""The extension module; `interpreter.native` sets it."""

SET_HANDLER = 304
"""The index of PyDataMem_SetHandler in numpy's table of C functions."""

GET_HANDLER = 305

CAPSULE = b"mem_handler"

LATE = -1
"""The size that a refusal reports if the time limit was exceeded."""


@record(frozen=True)
class Allocator:
    """Our allocator. It lives as long as the process, since arrays keep a pointer to it."""

    install: Callable[[Any], Any]
    capsule: Any
    theirs: Any


@cache
def allocator(module: ModuleType) -> Allocator | None:
    """The allocator, made at the first run with a limit; None if numpy does not support it."""
    import ctypes

    core = getattr(np, "_core", None) or np.core
    table = getattr(core._multiarray_umath, "_ARRAY_API", None)
    if table is None:
        return None
    pointer_of, capsule_of = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule_of.restype = ctypes.py_object
    capsule_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    functions = ctypes.cast(pointer_of(table, None), ctypes.POINTER(ctypes.c_void_p))
    install = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[SET_HANDLER])
    theirs = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[GET_HANDLER])()
    ours = module.numpy_handler(pointer_of(theirs, CAPSULE))
    if not ours:
        return None
    made = Allocator(install, capsule_of(ours, CAPSULE, None), theirs)
    # Arrays are freed with it even after modules are gone at the end of the process.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


def leave(room: int) -> None:
    """Set how many bytes the run of this thread may still allocate."""
    if native is not None:
        native.numpy_room(room)


@contextmanager
def asked_first(
    allow: Callable[[int], None] | None = None, room: int | None = None
) -> Iterator[None]:
    """A context in which numpy may allocate `room` bytes, and nothing once the run's time is over.

    `allow` raises LimitError for sizes that `limits.reserve` must not grant.
    """
    ours = None if native is None else allocator(native)
    with nullcontext() if allow is None else asking(allow):
        if ours is None:
            yield
            return
        assert native is not None
        until = deadline()
        given = native.NUMPY_ANY if room is None else room
        outer = native.numpy_limit(given, native.NUMPY_ANY if until is None else round(until * 1e9))
        previous = ours.install(ours.capsule)
        try:
            yield
        except MemoryError:
            refuse(native.numpy_refused(), given)
            raise
        finally:
            ours.install(previous)
            native.numpy_limit(*outer)


def refuse(size: int, limit: int) -> None:
    """Raise LimitError if a request for so many bytes was refused; 0 means that none was."""
    if size == LATE:
        check_time()
    elif size:
        raise LimitError(
            f"the program asks for {size:,} bytes more than it holds; its limits allow {limit:,}"
        ) from None
