"""Every operator of the table on large inputs under a limit of memory, on the Python engine.

    python -m tests.attacks.large_operators PART PARTS      (of the operators that have samples)

It prints a line of JSON before and after each call, so that its parent knows which one ended it.
The inputs are the samples of tests/ops, whose arrays are made larger along all their dimensions
alike: so shapes still fit each other.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import signal
import sys
from typing import Any, Iterator

import numpy as np
from scriptlang.interpreter.meter import MemoryMeter
from scriptlang.interpreter.native import load

from scriptlang.allocations import asked_first
from scriptlang.errors import LimitError
from scriptlang.limits import until
from scriptlang.ops import table
from scriptlang.tensors import Tensor
from tests.ops import harness
from tests.ops.one_operator import chosen

LIMIT = 1 << 25
ELEMENTS = 1 << 20
"""About as many has the largest array of a call."""

PATIENCE = 0.5


LANGUAGE = ("test_containers", "test_prim", "test_scalar", "test_sequences", "test_string")
"""Operators on values that are no tensors: `test_limits.py` has theirs."""


class TooLong(Exception):
    """A call is not waited for."""


def samples() -> Iterator[harness.Sample]:
    """One of each operator: the one with the most elements."""
    best: dict[str, tuple[int, harness.Sample]] = {}
    for path in sorted(pathlib.Path(harness.__file__).parent.glob("test_*.py")):
        if path.stem in LANGUAGE:
            continue
        module = importlib.import_module(f"tests.ops.{path.stem}")
        for sample in getattr(module, "SAMPLES", ()):
            size = elements(sample)
            if size > best.get(sample.name, (0, None))[0]:
                best[sample.name] = size, sample
    return iter(sample for _, sample in best.values())


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from arrays(v)


def elements(sample: harness.Sample) -> int:
    return max((a.size for a in arrays([*sample.args, *sample.kwargs.values()])), default=0)


def factor(sample: harness.Sample) -> int:
    """How many times as long the dimensions become."""
    found = [*arrays([*sample.args, *sample.kwargs.values()])]
    k = 1
    while max(a.size * (2 * k) ** sum(n > 1 for n in a.shape) for a in found) <= ELEMENTS:
        k *= 2
    return k


def enlarged(value: Any, k: int) -> Any:
    if isinstance(value, np.ndarray):
        return np.tile(value, [k if n > 1 else 1 for n in value.shape])
    if isinstance(value, (list, tuple)):
        return type(value)(enlarged(v, k) for v in value)
    return value


def peak() -> int:
    """The most that this process had resident, in bytes."""
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10


def run(sample: harness.Sample, limit: int = LIMIT) -> tuple[str, int]:
    """(what the call ended with, bytes that the process grew by)."""
    k = factor(sample)
    args = harness.convert(enlarged(sample.args, k), Tensor._wrap)
    kwargs = {
        name: harness.convert(enlarged(v, k), Tensor._wrap) for name, v in sample.kwargs.items()
    }
    operator, values = chosen(sample.name, args, kwargs)
    kernel = table.find(operator.name, operator.overload).kernel
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak()
    signal.setitimer(signal.ITIMER_REAL, 2 * PATIENCE, PATIENCE)
    try:
        with (
            until(PATIENCE),
            np.errstate(all="ignore"),
            asked_first(MemoryMeter(limit, lambda: []).allow, limit),
        ):
            kernel(*values)
        ended = "a result"
    except LimitError:
        ended = "LimitError"
    except MemoryError:
        ended = "MemoryError"
    except TooLong:
        ended = "too long"
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ended, peak() - before


def main(part: int, parts: int) -> None:
    def alarm(number, frame):
        raise TooLong

    load()
    signal.signal(signal.SIGALRM, alarm)
    for index, sample in enumerate(samples()):
        if index % parts == part:
            print(json.dumps([index, sample.name]), flush=True)
            try:
                ended, grown = run(sample)
            except TooLong:
                ended, grown = "too long", 0
            print(json.dumps([index, sample.name, ended, grown]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
