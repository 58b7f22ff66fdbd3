"""Compiled archives, which contain the code that engines run beside the code/ it was made from.

In such an archive scriptlang/program.pkl has optimised functions, which may use operators that only
scriptlang has.  The record scriptlang/compiled says which version of scriptlang made them, from
which code/.  If either does not match, because the code was changed by hand or the file comes from
another version, the program is ignored and code/ is compiled as usual.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any

from .. import types as T
from .._version import __version__
from ..errors import ArchiveError
from ..interpreter.code import Code
from ..interpreter.gradients import STRAIGHT
from ..interpreter.kept_graphs import Kept
from ..interpreter.prepare import CODE, RUNNING
from ..ir import Function
from ..schema import Schema
from .bytecode import PROGRAM, read_functions

RECORD = "scriptlang/compiled"


def stamp(sources: Iterable[tuple[str, int]]) -> bytes:
    """The contents of the record, from the names and CRC-32s of the records in code/."""
    names = "".join(f"{name} {crc}\n" for name, crc in sorted(sources))
    return f"{__version__}\n{zlib.crc32(names.encode())}\n".encode()


def stamp_of(records: Iterable[tuple[str, Any]]) -> bytes:
    """The contents of the record, from records that are being written."""
    return stamp((name, zlib.crc32(contents)) for name, contents in records if is_source(name))


def is_source(name: str) -> bool:
    return name.startswith("code/") and name.endswith(".py")


def holds(reader: Any) -> bool:
    """Whether an archive has a program that this version of scriptlang made from its code."""
    if RECORD not in reader.records or PROGRAM not in reader.records:
        return False
    sources = ((name, r.crc) for name, r in reader.records.items() if is_source(name))
    return bytes(reader.read(RECORD)) == stamp(sources)


def attach(tree: Any, importer: Any, constant: Callable[[Any], Any]) -> None:
    """Give the functions of an archive the code that engines run, from the unpickled program.

    Engines verify it when a function is first called.
    importer: has the types and functions of code/.  constant: makes the value of a constant.
    Raises ArchiveError if the program is malformed or does not match the functions.
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
        code = function.attributes[RUNNING] = functions[name].attributes[CODE]
        if code.straights:
            check_straights(code)
            function.attributes[STRAIGHT] = Kept(function, code)


def check_alike(kept: Schema, declared: Schema) -> None:
    """Raise ArchiveError unless both schemas have the same numbers of arguments and results.

    Callers use the declared one, but verification uses that of the compiled code.
    """
    if len(kept.arguments) != len(declared.arguments) or len(kept.returns) != len(declared.returns):
        raise ArchiveError(
            f"{declared.name} takes and gives other values than in code/",
            PROGRAM,
            "the file is damaged, or was not made by scriptlang",
        )


def check_straights(code: Code) -> None:
    """Raise ArchiveError unless the straight graphs take and give what the function does."""
    arguments = [a.type for a in code.schema.arguments]
    for takes, straight in code.straights:
        ours, returns = straight.schema, [r.type for r in code.schema.returns]
        if (
            [a.type for a in takes.schema.arguments] != arguments
            or [r.type for r in takes.schema.returns] != [T.BOOL]
            or [a.type for a in ours.arguments] != arguments
            or [r.type for r in ours.returns] != returns
        ):
            raise ArchiveError(
                f"the straight graphs of {code.name} take or give other values",
                PROGRAM,
                "the file is damaged, or was not made by scriptlang",
            )


def declared(importer: Any, name: str) -> Function | None:
    """The method or function of that name in code/; None if there is none."""
    owner, _, short = name.rpartition(".")
    cls = importer.find_type(owner)
    if isinstance(cls, T.ClassType):
        return cls.methods.get(short) or cls.static_methods.get(short)
    return importer.find_function(name)
