"""Reads the records of a zip file that PyTorch wrote.  `sources` maps or reads the file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..errors import ArchiveError
from . import recognise, sources
from .unpickle import Unpickler
from .zip_reader import Record, ZipReader

if TYPE_CHECKING:
    from .pickle_tree import Tree

DAMAGED = "the file is damaged or cut short; download or copy it again"
MAX_PICKLE = 1 << 30


class RecordReader:
    """The records of a file, without the name of its top folder.

    source, mmap: see `sources.contents`.  check_all: verify the checksums of tensors in large
    files, too.  Raises ArchiveError for other files.
    """

    unpickler: type[Unpickler] = Unpickler

    def __init__(self, source: Any, check_all: bool = False, mmap: bool | None = None) -> None:
        data = sources.contents(source, mmap)
        wrong = recognise.explain(data)
        if wrong is not None:
            raise wrong
        if b"PK\5\6" not in bytes(data[-0x10016:]):
            raise recognise.truncated(len(data))
        self.zip = ZipReader(data)
        self.check_tensors = check_all or len(data) <= sources.CHECKED_SIZE
        names = self.zip.records
        self.root = next(iter(names), "").partition("/")[0] + "/"
        self.records: dict[str, Record] = {
            name[len(self.root) :]: record
            for name, record in names.items()
            if name.startswith(self.root)
        }

    def read(self, record: str) -> memoryview:
        return self.zip.read(self.root + record)

    def pickle(self, record: str) -> Tree:
        if self.records[record].size > MAX_PICKLE:
            raise ArchiveError(f"over {MAX_PICKLE:,} bytes", record, DAMAGED)
        return self.unpickler(self.read(record), record).run()

    def tensor(self, record: str) -> memoryview:
        if record not in self.records:
            raise ArchiveError("the archive lacks this storage", record, DAMAGED)
        view = self.zip.read(self.root + record, self.check_tensors)
        return sources.aligned(view, self.zip.place(self.root + record))

    def is_swapped(self) -> bool:
        """Whether the byte order of its numbers differs from that of this machine."""
        if "byteorder" not in self.records:
            return sys.byteorder != "little"
        order = bytes(self.read("byteorder")[:10])
        if order not in (b"little", b"big"):
            raise ArchiveError(f"{order!r} is no byte order", "byteorder", DAMAGED)
        return order.decode() != sys.byteorder
