"""Compiled archives: what engines run is kept beside the code that it was made from.

scriptlang/program.pkl of such an archive has the functions as our engines run them: optimised, with
operators of our own.  The record scriptlang/compiled says which version of scriptlang made it, of
which code/.  Where either is another one, for a file whose code was changed by hand or that comes
from an older scriptlang, the program is left alone and the code compiled as ever.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any

from .. import types as T
from .._version import __version__
from ..errors import ArchiveError
from ..interpreter.prepare import CODE, RUNNING
from ..ir import Function
from ..schema import Schema
from .bytecode import PROGRAM, read_functions

RECORD = "scriptlang/compiled"


def stamp(sources: Iterable[tuple[str, int]]) -> bytes:
    """The contents of the record for records of code/ by name and CRC-32."""
    names = "".join(f"{name} {crc}\n" for name, crc in sorted(sources))
    return f"{__version__}\n{zlib.crc32(names.encode())}\n".encode()


def stamp_of(records: Iterable[tuple[str, Any]]) -> bytes:
    """The contents of the record for records that are being written."""
    return stamp((name, zlib.crc32(contents)) for name, contents in records if is_source(name))


def is_source(name: str) -> bool:
    return name.startswith("code/") and name.endswith(".py")


def holds(reader: Any) -> bool:
    """Whether an archive has a program that is of its code and for this scriptlang."""
    if RECORD not in reader.records or PROGRAM not in reader.records:
        return False
    sources = ((name, r.crc) for name, r in reader.records.items() if is_source(name))
    return bytes(reader.read(RECORD)) == stamp(sources)


def attach(tree: Any, importer: Any, constant: Callable[[Any], Any]) -> None:
    """Give the functions of an archive what they run as, from the unpickled program.

    importer: the types and functions of code/.  constant: makes the value of a constant.
    Raises ArchiveError where the program is malformed or not sound.
    """
    try:
        functions = read_functions(tree, importer.find_type, constant, verified=False)
    except ArchiveError as e:
        e.record = PROGRAM
        raise
    own = {name: found for name in functions if (found := declared(importer, name)) is not None}
    for name, function in own.items():
        check_alike(functions[name].schema, function.schema)
    for function in functions.values():
        code = function.attributes[CODE]
        code.functions = [own.get(f.name, f) for f in code.functions]
    for name, function in own.items():
        function.attributes[RUNNING] = functions[name].attributes[CODE]


def check_alike(kept: Schema, declared: Schema) -> None:
    """ArchiveError unless a function takes and gives as many values as its code says: callers go by
    the one, verification by the other."""
    if len(kept.arguments) != len(declared.arguments) or len(kept.returns) != len(declared.returns):
        raise ArchiveError(
            f"{declared.name} takes and gives other values than in code/",
            PROGRAM,
            "the file is damaged, or was not made by scriptlang",
        )


def declared(importer: Any, name: str) -> Function | None:
    """The method or function of that name in code/, None where there is none."""
    owner, _, short = name.rpartition(".")
    cls = importer.find_type(owner)
    if isinstance(cls, T.ClassType):
        return cls.methods.get(short) or cls.static_methods.get(short)
    return importer.find_function(name)
