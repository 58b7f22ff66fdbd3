"""Programs that spin, swallow memory, recurse or take long in one operator end at their limits."""

import gc
import pathlib
import resource
import sys
import time
from typing import Callable

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang import Limits
from scriptlang.errors import LimitError, RunError
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

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


AT_ONCE = {
    "zeros": "torch.zeros([1 << 28])",
    "ones": "torch.ones([1 << 14, 1 << 14])",
    "an outer sum": "torch.arange(30000).reshape(-1, 1) + torch.arange(30000)",
    "a comparison": "torch.arange(60000).reshape(-1, 1) < torch.arange(60000)",
    "where": "torch.where(x > 0, x.expand(1 << 27, 2), x)",
    "matmul": "torch.ones([30000, 1]) @ torch.ones([1, 30000])",
    "einsum": "torch.einsum('i,j->ij', torch.ones([30000]), torch.ones([30000]))",
    "cdist": "torch.cdist(torch.ones([30000, 2]), torch.ones([30000, 2]))",
    "contiguous": "x.expand(1 << 27, 2).contiguous()",
    "repeat": "x.repeat(1 << 27)",
    "cat": "torch.cat([x.expand(1 << 26, 2), x.expand(1 << 26, 2)])",
    "stack": "torch.stack([x.expand(1 << 26, 2)] * 3)",
    "index": "x[torch.zeros([1 << 18], dtype=torch.int64).expand(1 << 10, 1 << 18)]",
    "embedding": "torch.embedding(torch.ones([2, 1 << 14]), torch.zeros([1 << 14], "
    "dtype=torch.int64))",
    "conv": "torch.conv1d(torch.ones([1, 1, 1 << 19]), torch.ones([512, 1, 1]))",
    "pad": "torch.constant_pad_nd(x, [1 << 27, 1 << 27])",
    "cumsum": "x.expand(1 << 27, 2).cumsum(0)",
    "random numbers": "torch.randn([1 << 28])",
    "combinations": "torch.combinations(torch.arange(30000))",
    "pooling": "torch.adaptive_avg_pool1d(x.reshape(1, 1, 2), [1 << 25])",
    "views": "x.expand(1 << 23, 2).unbind(0)",
    "parts": "x.expand(1 << 23, 2).split(1)",
    "a list": "[1] * (1 << 28)",
    "a string": "'a'.ljust(1 << 30)",
    "zeros before a number": "'1'.zfill(1 << 30)",
    "replace": "'a'.ljust(1 << 15).replace(' ', 'b'.ljust(1 << 15))",
    "tabs": "'\\t'.ljust(100, '\\t').expandtabs(1 << 24)",
    "join": "'a'.join(['b'.ljust(1 << 15)] * (1 << 15))",
    "the text of a list": "str(['b'.ljust(1 << 15)] * (1 << 15))",
    "the text of a tensor": "str(x.expand(1 << 25, 2))",
    "format": "'{}{}{}{}{}{}{}{}'.format(s, s, s, s, s, s, s, s)",
    "%": "'%s%s%s%s%s%s%s%s' % (s, s, s, s, s, s, s, s)",
}
"""What one operator would make, of more than half a gigabyte."""


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")
@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("name", AT_ONCE)
def test_one_operator_asks_before_it_allocates(name, engine):
    body = f"s = 'b'.ljust(1 << 25)\n    return {AT_ONCE[name]}"
    run = function(body, engine, Limits(memory=1 << 26, seconds=20))
    x(), gc.collect()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak()
    with pytest.raises(LimitError, match="limit"):
        run(x())
    assert peak() - before < 300 << 10


def peak() -> int:
    """The most that this process had resident, in KB."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def test_arrays_are_counted_again_after_a_refusal():
    run = function(
        "return torch.zeros([n]).sum() if x.numel() > 2 else torch.zeros([1 << 28])".replace(
            "n]", "1 << 10]"
        ),
        "python",
        Limits(memory=1 << 26),
    )
    with pytest.raises(LimitError, match="asks for 1,073,741,824 bytes"):
        run(x())
    assert run(tensors.filled([3], 1, tensors.chosen(6))).item() == 0
    assert len(np.zeros(1 << 25)) == 1 << 25  # outside of the run there is no limit


@pytest.mark.parametrize("engine", ["python", "native"])
def test_what_a_list_no_longer_holds_is_given_back(engine):
    run = function(
        "s = [x]\n    for i in range(2000):\n        s[0] = x.repeat(1 << 14)\n"
        "    return s[0].numel()",
        engine,
        Limits(memory=1 << 22),
    )
    assert run(x()) == 1 << 15
