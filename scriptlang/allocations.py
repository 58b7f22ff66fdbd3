"""numpy asks before it allocates the memory of an array, while a run has a limit.

An operator of the Python engine is some calls of numpy, and what these allocate is known to numpy
alone.  It lets a program replace its allocator, for the current context, by a table of C functions
(NEP 49).  Ours asks `limits.reserve` and then calls numpy's own; memory is given back to numpy's
own, so arrays may outlive the run.  A refusal is no memory to numpy, which raises MemoryError; the
error that says why is kept (`refusals`).

numpy's C API is reached through its capsule and `ctypes`.  Where it is not what is expected, arrays
are counted only once they are made.  Ours may be called with or without the GIL: ctypes takes it.
numpy's own are called with it held (PYFUNCTYPE), since they let go of it themselves for what is
large: whoever does that without holding it ends the process.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import cache
from typing import Any, Callable, Iterator

import numpy as np

from .limits import asking, reserve
from .records import record

SET_HANDLER = 304
"""Where PyDataMem_SetHandler is in numpy's table of functions."""

GET_HANDLER = 305

CAPSULE = b"mem_handler"
VERSION = 1
"""Of the table of an allocator."""

Malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
Calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
Realloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Handler(ctypes.Structure):
    """PyDataMem_Handler of numpy."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8),
                ("context", ctypes.c_void_p), ("malloc", Malloc), ("calloc", Calloc),
                ("realloc", Realloc), ("free", ctypes.c_void_p)]


class Refusals(threading.local):
    """Why the last request of a thread was refused: the limit, or a signal that came meanwhile."""

    last: BaseException | None = None


refusals = Refusals()


@record(frozen=True)
class Allocator:
    """Ours, for the life of the process: arrays keep pointing to it."""

    install: Callable[[Any], Any]
    capsule: Any
    kept: tuple[Any, ...]


def granted(size: int) -> bool:
    """Whether the run may have the memory.  Nothing is raised into numpy's C code."""
    try:
        reserve(size)
    except BaseException as error:
        refusals.last = error
        return False
    return True


@cache
def allocator() -> Allocator | None:
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
    numpys = Handler.from_address(pointer_of(theirs, CAPSULE))
    if numpys.version != VERSION:
        return None
    ours = Handler(b"limited", VERSION, numpys.context, *careful(numpys), numpys.free)
    made = Allocator(install, capsule_of(ctypes.addressof(ours), CAPSULE, None), (ours, theirs))
    # Arrays are freed through it even when the interpreter ends and modules are gone.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


def careful(numpys: Handler) -> tuple[Any, Any, Any]:
    """numpy's functions, called when the request is granted."""
    def malloc(context, size):
        return numpys.malloc(context, size) if granted(size) else None

    def calloc(context, count, size):
        return numpys.calloc(context, count, size) if granted(count * size) else None

    def realloc(context, old, size):
        return numpys.realloc(context, old, size) if granted(size) else None

    return Malloc(malloc), Calloc(calloc), Realloc(realloc)


@contextmanager
def asked_first(allow: Callable[[int], None]) -> Iterator[None]:
    """Have `allow` raise LimitError for what is too much, before it is allocated.

    A MemoryError of numpy that comes from a refusal becomes the LimitError.
    """
    ours = allocator()
    refusals.last = None
    previous = None if ours is None else ours.install(ours.capsule)
    try:
        with asking(allow):
            yield
    except MemoryError:
        if refusals.last is None:
            raise
        raise refusals.last from None
    finally:
        if ours is not None:
            ours.install(previous)
