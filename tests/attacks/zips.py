"""Hostile zip files, each made by a function that says how; `ATTACKS`: name -> (maker, what the
error says).
"""

from __future__ import annotations

import struct
import zlib
from typing import Callable

from tests.serialization.archives import DATA

VICTIM = (DATA / "serialization" / "attributes.pt").read_bytes()

LOCAL, ENTRY, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"


def record(name: bytes, contents: bytes, *, method: int = 0, flags: int = 0,
           size: int | None = None, stored: int | None = None, local_name: bytes | None = None,
           at: int | None = None
           ) -> tuple[bytes, Callable[[int], bytes]]:
    """(local part, directory entry at an offset) of a record; keywords lie about it."""
    size = len(contents) if size is None else size
    stored = len(contents) if stored is None else stored
    crc = zlib.crc32(contents)
    own = name if local_name is None else local_name
    local = LOCAL + struct.pack("<5H3L2H", 20, flags, method, 0, 33, crc, stored, size, len(own),
                                0) + own + contents

    def entry(offset: int) -> bytes:
        return ENTRY + struct.pack("<6H3L5H2L", 20, 20, flags, method, 0, 33, crc, stored, size,
                                   len(name), 0, 0, 0, 0, 0,
                                   offset if at is None else at) + name

    return local, entry


def assemble(*made, count: int | None = None, start: int | None = None, comment: int = 0) -> bytes:
    """A zip file of records; keywords lie about the directory."""
    body, entries = b"", b""
    for local, entry in made:
        entries += entry(len(body))
        body += local
    n = len(made) if count is None else count
    return body + entries + END + struct.pack(
        "<4H2LH", 0, 0, n, n, len(entries), len(body) if start is None else start, comment)


def overlapping_records() -> bytes:
    """Two names for the same bytes: what one reader checks, the other uses."""
    first = record(b"a/x", b"contents")
    return assemble(first, record(b"a/x", b"contents", at=0))


def nested_records() -> bytes:
    """A record inside the data of another."""
    inner, entry = record(b"a/inner", b"y")
    outer = record(b"a/outer", inner + b"z")
    offset = len(outer[0]) - len(inner) - 1
    return assemble(outer, (b"", lambda _: entry(offset)))


def quoted_overlap_bomb() -> bytes:
    """Many directory entries for one deflated record: small file, huge contents."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(10 ** 7)) + packer.flush()
    one = record(b"a/0", packed, method=8, size=10 ** 7)
    return assemble(one, *[(b"", lambda _, e=record(b"a/%d" % i, packed, method=8, size=10 ** 7,
                                                    local_name=b"a/0")[1]: e(0))
                           for i in range(1, 50)])


def inflate_bomb() -> bytes:
    """A record that inflates to 200 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(2 * 10 ** 8)) + packer.flush()
    return assemble(record(b"a/version", packed, method=8, size=2 * 10 ** 8),
                    record(b"a/data.pkl", b""), record(b"a/constants.pkl", b""))


def inflates_to_more_than_it_says() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(10 ** 6)) + packer.flush()
    return assemble(record(b"a/version", packed, method=8, size=2),
                    record(b"a/data.pkl", b""), record(b"a/constants.pkl", b""))


def stored_size_differs() -> bytes:
    """Declared 1 GB, stored 8 bytes: a reader that trusts the declaration reads past the end."""
    return assemble(record(b"a/data/0", b"12345678", size=2 ** 30))


ATTACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "overlapping records": (overlapping_records, "two records have this name"),
    "nested records": (nested_records, "overlaps"),
    "many names for one bomb": (quoted_overlap_bomb, "differs from the directory"),
    "inflate bomb": (inflate_bomb, "inflates to more than"),
    "inflates to more than it says": (inflates_to_more_than_it_says, "does not inflate to"),
    "declared and stored size differ": (stored_size_differs, "declares 1,073,741,824 bytes"),
    "impossible deflate ratio": (
        lambda: assemble(record(b"a/x", b"\3\0", method=8, size=10 ** 9)), "cannot hold"),
    "record past the end": (
        lambda: assemble(record(b"a/x", b"1", size=99, stored=99)), "outside the file"),
    "header past the end": (
        lambda: assemble((b"", record(b"a/x", b"1", at=10 ** 6)[1])), "outside the file"),
    "name leads outside": (
        lambda: assemble(record(b"a/../../etc/passwd", b"1")), "outside the archive"),
    "absolute name": (lambda: assemble(record(b"/etc/passwd", b"1")), "outside the archive"),
    "name with NUL": (lambda: assemble(record(b"a/x\0.py", b"1")), "outside the archive"),
    "two names": (
        lambda: assemble(record(b"a/data.pkl", b"1", local_name=b"a/other_pkl")), "differs"),
    "encrypted": (lambda: assemble(record(b"a/x", b"1", flags=1)), "encrypted"),
    "unknown method": (lambda: assemble(record(b"a/x", b"1", method=93)), "method 93"),
    "more records than there is room for": (
        lambda: assemble(record(b"a/x", b"1"), count=60000), "no room"),
    "fewer bytes than entries": (
        lambda: assemble(record(b"a/x", b"1"), count=2), "no room"),
    "directory outside": (
        lambda: assemble(record(b"a/x", b"1"), start=10 ** 9), "outside the file"),
    "directory in the middle of a record": (
        lambda: assemble(record(b"a/x", b"1"), start=3), "damaged"),
    "comment past the end": (
        lambda: assemble(record(b"a/x", b"1"), comment=500), "outside the file"),
    "folder with contents": (lambda: assemble(record(b"a/x/", b"1")), "folder has contents"),
    "zip64 directory outside": (
        lambda: assemble(record(b"a/x", b"1"))[:-22]
        + b"PK\6\7" + struct.pack("<LQL", 0, 2 ** 62, 1)
        + assemble(record(b"a/x", b"1"))[-22:], "zip64 directory"),
}
