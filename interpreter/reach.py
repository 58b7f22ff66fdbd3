"""Finds what a function may reach: other functions, methods behind interfaces, operators."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from .. import types as T
from ..building import kept
from ..dtypes import FLOAT8
from ..ir import Function
from ..objects import ScriptObject, walk
from ..tensors import Tensor
from .code import Code, OperatorRef
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
    known = dict.fromkeys(classes)
    looked_at = 0
    pending = deque(functions)
    while pending:
        while pending:
            function = pending.popleft()
            if function not in codes:
                code = codes[function] = code_of(function)
                pending += code.functions
                pending += (f for pair in code.straights for f in pair)
        callers = [code for code in codes.values() if calls_by_name(code)]
        if callers:
            # Any code may make the object whose method another one calls.
            for code in islice(codes.values(), looked_at, None):
                known.update(dict.fromkeys(classes_named(types_of(code), set(known))))
            looked_at = len(codes)
            pending += (
                f for code in callers for f in methods_called(code, known) if f not in codes
            )
    return codes


def calls_by_name(code: Code) -> bool:
    """Whether the code calls methods that are looked up by name when it runs."""
    return any(i.op in ("INTERFACE_CALL", "ENTER", "EXIT") for i in code.instructions)


def methods_called(code: Code, classes: Iterable[T.ClassType]) -> Iterator[Function]:
    """The methods of the classes that calls by name in the code may reach."""
    names = {code.constants[i.x] for i in code.instructions if i.op == "INTERFACE_CALL"}
    entered = (
        {"__enter__", "__exit__"} if any(i.op == "ENTER" for i in code.instructions) else set()
    )
    for cls in classes:
        is_called = not code.interfaces or any(T.implements(cls, i) for i in code.interfaces)
        for name in sorted((names | entered if is_called else entered) & set(cls.methods)):
            if isinstance(cls.methods[name], Function):
                yield cls.methods[name]


def types_of(code: Code) -> list[T.Type]:
    """The types of a code's arguments, results, registers and operands."""
    return (
        [a.type for a in (*code.schema.arguments, *code.schema.returns)]
        + code.types
        + [t for t in code.register_types if t is not None]
    )


def classes_named(types: Iterable[T.Type], seen: set[T.ClassType]) -> Iterator[T.ClassType]:
    """The classes in types, and those in the types of their attributes, unless they are in `seen`,
    to which they are added."""
    pending = [part for t in types for part in t.walk()]
    while pending:
        t = pending.pop()
        if isinstance(t, T.ClassType) and t not in seen:
            seen.add(t)
            yield t
            pending += [part for a in t.attributes for part in a.type.walk()]


def classes_in(*values: Any) -> frozenset[T.ClassType]:
    """The classes of all objects inside values."""
    return frozenset(v.type for v in values_in(*values) if isinstance(v, ScriptObject))


class ClassesBehind:
    """Finds the classes whose methods calls by name may reach from values.

    Attributes change between calls, so it looks into the objects each time.  It only looks where
    declared types do not say which classes there are: behind interfaces and Any.
    """

    def __init__(self) -> None:
        self._known: dict[T.ClassType, tuple[frozenset[T.ClassType], list[int]]] = {}

    def classes(self, *values: Any) -> frozenset[T.ClassType]:
        """The classes of the objects inside values, and those that types of attributes name."""
        found: set[T.ClassType] = set()

        def slots_of(value: ScriptObject) -> list[Any]:
            declared, slots = self._facts_of(value.type)
            found.update(declared)
            return [value.slots[i] for i in slots]

        deque(walk(*values, slots_of=slots_of), maxlen=0)
        return frozenset(found)

    def _facts_of(self, cls: T.ClassType) -> tuple[frozenset[T.ClassType], list[int]]:
        """The classes that the types of a class name, and the slots to look into."""
        known = self._known.get(cls)
        if known is None:
            slots = [i for i, a in enumerate(cls.attributes) if is_open(a.type)]
            known = self._known[cls] = frozenset(classes_named([cls], set())), slots
        return known


BEHIND = "classes_behind"
"""Attribute of a Function that calls methods by name: its ClassesBehind."""


def classes_behind(function: Function, values: Iterable[Any]) -> frozenset[T.ClassType]:
    """The classes whose methods a function that calls methods by name may reach if it is passed
    `values`."""
    return kept(function.attributes, BEHIND, ClassesBehind).classes(*values)


def is_open(t: T.Type) -> bool:
    """Whether values of a type may hold objects of classes that it does not name."""
    parts = [*t.walk()]
    parts += [p for c in classes_named([t], set()) for a in c.attributes for p in a.type.walk()]
    return any(isinstance(p, T.InterfaceType) or p in OPEN for p in parts)


OPEN = (T.ANY, T.ANY_LIST, T.ANY_TUPLE, T.ANY_CLASS)


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


def may_keep(code: Code) -> bool:
    """Whether a code may store values in objects, containers or tensors from outside."""
    return calls_by_name(code) or any(
        i.op == "SET_ATTR" or i.op in ("OP", "OPN") and writes(code.operators[i.x])
        for i in code.instructions
    )


def writes(ref: OperatorRef) -> bool:
    """Whether an operator writes to one of its arguments, or nothing is known of it."""
    from ..ops import table

    operator = table.find(ref.name, ref.overload)
    return operator is None or operator.schema.is_mutable


def operators_of(function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
    """The qualified names of the operators that a function may reach, each with the number of
    instructions that call it."""
    counts: Counter[str] = Counter()
    for code in reachable(function, classes=classes).values():
        counts.update(
            code.operators[i.x].qualified_name for i in code.instructions if i.op in ("OP", "OPN")
        )
    return counts
