"""The operator table: every operator is declared once, beside its schema.

    @primitive("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
    def leaky_relu(x, slope): ...

    @composite("aten::glu(Tensor self, int dim=-1) -> Tensor")
    def glu(self: Tensor, dim: int = -1) -> Tensor: ...

A kernel takes all arguments of its schema positionally, in order, and returns one value, or a tuple
for several returns.  Declaring is cheap (a split of the text); schemas are parsed when asked for.
Overloads of one name keep the order in which families (`FAMILIES`) and lines declare them: those on
tensors come first.  In-place and out= forms of a declared operator follow from it (`derived`);
operators of PyTorch that scriptlang lacks (`lacking.txt`) have no kernel and come last.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections import namedtuple
from functools import cached_property, lru_cache
from typing import Any, Callable, Iterable

from ..schema import Schema, parse_schema, split_name
from .derived import Form, form_of

FAMILIES = ("pointwise", "arithmetic", "compare", "reduce", "view", "split", "create",
            "geometry", "view_scatter", "convert", "index", "join",
            "scan", "statistics", "fft", "linalg", "linalg_ldl", "linalg_spectral",
            "special_functions",
            "matmul", "distance", "conv", "pool", "norm", "activation", "dropout", "rnn",
            "attention",
            "embedding", "upsample", "padding", "sorting", "sequences", "loss", "backward", "nested",
            "random", "segments",
            "quantize", "quantized_packed", "quantized_layers", "quantized_rnn", "prepacked",
    "vision",
            "scalar", "string", "containers", "prim",
            "modes", "fused", "quantized_plain")
"""Modules that declare operators, in the order in which their overloads are tried."""


class Operator:
    """One overload.  `kernel` is None for an operator that scriptlang lacks; `form` says how a
    derived one follows, `quantized_way` how one of plain tensors takes quantized ones
    (`quantized_plain`)."""

    form: Form | None = None
    quantized_way: str = ""
    __slots__ = ("name", "overload", "text", "kernel", "kind", "__dict__")

    def __init__(self, text: str, kernel: Callable | None, kind: str):
        self.name, self.overload = split_name(text)
        self.text = text
        self.kernel = kernel
        self.kind = kind

    @cached_property
    def schema(self) -> Schema:
        return parse_schema(self.text)

    @cached_property
    def named_returns(self) -> type | None:
        """The namedtuple class of several named returns (values, indices); None otherwise."""
        names = [r.name for r in self.schema.returns]
        if len(names) < 2 or not all(names):
            return None
        return namedtuple(self.name.partition("::")[2], names)

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
_overloads: dict[str, list[Operator]] = {}
_compiler: Callable | None = None
_loaded = False
_loading = threading.RLock()


def declare(text: str, kernel: Callable | None, kind: str) -> Operator:
    """Put one overload into the table.  A second declaration of an overload is an error."""
    op = Operator(text, kernel, kind)
    overloads = _declared.setdefault(op.name, {})
    if op.overload in overloads:
        raise ValueError(f"{op.qualified_name} is declared twice")
    overloads[op.overload] = op
    return op


def primitive(*texts: str) -> Callable:
    """Declare operators whose meaning is the decorated numpy kernel."""
    def decorate(kernel):
        for text in texts:
            declare(text, kernel, "primitive")
        return kernel

    return decorate


def composite(*texts: str) -> Callable:
    """Declare operators whose meaning is the decorated body, written in the scripted language."""
    def decorate(body):
        for text in texts:
            declare(text, body, "composite")
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
    if _loaded:
        return
    with _loading:
        for family in FAMILIES:
            importlib.import_module(f".{family}", __package__)
        _loaded = True


@lru_cache(maxsize=None)
def listed(file: str) -> dict[str, list[str]]:
    """The schemas of a text file beside this module, by operator name."""
    schemas: dict[str, list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as lines:
        for line in lines.read().splitlines():
            if line and not line.startswith("#"):
                schemas.setdefault(line[:line.index("(")].partition(".")[0], []).append(line)
    return schemas


def lacking() -> dict[str, list[str]]:
    """Schema texts of PyTorch's operators that scriptlang has not, by operator name."""
    return listed("lacking.txt")


def declared(name: str) -> list[Operator]:
    """The overloads of a name that are declared, without derived and lacking ones."""
    load_families()
    return list(_declared.get(name, {}).values())


def overloads(name: str) -> list[Operator]:
    """Every overload of `aten::name`, in the order in which they are tried; [] for no such name."""
    known = _overloads.get(name)
    if known is None:
        known = declared(name)
        known += derive(name, listed("derived.txt").get(name, ()), known)
        have = {op.overload for op in known}
        known += [Operator(text, None, "lacking") for text in lacking().get(name, ())
                  if split_name(text)[1] not in have]
        _overloads[name] = known
    return known


def derive(name: str, texts: Iterable[str], known: list[Operator]) -> list[Operator]:
    """The forms of an operator, by schema, that follow from `known` ones of it, or from others."""
    forms: list[Operator] = []
    for text in texts:
        form = form_of(text, lambda n: [*known, *forms] if n == name else declared(n))
        if form is not None:
            operator = Operator(text, form.kernel, "form")
            operator.form = form
            forms.append(operator)
    return forms


def find(name: str, overload: str = "") -> Operator | None:
    """The operator of that name and overload, lacking ones included; None for an unknown one."""
    return next((op for op in overloads(name) if op.overload == overload), None)


def all_operators() -> list[Operator]:
    """Every operator that has a kernel: the declared ones and the forms derived from them."""
    load_families()
    names = dict.fromkeys([*_declared, *listed("derived.txt")])
    return [op for name in names for op in overloads(name) if op.kernel]
