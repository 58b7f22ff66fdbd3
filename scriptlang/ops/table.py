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
from collections.abc import Callable
from functools import cache, cached_property
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from ..building import made_once
from ..schema import Schema, parse_schema, split_name
from . import facts as F
from .derived import Form, form_of
from .facts import Facts

if TYPE_CHECKING:
    from ..ir import Function
    from ..tensors import Tensor

FAMILIES = (
    "pointwise",
    "arithmetic",
    "compare",
    "reduce",
    "view",
    "split",
    "create",
    "geometry",
    "view_scatter",
    "convert",
    "index",
    "join",
    "scan",
    "statistics",
    "fft",
    "linalg",
    "linalg_ldl",
    "linalg_spectral",
    "special_functions",
    "matmul",
    "distance",
    "conv",
    "pool",
    "norm",
    "activation",
    "dropout",
    "rnn",
    "attention",
    "embedding",
    "upsample",
    "padding",
    "sorting",
    "sequences",
    "loss",
    "backward",
    "backward_pool",
    "backward_conv",
    "backward_norm",
    "backward_rnn",
    "backward_gru",
    "nested",
    "random",
    "segments",
    "quantize",
    "quantized_packed",
    "quantized_layers",
    "quantized_rnn",
    "prepacked",
    "vision",
    "scalar",
    "string",
    "containers",
    "prim",
    "modes",
    "fused",
    "gradients",
    "quantized_plain",
)
"""Modules that declare operators, in the order in which their overloads are tried."""


def module_of(family: str) -> str:
    """The module of a family; those of quantized tensors and of derivatives have their rooms."""
    room = "quantization" if family.startswith("quantize") else "families"
    if family == "gradients":
        room = "derivatives"
    return f"{__package__}.{room}.{family}"


class Operator:
    """One overload.  kind: "primitive", "composite", "form" (derived from another), "lacking",
    "custom" (a user's).

    makers: the modules that give it its kernel; they are imported when the kernel is asked for.
    told: the facts, as the line in a list has them, or those that its declaration gave.
    `kernel` is None for an operator that scriptlang lacks; `eager` is what calls from Python run
    instead, if anything, once the kernel was asked for; `form` says how a derived one follows,
    `quantized_way` how one of plain tensors takes quantized ones (`quantized_plain`, which must be
    loaded); `wrap` makes the kernel that does so of the declared one.
    """

    kernel: Callable[..., Any] | None
    eager: Callable[..., Any] | None = None
    wrap: Callable[..., Any] | None = None
    quantized_way: str = ""
    __slots__ = ("__dict__", "kind", "makers", "name", "overload", "text", "told")

    def __init__(
        self, text: str, kind: str, makers: tuple[str, ...] = (), told: str | dict[str, Any] = ""
    ) -> None:
        self.name, self.overload = split_name(text)
        self.text = text
        self.kind = kind
        self.makers = makers
        self.told = told

    def __getattr__(self, name: str) -> Any:
        # Not made_once: the lock and those of imports would wait for each other.
        if name != "kernel":
            raise AttributeError(f"an operator has no attribute {name!r}")
        if self.form:
            kernels = importlib.import_module(f"{__package__}.shared.form_kernels")
            self.eager = kernels.eager_kernel_of(self.form)
            self.kernel = kernels.kernel_of(self.form)
        for module in self.makers:
            importlib.import_module(module_of(module))  # declares it: sets the kernel
        return self.__dict__.setdefault("kernel", None)

    @cached_property
    def form(self) -> Form | None:
        if self.kind != "form":
            return None
        return form_of(
            self.text,
            lambda name: (
                declared(name)
                if name != self.name
                else [*takewhile(lambda op: op is not self, overloads(name))]
            ),
        )

    @cached_property
    def schema(self) -> Schema:
        return parse_schema(self.text)

    @cached_property
    def facts(self) -> Facts:
        """What is known of the operator besides its schema; of a listed one as its line says."""
        if isinstance(self.told, str):
            return F.read(self.told)
        base = self.form and self.form.base
        known = F.of_form(base.facts, base.name == self.name) if base else {}
        if self.form and base and self.form.kind == "become":
            known["reshapes"] = True
        for key in (self.name, self.qualified_name if self.overload else self.name + "."):
            if key in _described and (key != self.name or "Tensor" in self.text and not base):
                known |= _described[key]
        return Facts(**known | self.told)

    @cached_property
    def named_returns(self) -> type | None:
        """The namedtuple class of several named returns (values, indices); None otherwise."""
        names = [r.name for r in self.schema.returns]
        if len(names) < 2 or not all(names):
            return None
        return namedtuple(self.name.partition("::")[2], names)

    @cached_property
    def may_reshape(self) -> bool:
        """Whether a call may give a tensor that is there another shape or type."""
        schema = self.schema
        return schema.is_mutable and (
            self.facts.reshapes or self.kind == "lacking" or any(a.is_out for a in schema.arguments)
        )

    @property
    def qualified_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_composite(self) -> bool:
        return self.kind == "composite"

    def take_over(self, wrap: Callable[..., Any], way: str) -> None:
        """Let the kernel that `wrap` makes of the declared one take its place."""
        self.wrap, self.quantized_way = wrap, way
        if self.__dict__.get("kernel"):
            self.kernel = wrap(self.kernel)

    def compile_body(self) -> Function:
        """The ir.Function of a composite's body (compiled once, by the front end)."""
        return self._function

    @made_once
    def _function(self) -> Function:
        if not self.is_composite:
            raise ValueError(f"{self.qualified_name} is a {self.kind}: it has no body to compile")
        return composite_compiler()(self)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified_name}>"


