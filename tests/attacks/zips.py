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
MAX32 = 0xFFFFFFFF


def record(
    name: bytes,
    contents: bytes,
    *,
    method: int = 0,
    flags: int = 0,
    size: int | None = None,
    stored: int | None = None,
    local_name: bytes | None = None,
    at: int | None = None,
    local: dict | None = None,
    disk: int = 0,
    extra: bytes = b"",
) -> tuple[bytes, Callable[[int], bytes]]:
    """(local part, directory entry at an offset) of a record; keywords lie about it."""
    size = len(contents) if size is None else size
    stored = len(contents) if stored is None else stored
    crc = zlib.crc32(contents)
    own = name if local_name is None else local_name
    says = {
        "flags": flags,
        "method": method,
        "crc": crc,
        "stored": min(stored, MAX32),
        "size": min(size, MAX32),
        **(local or {}),
    }
    head = (
        LOCAL
        + struct.pack(
            "<5H3L2H",
            20,
            says["flags"],
            says["method"],
            0,
            33,
            says["crc"],
            says["stored"],
            says["size"],
            len(own),
            0,
        )
        + own
        + contents
    )

    def entry(offset: int) -> bytes:
        return (
            ENTRY
            + struct.pack(
                "<6H3L5H2L",
                20,
                20,
                flags,
                method,
                0,
                33,
                crc,
                min(stored, MAX32),
                min(size, MAX32),
                len(name),
                len(extra),
                0,
                disk,
                0,
                0,
                offset if at is None else at,
            )
            + name
            + extra
        )

    return head, entry


def assemble(*made, count: int | None = None, start: int | None = None, comment: int = 0) -> bytes:
    """A zip file of records; keywords lie about the directory."""
    body, entries = b"", b""
    for local, entry in made:
        entries += entry(len(body))
        body += local
    n = len(made) if count is None else count
    return (
        body
        + entries
        + END
        + struct.pack(
            "<4H2LH", 0, 0, n, n, len(entries), len(body) if start is None else start, comment
        )
    )


def ended(file: bytes, *, disk: int = 0, first: int = 0, here: int | None = None) -> bytes:
    """A file whose end record says that it is one part of several."""
    fields = list(struct.unpack("<4H2LH", file[-18:]))
    fields[:3] = disk, first, fields[2] if here is None else here
    return file[:-18] + struct.pack("<4H2LH", *fields)


def wide(size: int, stored: int) -> bytes:
    """A zip64 extra field."""
    return struct.pack("<2H2Q", 1, 16, size, stored)


def directory64(
    *, disk: int = 0, disks: int = 1, here: int | None = None, count: int = 1, shift: int = 0
) -> bytes:
    """A file with a zip64 directory; keywords lie about it."""
    file = assemble(record(b"a/x", b"1"))
    size, start = struct.unpack("<2L", file[-10:-2])
    body = file[:-22]
    end64 = b"PK\6\6" + struct.pack(
        "<Q2H2L4Q", 44, 45, 45, disk, 0, count if here is None else here, count, size, start
    )
    return body + end64 + b"PK\6\7" + struct.pack("<LQL", 0, len(body) + shift, disks) + file[-22:]


def hidden_by_the_comment(comment: bytes) -> bytes:
    """An archive whose comment looks like another directory."""
    return VICTIM[:-2] + struct.pack("<H", len(comment)) + comment


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
    packed = packer.compress(bytes(10**7)) + packer.flush()
    one = record(b"a/0", packed, method=8, size=10**7)

    def again(i: int):
        entry = record(b"a/%d" % i, packed, method=8, size=10**7, local_name=b"a/0")[1]
        return b"", lambda _: entry(0)

    return assemble(one, *map(again, range(1, 50)))


