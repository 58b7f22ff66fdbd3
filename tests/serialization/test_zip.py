"""The zip reader and writer against each other and against Python's."""

import io
import struct
import zipfile

import pytest
from scriptlang.serialization import zip_reader, zip_writer
from scriptlang.serialization.zip_reader import ZipReader
from scriptlang.serialization.zip_writer import ZipWriter

from scriptlang.errors import ArchiveError
from tests.serialization.archives import FIXTURES, zipped

CONTENTS = {
    "a/data.pkl": b"pickle",
    "a/data/0": bytes(range(256)) * 3,
    "a/empty": b"",
    "a/nämé": b"utf-8",
}


def python_zip(compression: int, **options) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, **options) as z:
        for name, contents in CONTENTS.items():
            z.writestr(name, contents)
    return file.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_reads_what_zipfile_writes(compression):
    reader = ZipReader(python_zip(compression))
    assert {n: bytes(reader.read(n)) for n in reader.records} == CONTENTS


def test_zipfile_reads_what_is_written():
    with zipfile.ZipFile(io.BytesIO(zipped(CONTENTS))) as z:
        assert z.testzip() is None
        assert {n: z.read(n) for n in z.namelist()} == CONTENTS


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_reads_what_pytorch_writes(path):
    contents = path.read_bytes()
    reader = ZipReader(contents)
    with zipfile.ZipFile(path) as z:
        assert list(reader.records) == z.namelist()
        assert all(bytes(reader.read(n)) == z.read(n) for n in reader.records)


def test_stored_records_are_views_of_the_file():
    contents = bytearray(zipped(CONTENTS))
    view = ZipReader(contents).read("a/data/0")
    contents[contents.index(bytes(range(256)))] = 7
    assert view[0] == 7


def test_records_start_at_multiples_of_64():
    reader = ZipReader(zipped(CONTENTS))
    assert all(r.start % 64 == 0 for r in reader.records.values())


def test_same_contents_give_same_bytes():
    assert zipped(CONTENTS) == zipped(dict(CONTENTS))


def test_packed_records_read_back(monkeypatch):
    file = io.BytesIO()
    writer = ZipWriter(file)
    writer.add("a/code", b"x = 1\n" * 100, pack=True)
    writer.add("a/short", b"\x00", pack=True)
    writer.finish()
    reader = ZipReader(file.getvalue())
    assert reader.records["a/code"].stored_size < 100
    assert bytes(reader.read("a/code")) == b"x = 1\n" * 100
    assert bytes(reader.read("a/short")) == b"\x00"


def test_zip64_fields_are_written_and_read_when_numbers_do_not_fit(monkeypatch):
    """With the limit of 32-bit fields lowered to 200, everything goes through the 64-bit ones."""
    monkeypatch.setattr(zip_writer, "MAX32", 200)
    monkeypatch.setattr(zip_writer, "MAX16", 2)
    contents = zipped(CONTENTS).replace(struct.pack("<L", 200), struct.pack("<L", 2**32 - 1))
    reader = ZipReader(contents)
    assert {n: bytes(reader.read(n)) for n in reader.records} == CONTENTS


def test_a_name_twice_is_refused_when_writing():
    writer = ZipWriter(io.BytesIO())
    writer.add("a", b"")
    with pytest.raises(ValueError, match="two records named 'a'"):
        writer.add("a", b"")


def test_a_wrong_checksum_is_found():
    contents = zipped(CONTENTS).replace(b"pickle", b"tickle")
    reader = ZipReader(contents)
    with pytest.raises(ArchiveError, match="a/data.pkl: .*checksum"):
        reader.read("a/data.pkl")
    assert bytes(reader.read("a/data.pkl", check_crc=False)) == b"tickle"


def test_names_that_lead_outside_are_refused():
    for name in (b"../x", b"/x", b"a/../../x", b"a\\x", b"a\0x", b"", b"\xff"):
        with pytest.raises(ArchiveError):
            zip_reader.decode_name(name)