_operators: dict[str, dict[str, Operator]] = {}
_described: dict[str, dict[str, Any]] = {}
_compiler: Callable[..., Any] | None = None
_loaded = False


def known(name: str) -> dict[str, Operator]:
    """Overload -> operator, of every overload of a name in the order in which they are tried."""
    found = _operators.get(name)
    if found is None:
        found = {}
        for line in listed("declared.txt", name):
            text, _, origin = line.partition(NOTE)
            makers, kind, *facts = origin.split(None, 2)
            op = Operator(text, kind, tuple(makers.split("+")), *facts)
            found[op.overload] = op
        for kind, file in (("form", "derived.txt"), ("lacking", "lacking.txt")):
            for line in listed(file, name):
                text, _, told = line.partition(NOTE)
                op = Operator(text, kind, told=told)
                found.setdefault(op.overload, op)
        found = _operators.setdefault(name, found)
    return found


def device_place(text: str) -> int | None:
    """Which argument of a schema says where results shall lie."""
    plain = text.replace("*, ", "").replace("Device?", "Device")
    before, found, _ = plain.partition("Device device")
    return before.partition("(")[2].count(", ") if found else None


def on_cpu(kernel: Callable[..., Any], place: int, has_layout: bool) -> Callable[..., Any]:
    """The kernel behind a check that the argument at `place`, a device, is the CPU, and that the
    layout in front of it, if there is one, is strided."""

    def checked(*args: Any) -> Tensor | bool | None:
        if has_layout and place < len(args) and args[place - 1]:
            raise RuntimeError(
                "only strided tensors are supported, but the program asks for "
                f"layout {args[place - 1]}"
            )
        device = args[place] if place < len(args) else None
        if device is not None and device.type != "cpu":
            raise RuntimeError(
                f"the program asks for device '{device}'; this engine computes on the CPU"
            )
        return kernel(*args)

    return checked


def declare(text: str, kernel: Callable[..., Any] | None, kind: str, **facts: Any) -> Operator:
    """Give one overload its kernel.  A second declaration of an overload is an error.

    facts: fields of `Facts`; those of an operator that is listed are read from its line.
    """
    name, overload = split_name(text)
    overloads = known(name)
    op = overloads.get(overload)
    if op is None:
        op = overloads[overload] = Operator(text, kind, told=F.check(facts))
    elif "kernel" in op.__dict__ and op.kernel is not None:
        raise ValueError(f"{op.qualified_name} is declared twice")
    if kernel and kind == "primitive" and (place := device_place(text)) is not None:
        kernel = on_cpu(kernel, place, "Layout? layout=None, Device" in text)
    op.text, op.kind, op.kernel = text, kind, op.wrap(kernel) if op.wrap else kernel
    return op


def register(
    text: str, kernel: Callable[..., Any], kind: str, is_opaque: bool = False, **facts: Any
) -> Operator:
    """Add an operator of the user's (`ops/custom`) while the process runs.

    is_opaque: it may do anything to what it can reach, whatever its schema says.  Raises
    RuntimeError where there is one already that somebody can call.
    """
    op = Operator(text, kind, told=F.check(facts))
    overloads = known(op.name)
    if op.overload in overloads and overloads[op.overload].kind != "lacking":
        raise RuntimeError(
            f"there is an operator {op.qualified_name} already: {overloads[op.overload].text}"
        )
    op.kernel = kernel
    overloads[op.overload] = op
    NAMESPACES.add(op.name.partition("::")[0])
    if not is_opaque:
        DESCRIBED.add(op.name)
    for tell in LISTENERS:
        tell(op.name)
    return op


