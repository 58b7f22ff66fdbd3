"""Reads TorchScript archives: what each record is for, and the order in which they are read.

    archive = read_archive("model.pt")
    archive.root                    # the module, a ScriptObject; methods compile on first use

No code from the file is run.  If the file is mapped, tensors stay in it until they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from .. import type_text
from .. import types as T
from ..budgets import Budget, use
from ..building import alone, uncollected
from ..errors import ArchiveError, MissingOperatorError, reading
from ..limits import Limits
from ..objects import ScriptObject
from ..records import field, record
from . import names, recognise, versions
from .code_files import CodeFiles
from .importer import Importer
from .materialise import Materialiser, PendingState, Storages
from .record_reader import DAMAGED, RecordReader
from .restoring import restore_limits

if TYPE_CHECKING:
    from ..ir import Function

COMPILED = "scriptlang/compiled"


@record
class LoadedArchive:
    """An archive that was read.

    root: the module.  version: that of the file format.  importer: has its types and functions.
    extra_files: the contents of the extra files that were requested.
    pending: objects whose `__setstate__`, which is code of the archive, has yet to run.
    reader: gives its records.
    """

    root: ScriptObject
    version: int
    importer: Importer
    extra_files: dict[str, bytes] = field(default_factory=dict)
    pending: list[PendingState] = field(default_factory=list)
    reader: Reader | None = None

    def all_extra_files(self) -> dict[str, bytes]:
        """The contents of all extra files of the archive, by name."""
        if self.reader is None:
            return {}
        names = [n.removeprefix("extra/") for n in self.reader.records if n.startswith("extra/")]
        return self.reader.extra_files(dict.fromkeys(names))

    @alone
    def restore(self, limits: Limits | None = None) -> None:
        """Run the `__setstate__` methods of objects in the archive, within limits.

        They are code from the file, which reading the archive never runs.  Inner objects are
        restored first.  Objects whose method needs an operator that is lacking stay pending.
        Raises ArchiveError if an attribute of an object is not set afterwards.
        """
        from ..interpreter.engine import engine

        for entry in list(self.pending):
            method = entry.object.type.methods["__setstate__"]
            try:
                engine("python").run(
                    method, (entry.object, entry.state), None, restore_limits(limits)
                )
            except MissingOperatorError:
                continue  # the other objects can still be restored
            check_restored(entry.object)
            self.pending.remove(entry)


def check_restored(obj: ScriptObject) -> None:
    for attribute, value in zip(obj.type.attributes, obj.slots):
        if value is None and not T.may_be_none(attribute.type):
            raise ArchiveError(
                f"__setstate__ of {obj.type.name} left {attribute.name!r} without a value",
                "data.pkl",
                "let __setstate__ set every attribute",
            )


class Reader(RecordReader):
    """The records of a TorchScript archive."""

    def __init__(self, source: Any, check_all: bool = False, mmap: bool | None = None) -> None:
        super().__init__(source, check_all, mmap)
        if not self.is_archive:
            raise recognise.explain_zip(self.zip.records)

    @property
    def is_archive(self) -> bool:
        has_code = any(name.startswith("code/") for name in self.records)
        return "data.pkl" in self.records and (
            has_code or "constants.pkl" in self.records or "bytecode.pkl" in self.records
        )

    def version(self) -> int:
        for name in ("version", ".data/version"):
            if name in self.records:
                text = bytes(self.read(name)[:20]).strip()
                if not text.isdigit():
                    raise ArchiveError(f"{text!r} is no version", name, DAMAGED)
                version = int(text)
                if not versions.OLDEST <= version <= versions.NEWEST:
                    raise ArchiveError(
                        f"format version {version}; versions {versions.OLDEST} to "
                        f"{versions.NEWEST} can be read",
                        name,
                        "a newer scriptlang may read it",
                    )
                return version
        raise ArchiveError("the archive does not say its version", "version", DAMAGED)

    def extra_files(self, wanted: MutableMapping[str, Any] | None) -> dict[str, bytes]:
        """The contents of the extra files that are keys of `wanted`, which is also filled.  Files
        that the archive does not have are left out; in `wanted` they are empty, as PyTorch has it.
        """
        found = {}
        for name in wanted or ():
            if f"extra/{name}" in self.records:
                found[name] = bytes(self.read(f"extra/{name}"))
        if wanted is not None:
            wanted.update({name: found.get(name, b"") for name in wanted})
        return found


@uncollected
def read_archive(
    source: Any,
    *,
    extra_files: dict[Any, Any] | None = None,
    check_all: bool = False,
    from_code: bool = False,
    mmap: bool | None = None,
    limits: Limits | None = None,
) -> LoadedArchive:
    """Read a TorchScript archive.

    source: a path, a binary file object (read from its position), or bytes.
    extra_files: a dict whose keys name extra files; their contents (bytes) become its values,
    b"" for those that the archive does not have.
    check_all: verify the checksum of every record, including those of tensors that are not read
    yet.
    from_code: compile the functions from code/ even if the archive has a compiled program.
    mmap: whether a file is mapped instead of read; None maps large files.
    limits: what reading it and compiling its functions may use.
    Raises ArchiveError, which names the record at fault and says what to do.
    """
    budget = Budget(limits)
    try:
        with reading(source), use(budget, "reading"):
            return Reading(Reader(source, check_all, mmap), budget).archive(extra_files, from_code)
    except RecursionError:
        raise ArchiveError(
            "the archive is nested deeper than can be read",
            None,
            "no model is written like this; do not use the file",
        ) from None


class Reading:
    """The reading of one archive.

    importer: makes types and functions, from code/ or from bytecode.  known: see Importer.
    table: the table of constants, once it was read.
    pending: the objects read so far whose `__setstate__` has yet to run.
    """

    def __init__(
        self, reader: Reader, budget: Budget, known: Mapping[Any, Any] | None = None
    ) -> None:
        self.reader = reader
        self.version = reader.version()
        self.storages = Storages(reader.tensor, reader.is_swapped())
        self.pending: list[PendingState] = []
        self.table: list[Any] | None = None
        self.has_code = any(
            name.startswith("code/") and name.endswith(".py") for name in reader.records
        )
        self.of_bytecode = not self.has_code and "bytecode.pkl" in reader.records
        self.importer: Any = (
            self.bytecode_importer()
            if self.of_bytecode
            else Importer(
                CodeFiles(reader.records, reader.read, budget),
                self.constants,
                self.version,
                known=known,
            )
        )

    def bytecode_importer(self) -> Any:
        from .bytecode_importer import BytecodeImporter

        reader = self.reader
        told = (
            names.read_names(reader.pickle(names.RECORD).value)
            if names.RECORD in reader.records
            else names.NONE
        )
        return BytecodeImporter(reader.pickle("data.pkl").value, told)

    def constants(self) -> list[Any]:
        """The table of constants, read at the first call."""
        if self.table is None:
            made = self.values("constants", T.ANY) if "constants.pkl" in self.reader.records else ()
            if not isinstance(made, (tuple, list)):
                raise ArchiveError("the table of constants is no tuple", "constants.pkl", DAMAGED)
            self.table = list(made)
        return self.table

    def parse_type(self, text: str) -> T.Type:
        try:
            return type_text.parse_annotation(text, self.importer.find_type)
        except type_text.TypeSyntaxError as e:
            raise ArchiveError(str(e), "data.pkl", DAMAGED) from None

    def materialiser(self, record: str, folder: str) -> Materialiser:
        return Materialiser(
            self.reader.pickle(record),
            record,
            folder,
            self.storages,
            self.importer.find_type,
            self.parse_type,
        )

    def values(self, folder: str, type: T.Type) -> Any:
        """The value in the record `<folder>.pkl`, whose tensors are in that folder."""
        maker = self.materialiser(f"{folder}.pkl", folder)
        made = maker.root(type)
        self.pending.extend(maker.pending)
        return made

    def archive(self, extra_files: dict[Any, Any] | None, from_code: bool) -> LoadedArchive:
        if self.of_bytecode:
            folder = "constants" if "constants/0" in self.reader.records else "bytecode"
            maker = self.materialiser("bytecode.pkl", folder)
            self.importer.add_functions(maker.tree.value, constants_of(maker), self.version)
        root = self.values("data", T.ANY)
        if self.has_code and not from_code and COMPILED in self.reader.records:
            from . import compiled

            if compiled.holds(self.reader):
                maker = self.materialiser(compiled.PROGRAM, "constants")
                compiled.attach(maker.tree.value, self.importer, constants_of(maker))
        if not isinstance(root, ScriptObject):
            raise recognise.explain_zip(self.reader.zip.records)
        if not root.type.is_module:
            raise ArchiveError(
                f"the archive holds a {root.type.name}, which is no module",
                "data.pkl",
                "save a module or a function with torch.jit.save",
            )
        return LoadedArchive(
            root,
            self.version,
            self.importer,
            self.reader.extra_files(extra_files),
            self.pending,
            self.reader,
        )


def constants_of(maker: Materialiser) -> Callable[[Any], Any]:
    """A function that makes a constant of a program from its part of the pickle."""
    return lambda v: maker.value(v, T.ANY, "a constant", 0)


def names_in(source: Any) -> list[str]:
    """The names of an archive's records, without its top folder."""
    return list(RecordReader(source).records)


def write_archive(
    program: Function | ScriptObject,
    target: Any,
    extra_files: Mapping[str, str | bytes] | None = None,
    compiled: bool = False,
) -> None:
    """Write a module or a function as an archive (see archive_writer)."""
    from .archive_writer import write_archive

    write_archive(program, target, extra_files, compiled)
