"""Functions of Python and PyTorch that are not compiled from their source, but mapped to nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..values.sugared import (
    Arg,
    BuiltinFunction,
    BuiltinOperator,
    ConstantValue,
    ExceptionValue,
    SugaredValue,
    TypeValue,
)

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder


def _constant(value: bool) -> Callable[..., SugaredValue]:
    return lambda b, args, kwargs, span: ConstantValue(value)


def _warn(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    """`warnings.warn(message, category, stacklevel)`; the category is dropped."""
    args = [a for a in args if not isinstance(a.value, (ExceptionValue, TypeValue))]
    kwargs = {n: a for n, a in kwargs.items() if n != "category"}
    return b.call_operator("aten::warn", args, kwargs, span)


def _broadcast(name: str, count: int) -> Callable[..., SugaredValue]:
    """`_pair(x)`: a number becomes a list of `count` equal numbers; a tuple becomes a list."""

    def emit(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> Any:
        given = [*args, *kwargs.values()]
        if len(given) != 1 or kwargs.keys() - {"x"}:
            raise CompileError(f"{name} takes one argument", span, f"write {name}(x)")
        value = given[0].value.value(b, given[0].span)
        if value.type in NUMBERS:
            return b.simple(b.list([value] * count, value.type, span))
        if isinstance(value.type, T.ListType) and value.type.element in NUMBERS:
            return b.simple(value)
        types = set(value.type.elements) if isinstance(value.type, T.TupleType) else {T.NONE}
        if len(types) > 1 or types - set(NUMBERS):
            raise CompileError(
                f"{name} takes a number, or numbers of one type, not {value.type.annotation}",
                given[0].span,
                "give it an int, a float, or a list or tuple of them",
            )
        parts = b.unpack_tuple(value, span)
        return b.simple(b.list(parts, next(iter(types), T.INT), span))

    return emit


NUMBERS = (T.INT, T.FLOAT)


HOMES_OF_SIZES = ("torch.nn.modules.utils", "scriptlang.nn.sizes")

KNOWN: dict[str, SugaredValue] = {
    "warnings.warn": BuiltinFunction("warn", _warn),
    "_warnings.warn": BuiltinFunction("warn", _warn),
    **{
        f"{home}._list_with_default": BuiltinOperator("aten::_list_with_default")
        for home in HOMES_OF_SIZES
    },
    **{
        f"{home}.{name}": BuiltinFunction(name, _broadcast(name, count))
        for home in HOMES_OF_SIZES
        for count, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), start=1)
    },
    "torch.nn.functional._no_grad_embedding_renorm_": BuiltinOperator(
        "aten::_no_grad_embedding_renorm_"
    ),
}
"""Qualified name of a Python function -> its meaning."""

NOT_IN_PROGRAMS = ("has_torch_function", "_has_torch_function")
"""Prefixes of functions that check for overrides by subclasses; they are always False here."""


def known_function(obj: Any) -> SugaredValue | None:
    """The meaning of a function that this module knows; None for any other."""
    module, name = getattr(obj, "__module__", None) or "", getattr(obj, "__name__", "")
    if name.startswith(NOT_IN_PROGRAMS):
        return BuiltinFunction(name, _constant(False))
    if name == "parse" and hasattr(obj, "__closure__") and module in HOMES_OF_SIZES:
        return _ntuple(obj)
    return KNOWN.get(f"{module}.{name}")


def _ntuple(obj: Any) -> SugaredValue | None:
    """The meaning of `_pair` and similar functions, which are closures over their `n`."""
    cells = dict(zip(obj.__code__.co_freevars, obj.__closure__ or ()))
    count = cells["n"].cell_contents if "n" in cells else None
    return (
        BuiltinFunction("_ntuple", _broadcast("_ntuple", count)) if isinstance(count, int) else None
    )


def dispatched(obj: Any) -> tuple[str, int, bool, Any, Any] | None:
    """How a bool argument chooses between two functions, as in `max_pool2d(return_indices=...)`.

    Returns (argument name, its position, its default, function if True, function if False); None if
    `obj` is not such a function.
    """
    import sys

    own = getattr(obj, "boolean_dispatch", None)
    if own is not None:
        return own
    internal = sys.modules.get("torch._jit_internal")
    entry = internal and internal.boolean_dispatched.get(obj)
    if not entry:
        return None
    return (
        entry["arg_name"],
        entry["index"],
        entry["default"],
        entry["if_true"],
        entry["if_false"],
    )


class DispatchedValue(SugaredValue):
    """A function chosen by a bool argument that is known at compile time."""

    def __init__(
        self,
        name: str,
        choice: tuple[str, int, bool, Any, Any],
        meaning: Callable[[Any, Any], SugaredValue],
    ) -> None:
        self.kind = f"function '{name}'"
        self.choice, self.meaning = choice, meaning

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        name, index, chosen, if_true, if_false = self.choice
        given: Arg | None = kwargs.get(name) or (args[index] if index < len(args) else None)
        if given is not None:
            value = given.value.value(b, given.span)
            if not value.is_constant:
                self.fail(
                    f"needs {name} to be known at compile time", given.span, "write True or False"
                )
            chosen = value.constant
        target = self.meaning(if_true if chosen else if_false, span)
        return target.call(b, args, kwargs, span)
