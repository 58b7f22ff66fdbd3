"""numpy asks before it allocates the memory of an array, while a run has limits.

An operator of the Python engine is some calls of numpy, and what these allocate is known to numpy
alone.  It lets a program replace its allocator, for the current context, by a table of C functions
(NEP 49).  Those of the native engine's extension module (cpp_loader/python/numpy_memory.cpp) count
what the thread's run may still take, look at its time, and call numpy's own.  A refusal is no
memory to numpy, which raises MemoryError; it becomes the LimitError here.

They are in C because numpy calls them wherever it is, with the GIL and without, and because a
signal's handler that raised in there would leave numpy with half a block.  Where the extension
module is not there, or numpy is not what is expected, arrays are counted once they are made, and
what operators ask for by `limits.reserve`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from .errors import LimitError
from .limits import asking, check_time, deadline
from .records import record

native: ModuleType | None = None
"""The extension module; `interpreter.native` sets it."""

SET_HANDLER = 304
"""Where PyDataMem_SetHandler is in numpy's table of functions."""

GET_HANDLER = 305

CAPSULE = b"mem_handler"

LATE = -1
"""What was refused where the time was over."""


@record(frozen=True)
class Allocator:
    """Ours, for the life of the process: arrays keep pointing to it."""

    install: Callable[[Any], Any]
    capsule: Any
    theirs: Any


@cache
def allocator(module: ModuleType) -> Allocator | None:
    """Made at the first run with a limit; None where numpy has no such thing."""
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
    # Arrays are freed through it even when the interpreter ends and modules are gone.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


def leave(room: int) -> None:
    """Let the run of this thread take so many bytes from now on."""
    if native is not None:
        native.numpy_room(room)


@contextmanager
def asked_first(
    allow: Callable[[int], None] | None = None, room: int | None = None
) -> Iterator[None]:
    """Let numpy take `room` bytes at most, and nothing once the run is over its time.

    `allow` raises LimitError for what `limits.reserve` must not give.
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
    """LimitError where a request of so many bytes was refused; 0: none was."""
    if size == LATE:
        check_time()
    elif size:
        raise LimitError(
            f"the program asks for {size:,} bytes more than it holds; its limits allow {limit:,}"
        ) from None
