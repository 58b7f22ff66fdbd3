"""What Python's builtins mean in programs: `len`, `range`, `print`, `int`, the exceptions, ..."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..bodies.indexing import SLICE
from ..values.iteration import CountValue, EnumerateValue, RangeValue, ZipValue, known_elements
from ..values.sugared import (
    Arg,
    BuiltinFunction,
    BuiltinOperator,
    ConstantValue,
    EnumClassValue,
    ExceptionValue,
    StaticSequence,
    SugaredValue,
    TypeValue,
)
from . import special_forms

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder

OPERATORS: dict[str, str] = {
    "abs": "prim::abs",
    "min": "prim::min",
    "max": "prim::max",
    "round": "aten::round",
    "pow": "aten::pow",
    "sum": "aten::sum",
    "any": "aten::any",
    "all": "aten::all",
    "sorted": "aten::sorted",
    "divmod": "aten::divmod",
    "ord": "aten::ord",
    "chr": "aten::chr",
    "bin": "aten::bin",
    "oct": "aten::oct",
    "hex": "aten::hex",
    "id": "prim::id",
    "rangelist": "prim::rangelist",
}
"""Builtin -> the operator that it calls."""

CASTS: dict[str, tuple[T.Type, str, str]] = {
    "int": (T.INT, "aten::Int", "__int__"),
    "float": (T.FLOAT, "aten::Float", "__float__"),
    "bool": (T.BOOL, "aten::Bool", "__bool__"),
    "str": (T.STR, "aten::str", "__str__"),
    "complex": (T.COMPLEX, "aten::Complex", "__complex__"),
}
"""Builtin -> (type, operator, method that classes define for it)."""


class CastValue(TypeValue):
    """`int`, `float`, `bool`, `str` or `complex`: a type, whose call converts a value."""

    def __init__(self, name: str) -> None:
        type, self.operator, self.method = CASTS[name]
        super().__init__(type)
        self.name = name

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if not args and not kwargs:
            return ConstantValue(
                {"int": 0, "float": 0.0, "bool": False, "str": "", "complex": 0j}[self.name]
            )
        if len(args) == 1 and not kwargs:
            value = args[0].value.value(b, args[0].span)
            if value.type == self.named:
                return b.simple(value)
            if isinstance(value.type, T.ClassType) and self.method in value.type.methods:
                return b.call_method(value, self.method, (), {}, span)
            if isinstance(value.type, T.ClassType):
                raise CompileError(
                    f"{value.type.short_name} has no method {self.method}",
                    span,
                    f"define {self.method} in the class to use {self.name}()",
                )
            if self.named == T.BOOL and (
                isinstance(value.type, (T.ListType, T.DictType)) or value.type == T.STR
            ):
                return b.simple(b.is_filled(value, span))
            args = [Arg(b.simple(value), args[0].span)]
        return b.call_operator(self.operator, args, kwargs, span)


def _print(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    if kwargs:
        raise CompileError(
            "print doesn't accept any keyword arguments",
            next(iter(kwargs.values())).span,
            "put all into one text",
        )
    values = [a.value.value(b, a.span) for a in args]
    b.insert("prim::Print", values, (), span)
    return ConstantValue(None)


def _len(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    if len(args) != 1 or kwargs:
        raise CompileError("len takes one argument", span, "write len(x)")
    meaning = args[0].value
    if isinstance(meaning, EnumClassValue):
        meaning.fail("has no length in the language", args[0].span, "write the number")
    if not b.is_simple(meaning):
        known = known_elements(b, meaning, span)
        if known is not None:
            return ConstantValue(len(known))
        return b.simple(meaning.iterate(b, span).length(b, span))
    value = meaning.value(b, args[0].span)
    if isinstance(value.type, T.ClassType):
        return b.simple(value).attr(b, "__len__", span).call(b, (), {}, span)
    if isinstance(value.type, T.TupleType):
        return ConstantValue(len(value.type.elements))
    return b.call_operator("aten::len", [Arg(b.simple(value), args[0].span)], {}, span)


def _range(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    if kwargs:
        raise CompileError(
            "range takes no keyword arguments",
            next(iter(kwargs.values())).span,
            "write range(start, stop, step)",
        )
    return RangeValue(b, args, span)


def _zip(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    if kwargs or not args:
        raise CompileError(
            "zip takes iterables, and no keyword arguments in the language",
            span,
            "write zip(xs, ys)",
        )
    return ZipValue([a.value.iterate(b, a.span) for a in args])


def _enumerate(
    b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
) -> SugaredValue:
    start = kwargs.get("start") or (args[1] if len(args) == 2 else None)
    if not 1 <= len(args) <= 2 or set(kwargs) - {"start"} or len(args) == 2 and kwargs:
        raise CompileError(
            "enumerate takes an iterable and a start",
            span,
            "write enumerate(xs) or enumerate(xs, 1)",
        )
    counter = CountValue(start.value.value(b, start.span) if start else None)
    return EnumerateValue([counter, args[0].value.iterate(b, args[0].span)])


def _reversed(
    b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
) -> SugaredValue:
    if len(args) != 1 or kwargs:
        raise CompileError("reversed takes one argument", span, "write reversed(xs)")
    parts = args[0].value.unpack(b, span) if _is_static(b, args[0].value) else None
    if parts is not None:
        return StaticSequence(parts[::-1])
    value = args[0].value.value(b, args[0].span)
    if isinstance(value.type, T.TupleType):
        return b.simple(b.tuple(b.unpack_tuple(value, span)[::-1], span))
    copy = b.call_operator("aten::list", [Arg(b.simple(value), args[0].span)], {}, span)
    b.call_operator("aten::reverse", [Arg(copy, span)], {}, span)
    return copy


def _hash(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> SugaredValue:
    """`hash(x)`; of a list or dict it raises when it is reached, as in PyTorch."""
    if len(args) == 1 and b.is_simple(args[0].value):
        type = args[0].value.type(b, args[0].span)
        if isinstance(type, (T.ListType, T.DictType)):
            message = ConstantValue(f"unhashable type: {type.annotation!r}")
            given = [Arg(message, span), Arg(ConstantValue("builtins.RuntimeError"), span)]
            b.call_operator("prim::RaiseException", given, {}, span)
            return ConstantValue(0)
    return b.call_operator("aten::hash", args, kwargs, span)


def _is_static(b: Builder, meaning: SugaredValue) -> bool:
    """Whether the elements are known at compile time, as those of a list of modules."""
    if not b.is_simple(meaning):
        return True
    value = getattr(meaning, "simple_value", None)
    return getattr(value and value.type, "origin", None) is not None


def _operator(name: str) -> Callable[..., Any]:
    operator = BuiltinOperator(OPERATORS[name])

    def emit(
        b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if name in ("min", "max", "sum", "any", "all") and len(args) == 1:
            args = [Arg(_as_list(b, args[0]), args[0].span)]
        if name in ("min", "max") and len(args) > 2 and not kwargs:
            result = args[0]
            for other in args[1:]:
                result = Arg(operator.call(b, [result, other], {}, span), span)
            return result.value
        return operator.call(b, args, kwargs, span)

    return emit


def _as_list(b: Builder, arg: Arg) -> SugaredValue:
    """A tuple whose elements have one type becomes a list, so that `min`, `sum` etc. take it."""
    value = arg.value.value(b, arg.span)
    if (
        isinstance(value.type, T.TupleType)
        and value.type.elements
        and all(t == value.type.elements[0] for t in value.type.elements)
    ):
        return b.simple(b.list(b.unpack_tuple(value, arg.span), value.type.elements[0], arg.span))
    return b.simple(value)


_FUNCTIONS = {
    "print": _print,
    "len": _len,
    "range": _range,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "hash": _hash,
    **{name: _operator(name) for name in OPERATORS},
}

BUILTINS: dict[str, SugaredValue] = {
    **{name: BuiltinFunction(name, emit) for name, emit in _FUNCTIONS.items()},
    **{name: CastValue(name) for name in CASTS},
    **special_forms.FORMS,
    "slice": SLICE,
}
"""Name of a builtin of Python -> its meaning."""


def builtin(name: str) -> SugaredValue | None:
    """The meaning of a builtin of Python; None if there is none, or it is not in the language."""
    found = BUILTINS.get(name)
    if found is None:
        cls = getattr(builtins, name, None)
        if isinstance(cls, type) and issubclass(cls, BaseException):
            found = BUILTINS[name] = ExceptionValue(f"builtins.{name}")
    return found
