"""The records of a zip file that PyTorch wrote, however it is held: path, file object or bytes.

A path is mapped into memory, so that tensors are read when they are first touched.
"""

from __future__ import annotations

import io
import mmap
import os
import sys

from ..errors import ArchiveError
from . import recognise
from .unpickle import Unpickler
from .zip_reader import Record, ZipReader

DAMAGED = "the file is damaged or cut short; download or copy it again"
MAX_PICKLE = 1 << 30

CHECKED_SIZE = 16 << 20
"""In files up to this size the checksums of tensors are checked too; in larger ones that would read
what may never be needed."""


class RecordReader:
    """The records of a file, without the name of its top folder.

    source: see open_source.  check_all: verify the checksum of every record.
    """

    unpickler: type[Unpickler] = Unpickler

    def __init__(self, source, check_all: bool = False):
        data, self.is_private = open_source(source)
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
            name[len(self.root):]: record for name, record in names.items()
            if name.startswith(self.root)}

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


def open_source(source) -> tuple[memoryview, bool]:
    """(the bytes of a file, whether writing to them is private to this process).

    A path is mapped, copy on write; a file object is mapped where it is a file at its start.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return memoryview(source).toreadonly(), False
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return map_file(file), True
    if hasattr(source, "read"):
        try:
            if source.tell() == 0 and isinstance(source, (io.FileIO, io.BufferedReader)):
                return map_file(source), True
        except (OSError, AttributeError, ValueError):
            pass
        contents = source.read()
        if not isinstance(contents, (bytes, bytearray)):
            raise TypeError("the file object gives text; open it in binary mode ('rb')")
        return memoryview(bytearray(contents)), True
    raise TypeError(f"load takes a path, a binary file object or bytes, not "
                    f"{source.__class__.__name__}")


def map_file(file) -> memoryview:
    if os.fstat(file.fileno()).st_size == 0:
        return memoryview(b"")
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
