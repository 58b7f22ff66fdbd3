"""The kernels of calls from Python: those of the native engine where it is there, else numpy's.

Programs that the Python engine runs use numpy's kernels alone, and so do the bodies of composites
that it calls meanwhile. What a native kernel refuses, it passes on to numpy's, which runs it or
says why not.

`calls.eager` is the native engine's table, by which calls of a kind that has occurred before find
their kernel without Python code: `learn` tells it the kernel and where its arguments come from.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ... import types as T
from ...errors import MissingOperatorError
from ...schema import NO_DEFAULT, Argument, Schema
from ..table import Operator
from .binding import SPELLINGS, BindingPlan, gather_ints
from .current import calls, engine, mode, recipes

NATIVE = "native_kernel"
"""Attribute of an Operator: its native kernel, or None if it has none."""


def load_engine() -> None:
    """Load the native engine, if it is installed: it fills `engine` and `calls.eager`."""
    importlib.import_module("scriptlang.interpreter.native").load()


def kernel_of(op: Operator) -> Callable[..., Any]:
    """What a call from Python runs now. Raises MissingOperatorError if there is nothing."""
    if mode.program is None and calls.tracer is None and not mode.numpy_only:
        kernel = native_kernel(op)
        if kernel is not None:
            return kernel
    kernel = op.kernel and (op.eager or op.kernel)
    if kernel is None:
        raise MissingOperatorError(lacks(op))
    return kernel


def lacks(op: Operator) -> str:
    return f"operator {op.qualified_name} is not implemented in scriptlang"


@contextmanager
def numpy_only() -> Iterator[None]:
    """A context in which calls from Python run numpy's kernels."""
    was, mode.numpy_only = mode.numpy_only, True
    mode.tell()
    try:
        yield
    finally:
        mode.numpy_only = was
        mode.tell()


def native_kernel(op: Operator) -> Any:
    """The native engine's kernel of an operator; None if it has none that calls from Python use."""
    if NATIVE not in op.__dict__:
        if calls.eager is None:
            load_engine()
        op.__dict__[NATIVE] = find_kernel(op) if engine and is_native(op) else None
    return op.__dict__[NATIVE]


def find_kernel(op: Operator) -> Any:
    named: Any = op.named_returns
    try:
        return engine[0].Kernel(op, op.qualified_name, named and named._make, op.may_alias)
    except Exception:  # the engine's NativeError: it was built without the operator
        return None


def is_native(op: Operator) -> bool:
    """Whether calls from Python may run a native kernel of this operator, if there is one."""
    form = op.form
    returns = [t for r in op.schema.returns for t in r.type.walk()]
    return (
        op.kind in ("primitive", "composite", "form")
        and op.name.startswith(("aten::", "scriptlang::"))
        and not OF_PYTHON.intersection(op.makers)
        and (T.TENSOR in returns or op.schema.is_mutable or op.name in COMPARISONS)
        and not op.schema.is_vararg
        and not op.may_reshape  # what a tensor is must then be told to those who have it
        # In Python the result becomes a tensor of its own type first (`eager_kernel_of`).
        and not (form and form.kind == "exact_out" and form.base.facts.out == "number")
        and all(is_simple(a.type) for a in (*op.schema.arguments, *op.schema.returns))
        and not any(a.is_write and T.TENSOR not in a.type.walk() for a in op.schema.arguments)
    )


OF_PYTHON = frozenset("containers gradients modes nested prim scalar string".split())
"""Families whose operators ask for what Python keeps, or take no longer than a call."""

COMPARISONS = ("aten::allclose", "aten::equal")
"""Operators that read tensors and give none."""


def is_simple(type: T.Type) -> bool:
    """Whether values of the type are tensors, numbers, strings and their like, or lists of them."""
    parts = T.without_none(type).walk()
    return all(t in SIMPLE or isinstance(t, (T.OptionalType, T.ListType, T.VarType)) for t in parts)


SIMPLE = {T.TENSOR, T.NUMBER, T.INT, T.FLOAT, T.BOOL, T.STR, T.DEVICE, T.COMPLEX, T.GENERATOR}


# The table


def learn(
    op: Operator, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], method: bool
) -> None:
    """Let the table make calls of this kind, or tell it that they are for Python."""
    kernel = native_kernel(op)
    places: list[Any] | None = None
    if kernel is not None:
        places = places_of(op.schema, args, list(kwargs), method)
    is_plain, recipe, body = not op.may_alias, None, None
    if places is None:
        kernel = None
    elif recipes:
        is_plain, recipe, body = recipes[0](op)
    told = (is_plain, kernel, tuple(places or ()), recipe, body)
    calls.eager.learn(name, args, kwargs, method, *told)


def places_of(
    schema: Schema, args: Sequence[Any], names: Sequence[str], method: bool
) -> list[tuple[Any, ...]] | None:
    """Where the value of each argument comes from in such a call, as `Place` of the extension
    module (cpp_loader/python/eager.cpp) tells it; None if calls of this kind take more."""
    plan = BindingPlan(schema)
    numbers: list[int | tuple[int, ...]] = [*range(len(args))]
    if method and plan.own:
        numbers.insert(plan.own, numbers.pop(0))
    given = [*args]
    if plan.ints is not None:
        gathered = gather_ints(plan.ints, plan.positional[-1].size, given)
        if gathered is not given:
            numbers[plan.ints :] = [(plan.ints,)]
    by_name = {
        name if schema.index(name) is not None else SPELLINGS.get(name, name): len(args) + k
        for k, name in enumerate(names)
    }
    return list_of(place(a, k, numbers, by_name) for k, a in enumerate(schema.arguments))


def list_of(places: Iterator[tuple[Any, ...] | None]) -> list[tuple[Any, ...]] | None:
    found = []
    for one in places:
        if one is None:
            return None
        found.append(one)
    return found


def place(
    a: Argument, k: int, numbers: Sequence[int | tuple[int, ...]], by_name: Mapping[str, int]
) -> tuple[Any, ...] | None:
    number = by_name.get(a.name) if a.kwarg_only or k >= len(numbers) else numbers[k]
    if number is None:
        default: Any = a.default
        if default is NO_DEFAULT:
            return None
        if a.size and isinstance(default, (int, float)):
            default = [default] * a.size
        return DEFAULT, 0, "-", True, 0, default
    if isinstance(number, tuple):
        return REST, number[0], "I", False, 0, None
    kind = kind_of(a)
    if not kind:
        return None
    return number, 0, kind, isinstance(a.type, T.OptionalType), a.size or 0, None


def kind_of(a: Argument) -> str:
    """The letter by which the table knows how to convert values for an argument; "" for none."""
    if a.text.startswith("ScalarType"):
        return "d"
    if a.text.startswith("MemoryFormat"):
        return "m"
    if a.text.startswith("Layout") or a.name == "pin_memory":
        return ""
    return KINDS.get(T.without_none(a.type), "")


DEFAULT, REST = -1, -2
KINDS: dict[T.Type, str] = {
    T.TENSOR: "T",
    T.NUMBER: "n",
    T.INT: "i",
    T.FLOAT: "f",
    T.BOOL: "b",
    T.STR: "s",
    T.ListType(T.INT): "I",
    T.DEVICE: "D",
    T.ListType(T.TENSOR): "X",
    T.ListType(T.OptionalType(T.TENSOR)): "Y",
}