def inflate_bomb() -> bytes:
    """A record that inflates to 200 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(2 * 10**8)) + packer.flush()
    return assemble(
        record(b"a/version", packed, method=8, size=2 * 10**8),
        record(b"a/data.pkl", b""),
        record(b"a/constants.pkl", b""),
    )


def inflates_to_more_than_it_says() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(10**6)) + packer.flush()
    return assemble(
        record(b"a/version", packed, method=8, size=2),
        record(b"a/data.pkl", b""),
        record(b"a/constants.pkl", b""),
    )


def stored_size_differs() -> bytes:
    """Declared 1 GB, stored 8 bytes: a reader that trusts the declaration reads past the end."""
    return assemble(record(b"a/data/0", b"12345678", size=2**30))


ATTACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "overlapping records": (overlapping_records, "two records have this name"),
    "nested records": (nested_records, "overlaps"),
    "many names for one bomb": (quoted_overlap_bomb, "differs from the directory"),
    "inflate bomb": (inflate_bomb, "inflates to more than"),
    "inflates to more than it says": (inflates_to_more_than_it_says, "does not inflate to"),
    "declared and stored size differ": (stored_size_differs, "declares 1,073,741,824 bytes"),
    "impossible deflate ratio": (
        lambda: assemble(record(b"a/x", b"\3\0", method=8, size=10**9)),
        "cannot hold",
    ),
    "record past the end": (
        lambda: assemble(record(b"a/x", b"1", size=99, stored=99)),
        "outside the file",
    ),
    "header past the end": (
        lambda: assemble((b"", record(b"a/x", b"1", at=10**6)[1])),
        "outside the file",
    ),
    "name leads outside": (
        lambda: assemble(record(b"a/../../etc/passwd", b"1")),
        "outside the archive",
    ),
    "absolute name": (lambda: assemble(record(b"/etc/passwd", b"1")), "outside the archive"),
    "name with NUL": (lambda: assemble(record(b"a/x\0.py", b"1")), "outside the archive"),
    "two names": (
        lambda: assemble(record(b"a/data.pkl", b"1", local_name=b"a/other_pkl")),
        "differs",
    ),
    "encrypted": (lambda: assemble(record(b"a/x", b"1", flags=1)), "encrypted"),
    "unknown method": (lambda: assemble(record(b"a/x", b"1", method=93)), "method 93"),
    "more records than there is room for": (
        lambda: assemble(record(b"a/x", b"1"), count=60000),
        "no room",
    ),
    "fewer bytes than entries": (lambda: assemble(record(b"a/x", b"1"), count=2), "no room"),
    "directory outside": (lambda: assemble(record(b"a/x", b"1"), start=10**9), "outside the file"),
    "directory in the middle of a record": (
        lambda: assemble(record(b"a/x", b"1"), start=3),
        "damaged",
    ),
    "comment past the end": (
        lambda: assemble(record(b"a/x", b"1"), comment=500),
        "outside the file",
    ),
    "folder with contents": (lambda: assemble(record(b"a/x/", b"1")), "folder has contents"),
    "zip64 directory outside": (
        lambda: (
            assemble(record(b"a/x", b"1"))[:-22]
            + b"PK\6\7"
            + struct.pack("<LQL", 0, 2**62, 1)
            + assemble(record(b"a/x", b"1"))[-22:]
        ),
        "zip64 directory",
    ),
    "more entries than are counted": (
        lambda: assemble(record(b"a/x", b"1"), record(b"a/y", b"2"), count=1),
        "more than its",
    ),
    "two names that are the same": (
        lambda: assemble(record(b"a/x", b"1"), record(b"a/x", b"2")),
        "two records have this name",
    ),
    "strong encryption": (lambda: assemble(record(b"a/x", b"1", flags=1 << 6)), "encrypted"),
    "hidden headers": (lambda: assemble(record(b"a/x", b"1", flags=1 << 13)), "encrypted"),
    "encrypted by the local header alone": (
        lambda: assemble(record(b"a/x", b"1", local={"flags": 1})),
        "differs",
    ),
    "deflated by the local header alone": (
        lambda: assemble(record(b"a/x", b"1", local={"method": 8})),
        "differs",
    ),
    "another size in the local header": (
        lambda: assemble(record(b"a/x", b"1", local={"size": 2})),
        "differs",
    ),
    "another stored size in the local header": (
        lambda: assemble(record(b"a/x", b"1", local={"stored": 0})),
        "differs",
    ),
    "another checksum in the local header": (
        lambda: assemble(record(b"a/x", b"1", local={"crc": 7})),
        "differs",
    ),
    "a data descriptor that promises more": (
        lambda: assemble(
            record(
                b"a/x",
                b"1",
                flags=1 << 3,
                size=9,
                stored=9,
                local={"size": 0, "stored": 0, "crc": 0},
            )
        ),
        "outside the file",
    ),
    "zip64 sizes that lie": (
        lambda: assemble(record(b"a/x", b"1", size=MAX32, stored=MAX32, extra=wide(2**62, 2**62))),
        "outside the file",
    ),
    "zip64 sizes that wrap": (
        lambda: assemble(
            record(b"a/x", b"1", size=MAX32, stored=MAX32, extra=wide(2**64 - 1, 2**64 - 1))
        ),
        "outside the file",
    ),
    "zip64 sizes that are missing": (
        lambda: assemble(record(b"a/x", b"1", size=MAX32, stored=MAX32)),
        "zip64 sizes",
    ),
    "zip64 sizes that are cut short": (
        lambda: assemble(
            record(b"a/x", b"1", size=MAX32, stored=MAX32, extra=struct.pack("<2HQ", 1, 8, 1))
        ),
        "zip64 sizes",
    ),
    "zip64 directory that counts more": (lambda: directory64(count=2**60), "no room"),
    "zip64 directory on another disk": (lambda: directory64(disk=1), "part of several"),
    "zip64 directory of several parts": (lambda: directory64(here=0), "part of several"),
    "zip64 directory elsewhere": (lambda: directory64(shift=1), "zip64 directory"),
    "one disk of several": (
        lambda: ended(assemble(record(b"a/x", b"1")), disk=1),
        "part of several",
    ),
    "directory on another disk": (
        lambda: ended(assemble(record(b"a/x", b"1")), first=1),
        "part of several",
    ),
    "fewer records here": (
        lambda: ended(assemble(record(b"a/x", b"1")), here=0),
        "part of several",
    ),
    "record on another disk": (lambda: assemble(record(b"a/x", b"1", disk=3)), "another file"),
    "name that is no UTF-8": (lambda: assemble(record(b"a/\xff", b"1")), "not UTF-8"),
    "name in two bytes for one": (lambda: assemble(record(b"a/\xc0\xaf", b"1")), "not UTF-8"),
    "name of a Windows path": (lambda: assemble(record(b"a\\..\\x", b"1")), "outside the archive"),
    "nested steps outside": (
        lambda: assemble(record(b"a/b/../../../x", b"1")),
        "outside the archive",
    ),
    "comment with a directory's signature": (
        lambda: hidden_by_the_comment(b"PK\5\6"),
        "no directory",
    ),
    "comment that is a directory": (
        lambda: hidden_by_the_comment(assemble(record(b"a/x", b"1"))[-22:]),
        "damaged",
    ),
}
