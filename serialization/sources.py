"""Gives the bytes of a file: from a path, a file object or bytes.

A large file is mapped into memory, so that tensors are read when they are first used.  If a mapped
file is truncated by someone, reading the missing part ends the process (SIGBUS).  Small files, and
all files with `mmap=False`, are read as a whole, so this cannot happen to them.
"""

from __future__ import annotations

import io
import mmap as mapping
import os
import stat
from typing import Any

CHECKED_SIZE = 16 << 20
"""In files of up to this many bytes the checksums of tensors are verified, too, so these files are
read as a whole.  In larger ones that would read tensors that may never be needed."""


class Contents:
    """The bytes of a file that was read.  It may be passed as the source of several readers."""

    __slots__ = ("view",)

    def __init__(self, view: memoryview) -> None:
        self.view = view


def contents(source: Any, mmap: bool | None = None) -> memoryview:
    """The bytes of a source, which may be a Contents.  mmap: see `open_source`."""
    return source.view if isinstance(source, Contents) else open_source(source, mmap)


def open_source(source: Any, mmap: bool | None = None) -> memoryview:
    """The bytes of a file.

    source: a path, a binary file object or bytes.  A file object is read from its position; if that
    is the start of a real file, the file may be mapped like that of a path.
    mmap: whether to map the file (copy on write) instead of reading it; None maps files larger than
    CHECKED_SIZE.
    Raises TypeError for other sources, OSError if the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return memoryview(source).toreadonly()
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return contents_of(file, mmap)
    if hasattr(source, "read"):
        try:
            if source.tell() == 0 and isinstance(source, (io.FileIO, io.BufferedReader)):
                return contents_of(source, mmap)
        except (OSError, AttributeError, ValueError):
            pass
        contents = source.read()
        if not isinstance(contents, (bytes, bytearray)):
            raise TypeError("the file object gives text; open it in binary mode ('rb')")
        return memoryview(bytearray(contents))
    raise TypeError(
        f"load takes a path, a binary file object or bytes, not {source.__class__.__name__}"
    )


def contents_of(file: Any, mmap: bool | None) -> memoryview:
    """The bytes of an open file, mapped or read.  Those of a regular file are page-aligned, and
    writes to them do not change the file."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        return memoryview(bytearray(file.read()))
    size = status.st_size
    if size == 0:
        return memoryview(b"")
    if size > CHECKED_SIZE if mmap is None else mmap:
        return memoryview(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_COPY))
    contents = memoryview(mapping.mmap(-1, size))
    return contents[: read_into(file, contents)]


ALIGNMENT = 16
"""That of the contents of files in memory, in bytes."""


def aligned(view: memoryview, start: int) -> memoryview:
    """The bytes of a file from `start` on, as they are or copied, so that numbers in them can be
    read in place."""
    return view if start % ALIGNMENT == 0 else memoryview(bytearray(view))


def read_into(file: Any, contents: memoryview) -> int:
    """Read until `contents` is full or the file ends; return the number of bytes read."""
    at = 0
    while at < len(contents):
        count = file.readinto(contents[at:])
        if not count:
            break
        at += count
    return at
