"""The fast path of calls that are like the last one: one generated function that checks everything
that a straight graph was made for, and runs it.

A check in a loop takes several times as long as the same check written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...dtypes import get_default_dtype
from ...tensors import Tensor
from .leaves import apart_from, plain

if TYPE_CHECKING:
    from .straight import Straight

MOST_WRITTEN_OUT = 64
"""The most tensors and objects in objects whose checks are written out. Calls with more take far
longer than the checks, and the text would take long to compile."""


class Quick:
    """What runs a graph for arguments like these: tensors and objects.

    arity: their number. call: takes so many, and returns NotImplemented if one is not of the same
    kind or is no longer apart from what is written, or if objects have changed. is_plain: see
    Straight.
    """

    __slots__ = ("arity", "call", "is_plain")

    def __init__(self, made: Straight, args: Sequence[Any]) -> None:
        self.arity, self.is_plain = len(args), made.is_plain
        self.call: Callable[..., Any] = Writer(made, args).function()


class Writer:
    """Writes the function. names: the values of the global names in its text."""

    def __init__(self, made: Straight, args: Sequence[Any]) -> None:
        self.made, self.args = made, args
        self.names: dict[str, Any] = {"Tensor": Tensor, "default": get_default_dtype}

    def name(self, value: Any) -> str:
        """A global name for a value."""
        made = f"v{len(self.names)}"
        self.names[made] = value
        return made

    def function(self) -> Callable[..., Any]:
        parameters = [f"a{i}" for i in range(len(self.args))]
        tensors = [p for p, a in zip(parameters, self.args) if isinstance(a, Tensor)]
        checks = [*self.of_arguments(), *self.of_objects()]
        if self.made.looks_at_arguments:
            checks.append(f"{self.name(self.made.takes)}(({''.join(f'{t}, ' for t in tensors)}))")
        held = self.held()
        bare = self.name(plain)
        given = [f"{t} if {t}._autograd is None and not {t}._requires_grad else {bare}({t})"
                 for t in tensors]  # fmt: skip
        call = f"{self.name(self.made.function)}({', '.join([*given, *held])})"
        if self.made.hands_on:
            call = f"{self.name(apart_from)}(({''.join(f'{h}, ' for h in held)}), {call})"
        text = (
            f"lambda {', '.join(parameters)}: {self.name(self.made.fill)}({call}) "
            f"if {' and '.join(checks)} else NotImplemented"
        )
        made: Callable[..., Any] = eval(text, self.names)
        return made

    def of_arguments(self) -> list[str]:
        checks = []
        for i, a in enumerate(self.args):
            if not isinstance(a, Tensor):
                checks.append(f"a{i} is {self.name(a)}")
                continue
            checks += [
                f"type(a{i}) is Tensor",
                f"a{i}._size == {self.name(a._size)}",
                f"a{i}.dtype is {self.name(a.dtype)}",
            ]
        return checks

    def of_objects(self) -> list[str]:
        """That objects have the same tensors in the same memory, and the rest as it was."""
        made = self.made
        if len(made.lifted) + len(made.objects) > MOST_WRITTEN_OUT:
            return [f"{self.name(made.holds)}()"]
        checks = [f"default() is {self.name(made.default)}"]
        for obj, slot, value in (*made.lifted, *made.objects):
            checks.append(f"{self.name(obj)}.slots[{slot!r}] is {self.name(value)}")
        for tensor, storage, size, stride, offset, dtype in made.memory:
            t = self.name(tensor)
            checks += [
                f"{t}._storage is {self.name(storage)}",
                f"{t}._size == {self.name(size)}",
                f"{t}._stride == {self.name(stride)}",
                f"{t}._offset == {self.name(offset)}",
                f"{t}.dtype is {self.name(dtype)}",
            ]
        for tensor, flag in made.flags:
            checks.append(f"{self.name(tensor)}._requires_grad is {flag}")
        if made.containers or made.read:
            checks.append(f"{self.name(made.attributes_hold)}()")
        return checks

    def held(self) -> list[str]:
        """What the graph gets of objects. Numbers are read at each call."""
        held = list(map(self.name, self.made.aliases))
        for i, obj, slot in self.made.numbers:
            held[i] = f"{self.name(obj)}.slots[{slot!r}]"
        return held
