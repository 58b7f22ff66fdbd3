"""Overload resolution, with the same results as PyTorch's schema matching.

Candidates are tried in order, first without implicit conversions, then with them.  The first that
fits is taken.  A decision depends on the types of the arguments only, so it is cached by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.records import record
from scriptlang.schema import Argument, Schema, format_default
from scriptlang.source import Span
from scriptlang.type_variables import bind_variables, has_variables, substitute

from . import conversions
from .conversions import Step

if TYPE_CHECKING:
    from ..values.builder import Builder


@record(frozen=True)
class Actual:
    """An argument of a call: its value, and its span for errors."""

    value: Value
    span: Span

    @property
    def shape(self) -> Shape:
        return self.value.type, conversions.openness(self.value)


# Sources of a Slot that are not the index of a positional argument.
DEFAULT = -1
SELF = -2


@record(frozen=True)
class Slot:
    """Where the value of one argument of a schema comes from.

    `source` is the index of a positional argument, the name of a keyword argument, SELF or DEFAULT.
    `step` converts the value.  If `gathered` is given, the positional arguments from index `source`
    on become one list; it has a conversion for each.
    """

    source: int | str
    step: Step | None = None
    gathered: tuple[Step | None, ...] | None = None


@record(frozen=True)
class Match:
    """A schema that fits a call: a slot for each argument, and the types of the results.

    `index` is the position of the schema among the candidates.  Positional arguments from index
    `extra` on are those of a variadic schema.
    """

    schema: Schema
    slots: tuple[Slot, ...]
    returns: tuple[T.Type, ...]
    index: int = 0
    extra: int = 0


class Mismatch(Exception):
    """Why a candidate does not fit.

    `source` says which argument is at fault, in the form of Slot.source; None for no single one.
    """

    def __init__(
        self, reason: str, source: int | str | None = None, help: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.source, self.help = reason, source, help


class NoOverload(CompileError):
    """No candidate takes the arguments of a call; `called` is the name that `choose` was given."""

    called = ""


# What matching considers of an argument: (type, conversions.Openness).  It is not a tensor shape.
Shape = tuple[Any, ...]


def try_match(
    schema: Schema,
    args: Sequence[Shape],
    kwargs: dict[str, Shape],
    self_shape: Shape | None,
    implicit: bool,
) -> Match:
    """Fit one schema to the arguments of a call; `self_shape` is the object of a method.

    `implicit` allows implicit conversions.  Raises Mismatch.
    """
    slots: list[Slot] = []
    variables: dict[str, T.Type] = {}
    used_keywords = set()
    at, count = 0, len(args)
    arguments, bound = schema.arguments, self_shape is not None
    for i, formal in enumerate(arguments):
        if self_shape is not None and formal.name == "self" and not formal.kwarg_only:
            shape, self_shape = self_shape, None
            source: int | str = SELF
        elif at < count and not formal.kwarg_only:
            if _takes_rest_as_list(schema, i) and not _is_listable(args[at], formal):
                steps = [_fit_element(formal, args[j], implicit, j) for j in range(at, count)]
                slots.append(Slot(at, gathered=tuple(steps)))
                at = count
                continue
            shape, source = args[at], at
            at += 1
        elif (source := _keyword(schema, formal, kwargs)) in kwargs:
            shape = kwargs[source]
            used_keywords.add(source)
        elif formal.has_default:
            slots.append(Slot(DEFAULT))
            continue
        else:
            raise Mismatch(f"Argument {formal.name} not provided")
        slots.append(Slot(source, _fit(formal, shape, variables, implicit, source)))
    if self_shape is not None:
        raise Mismatch("it is not a method")
    if at < count and not schema.is_vararg:
        most = _positional(schema, bound)
        raise Mismatch(
            f"Expected at most {most} arguments but found {count} positional arguments", at
        )
    for name in kwargs:
        if name not in used_keywords:
            why = "specified twice" if schema.index(name) is not None else "unknown"
            raise Mismatch(f"Keyword argument {name} {why}", name)
    return Match(
        schema, tuple(slots), tuple(substitute(r.type, variables) for r in schema.returns), extra=at
    )


def _keyword(schema: Schema, formal: Argument, kwargs: dict[str, Shape]) -> str:
    """The keyword by which a call gives an argument: Python calls `self` of operators `input`."""
    if formal.name == "self" and "self" not in kwargs and schema.name.startswith("aten::"):
        return "input"
    return formal.name


def _positional(schema: Schema, bound: bool) -> int:
    """How many positional arguments a caller can give; `self` of a method (`bound`) is not one."""
    return sum(not a.kwarg_only for a in schema.arguments) - bound


def _takes_rest_as_list(schema: Schema, i: int) -> bool:
    """Whether argument `i` takes all remaining positional arguments, as `size` in `zeros(2, 3)`.

    It must be a list without a fixed size, and the last positional argument.
    """
    formal, following = schema.arguments[i], schema.arguments[i + 1 : i + 2]
    return (
        isinstance(formal.type, T.ListType)
        and formal.size is None
        and (not following or following[0].kwarg_only)
        and not isinstance(formal.type.element, T.VarType)
    )


def _is_listable(shape: Shape, formal: Argument) -> bool:
    """Whether an argument by itself is a list, or a tuple that can become the list `formal`."""
    actual, element = shape[0], formal.type.contained[0]
    return isinstance(actual, T.ListType) or (
        isinstance(actual, T.TupleType) and all(T.is_subtype(t, element) for t in actual.elements)
    )


def _fit_element(formal: Argument, shape: Shape, implicit: bool, source: int) -> Step | None:
    element = formal.type.contained[0]
    step, after = conversions.plan(shape[0], element, implicit, shape[1])
    if not T.is_subtype(after, element):
        raise _wrong_type(formal, shape[0], source)
    return step


def _wrong_type(formal: Argument, actual: T.Type, source: Any) -> Mismatch:
    if has_variables(formal.type):
        return Mismatch(
            f"Could not match type {actual.annotation} to {formal.type.annotation} in argument "
            f"{formal.name!r}",
            source,
            conversions.remedy(formal.type, actual),
        )
    lacks = ""
    if isinstance(formal.type, T.InterfaceType):
        lacks = f". {T.why_not_implements(actual, formal.type)}"
    return Mismatch(
        f"Expected a value of type {formal.type.annotation!r} for argument {formal.name!r} but "
        f"instead found type {actual.annotation!r}{lacks}",
        source,
        conversions.remedy(formal.type, actual),
    )


def _fit(
    formal: Argument, shape: Shape, variables: dict[str, T.Type], implicit: bool, source: Any
) -> Step | None:
    """The conversion of an argument to the type of a formal; binds type variables.

    Raises Mismatch if the argument does not fit.
    """
    actual, empty = shape
    wanted = formal.type
    if actual is wanted:
        return None
    repeat = _repeats(formal, actual)
    if repeat is not None:
        return repeat
    if has_variables(wanted):
        why = bind_variables(wanted, actual, variables)
        if why:
            help = None
            if isinstance(wanted, T.VarType) and variables.get(wanted.name) == T.TENSOR:
                help = (
                    f"an empty list or dict holds Tensors unless it is annotated: "
                    f"x: List[{actual.annotation}] = []"
                )
            raise Mismatch(f"{why} in argument {formal.name!r}", source, help)
        wanted = substitute(wanted, variables)
        if has_variables(wanted):
            if actual == T.NONE and isinstance(wanted, T.OptionalType):
                raise Mismatch(
                    f"argument {formal.name!r}: the type of None cannot be inferred", source
                )
            raise Mismatch(
                f"argument {formal.name!r}: {wanted} cannot be inferred from {actual.annotation}",
                source,
            )
    step, after = conversions.plan(actual, wanted, implicit, empty)
    if not T.is_subtype(after, wanted):
        raise _wrong_type(formal, actual, source)
    return step


def _repeats(formal: Argument, actual: T.Type) -> Step | None:
    """The conversion of a single number to `int[N]` or `float[N]`, which repeats it N times."""
    if formal.size is None or actual not in (T.INT, T.FLOAT):
        return None
    wanted = T.without_none(formal.type)
    if isinstance(wanted, T.ListType) and wanted.element == actual:
        return Step("repeat", wanted, count=formal.size)
    return None


_decided: dict[tuple[Any, ...], Match] = {}
_DECIDED_MOST = 20000


def forget(name: str) -> None:
    """Drop the decisions about an operator, as it has another overload."""
    for key in list(_decided):
        if key[0] == name:
            _decided.pop(key, None)


def _outlives_programs(type: T.Type) -> bool:
    """Whether a type has no class or function of a program in it, which a cache would keep."""
    of_programs = (T.ClassType, T.InterfaceType, T.EnumType, T.FunctionType)
    return not any(isinstance(part, of_programs) for part in type.walk())


def choose(
    name: str,
    candidates: Sequence[Schema],
    args: Sequence[Actual],
    kwargs: dict[str, Actual],
    self_arg: Actual | None,
    span: Span,
) -> Match:
    """The first candidate that fits.

    Raises NoOverload, which says why candidates do not fit.  Decisions are cached for operators
    only, as the names of other functions may mean different ones.
    """
    shapes = tuple(a.shape for a in args)
    named = {n: a.shape for n, a in kwargs.items()}
    own = self_arg.shape if self_arg else None
    is_operator = "::" in name
    key = (name, shapes, tuple(named.items()), own)
    match = _decided.get(key) if is_operator else None
    if match is not None:
        return match
    for implicit in (False, True) if len(candidates) > 1 else (True,):
        for i, schema in enumerate(candidates):
            try:
                match = try_match(schema, shapes, named, own, implicit)
            except Mismatch:
                continue
            match = Match(schema, match.slots, match.returns, i, match.extra)
            if is_operator and all(
                _outlives_programs(s[0])
                for s in (*shapes, *named.values(), *([own] if own else []))
            ):
                if len(_decided) >= _DECIDED_MOST:
                    _decided.clear()
                _decided[key] = match
            return match
    error = refusal(name, candidates, args, kwargs, self_arg, span)
    error.called = name
    raise error


def refusal(
    name: str,
    candidates: Sequence[Schema],
    args: Sequence[Actual],
    kwargs: Mapping[str, Actual],
    self_arg: Actual | None,
    span: Span,
) -> NoOverload:
    """The error for a call that no candidate fits."""
    shapes, named = [a.shape for a in args], {n: a.shape for n, a in kwargs.items()}
    reasons: list[tuple[Schema, Mismatch]] = []
    for schema in candidates:
        try:
            try_match(schema, shapes, named, self_arg.shape if self_arg else None, True)
        except Mismatch as e:
            reasons.append((schema, e))
    if len(candidates) == 1:
        schema, why = reasons[0]
        return NoOverload(
            f"the call of {_bare(name)} does not fit: {why.reason}",
            _place(why, args, kwargs, self_arg, span),
            why.help or "write the call as the function is declared",
            (f"it is {describe(schema)}",),
        )
    given = [a.value.type.annotation for a in args]
    given += [f"{n}={a.value.type.annotation}" for n, a in kwargs.items()]
    if self_arg:
        given.insert(0, self_arg.value.type.annotation)
    near = _nearest(reasons, kwargs)
    notes = [f"  {describe(schema)}: {why.reason}" for schema, why in near]
    places = {why.source for _, why in near}
    place = _place(near[0][1], args, kwargs, self_arg, span) if len(places) == 1 else span
    less = len(_asked(reasons, kwargs)) - len(near)
    if less > 0:
        notes.append(f"  and {less} more, which fit less")
    return NoOverload(
        f"Arguments for call are not valid: no overload of {_bare(name)} takes "
        f"({', '.join(given)})",
        place,
        next(
            (why.help for _, why in near if why.help),
            "convert the arguments to what one of the candidates takes",
        ),
        ("The following variants are available:", *notes),
    )


def _nearest(
    reasons: list[tuple[Schema, Mismatch]], kwargs: Mapping[str, Any]
) -> list[tuple[Schema, Mismatch]]:
    """The candidates that fit at least in part (`_progress`); all if there is none."""
    asked = _asked(reasons, kwargs)
    return [(s, why) for s, why in asked if _progress(why) > 0] or asked


def _asked(
    reasons: list[tuple[Schema, Mismatch]], kwargs: Mapping[str, Any]
) -> list[tuple[Schema, Mismatch]]:
    """The candidates, without `out=` variants if the call has no `out`."""
    return [
        (s, why)
        for s, why in reasons
        if "out" in kwargs or not any(a.name == "out" and a.kwarg_only for a in s.arguments)
    ] or reasons


def _progress(why: Mismatch) -> int:
    """How many positional arguments fit before the one at fault.

    It is 1 if a keyword argument or the number of arguments is at fault.
    """
    if why.source is None or isinstance(why.source, str):
        return 1
    return 0 if why.source == SELF else why.source


def _place(
    why: Mismatch,
    args: Sequence[Actual],
    kwargs: Mapping[str, Actual],
    self_arg: Actual | None,
    span: Span,
) -> Span:
    """The span of the argument at fault."""
    if isinstance(why.source, str):
        return kwargs[why.source].span
    if why.source == SELF and self_arg is not None:
        return self_arg.span
    return span if why.source is None else args[why.source].span


def _bare(name: str) -> str:
    return name.partition("::")[2] or name


def describe(schema: Schema) -> str:
    """A schema as error messages show it: with Python's names of types, without alias sets."""
    parts, starred = [], False
    for a in schema.arguments:
        if a.kwarg_only and not starred:
            parts.append("*")
            starred = True
        default = f"={format_default(a.default)}" if a.has_default else ""
        parts.append(f"{a.name}: {a.type.annotation}{default}")
    if schema.is_vararg:
        parts.append("...")
    return f"{_bare(schema.name)}({', '.join(parts)})"


