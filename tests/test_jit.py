"""scriptlang.jit offers what torch.jit offers, with the same meaning."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import pytest
from scriptlang.frontend.syntax.modifiers import modifier
from scriptlang.interpreter import engine as engines

import scriptlang
import scriptlang as torch
from scriptlang.errors import CompileError

ENGINES = engines.available()

IMPORTED_THERE = {"contextmanager", "Iterator"}
"""Names in torch.jit that are only what its source imports; modules are such, too."""


def x(*values: float):
    return scriptlang.from_numpy(np.array(values, np.float32))


@pytest.mark.oracle
def test_every_public_name_is_there():
    import torch as pytorch

    names = {
        n
        for n in dir(pytorch.jit)
        if not n.startswith("_") and not inspect.ismodule(getattr(pytorch.jit, n))
    }
    missing = {n for n in names - IMPORTED_THERE if not hasattr(scriptlang.jit, n)}
    assert missing == set(scriptlang.jit.REFUSED)
    for name in missing:
        with pytest.raises(AttributeError, match=f"{name}: .+"):
            getattr(scriptlang.jit, name)


def test_decorators_mark_and_leave_be():
    def f(x):
        return x

    for decorate, word in (
        (torch.jit.export, "export"),
        (torch.jit.unused, "unused"),
        (torch.jit.ignore, "ignore"),
        (torch.jit.ignore(), "ignore"),
        (torch.jit.ignore(drop=True), "unused"),
        (torch.jit.script_method, "export"),
    ):
        assert decorate(f) is f and modifier(f) == word


@pytest.mark.oracle
def test_marks_are_pytorchs():
    import torch as pytorch

    for ours, theirs in (
        (torch.jit.export, pytorch.jit.export),
        (torch.jit.unused, pytorch.jit.unused),
        (torch.jit.ignore, pytorch.jit.ignore),
    ):
        marks = [decorate(lambda x: x)._torchscript_modifier for decorate in (ours, theirs)]
        assert str(marks[0]) == str(getattr(marks[1], "value", marks[1]))


def test_unused_properties_mark_their_accessors():
    class C:
        @property
        def p(self):
            return 1

    torch.jit.unused(C.p)
    assert modifier(C.p.fget) == "unused"


@pytest.mark.parametrize(
    "value, type, expected",
    [
        ([1], List[int], True),
        (["a"], List[int], False),
        ({"a": 1}, Dict[str, int], True),
        ((1, "a"), Tuple[int, str], True),
        ((1,), Tuple[int, str], False),
        (None, Optional[int], True),
        (1.0, Union[int, str], False),
        ([[1], []], List[List[int]], True),
        (3, (str, int), True),
    ],
)
def test_isinstance_in_python(value, type, expected):
    assert torch.jit.isinstance(value, type) is expected


def test_isinstance_wants_what_a_list_holds():
    with pytest.raises(RuntimeError, match="without a contained type"):
        torch.jit.isinstance([1], List)


def test_eager_values():
    assert torch.jit.annotate(List[int], [1]) == [1]
    assert torch.jit.Attribute(3, int) == (3, int)
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing()
    with torch.jit.optimized_execution(False), torch.jit.fuser("fuser1"), torch.jit.strict_fusion():
        torch.jit.set_fusion_strategy([("STATIC", 2)])
        torch.jit.enable_onednn_fusion(True)
    assert torch.jit.onednn_fusion_enabled() is False


def test_compilation_units_see_their_surroundings():
    @torch.jit.script
    def triple(x: int) -> int:
        return x * 3

    unit = torch.jit.CompilationUnit("def f(x: int) -> int:\n    return triple(x) + 1\n")
    unit.define("def g(x: int) -> int:\n    return f(x) * 2\n")
    assert unit.g(1) == 8 and unit.find_function("g") is unit.g
    with pytest.raises(AttributeError, match="no attribute 'h'"):
        unit.h
    given = torch.jit.CompilationUnit()
    given.define("def f(x: int) -> int:\n    return other(x)\n", {"other": triple}.get)
    assert given.f(2) == 6


@torch.jit.script_if_tracing
def by_value(x, n: int):
    if n > 2:
        return x * n
    return x


def test_script_if_tracing():
    assert by_value(x(1.0), 3).tolist() == [3.0]
    traced = torch.jit.trace(lambda x: by_value(x, x.size(0)), x(1.0))
    assert traced(x(1.0, 2.0, 3.0)).tolist() == [3.0, 6.0, 9.0]
    assert traced(x(1.0, 2.0)).tolist() == [1.0, 2.0]


def test_the_last_graph():
    f = torch.jit.script(lambda x: x + 1)
    f(x(1.0))
    assert [n.kind for n in torch.jit.last_executed_optimized_graph().ir.nodes][-1] == "aten::add"


class Doubling(torch.jit.ScriptModule):
    def __init__(self, n: int):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(n, n))
        self.k = torch.jit.Attribute(2, int)
        self.define("def more(self, x):\n    return x + self.k\n")

    @torch.jit.script_method
    def forward(self, x):
        return self.times(x.mm(self.w))

    @torch.jit.script_method
    def times(self, x):
        return x * self.k


def test_classes_of_script_modules():
    m = Doubling(2)
    assert isinstance(m, torch.jit.ScriptModule)
    assert m(torch.ones(1, 2)).tolist() == [[4.0, 4.0]]
    assert m.more(x(1.0)).tolist() == [3.0]
    assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)


# with


def modes(x):
    before = torch.is_grad_enabled()
    with torch.no_grad():
        inside = torch.is_grad_enabled()
        with torch.no_grad():
            pass
        still = torch.is_grad_enabled()
    return before, inside, still, torch.is_grad_enabled()


def mode_set(x):
    torch.set_grad_enabled(False)
    return torch.is_grad_enabled()


@pytest.mark.parametrize("name", ENGINES)
def test_modes_in_programs(name):
    assert torch.jit.script(modes, engine=name)(x()) == (True, False, False, True)
    assert torch.jit.script(mode_set, engine=name)(x()) is False
    assert torch.jit.script(modes, engine=name)(x()) == (True, False, False, True)


def test_modes_in_python():
    assert modes(x()) == (True, False, False, True)
    with torch.inference_mode():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()

    @torch.no_grad()
    def f():
        return torch.is_grad_enabled()

    @torch.no_grad
    def g():
        return torch.is_grad_enabled()

    assert (f(), g(), torch.is_grad_enabled()) == (False, False, True)


def test_contexts_that_pytorch_refuses():
    for text in (
        "torch.enable_grad()",
        "torch.inference_mode()",
        "torch.set_grad_enabled(True)",
        "x",
    ):
        with pytest.raises(CompileError) as caught:
            torch.jit.CompilationUnit(f"def f(x):\n    with {text}:\n        y = x\n    return y\n")
        assert caught.value.span.line == 2


@torch.jit.script
class Log:
    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> str:
        print("enter", self.name)
        return self.name

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        print("exit", self.name)


def leaves_early(n: int) -> int:
    for i in range(n):
        with Log("a") as a, Log("b"):
            if i == 1:
                continue
            if i == 2:
                return i + len(a)
    return 0


def raises(n: int) -> int:
    with Log("a"):
        if n > 0:
            raise ValueError("no")
    return n


@pytest.mark.parametrize("name", ENGINES)
def test_ways_out_of_a_with(name, capfd):
    assert torch.jit.script(leaves_early, engine=name)(5) == 3
    assert capfd.readouterr().out.split("\n")[:-1] == ["enter a", "enter b", "exit b", "exit a"] * 3
    with pytest.raises(ValueError, match="no"):
        torch.jit.script(raises, engine=name)(1)
    assert capfd.readouterr().out == "enter a\n"  # as in PyTorch, which does not exit


@pytest.mark.parametrize("thing", [3, "abc", None, len])
def test_what_is_no_program_is_refused_where_script_was_called(thing):
    with pytest.raises(TypeError, match="script takes a function") as e:
        scriptlang.script(thing)
    assert isinstance(e.value, scriptlang.CompileError)
    assert e.value.span.text == "scriptlang.script(thing)" and e.value.help
