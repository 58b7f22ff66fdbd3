"""Forward hooks and pre-hooks of modules in programs.

A pre-hook is `hook(self, input: Tuple[...])` and may return new arguments for forward.  A hook is
`hook(self, input: Tuple[...], output)` and may return a new result.  `input` is the tuple of the
arguments of forward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Value
from scriptlang.schema import Schema
from scriptlang.source import Span

from ..syntax.definitions import has_result_type, source_of
from ..syntax.places import span_of
from ..values.sugared import Arg, SugaredValue

if TYPE_CHECKING:
    from ..values.builder import Builder
    from .module_values import ModuleValue


def header(hook: Callable[..., Any]) -> Span:
    """The span of the name and the parameters of a hook, for errors."""
    definition, source = source_of(hook)
    place = span_of(definition, source)
    return (
        Span(
            source,
            place.start,
            source.text.find(":", span_of(definition.args.args[-1], source).end),
        )
        if definition.args.args
        else place
    )


def name_of_hook(hook: Callable[..., Any], module: str) -> str:
    """The name of a hook, which is that of its method.  Raises CompileError for an object that is
    called like a function: what it does depends on what it holds."""
    name: str | None = getattr(hook, "__name__", None)
    if name is None:
        kind = getattr(hook, "kind", "")
        remedy = f"call remove_{kind}(module)" if kind in NORMS else "make it a function"
        raise CompileError(
            f"a hook of module {module!r} is no function but a {type(hook).__name__}",
            header(type(hook).__call__),
            f"{remedy} before scripting, or trace the module",
        )
    return name


NORMS = ("weight_norm", "spectral_norm")
"""The hooks of nn.utils, which have functions that remove them."""


def check_result_declared(fn: Callable[..., Any], module: str) -> None:
    """Check that a pre-hook declares the type of its result, which replaces forward's arguments.

    Raises CompileError.
    """
    definition, _ = source_of(fn)
    if not has_result_type(definition):
        raise CompileError(
            f"Pre-hook {definition.name!r} on module {module!r} is missing a return annotation",
            header(fn),
            "annotate its result: None, the one argument of forward, or a tuple of all",
        )


def check_hook(function: Function, type: T.ClassType, is_pre: bool, place: Span) -> None:
    """Check the signature of a hook against that of forward, and of the hooks before it.

    Raises CompileError.
    """
    forward = type.methods.get("forward")
    if forward is None:
        return
    name = function.name.rpartition(".")[2]
    what = f"{'Pre-hook' if is_pre else 'Hook'} {name!r} on module {type.short_name!r}"
    output = forward.schema.returns[0].type
    for earlier in type.hooks:
        given = type.methods[earlier].schema.returns[0].type
        output = output if given == T.NONE else given
    got, inputs = function.schema, tuple(a.type for a in forward.schema.arguments[1:])
    wanted = 2 if is_pre else 3
    if len(got.arguments) != wanted:
        raise CompileError(
            f"{what} was expected to only have exactly {wanted} inputs but it had "
            f"{len(got.arguments)} inputs",
            place,
            "its arguments are self, input" + ("" if is_pre else ", output"),
        )
    expected = T.TupleType(inputs)
    given = got.arguments[1].type
    if given != expected:
        wrong = "the wrong inner types for the input tuple argument"
        if isinstance(given, T.TupleType) and len(given.elements) != len(inputs):
            wrong = "the wrong number of contained types for the input argument's Tuple"
        raise CompileError(
            f"{what} has {wrong}. Received type: {given.annotation!r}. Expected type: "
            f"{expected.annotation!r}"
            if isinstance(given, T.TupleType)
            else f"{what} expected the input argument to be typed as a Tuple but found type: "
            f"{given.annotation!r} instead",
            place,
            f"annotate it as `input: {expected.annotation}`",
        )
    if is_pre:
        _check_pre_result(what, got, inputs, place)
    elif got.arguments[2].type != output:
        raise CompileError(
            f"{what} has the wrong type for the output argument. Received type: "
            f"{got.arguments[2].type.annotation!r}. Expected type: {output.annotation!r}",
            place,
            f"annotate it as `output: {output.annotation}`",
        )


def _check_pre_result(what: str, got: Schema, inputs: tuple[T.Type, ...], place: Span) -> None:
    result = T.without_none(got.returns[0].type)
    fits = (
        result == T.NONE
        or result == T.TupleType(inputs)
        or len(inputs) == 1
        and result == inputs[0]
        and not isinstance(result, T.TupleType)
    )
    if not fits:
        raise CompileError(
            f"{what} returned the wrong type of: {got.returns[0].type.annotation!r}. Expected "
            f"type: {T.TupleType(inputs).annotation!r}",
            place,
            "return None, the one argument, or a tuple of all arguments",
        )


def call_with_hooks(
    b: Builder,
    module: ModuleValue,
    forward: SugaredValue,
    args: Sequence[Arg],
    kwargs: Mapping[str, Arg],
    span: Span,
) -> SugaredValue:
    """Emit `module(*args)`: pre-hooks, forward, hooks."""
    if kwargs:
        named = next(iter(kwargs.values()))
        raise CompileError(
            "a module with hooks takes no keyword arguments",
            named.span,
            "pass them by position: hooks see them as a tuple",
        )
    owner, facts = module.simple_value, module.origin.facts
    inputs = [a.value.value(b, a.span) for a in args]
    for fn in facts.pre_hooks:
        packed = b.tuple(inputs, span)
        result = _call(b, owner, fn.__name__, [packed], span)
        if result.type != T.NONE:
            inputs = (
                list(b.unpack_tuple(result, span))
                if isinstance(result.type, T.TupleType)
                else [result]
            )
    output = forward.call(b, [Arg(b.simple(v), span) for v in inputs], {}, span)
    for fn in facts.hooks:
        packed = b.tuple(inputs, span)
        result = _call(b, owner, fn.__name__, [packed, output.value(b, span)], span)
        if result.type != T.NONE:
            output = b.simple(result)
    return output


def _call(b: Builder, owner: Value, name: str, values: list[Value], span: Span) -> Value:
    args = [Arg(b.simple(v), span) for v in values]
    return b.call_method(owner, name, args, {}, span).value(b, span)
