"""The operator table: every operator is declared once, beside its schema.

    @primitive("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
    def leaky_relu(x, slope): ...

    @composite("aten::glu(Tensor self, int dim=-1) -> Tensor")
    def glu(self: Tensor, dim: int = -1) -> Tensor: ...

A kernel takes all arguments of its schema positionally, in order, and returns one value, or a tuple
for several returns.  Declaring is cheap (a split of the text); schemas are parsed when asked for.
What is declared where is in `declared.txt`, so that a program's operators are known without
importing numpy kernels that it does not run; `python -m scriptlang.ops.lacking` writes it.
Overloads of one name keep the order in which families (`FAMILIES`) and lines declare them: those on
tensors come first.  In-place and out= forms of a declared operator follow from it (`derived`);
operators of PyTorch that scriptlang lacks (`lacking.txt`) have no kernel and come last.
"""

from __future__ import annotations

import importlib
import os
from bisect import bisect_left
from collections import namedtuple
from functools import cached_property, lru_cache
from itertools import groupby, takewhile
from typing import Any, Callable

from ..building import made_once
from ..schema import Schema, parse_schema, split_name
from .derived import Form, form_of

FAMILIES = ("pointwise", "arithmetic", "compare", "reduce", "view", "split", "create", "geometry",
            "view_scatter", "convert", "index", "join", "scan", "statistics", "fft", "linalg",
            "linalg_ldl", "linalg_spectral", "special_functions", "matmul", "distance", "conv",
            "pool", "norm", "activation", "dropout", "rnn", "attention", "embedding", "upsample",
            "padding", "sorting", "sequences", "loss", "backward", "nested", "random", "segments",
            "quantize", "quantized_packed", "quantized_layers", "quantized_rnn", "prepacked",
            "vision", "scalar", "string", "containers", "prim", "modes", "fused",
            "quantized_plain")
"""Modules that declare operators, in the order in which their overloads are tried."""


class Operator:
    """One overload.  kind: "primitive", "composite", "form" (derived from another), "lacking".

    makers: the modules that give it its kernel; they are imported when the kernel is asked for.
    `kernel` is None for an operator that scriptlang lacks; `eager` is what calls from Python run
    instead, if anything, once the kernel was asked for; `form` says how a derived one follows,
    `quantized_way` how one of plain tensors takes quantized ones (`quantized_plain`, which must be
    loaded); `wrap` makes the kernel that does so of the declared one.
    """

    kernel: Callable | None
    eager: Callable | None = None
    wrap: Callable | None = None
    quantized_way: str = ""
    __slots__ = ("name", "overload", "text", "kind", "makers", "__dict__")

    def __init__(self, text: str, kind: str, makers: tuple[str, ...] = ()):
        self.name, self.overload = split_name(text)
        self.text = text
        self.kind = kind
        self.makers = makers

    def __getattr__(self, name: str):
        # Not made_once: the lock and those of imports would wait for each other.
        if name != "kernel":
            raise AttributeError(f"an operator has no attribute {name!r}")
        if self.kind == "form":
            self.eager = self.form and self.form.eager_kernel(self.qualified_name[6:])
            self.kernel = self.form and self.form.kernel
        for module in self.makers:
            importlib.import_module(f".{module}", __package__)     # declares it: sets the kernel
        return self.__dict__.setdefault("kernel", None)

    @cached_property
    def form(self) -> Form | None:
        if self.kind != "form":
            return None
        return form_of(self.text, lambda name: declared(name) if name != self.name else [
            *takewhile(lambda op: op is not self, overloads(name))])

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

    def take_over(self, wrap: Callable, way: str) -> None:
        """Let the kernel that `wrap` makes of the declared one take its place."""
        self.wrap, self.quantized_way = wrap, way
        if self.__dict__.get("kernel"):
            self.kernel = wrap(self.kernel)

    def compile_body(self):
        """The ir.Function of a composite's body (compiled once, by the front end)."""
        return self._function

    @made_once
    def _function(self):
        if not self.is_composite:
            raise ValueError(f"{self.qualified_name} is a {self.kind}: it has no body to compile")
        return composite_compiler()(self)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified_name}>"


_operators: dict[str, dict[str, Operator]] = {}
_compiler: Callable | None = None
_loaded = False


