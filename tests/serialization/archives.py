"""What the tests of archives share: the fixtures, and ways to take archives apart and put them
together.
"""

from __future__ import annotations

import io
import pathlib
from typing import Mapping

from scriptlang.serialization.zip_reader import ZipReader
from scriptlang.serialization.zip_writer import ZipWriter

TESTS = pathlib.Path(__file__).resolve().parent.parent
DATA = TESTS / "data"
FIXTURES = sorted([*DATA.glob("*.pt"), *DATA.glob("serialization/*.pt")])


def records(contents: bytes) -> dict[str, bytes]:
    """The records of a zip file."""
    reader = ZipReader(contents)
    return {name: bytes(reader.read(name)) for name in reader.records}


def zipped(contents: Mapping[str, bytes]) -> bytes:
    """A zip file with these records."""
    file = io.BytesIO()
    writer = ZipWriter(file)
    for name, value in contents.items():
        writer.add(name, value)
    writer.finish()
    return file.getvalue()


def changed(contents: bytes, **replaced: bytes) -> bytes:
    """An archive with some records replaced: `changed(a, data_pkl=b"...")`; `_` stands for `.`."""
    new = {}
    for name, value in records(contents).items():
        key = name.partition("/")[2].replace(".", "_").replace("/", "__")
        new[name] = replaced.pop(key, value)
    assert not replaced, f"no records {list(replaced)}"
    return zipped(new)
