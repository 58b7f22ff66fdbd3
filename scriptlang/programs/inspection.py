"""What an archive contains, and which engines can run it: the reports of `inspect` and `check`."""

from __future__ import annotations

import os
import pathlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .. import types as T
from ..building import alone
from ..errors import LimitError, ScriptError
from ..interpreter import engine as engines
from ..interpreter.native import load as load_native
from ..interpreter.reach import operators_of
from ..ir import Function
from ..limits import Limits
from ..passes.inline import callee


@dataclass
class Part:
    """A module: its name in its parent, its class, and the elements and bytes of the parameters and
    buffers in it. Shared tensors and modules are counted where they are met first."""

    name: str
    class_name: str
    parameters: int = 0
    bytes: int = 0
    parts: list[Part] = field(default_factory=list)

    def same_as(self, other: Part) -> bool:
        return (
            (self.class_name, self.parameters, self.bytes, len(self.parts))
            == (other.class_name, other.parameters, other.bytes, len(other.parts))
        ) and all(a.same_as(b) for a, b in zip(self.parts, other.parts))


@dataclass
class Report:
    """Facts about an archive.

    functions: the public methods. operators: name -> number of nodes in all of them, after
    inlining; a method that another one calls is only counted there.
    lacking: engine name -> operators of the archive that the engine lacks. errors: the errors of
    methods that do not compile. parameters, parameter_bytes: elements and bytes of all parameters
    and buffers.
    producer: what wrote the archive, as far as its records tell. tree: its modules.
    """

    name: str
    version: str
    functions: list[Function] = field(default_factory=list)
    operators: Counter[Any] = field(default_factory=Counter)
    lacking: dict[str, set[str]] = field(default_factory=dict)
    errors: list[ScriptError] = field(default_factory=list)
    parameters: int = 0
    parameter_bytes: int = 0
    modules: int = 0
    producer: str = ""
    tree: Part = field(default_factory=lambda: Part("", ""))

    def missing(self, engine: str) -> list[str]:
        return sorted(self.lacking.get(engine, ()))

    def availability(self) -> str:
        """One line for each engine: the operators it lacks, or that it has all of them."""
        methods = number(len(self.functions), "method")
        lines = [f"{self.name}: {methods}, {number(len(self.operators), 'operator')}"]
        for engine in self.lacking:
            missing = self.missing(engine)
            lines.append(
                f"  {engine} engine: "
                + (
                    f"lacks {len(missing)}: "
                    + ", ".join(f"{m} (x{self.operators[m]})" for m in missing)
                    if missing
                    else "has every operator"
                )
            )
        return "\n".join(lines)


def number(count: int, what: str) -> str:
    """A number of things: 1 method, 2 methods."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


@alone
def inspect_archive(source: Any, limits: Limits | None = None) -> Report:
    """Load an archive, compile every public method, and count what is in it.

    Raises LimitError if that takes more than `limits` allow.
    """
    from ..serialization.archive import read_archive

    archive = read_archive(source, limits=limits)
    root = archive.root
    report = Report(root.type.name, str(archive.version), producer=producer_of(source))
    count_parameters(root, report)
    report.tree = tree_of(root)
    available = engines.available()
    report.lacking = {name: set() for name in available}
    counted: list[tuple[Function, Counter[str]]] = []
    for function in root.type.methods.values():
        try:
            counts = operators_of(function)
        except LimitError:
            raise  # the other methods would only take more
        except ScriptError as e:
            report.errors.append(e)
            continue
        report.functions.append(function)
        counted.append((function, counts))
        for name in available:
            report.lacking[name].update(engines.engine(name).missing(function))
    called = {f for caller in report.functions for f in callees(caller) if f is not caller}
    for function, counts in counted:
        if function in called:
            report.operators |= counts
        else:
            report.operators += counts
    return report


def callees(function: Function) -> set[Function]:
    return {f for node in function.graph.walk() if (f := callee(node)) is not None}


def reached_operators(path: str, methods: list[str]) -> list[str]:
    """The operators that the native engine reaches from these methods of an archive ([]: all).

    The optimised graphs decide, so operators in branches that no call can take are not counted.
    Raises LookupError if the archive has no such method, and ArchiveError for other files.
    """
    from ..errors import ArchiveError, reading
    from ..serialization.archive import Reader

    native, why = load_native()
    if native is None:
        raise ScriptError(f"only the native engine can say what it reaches, and {why}")
    contents = pathlib.Path(path).read_bytes()
    with reading(path):
        Reader(contents)  # tells what other files are
        try:
            names: list[str] = native.Archive(contents).operators(methods)
        except native.NativeError as e:
            name, message = e.args[0], e.args[2]
            if name == "KeyError":
                raise LookupError(f"{path}: {message}") from None
            raise ArchiveError(message) from None
    return names


def producer_of(source: Any) -> str:
    """A description of what wrote an archive, found from records that only some writers produce."""
    from ..serialization.archive import Reader
    from ..serialization.compiled import RECORD

    if not isinstance(source, (str, os.PathLike)):
        return "unknown producer"
    reader = Reader(source)
    if RECORD in reader.records:
        version = bytes(reader.read(RECORD)[:40]).split(b"\n")[0].decode("ascii", "replace")
        return f"compiled by scriptlang {version}"
    if any(name.startswith("scriptlang/") for name in reader.records):
        return "scriptlang, with bytecode"
    if "bytecode.pkl" in reader.records:
        return "for PyTorch's lite interpreter"
    is_late = ".data/serialization_id" in reader.records or "byteorder" in reader.records
    return "PyTorch 2.1 or later, or scriptlang" if is_late else "PyTorch before 2.1"


def tree_of(root: Any) -> Part:
    """The tree of modules; a module that occurs twice is shown once."""
    seen: dict[int, Any] = {id(root): root}
    top = Part("", short_name(root))
    order = [(top, root)]
    parents: list[tuple[Part, Part]] = []
    for part, obj in order:
        for a in obj.type.attributes:
            value = obj.get(a.name)
            if id(value) in seen:
                continue
            if isinstance(getattr(value, "type", None), T.ClassType):
                seen[id(value)] = value
                child = Part(a.name, short_name(value))
                part.parts.append(child)
                parents.append((child, part))
                order.append((child, value))
            elif a.kind in ("parameter", "buffer") and value is not None:
                seen[id(value)] = value
                part.parameters += value.numel()
                part.bytes += value.numel() * value.element_size()
    for child, parent in reversed(parents):
        parent.parameters += child.parameters
        parent.bytes += child.bytes
    return top


def short_name(obj: Any) -> str:
    return str(obj.type.name).rpartition(".")[2]


def count_parameters(root: Any, report: Report) -> None:
    """Add the modules, parameters and buffers under `root` to a report, each object once."""
    seen: dict[int, Any] = {}  # values are kept alive so that their ids are not reused
    pending = [root]
    while pending:
        obj = pending.pop()
        if id(obj) in seen:
            continue
        seen[id(obj)] = obj
        report.modules += 1
        for a in obj.type.attributes:
            value = obj.get(a.name)
            if isinstance(getattr(value, "type", None), T.ClassType):
                pending.append(value)
            elif a.kind in ("parameter", "buffer") and value is not None and id(value) not in seen:
                seen[id(value)] = value
                report.parameters += value.numel()
                report.parameter_bytes += value.numel() * value.element_size()
