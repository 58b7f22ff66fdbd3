"""Programs that spin, swallow memory, recurse or take long in one operator end at their limits."""

import resource
import sys
import time
from typing import Callable

import pytest

from scriptlang import Limits
from scriptlang.errors import LimitError, RunError
from scriptlang.interpreter.engine import available
from scriptlang.jit import CompilationUnit
from scriptlang.ops import create as tensors

LIMITS = Limits(instructions=20_000_000, memory=1 << 26, seconds=2, depth=50)

PROGRAMS = {
    "a loop": "n = 0\n    while x.size(0) > 0:\n        n += 1\n    return n",
    "strings that double": "s = 'ab'\n    for i in range(100):\n        s = s + s\n    return s",
    "formats that double": "s = 'ab'\n    for i in range(100):\n        s = '{}{}'.format(s, s)\n"
                           "    return s",
    "lists that double": "s = [1]\n    for i in range(100):\n        s = s + s\n    return s",
    "many strings": "s = ['']\n    while x.size(0) > 0:\n        s.append('a'.ljust(1 << 20))\n"
                    "    return s",
    "a dict that grows": "d = {0: ''}\n    for i in range(1 << 40):\n"
                         "        d[i] = 'a'.ljust(1 << 16)\n    return d",
    "tensors in a list": "s = [x]\n    while x.size(0) > 0:\n        s.append(x.repeat(1 << 14))\n"
                         "    return s",
    "long operators": "y = x.expand(1 << 10, 2).contiguous()\n    while x.size(0) > 0:\n"
                      "        y = y + y.t().contiguous().t()\n    return y",
}

OPERATORS = {
    "a list of 2^60": "return [1] * (1 << 60)",
    "a string of 2^60": "return 'a'.ljust(1 << 60)",
    "zeros": "return torch.zeros([1 << 60])",
    "zeros that overflow": "return torch.zeros([1 << 31, 1 << 31, 4])",
    "arange": "return torch.arange(1 << 60)",
    "eye": "return torch.eye(1 << 31)",
    "repeat": "return x.repeat(1 << 30, 1 << 30)",
    "expand": "return x.expand(1 << 50, 2).contiguous()",
    "pad": "return torch.constant_pad_nd(x, [1 << 40, 1 << 40])",
    "upsample": "return torch.upsample_nearest1d(x.reshape(1, 1, 2), [1 << 45])",
    "one_hot": "return torch.one_hot(torch.zeros([1], dtype=torch.int64), 1 << 50)",
    "as_strided": "return torch.as_strided(x, [1 << 40], [1])",
    "adaptive pooling": "return torch.adaptive_avg_pool1d(x.reshape(1, 1, 2), [1 << 45])",
    "stack": "return torch.stack([x.expand(1 << 44, 2)] * 3)",
    "bincount": "return torch.bincount(torch.tensor([1]), minlength=1 << 60)",
    "linspace": "return torch.linspace(0.0, 1.0, 1 << 50)",
    "randperm": "return torch.randperm(1 << 60)",
}


def function(body: str, engine: str, limits: Limits | None = None) -> Callable:
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    unit = CompilationUnit(f"def f(x: Tensor):\n    {body}\n")
    return type(unit.f)(unit.f._function, engine, None, limits)


def x():
    return tensors.filled([2], 1, tensors.chosen(6))


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_limits_hold(name, engine):
    run = function(PROGRAMS[name], engine, LIMITS)
    start = time.process_time()
    with pytest.raises(LimitError):
        run(x())
    assert time.process_time() - start < 30


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("name", OPERATORS)
def test_sizes_without_measure_are_refused(name, engine):
    """At once, with an error of the program, and without the memory."""
    run = function(OPERATORS[name], engine)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises((RunError, RuntimeError, ValueError, IndexError)) as e:
        run(x())
    assert str(e.value) and time.process_time() - start < 10
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert sys.platform != "linux" or grown < 1 << 20
