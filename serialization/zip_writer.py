"""Writes zip files whose records are aligned to 64 bytes.  The same records always give the same
bytes."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

from .zip_reader import DEFLATED, END, END64, ENTRY, LOCAL, LOCATOR64, MAX16, MAX32, STORED

ALIGNMENT = 64
"""The data of each record starts at a multiple of this, so that mapped tensors can be used without
a copy."""

UTF8_NAMES = 1 << 11
FIXED_DATE = 1 << 5 | 1  # 1 January 1980, the earliest date in zip
PLAIN_VERSION, ZIP64_VERSION = 20, 45


class ZipWriter:
    """Writes records to a binary file object, from its current position on.

    Call `add` for each record, then `finish`.  Names are written as they are; `add` raises
    ValueError for a name that was added before.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.at = 0
        self.entries: list[bytes] = []
        self.names: set[str] = set()

    def add(self, name: str, contents: bytes, pack: bool = False) -> None:
        """Add a record.

        contents: bytes or any contiguous buffer.  pack: deflate it if that makes it smaller.
        """
        if name in self.names:
            raise ValueError(f"two records named {name!r}")
        self.names.add(name)
        view = memoryview(contents)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        raw_name, size, crc, offset = name.encode("utf-8"), view.nbytes, zlib.crc32(view), self.at
        method = STORED
        if pack:
            packed = deflate(view)
            if len(packed) < size:
                view, method = memoryview(packed), DEFLATED
        stored = view.nbytes
        wide = struct.pack("<2H2Q", 1, 16, size, stored) if size >= MAX32 else b""
        small, small_stored = (MAX32, MAX32) if wide else (size, stored)
        version = ZIP64_VERSION if wide else PLAIN_VERSION
        extra = wide + padding(offset + LOCAL.size + len(raw_name) + len(wide))
        self._write(
            LOCAL.pack(
                b"PK\3\4",
                version,
                UTF8_NAMES,
                method,
                0,
                FIXED_DATE,
                crc,
                small_stored,
                small,
                len(raw_name),
                len(extra),
            )
            + raw_name
            + extra
        )
        self._write(view)
        self._enter(raw_name, method, crc, size, stored, offset)

    def _enter(
        self, raw_name: bytes, method: int, crc: int, size: int, stored: int, offset: int
    ) -> None:
        wide = [v for v in (size, stored, offset) if v >= MAX32]
        extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        version = ZIP64_VERSION if wide else PLAIN_VERSION
        small, small_stored, small_offset = (min(v, MAX32) for v in (size, stored, offset))
        self.entries.append(
            ENTRY.pack(
                b"PK\1\2",
                version,
                version,
                UTF8_NAMES,
                method,
                0,
                FIXED_DATE,
                crc,
                small_stored,
                small,
                len(raw_name),
                len(extra),
                0,
                0,
                0,
                0,
                small_offset,
            )
            + raw_name
            + extra
        )

    def finish(self) -> None:
        """Write the directory, which completes the file.  The file object is not closed."""
        directory = b"".join(self.entries)
        count, start, size = len(self.entries), self.at, len(directory)
        self._write(directory)
        if count >= MAX16 or start >= MAX32 or size >= MAX32:
            end64 = self.at
            self._write(
                END64.pack(
                    b"PK\6\6",
                    END64.size - 12,
                    ZIP64_VERSION,
                    ZIP64_VERSION,
                    0,
                    0,
                    count,
                    count,
                    size,
                    start,
                )
            )
            self._write(LOCATOR64.pack(b"PK\6\7", 0, end64, 1))
        self._write(
            END.pack(
                b"PK\5\6",
                0,
                0,
                min(count, MAX16),
                min(count, MAX16),
                min(size, MAX32),
                min(start, MAX32),
                0,
            )
        )

    def _write(self, contents: bytes | memoryview) -> None:
        self.file.write(contents)
        self.at += len(contents)


def deflate(contents: memoryview) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(contents) + packer.flush()


def padding(end: int) -> bytes:
    """The extra field that aligns the data of a record, which would otherwise start at `end`.

    It has the two bytes `FB`, a length and Z's, as in PyTorch.
    """
    gap = -end % ALIGNMENT
    if gap == 0:
        return b""
    if gap < 4:
        gap += ALIGNMENT
    return struct.pack("<2sH", b"FB", gap - 4) + b"Z" * (gap - 4)
