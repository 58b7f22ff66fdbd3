"""The bytes of a file that is to be read, however it is held: path, file object or bytes.

A large file is mapped into memory, so that tensors are read when they are first touched.  A file
that is cut short while it is mapped ends the process (SIGBUS) when what is gone is touched; small
files, and all with `mmap=False`, are read as a whole, and are safe from that.
"""

from __future__ import annotations

import io
import mmap as mapping
import os
import stat
from typing import Any

CHECKED_SIZE = 16 << 20
"""In files up to this size the checksums of tensors are checked too; in larger ones that would read
what may never be needed.  As all of the smaller ones is read, they are not mapped."""


class Contents:
    """The bytes of a file, as `view` has them; it is read once, whoever asks for it."""

    __slots__ = ("view",)

    def __init__(self, view: memoryview) -> None:
        self.view = view


def contents(source: Any, mmap: bool | None = None) -> memoryview:
    """The bytes of a source, or those that were read of it before."""
    return source.view if isinstance(source, Contents) else open_source(source, mmap)


def open_source(source: Any, mmap: bool | None = None) -> memoryview:
    """The bytes of a file.

    A path is opened; a file object is treated so where it is a file at its start.  mmap: whether
    the file is mapped, copy on write, instead of read; None maps it above CHECKED_SIZE.
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
    """The bytes of an open file at its start, mapped or read; page-aligned, private, writable."""
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


def read_into(file: Any, contents: memoryview) -> int:
    """Read until `contents` is full or the file ends; returns how many bytes were read."""
    at = 0
    while at < len(contents):
        count = file.readinto(contents[at:])
        if not count:
            break
        at += count
    return at
