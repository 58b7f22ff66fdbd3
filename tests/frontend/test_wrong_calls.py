"""Wrong calls of what the front end knows by name end in a CompileError with a place and a remedy.

Each name of its tables is called with too few, too many, starred and named arguments, and with
values of many kinds.  Whatever compiles is fine; an error of Python is not.
"""

from __future__ import annotations

import enum
import math
import types
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest
from scriptlang.frontend.modules import module_containers
from scriptlang.frontend.names import (
    checks,
    known_functions,
    library_classes,
    namespaces,
    python_builtins,
    typed_tensors,
)
from scriptlang.frontend.python.script import compile_text
from scriptlang.frontend.values import simple, variadic

import scriptlang
from scriptlang import CompileError, nn

ARGUMENTS = (
    *("", "x", "x, x", "x, x, x, x, x", "n", "n, n", "x, s", "None", "l, l", "d, d", "t", "c, s"),
    *("n > 0", "n > 0, s", "f", "f, x, k=x", "n, int", "List[int], l", "torch, 'relu'", "*l"),
    *("*t, *t", "x, **d", "k=x", "x, k=x", "x, self=x", "cond=b, s=s", "[]", "()", "C, c", "E"),
    *("[(s, x), (s,)]", "a for a in l", "lambda: x", "ValueError(s, s)", "x.relu", "slice(1), l"),
)

HEAD = """
def f(x: Tensor) -> Tensor:
    return x

def g(x: Tensor, n: int, s: str, l: List[int], d: Dict[str, int], t: Tuple[int, str], b: bool,
      c: C, o: Optional[int], p: P):
"""


class C:
    def __init__(self, a: int):
        self.a = a

    def get(self) -> int:
        return self.a

    @staticmethod
    def static(a: int) -> int:
        return a

    @classmethod
    def of_class(cls, a: int) -> int:
        return a


class P(NamedTuple):
    a: int
    b: str = "x"


class E(enum.Enum):
    A = 1
    B = 2


def kw(**kwargs):
    return len(kwargs)


def known(name: str) -> Any:
    """A function that the front end takes for the one of this name."""

    def function():
        pass

    function.__module__, _, function.__name__ = name.rpartition(".")
    return function


class OnDemand:
    def __getattr__(self, name):
        raise RuntimeError(f"{name} cannot be loaded")

    def __call__(self):
        pass


class ModuleOnDemand(types.ModuleType):
    __getattr__ = OnDemand.__getattr__


KNOWN = {f"known_{i}": known(name) for i, name in enumerate(known_functions.KNOWN)}
KNOWN["has_torch_function"] = known("torch.overrides.has_torch_function")
KNOWN |= {f"imported{name}": known(f"torch.{name}") for name in checks.CHECKS}

NAMES: dict[str, Any] = {
    **{"torch": scriptlang, "math": math, "C": C, "P": P, "E": E, "kw": kw},
    "Tensor": scriptlang.Tensor,
    **{"List": List, "Dict": Dict, "Tuple": Tuple, "Optional": Optional},
    **KNOWN,
    **{"on_demand": OnDemand(), "lazy": ModuleOnDemand("lazy")},
}

BY_NAME = [
    *python_builtins.BUILTINS,
    *("ValueError", "KeyError", "ImportError", "UnicodeDecodeError"),
    *(f"torch.jit.{name}" for name in namespaces.JIT),
    *(f"torch.{name}" for name in checks.CHECKS),
    *(f"torch.{name}" for name in (*library_classes.SOURCES, *library_classes.REFUSED)),
    *(f"torch.{name}" for name in typed_tensors.BY_NAME),
    *("torch.tensor", "torch.as_tensor", "torch.device", "torch.Size", "torch.Tensor", "torch.pi"),
    *("torch.nn.functional.max_pool2d", "torch.ops.mine.nothing", "math.sqrt", "math.phase"),
    *KNOWN,
]

METHODS = [
    *(f"x.{name}" for name in (*simple._TENSOR_METHODS, "tolist", "__getitem__", "__len__", "add")),
    *("l.append", "l.sort", "l.pop", "d.get", "d.update", "d.pop", "s.format", "s.join", "t.index"),
    *("c.get", "c.__init__", "C", "C.static", "C.of_class", "C.__new__", "P", "P._fields", "E"),
    *("p._replace", "E.A", "E.A.name", "f", "kw", "super()", "super().get", "x", "n.bit_length"),
    *("lazy", "lazy.x", "on_demand"),
]


def wrong(text: str, compile: Any) -> str:
    """What is wrong with how `compile` ends for a text; "" if nothing is."""
    try:
        compile()
    except CompileError as error:
        if error.span is None or not error.help:
            return f"{text}: {error.message}: no {'remedy' if error.span else 'place'}"
    except Exception as error:
        return f"{text}: {type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("callee", [*BY_NAME, *METHODS])
def test_a_name_of_the_front_end(callee):
    texts = [f"{callee}({given})" for given in ARGUMENTS]
    found = [wrong(t, lambda: compile_text(f"{HEAD}    return {t}\n", NAMES)) for t in texts]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize("name", variadic.KEYWORD_METHODS)
def test_a_method_of_kwargs(name):
    given = [*ARGUMENTS, "'a'", "'a', x", "'a', x, x", "'z'", "'a', default=x", "**kwargs"]
    texts = [f"kwargs.{name}({a})" for a in given]
    inner = "    def h(**kwargs):\n        return {}\n    return h(a=x, b=n)\n"
    found = [wrong(t, lambda: compile_text(HEAD + inner.format(t), NAMES)) for t in texts]
    assert not any(found), "\n".join(filter(None, found))


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
        self.named = nn.ModuleDict({"a": nn.Linear(2, 2)})
        self.in_order = nn.Sequential(nn.ReLU())
        self.weights = nn.ParameterList([nn.Parameter(scriptlang.ones(2))])
        self.weight = nn.ParameterDict({"a": nn.Parameter(scriptlang.ones(2))})

    def forward(self, x):
        return x

    def some(self, *args, **kwargs):
        return len(args)


HELD = ("layers", "named", "in_order", "weights", "weight")

OF_MODULES = [
    *(f"self.{name}" for name in module_containers.WALKS),
    *(
        f"self.{held}.{name}"
        for held in HELD
        for name in ("keys", "values", "items", "__contains__", "__len__", "forward", "append")
    ),
    *(f"self.{held}" for held in HELD),
    *("super", "super().forward", "super().nothing", "self", "self.some", "getattr", "hasattr"),
    *("len", "list", "dict", "enumerate", "zip", "reversed", "isinstance", "torch.jit.fork"),
]

GIVEN = (
    *("", "x", "x, x", "self", "self.layers", "self.named, 'a'", "self, 'layers'", "'a'", "'z', x"),
    *("*self.layers", "**self.named", "k=x", "prefix='a'", "Holder", "Holder, self", "Holder, x"),
    *("Holder, self, x", "x, self", "self.named.items()", "self.weights", "1", "None", "recurse=x"),
)


@pytest.mark.parametrize("callee", OF_MODULES)
def test_what_modules_have(callee):
    def compile(text: str):
        made = scriptlang.script(Holder(), engine="python")
        made.define(f"def method(self, x):\n    return {text}\n")

    texts = [f"{callee}({given})" for given in GIVEN]
    found = [wrong(t, lambda: compile(t)) for t in texts]
    assert not any(found), "\n".join(filter(None, found))
