"""Programs that ask for gradients end in a result or an error, within their limits."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from scriptlang.interpreter.engine import available

from scriptlang import Limits
from scriptlang.errors import LimitError
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors
from tests import children

from .derivative_programs import HOSTILE, LIMITS
from .random_derivatives import findings

MOST = 4 * LIMITS.memory
"""Bytes that a process may take that runs one program after the other."""
LATE = 10.0
"""Seconds behind the limit, on a busy machine: what was made is given back, too."""


@pytest.fixture(scope="module")
def ended() -> dict[str, dict[str, list]]:
    """How each program ended, by engine and name."""
    told: dict[str, dict[str, list]] = {}
    for engine in available():
        child = children.run(
            "-m",
            "tests.attacks.derivative_programs",
            engine,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=900,
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        assert child.returncode == 0, (engine, child.returncode, lines[-1:], child.stderr[-500:])
        told[engine] = {line[0]: line[1:] for line in lines if len(line) > 1}
    return told


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_end_within_their_limits(ended, name):
    expected = HOSTILE[name][1]
    for engine, by_name in ended.items():
        told, seconds, used = by_name[name]
        assert seconds < LIMITS.seconds + LATE, engine
        assert sys.platform != "linux" or used < MOST, engine
        if expected == "":
            assert told == "", engine
        elif expected:
            assert expected in told, engine


def run(source: str, engine: str, limits: Limits | None, *args):
    f = CompilationUnit(source).f
    return type(f)(f._function, engine, None, limits)(*args)


def ones():
    return tensors.filled([4], 1, tensors.chosen(6))


SMALL = {
    "nodes": "y = y + y",
    "tensors": "a.append(x * 2)",
    "views": "a.append(x[1:])",
    "views of many dimensions": "a.append(x.view(1, 1, 1, 1, 1, 1, 1, 4))",
}


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_many_small_things_count(engine, recorded, name):
    """What holds next to no elements takes memory, too."""
    if not recorded and name == "nodes":
        pytest.skip("no node is made")
    source = (
        "def f(x: Tensor):\n"
        f"    x = x.detach().requires_grad_({recorded})\n"
        "    y = x * 1\n"
        "    a: List[Tensor] = []\n"
        "    for i in range(1000000):\n"
        f"        {SMALL[name]}\n"
        "    return y.sum(), len(a)\n"
    )
    with pytest.raises(LimitError, match="memory|bytes"):
        run(source, engine, Limits(memory=1 << 22, seconds=60), ones())


def test_random_programs_agree():
    if "native" not in available():
        pytest.skip("the native engine is not built")
    found, worked = findings(range(60), ["native", "python"])
    assert found == [] and worked > 15


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_agree_with_pytorch(seed):
    pytest.importorskip("torch")
    found, _ = findings(range(50 * seed, 50 * seed + 50), [*available(), "torch"])
    assert found == []


SHARING = """
def f(x: Tensor, w: Tensor, n: int):
    y = x
    for i in range(n):
        y = torch.tanh(y * w) + x
    return y.sum()
"""


def required(value: float):
    return tensors.filled([50], value, tensors.chosen(6)).requires_grad_()


@pytest.mark.parametrize("engine", available())
def test_threads_lose_no_gradient(engine):
    """Through one graph, and through graphs that share leaves."""

    def total(in_threads: bool) -> tuple[float, float]:
        x, w = required(1.0), required(0.5)
        y = run(SHARING, engine, None, x, w, 5)

        def again():
            for _ in range(10):
                y.backward(retain_graph=True)

        def anew():
            for _ in range(10):
                run(SHARING, engine, None, x, w, 5).backward()

        threads = [threading.Thread(target=t) for t in (again, again, anew, anew)]
        for t in threads:
            t.start() if in_threads else t.run()
        for t in threads if in_threads else ():
            t.join()
        return float(x.grad.sum()), float(w.grad.sum())

    expected, interval = total(False), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            assert total(True) == pytest.approx(expected, rel=1e-4)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("engine", available())
def test_threads_in_one_graph_that_is_given_back(engine):
    """One of them goes backward; the others do, too, or find that it is over."""
    for _ in range(20):
        x, w = required(1.0), required(0.5)
        y = run(SHARING, engine, None, x, w, 20)
        errors: list[Exception] = []

        def go(y=y, errors=errors):
            try:
                y.backward()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=go) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(errors) < 4
        assert all("second time" in str(error) for error in errors)


@pytest.mark.parametrize("engine", available())
def test_hooks_that_go_backward_again(engine):
    x, w = required(1.0), required(0.5)
    y = run(SHARING, engine, None, x, w, 3)
    depth = 0

    def hook(grad):
        nonlocal depth
        depth += 1
        if depth < 20:
            y.backward(retain_graph=True)
        return grad * 2

    y.register_hook(hook)
    y.backward(retain_graph=True)
    assert depth == 20 and float(x.grad.sum()) != 0


def test_long_graphs_of_the_host():
    """They are walked, and dropped, without recursion."""
    before = threading.stack_size(1 << 20)  # of threads, the smallest there is for the engine
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(walk_and_drop_long_graphs).result()
    finally:
        threading.stack_size(before)


def walk_and_drop_long_graphs() -> None:
    x = required(1.0)
    y = x
    for _ in range(20000):
        y = y + 1
    del y
    y = x
    for _ in range(20000):
        y = y * 1.0
    y.sum().backward()
    assert float(x.grad.sum()) == 50
    last = first = required(1.0)
    for _ in range(20000):
        following = required(1.0)
        last.grad, last = following, following
    del last, following, first
    gc.collect()
