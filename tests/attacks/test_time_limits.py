"""One operator that would take seconds or minutes ends soon after its limit of time."""

import json
import os
import select
import signal
import time

import pytest
from scriptlang.interpreter.engine import available

from scriptlang import Limits
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

from .long_operators import LONG

SECONDS = 0.2
LATEST = 0.8
"""Of the thread's time, with that for inputs: a busy machine lets it wait besides."""


def outcome(name: str, limits: Limits | None = Limits(seconds=SECONDS)) -> tuple[str, float]:
    """(what it ended with, seconds of the processor) of a case on the native engine, here."""
    unit = CompilationUnit(f"def f(x: Tensor):\n    return {LONG[name]}\n")
    run = type(unit.f)(unit.f._function, "native", None, limits)
    x = tensors.filled([4], 1, tensors.chosen(6))
    start, busy = time.monotonic(), time.thread_time()
    try:
        run(x)
        ended = "nothing"
    except BaseException as error:
        ended = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return ended, min(time.monotonic() - start, time.thread_time() - busy + SECONDS / 10)


def in_child(name: str, patience: float = 10) -> tuple[str, float]:
    """`outcome` in a child of this process, which is killed when it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(outcome(name)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready = select.select([reader], [], [], patience)[0]
    text = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not ready:
        return "it did not end", patience
    return json.loads(text) if text else (f"signal {os.WTERMSIG(status)}", 0.0)


FEW = {
    "conv2d",
    "matmul",
    "svd",
    "sort of ints",
    "fft",
    "max_pool2d",
    "randperm",
    "multinomial",
    "lstm",
    "find",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in FEW else pytest.mark.slow) for n in LONG]
)
def test_one_long_operator_ends_at_its_limit(name):
    if "native" not in available():
        pytest.skip("the native engine is not there")
    ended, seconds = in_child(name)
    assert ended.startswith("LimitError") and seconds < LATEST
