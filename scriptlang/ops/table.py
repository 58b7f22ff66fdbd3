"""The operator table: every operator is declared once, beside its schema.

    @primitive("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
    def leaky_relu(x, slope): ...

    @composite("aten::glu(Tensor self, int dim=-1) -> Tensor")
    def glu(self: Tensor, dim: int = -1) -> Tensor: ...

A kernel takes all arguments of its schema positionally, in order, and returns one value, or a tuple for
several returns.  Declaring is cheap (a split of the text); schemas are parsed when they are asked for.
Overloads of one name keep the order in which families (`FAMILIES`) and lines declare them, which is
PyTorch's order; those of `lacking.txt`, which have no kernel, come last.
"""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
from functools import cached_property
from typing import Any, Callable

from ..schema import Schema, parse_schema, split_name

FAMILIES = ("pointwise", "compare", "reduce", "view", "create", "convert", "index", "join",
            "matmul", "conv", "pool", "norm", "activation", "dropout", "rnn", "attention",
            "embedding", "upsample", "padding", "sorting", "loss", "scalar", "string",
            "containers", "prim")
"""Modules that declare operators, in the order in which their overloads are tried."""


class Operator:
    """One overload.  `kernel` is None for an operator that scriptlang lacks."""

    __slots__ = ("name", "overload", "text", "kernel", "kind", "rule", "samples", "__dict__")

    def __init__(self, text: str, kernel: Callable | None, kind: str, rule: Any = None,
                 samples: Any = None):
        self.name, self.overload = split_name(text)
        self.text = text
        self.kernel = kernel
        self.kind = kind
        self.rule = rule
        self.samples = samples

    @cached_property
    def schema(self) -> Schema:
        return parse_schema(self.text)

    @property
    def qualified_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_composite(self) -> bool:
        return self.kind == "composite"

    def compile_body(self):
        """The ir.Function of a composite's body (compiled once, by the front end)."""
        return self._function

    @cached_property
    def _function(self):
        if not self.is_composite:
            raise ValueError(f"{self.qualified_name} is a {self.kind}: it has no body to compile")
        return composite_compiler()(self)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified_name}>"


_declared: dict[str, dict[str, Operator]] = {}
_lacking: dict[str, list[str]] | None = None
_overloads: dict[str, list[Operator]] = {}
_compiler: Callable | None = None
_loaded = False


def declare(text: str, kernel: Callable | None, kind: str, **facts) -> Operator:
    """Put one overload into the table.  A second declaration of an overload is an error."""
    op = Operator(text, kernel, kind, **facts)
    overloads = _declared.setdefault(op.name, {})
    if op.overload in overloads:
        raise ValueError(f"{op.qualified_name} is declared twice")
    overloads[op.overload] = op
    return op


def primitive(*texts: str, **facts) -> Callable:
    """Declare operators whose meaning is the decorated numpy kernel."""
    def decorate(kernel):
        for text in texts:
            declare(text, kernel, "primitive", **facts)
        return kernel

    return decorate


def composite(*texts: str, **facts) -> Callable:
    """Declare operators whose meaning is the decorated body, written in the scripted language."""
    def decorate(body):
        for text in texts:
            declare(text, body, "composite", **facts)
        return body

    return decorate


def set_composite_compiler(compiler: Callable[[Operator], Any]) -> None:
    """The front end's hook: how the body of a composite becomes an ir.Function."""
    global _compiler
    _compiler = compiler


def composite_compiler() -> Callable:
    if _compiler is None:
        importlib.import_module("scriptlang.frontend.composites")
    return _compiler


def load_families() -> None:
    """Import every family, once; the table is whole after that."""
    global _loaded
    if not _loaded:
        _loaded = True
        for family in FAMILIES:
            if importlib.util.find_spec(f"{__package__}.{family}"):
                importlib.import_module(f".{family}", __package__)


def lacking() -> dict[str, list[str]]:
    """Schema texts of PyTorch's operators that are not declared here, by operator name."""
    global _lacking
    if _lacking is None:
        _lacking = {}
        text = (pathlib.Path(__file__).parent / "lacking.txt").read_text()
        for line in text.splitlines():
            if line and not line.startswith("#"):
                _lacking.setdefault(line[:line.index("(")].partition(".")[0], []).append(line)
    return _lacking


def overloads(name: str) -> list[Operator]:
    """Every overload of `aten::name` in the order in which they are tried; [] for an unknown name."""
    known = _overloads.get(name)
    if known is None:
        load_families()
        known = list(_declared.get(name, {}).values())
        have = {op.overload for op in known}
        known += [Operator(t, None, "lacking") for t in lacking().get(name, ())
                  if split_name(t)[1] not in have]
        _overloads[name] = known
    return known


def find(name: str, overload: str = "") -> Operator | None:
    """The operator of that name and overload, lacking ones included; None for an unknown one."""
    return next((op for op in overloads(name) if op.overload == overload), None)


def all_operators() -> list[Operator]:
    """Every declared operator."""
    load_families()
    return [op for ops in _declared.values() for op in ops.values()]