def known(name: str) -> dict[str, Operator]:
    """Overload -> operator, of every overload of a name in the order in which they are tried."""
    found = _operators.get(name)
    if found is None:
        found = {}
        for line in listed("declared.txt", name):
            text, _, origin = line.partition("  # ")
            makers, kind = origin.split()
            op = Operator(text, kind, tuple(makers.split("+")))
            found[op.overload] = op
        for kind, file in (("form", "derived.txt"), ("lacking", "lacking.txt")):
            for text in listed(file, name):
                op = Operator(text, kind)
                found.setdefault(op.overload, op)
        found = _operators.setdefault(name, found)
    return found


def device_place(text: str) -> int | None:
    """Which argument of a schema says where results shall lie."""
    plain = text.replace("*, ", "").replace("Device?", "Device")
    before, found, _ = plain.partition("Device device")
    return before.partition("(")[2].count(", ") if found else None


def on_cpu(kernel: Callable, place: int, laid_out: bool) -> Callable:
    """The kernel of an operator that is told where its result lies; laid_out: and how, before."""
    def checked(*args):
        device = args[place] if place < len(args) else None
        if laid_out and args[place - 1]:             # neither None nor strided, which is 0
            raise RuntimeError("only strided tensors are supported, but the program asks for "
                               f"layout {args[place - 1]}")
        if device is not None and device.type != "cpu":
            raise RuntimeError(f"the program asks for device '{device}'; this engine computes on "
                               "the CPU")
        return kernel(*args)

    return checked


def declare(text: str, kernel: Callable | None, kind: str) -> Operator:
    """Give one overload its kernel.  A second declaration of an overload is an error."""
    name, overload = split_name(text)
    overloads = known(name)
    op = overloads.get(overload)
    if op is None:
        op = overloads[overload] = Operator(text, kind)
    elif "kernel" in op.__dict__ and op.kernel is not None:
        raise ValueError(f"{op.qualified_name} is declared twice")
    if kind == "primitive" and (place := device_place(text)) is not None:
        kernel = on_cpu(kernel, place, "Layout? layout" in text)
    op.text, op.kind, op.kernel = text, kind, op.wrap(kernel) if op.wrap else kernel
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
    """Import every family, once; every kernel is there after that."""
    global _loaded
    if _loaded:
        return
    for family in FAMILIES:
        importlib.import_module(f".{family}", __package__)
    _loaded = True


@lru_cache(maxsize=None)
def lines_of(file: str) -> list[str]:
    """The schemas in a text file beside this module, sorted by operator name.

    declared.txt says behind each which modules make its kernel, and its kind.
    """
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as f:
        return f.read().splitlines()


def name_in(line: str) -> str:
    """The name of the operator in such a line."""
    return line.partition("(")[0].partition(".")[0]


def listed(file: str, name: str) -> list[str]:
    """The lines of one operator: in them "(" or "." follows the name, and "/" comes after both."""
    lines = lines_of(file)
    first = bisect_left(lines, name + "(")
    return lines[first:bisect_left(lines, name + "/", first)]


def by_name(file: str) -> dict[str, list[str]]:
    """All lines of a file by operator name."""
    return {name: list(lines) for name, lines in groupby(lines_of(file), name_in)}


def lacking() -> dict[str, list[str]]:
    """Schema texts of PyTorch's operators that scriptlang has not, by operator name."""
    return by_name("lacking.txt")


def declared(name: str) -> list[Operator]:
    """The overloads of a name that are declared, without derived and lacking ones."""
    return [op for op in known(name).values() if op.kind in ("primitive", "composite")]


def overloads(name: str) -> list[Operator]:
    """Every overload of `aten::name`, in the order in which they are tried; [] for no such name."""
    return list(known(name).values())


def find(name: str, overload: str = "") -> Operator | None:
    """The operator of that name and overload, lacking ones included; None for an unknown one."""
    return known(name).get(overload)


def all_operators() -> list[Operator]:
    """Every operator that has a kernel: the declared ones and the forms derived from them."""
    load_families()
    names = dict.fromkeys([*by_name("declared.txt"), *_operators, *by_name("derived.txt")])
    return [op for name in names for op in overloads(name) if op.kind != "lacking"]
