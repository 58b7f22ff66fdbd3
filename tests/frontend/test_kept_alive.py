"""The front end keeps no function and no class of the program alive that nothing else uses."""

from __future__ import annotations

import enum
import gc
import sys
import types
import weakref
from typing import List, Optional

import pytest
from scriptlang.frontend.overloads import matching
from scriptlang.frontend.python.interfaces import interface_type
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import jit, nn
from scriptlang import types as T
from scriptlang.objects import PythonClasses, python_classes
from tests.frontend.test_autograd_functions import Function


def a_function():
    def inner(x: int) -> int:
        return x + 1

    def outer(x: int) -> int:
        return inner(x)

    assert scriptlang.script(outer, engine="python")(1) == 2
    return inner


def a_function_with_stars():
    def inner(*x: int) -> int:
        return x[0]

    def outer(x: int) -> int:
        return inner(x, 2)

    assert scriptlang.script(outer, engine="python")(1) == 1
    return inner


def an_overloaded_function():
    @jit._overload
    def inner(x: int) -> int: ...

    @jit._overload
    def inner(x: str) -> str: ...

    def inner(x):
        return x

    def outer(x: int, s: str):
        return inner(x), inner(s)

    assert scriptlang.script(outer, engine="python")(1, "a") == (1, "a")
    return inner


def an_ignored_function():
    @jit.ignore
    def inner(x: int) -> int:
        return x + 1

    def outer(x: int) -> int:
        return inner(x) + inner(x)

    assert scriptlang.script(outer, engine="python")(1) == 4
    return inner


def an_autograd_function():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    def outer(x):
        return Double.apply(x)

    assert scriptlang.script(outer, engine="python")(scriptlang.ones(1)).item() == 2
    return Double


def a_module():
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

        def first(self, *x: int) -> int:
            return x[0]

        @jit.export
        def more(self, x: int) -> int:
            return self.first(x, 2)

    assert scriptlang.script(Layers(), engine="python").more(1) == 1
    return Layers


def a_named_tuple():
    import typing

    class Pair(typing.NamedTuple):
        first: int

    def outer(x: int) -> int:
        return Pair(x).first

    assert scriptlang.script(outer, engine="python")(1) == 1
    return Pair


def a_script_class():
    @jit.script
    class Node:
        def __init__(self, x: int):
            self.x = x

        def chain(self, others: List["Node"]) -> List["Node"]:
            return others

    def outer(x: int) -> int:
        return Node(x).chain([Node(x + 1)])[0].x

    for engine in available():
        assert scriptlang.script(outer, engine=engine)(1) == 2
    return Node


def an_enum():
    class Color(enum.Enum):
        RED = 1

    class Module(nn.Module):
        def forward(self, other: Optional[Color]) -> Color:
            return Color.RED if other is None else other

    for engine in available():
        assert scriptlang.script(Module(), engine=engine)(None) is Color.RED
    return Color


def an_interface():
    @jit.interface
    class Gives:
        def get(self) -> int:
            pass

    assert "get" in interface_type(Gives).methods
    return Gives


def last(x: int) -> int:
    return x


@pytest.mark.parametrize(
    "make",
    [
        a_function,
        a_function_with_stars,
        an_overloaded_function,
        an_ignored_function,
        an_autograd_function,
        a_module,
        a_named_tuple,
        a_script_class,
        an_enum,
        an_interface,
    ],
)
def test_it_is_gone_when_its_program_is(make, monkeypatch):
    if "torch.autograd" not in sys.modules:
        monkeypatch.setitem(sys.modules, "torch.autograd", types.SimpleNamespace(Function=Function))
    made = weakref.ref(make())
    scriptlang.script(last, engine="python")(1)  # The program that ran last is kept.
    gc.collect()
    assert made() is None


def test_a_class_that_was_made_in_c_has_a_type_of_its_own():
    table, made = PythonClasses(), T.ClassType("C")
    table[int] = made
    assert table.get(int) is made and table.get(bool) is None
    table.pop(int)
    assert table.get(int) is None


def test_a_subclass_does_not_have_the_type_of_its_base():
    class Base:
        pass

    class Derived(Base):
        pass

    python_classes[Base] = made = T.ClassType("Base")
    assert python_classes.get(Base) is made and python_classes.get(Derived) is None


def test_modules_of_one_kind_share_a_type_while_one_is_used():
    class Layer(nn.Module):
        def forward(self, x):
            return x

    first, second = scriptlang.script(Layer()), scriptlang.script(Layer())
    assert first._type is second._type
    del first
    gc.collect()
    assert scriptlang.script(Layer())._type is second._type


class Number:
    def __init__(self, x: int):
        self.x = x


def numbers(x: int) -> int:
    made = [Number(x)]
    made.append(Number(x + 1))
    return made[1].x


def test_no_decision_about_classes_is_kept():
    assert scriptlang.script(numbers, engine="python")(1) == 2
    kept = {
        part
        for _, shapes, named, own in matching._decided
        for shape in (*shapes, *dict(named).values(), *([own] if own else []))
        for part in shape[0].walk()
    }
    assert kept and not any(isinstance(part, T.ClassType) for part in kept)
