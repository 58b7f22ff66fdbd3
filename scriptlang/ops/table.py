"""The operator table: every operator is declared once, beside its schema.

    @primitive("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
    def leaky_relu(x, slope): ...

    @composite("aten::glu(Tensor self, int dim=-1) -> Tensor")
    def glu(self: Tensor, dim: int = -1) -> Tensor: ...

A kernel takes all arguments of its schema positionally, in order, and returns one value, or a tuple
for several returns.  Declaring is cheap: it only splits the text; schemas are parsed on first use.
`declared.txt` lists which module declares which operator, so that the operators of a program are
known without importing numpy kernels that it does not run; `python -m scriptlang.ops.lacking`
writes it.  The overloads of a name are tried in the order in which the families (`FAMILIES`), and
the lines within one, declare them: those on tensors come first.  In-place and out= forms are
derived from a declared operator (`derived`).  Operators of PyTorch that scriptlang lacks
(`lacking.txt`) have no kernel and come last.
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
    "backward_loss",
    "backward_padding",
    "backward_pool",
    "backward_conv",
    "backward_grid",
    "backward_norm",
    "backward_rnn",
    "backward_gru",
    "straight",
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
    "updates",
    "gradients",
    "quantized_plain",
)
"""Modules that declare operators, in the order in which their overloads are tried."""


def module_of(family: str) -> str:
    """The module of a family; quantized tensors and derivatives have their own folders."""
    room = "quantization" if family.startswith("quantize") else "families"
    if family == "gradients":
        room = "derivatives"
    return f"{__package__}.{room}.{family}"


class Operator:
    """One overload of an operator.

    kind: "primitive", "composite", "form" (derived from another), "lacking", "custom" (a user's).
    makers: the modules that declare its kernel; they are imported when the kernel is first used.
    told: the facts, as text from a line of a list, or as the dict given in the declaration.
    `kernel` is None for an operator that scriptlang lacks.  `eager`, if set, is what calls from
    Python run instead; it is set when `kernel` is first read.  `form` says how a form is derived.
    `quantized_way` says how an operator on plain tensors accepts quantized ones (`quantized_plain`,
    which must be loaded); `wrap` turns the declared kernel into one that accepts them.
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
        # Not made_once: its lock and the import locks could deadlock.
        if name != "kernel":
            raise AttributeError(f"an operator has no attribute {name!r}")
        if self.form:
            kernels = importlib.import_module(f"{__package__}.shared.form_kernels")
            self.eager = kernels.eager_kernel_of(self.form)
            self.kernel = kernels.kernel_of(self.form)
        for module in self.makers:
            importlib.import_module(module_of(module))  # its declaration sets the kernel
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
        """What is known about the operator besides its schema; from its line if it is listed."""
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
        """Whether a call may change the shape or type of a tensor that exists already."""
        schema = self.schema
        return schema.is_mutable and (
            self.facts.reshapes or self.kind == "lacking" or any(a.is_out for a in schema.arguments)
        )

    @cached_property
    def may_alias(self) -> bool:
        """Whether a call may write an argument, or give a tensor on the memory of one."""
        schema = self.schema
        return schema.is_mutable or any(schema.shared) or self.facts.may_share

    @property
    def qualified_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_composite(self) -> bool:
        return self.kind == "composite"

    def take_over(self, wrap: Callable[..., Any], way: str) -> None:
        """Replace the kernel, declared already or later, by what `wrap` makes of it."""
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
    """Overload -> operator, for every overload of a name in the order in which they are tried."""
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
    """The index of the argument `device` of a creation schema; None if it has none."""
    plain = text.replace("*, ", "").replace("Device?", "Device")
    before, found, _ = plain.partition("Device device")
    return before.partition("(")[2].count(", ") if found else None


def on_cpu(kernel: Callable[..., Any], place: int, has_layout: bool) -> Callable[..., Any]:
    """Wrap a kernel in a check of its device and layout arguments.

    The argument at `place`, a device, must be the CPU, and the layout in front of it, if there is
    one, must be strided.
    """

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
    """Give one overload its kernel.  Raises ValueError if the overload was declared before.

    facts: fields of `Facts`; for an operator in the lists they are read from its line instead.
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
    """Add a user's operator (`ops/custom`) at run time.

    is_opaque: it may modify anything that it can reach, whatever its schema states.  Raises
    RuntimeError if a callable operator with that name and overload exists.
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
"""The namespaces of registered operators."""

DESCRIBED: set[str] = set()
"""The names of registered operators whose schemas can be trusted about shared and written
memory."""

LISTENERS: list[Callable[[str], Any]] = []
"""Callbacks that get the name of an operator to which an overload was added."""


def primitive(*texts: str, **facts: Any) -> Callable[..., Any]:
    """Declare operators implemented by the decorated numpy kernel; facts: fields of `Facts`."""

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        for text in texts:
            declare(text, kernel, "primitive", **facts)
        return kernel

    return decorate


def composite(*texts: str, **facts: Any) -> Callable[..., Any]:
    """Declare operators implemented by the decorated body, written in the scripted language."""

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        for text in texts:
            declare(text, body, "composite", **facts)
        return body

    return decorate


def describe(names: str, **facts: Any) -> None:
    """State facts of several operators, which may be forms or lacking.

    names: `name.overload`, `name.` for the overload without a name, or `name` for every overload
    on tensors that is not a form; names without a namespace are aten's.
    """
    for name in names.split():
        entry = _described.setdefault(name if "::" in name else f"aten::{name}", {})
        if twice := entry.keys() & facts.keys():
            raise ValueError(f"{name} is described twice: {', '.join(sorted(twice))}")
        entry |= F.check(facts)


def set_composite_compiler(compiler: Callable[[Operator], Any]) -> None:
    """Set the front end's hook that compiles the body of a composite to an ir.Function."""
    global _compiler
    _compiler = compiler


def composite_compiler() -> Callable[..., Any]:
    if _compiler is None:
        importlib.import_module("scriptlang.frontend.python.composites")
    assert _compiler is not None, "the import sets it"
    return _compiler


def load_families() -> None:
    """Import every family, once; afterwards every kernel is loaded."""
    global _loaded
    if _loaded:
        return
    for family in FAMILIES:
        importlib.import_module(module_of(family))
    _loaded = True


LISTS = ("declared.txt", "derived.txt", "lacking.txt")

NOTE = "  # "
"""The separator between a schema and the note behind it in the lists."""


@cache
def lines_of(file: str) -> list[str]:
    """The lines of a text file beside this module, sorted by operator name.

    A line is a schema.  In declared.txt, NOTE, the modules that make the kernel, and the kind
    follow. The line ends with the operator's facts, if there are any.
    """
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as f:
        return f.read().splitlines()


def name_in(line: str) -> str:
    """The name of the operator in such a line."""
    return line.partition("(")[0].partition(".")[0]


def listed(file: str, name: str) -> list[str]:
    """The lines of one operator, by bisection.

    After the name comes "(" or "."; "/" sorts right after both, so it ends the range.
    """
    lines = lines_of(file)
    first = bisect_left(lines, name + "(")
    return lines[first : bisect_left(lines, name + "/", first)]


def by_name(file: str) -> dict[str, list[str]]:
    """All lines of a file by operator name."""
    return {name: list(lines) for name, lines in groupby(lines_of(file), name_in)}


def lacking() -> dict[str, list[str]]:
    """Schema texts of PyTorch's operators that scriptlang lacks, by operator name."""
    return {
        name: [line.partition(NOTE)[0] for line in lines]
        for name, lines in by_name("lacking.txt").items()
    }


def declared(name: str) -> list[Operator]:
    """The declared overloads of a name, without derived and lacking ones."""
    return [op for op in known(name).values() if op.kind in ("primitive", "composite")]


def overloads(name: str) -> list[Operator]:
    """Every overload of `aten::name`, in the order in which they are tried; [] for no such name."""
    return list(known(name).values())


def find(name: str, overload: str = "") -> Operator | None:
    """The operator of that name and overload, lacking ones included; None for an unknown one."""
    return known(name).get(overload)


@cache
def having(fact: str) -> frozenset[str]:
    """The qualified names of the listed operators for which a boolean fact is set.

    The lists are searched as text, so that no operators have to be made.
    """
    return frozenset(
        line.partition("(")[0]
        for file in LISTS
        for line in lines_of(file)
        if fact in line and fact in line.partition(NOTE)[2].split()
    )


def schema_of(name: str, overload: str = "") -> Schema:
    """The schema of an existing operator."""
    return known(name)[overload].schema


def facts_of(schema: Schema | None) -> Facts:
    """The facts of the operator with a schema; none are stated for an unknown operator."""
    op = None if schema is None else known(schema.name).get(schema.overload)
    return F.NOTHING if op is None else op.facts


def every_operator() -> list[Operator]:
    """Every listed operator, lacking ones included; imports no kernels."""
    names = {name: None for file in LISTS for name in by_name(file)}
    return [op for name in names for op in overloads(name)]


def all_operators() -> list[Operator]:
    """Every operator with a kernel, except users': declared ones and forms derived from them."""
    load_families()
    names = dict.fromkeys([*by_name("declared.txt"), *_operators, *by_name("derived.txt")])
    others = ("lacking", "custom")
    return [op for name in names for op in overloads(name) if op.kind not in others]
