"""Reads zip files without copying stored records, and checks every offset before it is used.

It reads the subset of zip that archives use: one disk, stored and deflated records, zip64.  The C++
reader has the same rules.  `ZipReader` checks that

- every record lies inside the file, before the central directory, and no two overlap;
- local headers agree with the directory, nothing is encrypted, and no name occurs twice;
- names are relative, without `..`, backslashes or NUL;
- a deflated record inflates to exactly its declared size, and all of them together are limited in
  proportion to the file.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from ..errors import ArchiveError
from ..records import record

END = struct.Struct("<4s4H2LH")  # end of central directory
LOCATOR64 = struct.Struct("<4sLQL")
END64 = struct.Struct("<4sQ2H2L4Q")
ENTRY = struct.Struct("<4s6H3L5H2L")  # one record in the central directory
LOCAL = struct.Struct("<4s5H3L2H")

STORED, DEFLATED = 0, 8
ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
SIZES_FOLLOW = 1 << 3
"""The flag of a record whose local header has no sizes and checksum; streaming writers set it."""
MAX16, MAX32 = 0xFFFF, 0xFFFFFFFF

MAX_RECORDS = 1 << 20
INFLATE_FLOOR = 64 << 20
INFLATE_RATIO = 64
"""All deflated records together may inflate to INFLATE_FLOOR bytes plus INFLATE_RATIO times the
size of the file."""

MAX_DEFLATE_RATIO = 1032
"""The best ratio of deflate.  A record that declares a better one is wrong."""

DAMAGED = "the file is damaged or cut short; download or copy it again"
HOSTILE = "no tool writes such a file by accident; do not use it"


@record(frozen=True)
class Record:
    """One record.

    method: STORED or DEFLATED.  start, stored_size: where its bytes are in the file.  size: that of
    its contents.  crc: the CRC-32 of its contents.
    """

    name: str
    method: int
    start: int
    stored_size: int
    size: int
    crc: int


class ZipReader:
    """The records of a zip file, whose bytes are `data`.

    records: name -> Record, in the order of the directory, without folders.
    Raises ArchiveError if the file breaks a rule.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data).cast("B")
        count, start, size = self._find_directory()
        self._inflated = 0
        self._inflate_limit = INFLATE_FLOOR + INFLATE_RATIO * len(self.data)
        self.records: dict[str, Record] = {}
        self._read_directory(count, start, size)

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def read(self, name: str, check_crc: bool = True) -> memoryview:
        """The contents of a record: a view of the file if it is stored, new memory if it is
        deflated.

        check_crc: verify the checksum, which reads every byte.  It is skipped for tensors that stay
        unread in a mapped file.
        """
        record = self.records.get(name)
        if record is None:
            raise ArchiveError("the archive has no such record", name, DAMAGED)
        stored = self.data[record.start : record.start + record.stored_size]
        view = stored if record.method == STORED else self._inflate(record, stored)
        if check_crc and zlib.crc32(view) != record.crc:
            raise ArchiveError("the contents do not match their checksum", name, DAMAGED)
        return view

    def place(self, name: str) -> int:
        """Where the contents begin in the memory that `read` gives a view of."""
        record = self.records[name]
        return record.start if record.method == STORED else 0

    def _inflate(self, record: Record, stored: memoryview) -> memoryview:
        self._inflated += record.size
        if self._inflated > self._inflate_limit:
            raise ArchiveError(
                f"inflates to more than {self._inflate_limit:,} bytes from a file of "
                f"{len(self.data):,}",
                record.name,
                HOSTILE,
            )
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            contents = inflater.decompress(stored, record.size + 1)
        except zlib.error as e:
            raise ArchiveError(f"does not inflate ({e})", record.name, DAMAGED) from None
        if len(contents) != record.size or not inflater.eof or inflater.unused_data:
            raise ArchiveError(
                f"does not inflate to the declared {record.size:,} bytes", record.name, DAMAGED
            )
        return memoryview(contents)

    def _find_directory(self) -> tuple[int, int, int]:
        """(number of records, offset, size) of the central directory."""
        data = self.data
        tail_start = max(0, len(data) - END.size - MAX16)
        at = bytes(data[tail_start:]).rfind(b"PK\5\6")
        end = tail_start + at
        if at < 0 or end + END.size > len(data):
            raise ArchiveError("the zip file has no directory at its end", None, DAMAGED)
        _, disk, first_disk, here, count, size, start, comment = END.unpack_from(data, end)
        if end + END.size + comment > len(data):
            raise ArchiveError("the zip directory ends outside the file", None, DAMAGED)
        limit = end
        locator = end - LOCATOR64.size
        if locator >= 0 and bytes(data[locator : locator + 4]) == b"PK\6\7":
            limit, disk, first_disk, here, count, size, start = self._find_directory64(locator)
        if disk or first_disk or here != count:
            raise ArchiveError(
                "the zip file is one part of several",
                None,
                "archives are single files; join the parts first",
            )
        if start + size > limit:
            raise ArchiveError("the zip directory lies outside the file", None, DAMAGED)
        if count > MAX_RECORDS or count * ENTRY.size > size:
            raise ArchiveError(
                f"the zip directory has no room for its {count} records", None, DAMAGED
            )
        return count, start, size

    def _find_directory64(self, locator: int) -> tuple[Any, ...]:
        _, disk_of_end, end64, disks = LOCATOR64.unpack_from(self.data, locator)
        if end64 + END64.size > locator or bytes(self.data[end64 : end64 + 4]) != b"PK\6\6":
            raise ArchiveError("the zip64 directory lies outside the file", None, DAMAGED)
        _, _, _, _, disk, first_disk, here, count, size, start = END64.unpack_from(self.data, end64)
        return end64, disk | disk_of_end, first_disk, here, count, size, start

    def _read_directory(self, count: int, start: int, size: int) -> None:
        at, stop = start, start + size
        ranges: list[tuple[int, int, str]] = []
        for _ in range(count):
            made, offset, at = self._read_entry(at, stop)
            ranges.append((offset, made.start + made.stored_size, made.name))
            self._add(made)
        if at != stop:
            raise ArchiveError("the zip directory has more than its records", None, HOSTILE)
        self._check_ranges(ranges, start)

    def _read_entry(self, at: int, stop: int) -> tuple[Record, int, int]:
        """(record, offset of its local header, offset of the next entry) for a directory entry."""
        if at + ENTRY.size > stop:
            raise ArchiveError("the zip directory is cut short", None, DAMAGED)
        entry = ENTRY.unpack_from(self.data, at)
        signature, _, _, flags, method, _, _, crc, packed, full = entry[:10]
        name_size, extra_size, comment_size, disk, _, _, offset = entry[10:]
        fields = at + ENTRY.size
        following = fields + name_size + extra_size + comment_size
        if signature != b"PK\1\2" or following > stop:
            raise ArchiveError("the zip directory is damaged", None, DAMAGED)
        raw_name = bytes(self.data[fields : fields + name_size])
        name = decode_name(raw_name)
        extra = self.data[fields + name_size : fields + name_size + extra_size]
        full, packed, offset = widen(name, extra, full, packed, offset)
        if flags & ENCRYPTED:
            raise ArchiveError(
                "the record is encrypted",
                name,
                "TorchScript archives never are; decrypt the file first",
            )
        if method not in (STORED, DEFLATED):
            raise ArchiveError(
                f"the record is packed by method {method}",
                name,
                "only stored and deflated records can be read; pack it again",
            )
        if disk not in (0, MAX16):
            raise ArchiveError("the record lies in another file", name, DAMAGED)
        start = self._check_local(name, raw_name, offset, method)
        made = Record(name, method, start, packed, full, crc)
        self._check_sizes(made, offset)
        return made, offset, following

    def _add(self, record: Record) -> None:
        if record.name in self.records:
            raise ArchiveError("two records have this name", record.name, HOSTILE)
        if record.method == STORED and record.size != record.stored_size:
            raise ArchiveError(
                f"declares {record.size:,} bytes but stores {record.stored_size:,}",
                record.name,
                DAMAGED,
            )
        if record.method == DEFLATED and record.size > MAX_DEFLATE_RATIO * record.stored_size + 64:
            raise ArchiveError(
                f"cannot hold {record.size:,} bytes in {record.stored_size:,}", record.name, HOSTILE
            )
        if not record.name.endswith("/"):
            self.records[record.name] = record
        elif record.size:
            raise ArchiveError("a folder has contents", record.name, HOSTILE)

    def _check_local(self, name: str, raw_name: bytes, offset: int, method: int) -> int:
        """Compare a record's local header with the directory; return the offset of its data."""
        data = self.data
        if offset + LOCAL.size > len(data):
            raise ArchiveError("the record lies outside the file", name, DAMAGED)
        signature, _, flags, local_method, _, _, _, _, _, name_size, extra_size = LOCAL.unpack_from(
            data, offset
        )
        names = offset + LOCAL.size
        if (
            signature != b"PK\3\4"
            or local_method != method
            or flags & ENCRYPTED
            or bytes(data[names : names + name_size]) != raw_name
        ):
            raise ArchiveError("the record's header differs from the directory", name, HOSTILE)
        return names + name_size + extra_size

    def _check_sizes(self, record: Record, offset: int) -> None:
        """Compare the sizes and checksum in the local header with the directory, unless they come
        after the contents."""
        _, _, flags, _, _, _, crc, packed, full, _, _ = LOCAL.unpack_from(self.data, offset)
        if flags & SIZES_FOLLOW:
            return
        if (
            crc != record.crc
            or packed not in (record.stored_size, MAX32)
            or full not in (record.size, MAX32)
        ):
            raise ArchiveError(
                "the record's header differs from the directory", record.name, HOSTILE
            )

    @staticmethod
    def _check_ranges(ranges: list[tuple[int, int, str]], directory: int) -> None:
        ranges.sort()
        previous_end, previous = 0, ""
        for start, end, name in ranges:
            if start < previous_end:
                raise ArchiveError(f"the record overlaps {previous!r}", name, HOSTILE)
            if end > directory:
                raise ArchiveError("the record reaches outside the file", name, DAMAGED)
            previous_end, previous = end, name


def decode_name(raw: bytes) -> str:
    """A record's name as text.  Raises ArchiveError if it could name a file outside the archive."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ArchiveError("a record's name is not UTF-8", repr(raw[:40]), DAMAGED) from None
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or name.startswith("/") or ".." in parts:
        raise ArchiveError(
            "a record has a name that leads outside the archive", repr(name)[:80], HOSTILE
        )
    return name


def widen(name: str, extra: memoryview, size: int, packed: int, offset: int) -> tuple[int, ...]:
    """(size, packed, offset), with values that do not fit 32 bits taken from the zip64 field."""
    if MAX32 not in (size, packed, offset):
        return size, packed, offset
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4
        if kind == 1:
            wanted = [size, packed, offset].count(MAX32)
            if length < 8 * wanted or at + length > len(extra):
                break
            wide = iter(struct.unpack_from(f"<{wanted}Q", extra, at))
            return tuple(next(wide) if v == MAX32 else v for v in (size, packed, offset))
        at += length
    raise ArchiveError("the record's zip64 sizes are missing", name, DAMAGED)
