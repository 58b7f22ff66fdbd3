"""Finds what a function may reach: other functions, methods behind interfaces, operators."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import types as T
from ..dtypes import FLOAT8
from ..ir import Function
from ..objects import ScriptObject, walk
from ..tensors import Tensor
from .code import Code
from .gradients import is_asking
from .prepare import running_code


def reachable(
    *functions: Function,
    code_of: Callable[[Function], Code] = running_code,
    classes: Iterable[T.ClassType] = (),
) -> dict[Function, Code]:
    """The code of functions and of all functions that they may call; the given ones come first.

    classes: the classes of the objects that may be behind interfaces (see `classes_in`).
    """
    codes: dict[Function, Code] = {}
    pending = deque(functions)
    while pending:
        function = pending.popleft()
        if function not in codes:
            code = codes[function] = code_of(function)
            pending += [*code.functions, *methods_called(code, classes)]
    return codes


def calls_by_name(code: Code) -> bool:
    """Whether the code calls methods that are looked up by name when it runs."""
    return any(i.op in ("INTERFACE_CALL", "ENTER", "EXIT") for i in code.instructions)


def methods_called(code: Code, classes: Iterable[T.ClassType]) -> Iterator[Function]:
    """The methods that calls by name may reach.  They belong to classes, given or named in the
    code, that implement an interface that the code calls."""
    if not calls_by_name(code):
        return
    names = {code.constants[i.x] for i in code.instructions if i.op == "INTERFACE_CALL"}
    names |= {"__enter__", "__exit__"}
    for cls in dict.fromkeys([*classes, *classes_of(code)]):
        if code.interfaces and not any(T.implements(cls, i) for i in code.interfaces):
            continue
        for name in sorted(names & set(cls.methods)):
            if isinstance(cls.methods[name], Function):
                yield cls.methods[name]


def classes_of(code: Code) -> Iterator[T.ClassType]:
    """The classes that occur in the types of a code's arguments, registers and operands, and those
    of their attributes."""
    roots = (
        [a.type for a in code.schema.arguments]
        + code.types
        + [t for t in code.register_types if t is not None]
    )
    seen: set[T.ClassType] = set()
    pending = [t for root in roots for t in root.walk()]
    while pending:
        t = pending.pop()
        if isinstance(t, T.ClassType) and t not in seen:
            seen.add(t)
            yield t
            pending += [part for a in t.attributes for part in a.type.walk()]


def classes_in(*values: Any) -> frozenset[T.ClassType]:
    """The classes of all objects inside values."""
    return frozenset(v.type for v in values_in(*values) if isinstance(v, ScriptObject))


def is_for_python(*values: Any) -> bool:
    """Whether values hold tensors of types that only the Python engine knows."""
    return any(isinstance(v, Tensor) and v.dtype in FLOAT8 for v in values_in(*values))


def values_in(*values: Any) -> Iterator[Any]:
    """The tensors and script objects inside values; each object occurs once."""
    return (v for v in walk(*values) if isinstance(v, (Tensor, ScriptObject)))


def unique_names(functions: Iterable[Function]) -> dict[Function, str]:
    """A distinct name for each function: its own, with a number if an earlier one has that name."""
    names: dict[Function, str] = {}
    taken: set[str] = set()
    for function in functions:
        name, n = function.name, 0
        while name in taken:
            n += 1
            name = f"{function.name}_{n}"
        taken.add(name)
        names[function] = name
    return names


def asks_for_gradients(codes: Iterable[Code]) -> bool:
    """Whether one of the codes asks for gradients itself."""
    return any(is_asking(ref) for code in codes for ref in code.operators)


def operators_of(function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
    """The qualified names of the operators that a function may reach, each with the number of
    instructions that call it."""
    counts: Counter[str] = Counter()
    for code in reachable(function, classes=classes).values():
        counts.update(
            code.operators[i.x].qualified_name for i in code.instructions if i.op in ("OP", "OPN")
        )
    return counts
