"""The records of a zip file that PyTorch wrote, however it is held: path, file object or bytes.

A large file is mapped into memory, so that tensors are read when they are first touched.  A file
that is cut short while it is mapped ends the process (SIGBUS) when what is gone is touched; small
files, and all with `mmap=False`, are read as a whole, and are safe from that.
"""

from __future__ import annotations

import io
import mmap as mapping
import os
import stat
import sys

from ..errors import ArchiveError
from . import recognise
from .unpickle import Unpickler
from .zip_reader import Record, ZipReader

DAMAGED = "the file is damaged or cut short; download or copy it again"
MAX_PICKLE = 1 << 30

CHECKED_SIZE = 16 << 20
"""In files up to this size the checksums of tensors are checked too; in larger ones that would read
what may never be needed.  As all of the smaller ones is read, they are not mapped."""


class RecordReader:
    """The records of a file, without the name of its top folder.

    source, mmap: see open_source.  check_all: verify the checksum of every record.
    """

    unpickler: type[Unpickler] = Unpickler

    def __init__(self, source, check_all: bool = False, mmap: bool | None = None):
        data = open_source(source, mmap)
        wrong = recognise.explain(data)
        if wrong is not None:
            raise wrong
        if b"PK\5\6" not in bytes(data[-0x10016:]):
            raise recognise.truncated(len(data))
        self.zip = ZipReader(data)
        self.check_tensors = check_all or len(data) <= CHECKED_SIZE
        names = self.zip.records
        self.root = next(iter(names), "").partition("/")[0] + "/"
        self.records: dict[str, Record] = {
            name[len(self.root) :]: record
            for name, record in names.items()
            if name.startswith(self.root)
        }

    def read(self, record: str) -> memoryview:
        return self.zip.read(self.root + record)

    def pickle(self, record: str):
        if self.records[record].size > MAX_PICKLE:
            raise ArchiveError(f"over {MAX_PICKLE:,} bytes", record, DAMAGED)
        return self.unpickler(self.read(record), record).run()

    def tensor(self, record: str) -> memoryview:
        if record not in self.records:
            raise ArchiveError("the archive lacks this storage", record, DAMAGED)
        return self.zip.read(self.root + record, self.check_tensors)

    def is_swapped(self) -> bool:
        """Whether its numbers lie in the other byte order than this machine's."""
        if "byteorder" not in self.records:
            return sys.byteorder != "little"
        order = bytes(self.read("byteorder")[:10])
        if order not in (b"little", b"big"):
            raise ArchiveError(f"{order!r} is no byte order", "byteorder", DAMAGED)
        return order.decode() != sys.byteorder


def open_source(source, mmap: bool | None = None) -> memoryview:
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


def contents_of(file, mmap: bool | None) -> memoryview:
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


def read_into(file, contents: memoryview) -> int:
    """Read until `contents` is full or the file ends; returns how many bytes were read."""
    at = 0
    while at < len(contents):
        count = file.readinto(contents[at:])
        if not count:
            break
        at += count
    return at
