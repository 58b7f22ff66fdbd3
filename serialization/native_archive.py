"""Archives that the native engine reads and compiles itself (cpp_loader/src/source).

    archive = read_native(Contents(view))           # None if `read_archive` has to read it
    archive.root                                    # the module, a ScriptObject

Objects are in the engine from the start.  Their classes know only the names of their attributes and
methods.  When types, signatures or bodies are needed, the Python importer reads them from the same
bytes and fills the same class and function objects.  A function that the engine could not compile,
or that needs something only Python has, is compiled in Python when it is called.  If the engine
refuses the whole archive, Python reads it, which also gives the error if the file is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import types as T
from ..building import alone, made_once, uncollected
from ..errors import ArchiveError, ScriptError
from ..ir import Function, Graph
from ..limits import Limits
from ..type_base import MARK
from .sources import CHECKED_SIZE, Contents

if TYPE_CHECKING:
    from ..budgets import Budget
    from ..errors import Frame
    from ..schema import Schema
    from ..source import Span

ROADS = ("auto", "python", "native")
VARIABLE = "SCRIPTLANG_READER"
"""The environment variable that says who reads archives: "python" for Python alone, "native" for
the native engine, with an error if it fails, "auto" for the engine, and Python if that fails."""

DEFAULT = "auto"

READING = ("source_bytes", "syntax_nodes", "graph_nodes", "type_nodes", "compile_seconds")
"""Limits of reading.  The native engine only has their defaults."""


class ArchiveClass(T.ClassType):
    """A class of which only the names of attributes and methods are known.  The importer fills it
    when more is needed; it then becomes a plain ClassType."""

    def __init__(self, archive: NativeArchive, name: str, facts: tuple[Any, ...]) -> None:
        is_module, _, attributes, submodules, methods = facts
        self.__dict__.update(
            name=name,
            is_module=is_module,
            _archive=archive,
            _slots={a: i for i, a in enumerate(attributes)},
            _submodules=submodules,
            methods={m: ArchiveFunction(archive, f"{name}.{m}") for m in methods},
            hooks=[],
            pre_hooks=[],
            static_methods={},
        )
        self._functions = self.methods
        if not any(m.startswith("__") and m.endswith("_getter") for m in methods):
            self.properties = {}

    def __getattr__(self, name: str) -> Any:
        if name not in ("attributes", "constants", "properties"):
            raise AttributeError(name)
        if not self._archive.declare():  # the importer is at work, and has not filled this class
            return [] if name == "attributes" else {}
        if name not in self.__dict__:
            self._archive.find_type(self.name)  # raises what is wrong with it
        return self.__dict__[name]

    def submodules(self) -> list[str]:
        return self._submodules

    def is_object(self, name: str) -> bool:
        return name in self._submodules or super().is_object(name)

    def function(self, name: str, schema: Schema, define: Any, budget: Budget) -> Function:
        """The Function of a method, completed with its schema and definition; for the importer."""
        made = self._functions.get(name)
        if made is None:
            return Function(f"{self.name}.{name}", schema, define=define, budget=budget)
        made.__dict__.update(schema=schema, _define=define, budget=budget)
        return made

    def become(self, whole: T.ClassType) -> None:
        """Take over the contents of `whole`, the class that the importer has read."""
        self.__dict__.update({k: v for k, v in vars(whole).items() if k != MARK})
        self.__class__ = T.ClassType  # type: ignore[assignment]


class ArchiveFunction(Function):
    """A method that the engine has compiled.  The importer adds its schema and definition when they
    are needed."""

    __slots__ = ()

    def __init__(self, archive: NativeArchive, name: str) -> None:
        self.__dict__.update(
            name=name, _graph=None, is_defining=False, attributes={}, _archive=archive
        )
        self.direct = None

    def __getattr__(self, name: str) -> Any:
        if name not in ("schema", "_define", "budget"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        self._archive.declare()
        if name not in self.__dict__:
            self._archive.find_type(self.name.rpartition(".")[0])  # raises what is wrong with it
        return self.__dict__[name]

    def ready(self) -> NativeMethod | None:
        known = self.__dict__
        if "_ready" not in known:
            self._archive.make_ready(self)
        return known["_ready"]

    def forget(self) -> None:
        super().forget()
        self.__dict__["_ready"] = None


class NativeMethod:
    """The program of a function of a NativeArchive, which NativeEngine runs in place of a
    `native_program.NativeProgram`."""

    calls_by_name = False
    is_entered = True

    def __init__(self, archive: NativeArchive, function: Function, program: Any) -> None:
        self.archive, self.function, self.program = archive, function, program
        self.name = function.name
        self.asks = program.asks_for_gradients
        program.failure = self.failure

    @property
    def schema(self) -> Schema:
        return self.function.schema

    def failure(self, e: Exception, limits: Limits | None = None) -> Exception:
        from ..interpreter.native_engine import failure

        return failure(self.archive.frames, e, limits)


class NativeArchive:
    """An archive that the engine has read.

    contents: its bytes, which the importer reads, too.  limits: what the importer may use.
    """

    def __init__(self, contents: Contents, native: Any, limits: Limits | None) -> None:
        self.contents, self.limits = contents, limits
        check = len(contents.view) <= CHECKED_SIZE
        self.archive = native.CodeArchive(contents.view, check)
        self.classes: dict[str, ArchiveClass] = {}
        self.is_declaring = False
        facts = {name: rest for name, *rest in self.archive.classes}
        self.is_hooked = any(rest[1] for rest in facts.values())
        if not self.archive.is_pending and not self.is_hooked:
            self.classes = {n: ArchiveClass(self, n, rest) for n, rest in facts.items()}
            types: dict[str, T.Type] = dict(self.classes)
            for name in self.archive.named:
                types[name] = self.find_type(name)
            self.archive.bind(types)
            self.root = self.archive.root

    @property
    def is_whole(self) -> bool:
        """Whether the archive can be used.  Python has to read archives with `__setstate__` methods
        to run or with hooks, and those whose root is not a module."""
        return bool(self.classes) and self.root.type.is_module

    # What the importer makes

    @made_once
    def reading(self) -> Any:
        """The Python reading of the archive, of which only types and functions are used."""
        from ..budgets import Budget
        from .archive import Reader, Reading

        return Reading(Reader(self.contents), Budget(self.limits), known=self.classes)

    def find_type(self, name: str) -> T.Type:
        from ..budgets import use

        importer = self.reading.importer
        with use(importer.budget, "reading"):
            return importer.find_type(name)

    @uncollected
    @alone
    def declare(self) -> bool:
        """Let the importer fill all classes.  Return False if it is at work already and has called
        this itself."""
        if self.is_declaring:
            return False
        self.is_declaring = True
        try:
            for name in self.classes:
                with suppress(ArchiveError):  # it is raised where the class is used
                    self.find_type(name)
        finally:
            self.is_declaring = False
        return True

    @alone
    def make_ready(self, function: ArchiveFunction) -> None:
        program = self.archive.program(function.name)
        function.__dict__.setdefault(
            "_ready", None if program is None else NativeMethod(self, function, program)
        )

    # Places

    def frames(self, stack: Iterable[tuple[str, int]]) -> tuple[Frame, ...]:
        """The script stack, outermost first, of the engine's frames.

        Each is (`<function> at <record>:<line>`, -2 - offset of the byte in that record); see
        `frame_at` in machine.cpp.
        """
        from ..errors import Frame

        found = []
        for text, place in reversed([*stack]):
            name, _, where = text.rpartition(" at ")
            found.append(Frame(name, self.span(name, where.rpartition(":")[0], -2 - place)))
        return tuple(found)

    def span(self, name: str, record: str, offset: int) -> Span | None:
        """The span in the program from which the archive was made, or in the code of the archive if
        that is not known, for the byte at `offset` of a record."""
        from ..source import Span

        file = self.reading.importer.files.file(
            record[len("code/") : -len(".py")].replace("/", ".")
        )
        if file is None:
            return None
        start = file.character(offset)
        place = file.original(Span(file.source, start, start + 1))
        if place.is_known:
            return place
        spans = [n.span for n in self.graph_of(name).walk_all() if n.span is not None]
        return next((s for s in spans if getattr(s, "code", s).start == start), place)

    def graph_of(self, name: str) -> Graph:
        """The graph that Python compiles from a function; an empty one if it cannot."""
        owner, _, short = name.rpartition(".")
        function = (
            self.classes[owner].methods.get(short)
            if owner in self.classes
            else self.reading.importer.find_function(name)
        )
        try:
            return function.graph if function else Graph(name)
        except ScriptError:
            return Graph(name)  # the start of the place is known without the graph


def read_native(
    contents: Contents, engine: str = "auto", limits: Limits | None = None
) -> NativeArchive | None:
    """The archive as the native engine reads it; None if Python has to read it.

    engine: the name of the engine that the caller wants.  Raises ValueError if the environment
    variable VARIABLE has another value than ROADS.
    """
    road = os.environ.get(VARIABLE, DEFAULT)
    if road not in ROADS:
        raise ValueError(f"{VARIABLE} is {', '.join(ROADS)}, not {road!r}")
    if road == "python" or engine == "python" or has_own_budget(limits):
        return None
    from ..interpreter.native import load

    native = load()[0]
    if native is None:
        return None
    try:
        archive = NativeArchive(contents, native, limits)
    except native.NativeError:
        if road == "native":
            raise
        return None
    return archive if archive.is_whole else None


def has_own_budget(limits: Limits | None) -> bool:
    return limits is not None and any(getattr(limits, f) != getattr(Limits(), f) for f in READING)


__all__ = ["Contents", "NativeArchive", "read_native"]
