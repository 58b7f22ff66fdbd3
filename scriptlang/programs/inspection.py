"""What an archive holds, and which engine can run it: the reports of `inspect` and `check`."""

from __future__ import annotations

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


@dataclass
class Report:
    """Facts about an archive.

    functions: the public methods.  operators: name -> number of nodes over all of them, inlined.
    lacking: engine name -> operators of the archive that it has not.  errors: methods that do not
    compile.  parameters, parameter_bytes: count of elements and size of parameters and buffers.
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

    def missing(self, engine: str) -> list[str]:
        return sorted(self.lacking.get(engine, ()))

    def availability(self) -> str:
        """One line an engine: what it lacks, or that it has everything."""
        lines = [f"{self.name}: {len(self.functions)} methods, {len(self.operators)} operators"]
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

    def text(self) -> str:
        """The whole report."""
        lines = [
            f"{self.name} (archive version {self.version}), {self.modules} modules, "
            f"{self.parameters:,} parameters and buffers, {self.parameter_bytes:,} bytes",
            "methods:",
        ]
        lines += [f"  {f.schema}" for f in self.functions]
        lines += [f"  does not compile: {e}" for e in self.errors]
        lines.append("operators (nodes, engines that have it):")
        width = max(map(len, self.operators), default=0)
        for name, count in sorted(self.operators.items(), key=lambda kv: (-kv[1], kv[0])):
            have = [e for e in self.lacking if name not in self.lacking[e]]
            lines.append(f"  {name:{width}}  {count:5d}  {', '.join(have) or 'none'}")
        lines.append(self.availability())
        return "\n".join(lines)


@alone
def inspect_archive(source: Any, limits: Limits | None = None) -> Report:
    """Load an archive, compile every public method, and count what is in it.

    Raises LimitError where that needs more than `limits` allow.
    """
    from ..serialization.archive import read_archive

    archive = read_archive(source, limits=limits)
    root = archive.root
    report = Report(root.type.name, str(archive.version))
    count_parameters(root, report)
    available = engines.available()
    report.lacking = {name: set() for name in available}
    for function in root.type.methods.values():
        try:
            counts = operators_of(function)
        except LimitError:
            raise  # the others would only take longer
        except ScriptError as e:
            report.errors.append(e)
            continue
        report.functions.append(function)
        report.operators.update(counts)
        for name in available:
            report.lacking[name].update(engines.engine(name).missing(function))
    return report


def reached_operators(path: str, methods: list[str]) -> list[str]:
    """Operators that the native engine reaches from these methods of an archive; none named: from
    all that it holds.

    What a method runs as decides, so branches that no call can take are not looked into.
    """
    native, why = load_native()
    if native is None:
        raise ScriptError(f"only the native engine can say what it reaches, and {why}")
    contents = pathlib.Path(path).read_bytes()
    try:
        names: list[str] = native.Archive(contents).operators(methods)
    except native.NativeError as e:
        raise ScriptError(f"{path}: {e}") from None
    return names


def count_parameters(root: Any, report: Report) -> None:
    """Add the modules, parameters and buffers under `root`, each object once."""
    seen: dict[int, Any] = {}  # with the values: what is gone may leave its number to another
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
