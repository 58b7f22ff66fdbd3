"""TorchScript archives as a whole: which record is what, and the order in which they are read.

    archive = read_archive("model.pt")
    archive.root                    # the module, a ScriptObject; methods compile on first use

Nothing of the file is executed.  Tensors lie in the mapped file until they are first written.
"""

from __future__ import annotations

import io
import mmap
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Mapping

from .. import types as T
from ..building import uncollected
from ..errors import ArchiveError, MissingOperatorError
from ..limits import Limits
from ..objects import ScriptObject
from . import recognise
from .bytecode_importer import BytecodeImporter
from .code_files import CodeFiles
from .importer import Importer
from .materialise import Materialiser, PendingState, Storages
from .unpickle import unpickle
from .zip_reader import Record, ZipReader

DAMAGED = "the file is damaged or cut short; download or copy it again"
OLDEST_VERSION, NEWEST_VERSION = 1, 10
MAX_PICKLE = 1 << 30
RESTORE_LIMITS = Limits(instructions=10_000_000, seconds=10, memory=4 << 30, depth=100)
"""What `__setstate__` of an archive may use where the caller does not say."""

CHECKED_SIZE = 16 << 20
"""In files up to this size the checksums of tensors are checked too; in larger ones that would read
what may never be needed."""


@dataclass
class LoadedArchive:
    """A read archive.

    root: the module.  version: the file format.  importer: its types and functions.
    pending: states that wait for `__setstate__` of the archive's own code.
    bytecode: the unpickled record bytecode.pkl, None where there is none.
    """

    root: ScriptObject
    version: int
    importer: Importer
    extra_files: dict[str, bytes] = field(default_factory=dict)
    pending: list[PendingState] = field(default_factory=list)
    reader: Reader | None = None

    def restore(self, limits: Limits | None = None) -> None:
        """Run the `__setstate__` methods that objects of the archive need, within limits.

        This is code from the file; reading the archive never runs it.  Objects are restored
        inner ones first; those whose method needs an operator that is lacking stay pending.
        Raises ArchiveError where an object is left without its attributes.
        """
        from ..interpreter.engine import engine

        for entry in list(self.pending):
            method = entry.object.type.methods["__setstate__"]
            try:
                engine("python").run(method, (entry.object, entry.state), None,
                                     limits or RESTORE_LIMITS)
            except MissingOperatorError:
                continue                             # a lacking operator does not stop the rest
            check_restored(entry.object)
            self.pending.remove(entry)


def check_restored(obj: ScriptObject) -> None:
    for attribute, value in zip(obj.type.attributes, obj.slots):
        if value is None and not T.may_be_none(attribute.type):
            raise ArchiveError(f"__setstate__ of {obj.type.name} left {attribute.name!r} without "
                               "a value", "data.pkl", "let __setstate__ set every attribute")


class Reader:
    """The records of an archive, without the name of its top folder."""

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
        if not self.is_archive:
            raise recognise.explain_zip(names)

    @property
    def is_archive(self) -> bool:
        has_code = any(name.startswith("code/") for name in self.records)
        return "data.pkl" in self.records and (
            has_code or "constants.pkl" in self.records or "bytecode.pkl" in self.records)

    def read(self, record: str) -> memoryview:
        return self.zip.read(self.root + record)

    def pickle(self, record: str):
        if self.records[record].size > MAX_PICKLE:
            raise ArchiveError(f"over {MAX_PICKLE:,} bytes", record, DAMAGED)
        return unpickle(self.read(record), record)

    def tensor(self, record: str) -> memoryview:
        if record not in self.records:
            raise ArchiveError("the archive lacks this storage", record, DAMAGED)
        return self.zip.read(self.root + record, self.check_tensors)

    def version(self) -> int:
        for record in ("version", ".data/version"):
            if record in self.records:
                text = bytes(self.read(record)[:20]).strip()
                if not text.isdigit():
                    raise ArchiveError(f"{text!r} is no version", record, DAMAGED)
                version = int(text)
                if not OLDEST_VERSION <= version <= NEWEST_VERSION:
                    raise ArchiveError(
                        f"format version {version}; versions {OLDEST_VERSION} to {NEWEST_VERSION} "
                        "can be read", record, "a newer scriptlang may read it")
                return version
        raise ArchiveError("the archive does not say its version", "version", DAMAGED)

    def is_swapped(self) -> bool:
        """Whether its numbers lie in the other byte order than this machine's."""
        if "byteorder" not in self.records:
            return sys.byteorder != "little"
        order = bytes(self.read("byteorder")[:10])
        if order not in (b"little", b"big"):
            raise ArchiveError(f"{order!r} is no byte order", "byteorder", DAMAGED)
        return order.decode() != sys.byteorder

    def extra_files(self, wanted: Mapping[str, Any] | None) -> dict[str, bytes]:
        """Contents of the extra files asked for; the caller's mapping is filled as well."""
        found = {}
        for name in wanted or ():
            if f"extra/{name}" in self.records:
                found[name] = bytes(self.read(f"extra/{name}"))
        if wanted is not None:
            wanted.update(found)
        return found


