"""What a function may reach: other functions, methods behind interfaces, operators."""

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

    classes: what objects may be of where only an interface is known (see `classes_in`).
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
    """Whether the code calls methods that it looks up by name while it runs."""
    return any(i.op in ("INTERFACE_CALL", "ENTER", "EXIT") for i in code.instructions)


def methods_called(code: Code, classes: Iterable[T.ClassType]) -> Iterator[Function]:
    """Methods that calls by name may reach: those of the given classes, and of the classes that the
    code knows, which implement an interface that it calls."""
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
    """The classes that arguments, types and registers of a code name, and of their attributes."""
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
    """Tensors and objects inside values; each object once."""
    return (v for v in walk(*values) if isinstance(v, (Tensor, ScriptObject)))


def unique_names(functions: Iterable[Function]) -> dict[Function, str]:
    """A name for each function: its own, with a number behind it where an earlier one has it."""
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
    """Qualified names of the operators that a function may reach, with the number of instructions
    that call each."""
    counts: Counter[str] = Counter()
    for code in reachable(function, classes=classes).values():
        counts.update(
            code.operators[i.x].qualified_name for i in code.instructions if i.op in ("OP", "OPN")
        )
    return counts