def materialise(
    b: Builder,
    match: Match,
    args: Sequence[Actual],
    kwargs: dict[str, Actual],
    self_arg: Actual | None,
    span: Span,
) -> list[Value]:
    """Emit conversions and defaults; returns the inputs of the node in the order of the schema."""
    inputs: list[Value] = []
    for slot, formal in zip(match.slots, match.schema.arguments):
        if slot.gathered is not None and isinstance(slot.source, int):
            parts = [
                conversions.apply(b, step, a.value, a.span)
                for step, a in zip(slot.gathered, args[slot.source :])
            ]
            inputs.append(b.insert("prim::ListConstruct", parts, (formal.type,), span).output)
        elif slot.source == DEFAULT:
            inputs.append(default_value(b, formal, span))
        else:
            actual: Any = (
                self_arg
                if slot.source == SELF
                else kwargs[slot.source]
                if isinstance(slot.source, str)
                else args[slot.source]
            )
            inputs.append(conversions.apply(b, slot.step, actual.value, actual.span))
    return inputs + [a.value for a in args[match.extra :]]


def default_value(b: Builder, formal: Argument, span: Span) -> Value:
    """Emit the default of an argument as a constant; a number for `int[N]` is repeated."""
    value, type = formal.default, formal.type
    plain = T.without_none(type)
    if value is None:
        return b.constant(None, span, T.NONE)
    if isinstance(plain, T.ListType):
        if not isinstance(value, (list, tuple)):
            value = [value] * (formal.size or 1)
        return b.constant(list(value), span, plain)
    if plain == T.NUMBER or has_variables(plain):
        return b.constant(value, span)
    if plain == T.DEVICE and isinstance(value, str):
        return b.emit("aten::device", [b.constant(value, span)], span)
    return b.constant(value, span, plain)