NAMESPACES: set[str] = set()
"""Of operators that were registered."""

DESCRIBED: set[str] = set()
"""The names of registered operators whose schemas say what memory they share and write."""

LISTENERS: list[Callable[[str], Any]] = []
"""What is told the name of an operator that gets another overload."""


def primitive(*texts: str, **facts: Any) -> Callable[..., Any]:
    """Declare operators whose meaning is the decorated numpy kernel; facts: fields of `Facts`."""

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        for text in texts:
            declare(text, kernel, "primitive", **facts)
        return kernel

    return decorate


def composite(*texts: str, **facts: Any) -> Callable[..., Any]:
    """Declare operators whose meaning is the decorated body, written in the scripted language."""

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        for text in texts:
            declare(text, body, "composite", **facts)
        return body

    return decorate


def describe(names: str, **facts: Any) -> None:
    """Tell facts of several operators, which may be forms or lacking.

    names: `name.overload`, `name.` for the overload without a name, or `name` for every overload
    on tensors that follows from no other; names without namespace are aten's.
    """
    for name in names.split():
        entry = _described.setdefault(name if "::" in name else f"aten::{name}", {})
        if twice := entry.keys() & facts.keys():
            raise ValueError(f"{name} is described twice: {', '.join(sorted(twice))}")
        entry |= F.check(facts)


def set_composite_compiler(compiler: Callable[[Operator], Any]) -> None:
    """The front end's hook: how the body of a composite becomes an ir.Function."""
    global _compiler
    _compiler = compiler


def composite_compiler() -> Callable[..., Any]:
    if _compiler is None:
        importlib.import_module("scriptlang.frontend.python.composites")
    assert _compiler is not None, "the import sets it"
    return _compiler


def load_families() -> None:
    """Import every family, once; every kernel is there after that."""
    global _loaded
    if _loaded:
        return
    for family in FAMILIES:
        importlib.import_module(module_of(family))
    _loaded = True


LISTS = ("declared.txt", "derived.txt", "lacking.txt")

NOTE = "  # "
"""What stands between a schema and what a list says of it."""


@cache
def lines_of(file: str) -> list[str]:
    """The lines of a text file beside this module, sorted by operator name.

    A line is a schema; behind NOTE declared.txt says which modules make the kernel, and the kind.
    Each list ends with the operator's facts, where there are any.
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
    return lines[first : bisect_left(lines, name + "/", first)]


def by_name(file: str) -> dict[str, list[str]]:
    """All lines of a file by operator name."""
    return {name: list(lines) for name, lines in groupby(lines_of(file), name_in)}


def lacking() -> dict[str, list[str]]:
    """Schema texts of PyTorch's operators that scriptlang has not, by operator name."""
    return {
        name: [line.partition(NOTE)[0] for line in lines]
        for name, lines in by_name("lacking.txt").items()
    }


def declared(name: str) -> list[Operator]:
    """The overloads of a name that are declared, without derived and lacking ones."""
    return [op for op in known(name).values() if op.kind in ("primitive", "composite")]


def overloads(name: str) -> list[Operator]:
    """Every overload of `aten::name`, in the order in which they are tried; [] for no such name."""
    return list(known(name).values())


def find(name: str, overload: str = "") -> Operator | None:
    """The operator of that name and overload, lacking ones included; None for an unknown one."""
    return known(name).get(overload)


@cache
def having(fact: str) -> frozenset[str]:
    """The qualified names of the operators of the lists with a fact that is True or False.  The
    lists are searched as text, so that no operators are made."""
    return frozenset(
        line.partition("(")[0]
        for file in LISTS
        for line in lines_of(file)
        if fact in line and fact in line.partition(NOTE)[2].split()
    )


def schema_of(name: str, overload: str = "") -> Schema:
    """The schema of an operator that is there."""
    return known(name)[overload].schema


def facts_of(schema: Schema | None) -> Facts:
    """What is known of the operator with a schema; nothing where there is none."""
    op = None if schema is None else known(schema.name).get(schema.overload)
    return F.NOTHING if op is None else op.facts


def every_operator() -> list[Operator]:
    """Every operator of the lists, those that scriptlang lacks included; imports no kernels."""
    names = {name: None for file in LISTS for name in by_name(file)}
    return [op for name in names for op in overloads(name)]


def all_operators() -> list[Operator]:
    """Every operator of ours that has a kernel: declared ones and the forms derived from them."""
    load_families()
    names = dict.fromkeys([*by_name("declared.txt"), *_operators, *by_name("derived.txt")])
    others = ("lacking", "custom")
    return [op for name in names for op in overloads(name) if op.kind not in others]