@uncollected
def read_archive(source, *, extra_files: dict | None = None, check_all: bool = False
                 ) -> LoadedArchive:
    """Read a TorchScript archive.

    source: a path, a binary file object (read from its position), or bytes.
    extra_files: a dict whose keys name extra files; their contents (bytes) become its values.
    check_all: verify the checksum of every record, also of tensors that are not read yet.
    Raises ArchiveError, which names the record at fault and what to do.
    """
    try:
        return _read(Reader(source, check_all), extra_files)
    except RecursionError:
        raise ArchiveError("the archive is nested deeper than can be read", None,
                           "no model is written like this; do not use the file") from None


def _read(reader: Reader, extra_files: dict | None) -> LoadedArchive:
    version = reader.version()
    storages = Storages(reader.tensor, reader.is_swapped())
    pending: list[PendingState] = []
    table: list | None = None

    def constants() -> list:
        nonlocal table
        if table is None:
            made = values("constants", T.ANY) if "constants.pkl" in reader.records else ()
            if not isinstance(made, (tuple, list)):
                raise ArchiveError("the table of constants is no tuple", "constants.pkl", DAMAGED)
            table = list(made)
        return table

    has_code = any(name.startswith("code/") and name.endswith(".py") for name in reader.records)
    importer: Any = Importer(CodeFiles(reader.records, reader.read), constants, version)
    if not has_code and "bytecode.pkl" in reader.records:
        importer = BytecodeImporter(reader.pickle("data.pkl").value)

    def parse_type(text: str) -> T.Type:
        try:
            return T.parse_annotation(text, importer.find_type)
        except T.TypeSyntaxError as e:
            raise ArchiveError(str(e), "data.pkl", DAMAGED) from None

    def values(folder: str, type: T.Type) -> Any:
        record = f"{folder}.pkl"
        maker = Materialiser(reader.pickle(record), record, folder, storages, importer.find_type,
                             parse_type)
        made = maker.root(type)
        pending.extend(maker.pending)
        return made

    if isinstance(importer, BytecodeImporter):
        folder = "constants" if "constants/0" in reader.records else "bytecode"
        tree = reader.pickle("bytecode.pkl")
        maker = Materialiser(tree, "bytecode.pkl", folder, storages, importer.find_type, parse_type)
        importer.add_functions(tree.value, lambda v: maker.value(v, T.ANY, "a constant", 0),
                               version)
    root = values("data", T.ANY)
    if not isinstance(root, ScriptObject) or not root.type.is_module:
        raise recognise.explain_zip(reader.zip.records) if not isinstance(root, ScriptObject) else \
            ArchiveError(f"the archive holds a {root.type.name}, which is no module", "data.pkl",
                         "save a module or a function with torch.jit.save")
    return LoadedArchive(root, version, importer, reader.extra_files(extra_files), pending, reader)


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


def write_archive(program, target, extra_files: Mapping[str, str | bytes] | None = None) -> None:
    """Write a module or a function as an archive (see archive_writer)."""
    from .archive_writer import write_archive

    write_archive(program, target, extra_files)
