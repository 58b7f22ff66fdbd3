"""Programs of the native engine that are made from functions compiled in Python.

The extension module takes a program as tuple trees (`code.to_tuple`) with the Python types that
they name, and verifies it.  A function that calls methods by name gets one program for each set of
classes of the objects passed to it, since the classes decide which methods it may reach.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

from .. import types as T
from ..building import kept
from ..errors import Frame, MissingOperatorError
from ..ir import Function
from ..ops import table
from ..schema import Schema
from .arguments import PLAIN
from .code import Code, OperatorRef, stack_frames, to_tuple
from .composites import link_composites
from .native import load
from .native_engine import NativeError, failure, program_of, translate
from .prepare import fused_code
from .reach import (
    asks_for_gradients,
    calls_by_name,
    classes_behind,
    is_for_python,
    reachable,
    types_of,
    unique_names,
)

FOR_CLASSES = "native_programs"
"""Attribute of a Function that calls methods by name: its NativePrograms, by sets of classes."""

PYTHON_CALL = "prim::IgnoredPythonOp"
"""The operator that calls a Python function.  The native engine cannot run programs with it."""


def may_reshape(ref: OperatorRef) -> bool:
    """Whether an operator may change the shape of a tensor that the caller passed."""
    operator = table.find(ref.name, ref.overload)
    return operator is not None and operator.may_reshape


@cache
def operators() -> frozenset[str]:
    """Qualified names of the operators that the extension module has."""
    native = load()[0]
    assert native is not None
    return frozenset(native.operators())


@cache
def has_kernel(name: str) -> bool:
    return name in operators()


class NativeProgram:
    """A function and all that it may call, decoded and verified by the engine.

    codes: their code, the function's first.  by_name: the same by names in the program.  name: that
    of the function.  asks: whether some code asks for gradients itself.  is_entered: whether calls
    may take the fast path, which neither looks up classes nor copies changed shapes back to tensors
    of Python.
    """

    def __init__(
        self,
        function: Function,
        classes: frozenset[T.ClassType] = frozenset(),
        code_of: Callable[[Function], Code] = fused_code,
    ) -> None:
        """Build the program.

        classes: those of the objects that are passed, for calls of methods by name.  code_of: gives
        the code of a function; composite operators in it that have no native kernel are replaced by
        calls of their bodies.  Raises MissingOperatorError if only the Python engine can run it.
        """
        native = load()[0]
        assert native is not None

        def native_code(function: Function) -> Code:
            return link_composites(code_of(function), has_kernel)

        self.codes = reachable(function, code_of=native_code, classes=classes)
        self.calls_by_name = any(map(calls_by_name, self.codes.values()))
        if any(ref.name == PYTHON_CALL for code in self.codes.values() for ref in code.operators):
            raise MissingOperatorError(
                f"{function.name} calls a Python function (@ignore), which "
                "only the python engine can"
            )
        if is_for_python(*(code.constants for code in self.codes.values())):
            raise MissingOperatorError(
                f"{function.name} has constants of types that only the python engine knows"
            )
        names = unique_names(self.codes)
        types = named_types(self.codes.values(), classes if self.calls_by_name else ())
        renamed = {t: name for name, t in types.items() if getattr(t, "name", name) != name}
        for name, t in types.items():
            methods = getattr(t, "methods", {})
            names.update((f, f"{name}.{short}") for short, f in methods.items() if f in names)
        self.name = names[function]
        self.by_name = {name: self.codes[f] for f, name in names.items()}
        trees = tuple(
            to_tuple(code, names[f], names, renamed, whole=True) for f, code in self.codes.items()
        )
        try:
            self.program = native.Program(trees, types)
        except NativeError as e:
            raise translate(*e.args[:3]) from None
        self.failure = self.program.failure = partial(failure, partial(frames, self.by_name))
        self.schema = self.codes[function].schema
        self.asks = asks_for_gradients(self.codes.values())
        reshapes = any(may_reshape(ref) for code in self.codes.values() for ref in code.operators)
        self.is_entered = not self.calls_by_name and not reshapes
        if self.is_entered:
            self.program.enter(self.name, *entry_of(self.schema))


def frames(by_name: Mapping[str, Code], stack: Iterable[tuple[str, int]]) -> tuple[Frame, ...]:
    """The script stack, outermost first, of the engine's (function, instruction) pairs."""
    return stack_frames((name, by_name.get(name), pc) for name, pc in reversed([*stack]))


def named_types(codes: Iterable[Code], classes: Iterable[T.ClassType]) -> dict[str, T.Type]:
    """Classes, enums and named tuples that codes name, and `classes`, by distinct names."""
    found: dict[str, T.Type] = {}
    seen: set[T.Type] = set()
    pending = [*classes, *(part for code in codes for t in types_of(code) for part in t.walk())]
    while pending:
        t: Any = pending.pop()
        if not getattr(t, "name", None) or isinstance(t, T.VarType) or t in seen:
            continue
        seen.add(t)
        name, n = t.name, 0
        while name in found:
            n += 1
            name = f"{t.name}_{n}"
        found[name] = t
        pending += [part for a in getattr(t, "attributes", ()) for part in a.type.walk()]
    return found


def register_code(function: Function) -> str:
    """The register code of a function and of the functions that it calls, one step per line."""
    return program_of(function).program.register_code


def program_for(function: Function, values: list[Any]) -> NativeProgram:
    """The program for a function that calls methods by name, if it is passed `values`."""
    return for_classes(function, classes_behind(function, values))


def for_classes(function: Function, classes: frozenset[T.ClassType]) -> NativeProgram:
    programs = function.attributes.setdefault(FOR_CLASSES, {})
    return kept(programs, classes, lambda: NativeProgram(function, classes))


KINDS: dict[T.Type, str] = {
    T.TENSOR: "T",
    T.INT: "i",
    T.FLOAT: "f",
    T.BOOL: "b",
    T.STR: "s",
    T.NUMBER: "n",
    T.COMPLEX: "c",
}
"""The letters by which the extension module's Entry names the types whose values it recognises by
their Python class."""

OTHER = "-"
"""The kind of all other types: their values are checked and converted in Python."""


def entry_of(schema: Schema) -> tuple[list[tuple[Any, ...]], int]:
    """What the engine's fast path of calls has to know: (name, kind, default) of each argument, and
    how many of them may be positional.  An argument without a default that can be shared between
    calls has `...` instead."""
    arguments = [
        (
            sys.intern(a.name),
            OTHER if a.size is not None else kind_of(a.type),
            a.default if a.has_default and type(a.default) in PLAIN else ...,
        )
        for a in schema.arguments
    ]
    return arguments, sum(not a.kwarg_only for a in schema.arguments)


def kind_of(t: T.Type) -> str | tuple[Any, ...]:
    if isinstance(t, T.ClassType):
        return "o", t
    letter = CONTAINERS.get(type(t))
    if letter is None or getattr(t, "name", None):
        return KINDS.get(t, OTHER)
    return letter, *map(kind_of, t.contained)


CONTAINERS = {T.OptionalType: "?", T.ListType: "L", T.DictType: "D", T.TupleType: "U"}
