"""`python -m benchmarks.one_by_one`: expressions of few operators, scriptlang against torch.jit.

Both run in this process, which needs torch, on one thread and in turns; times are thread times.
Prints every expression whose median ratio (torch.jit's time over ours) is below --below, and how
many there were.  Timings of a busy machine are worth little: measure again what is listed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import math
import pathlib
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import scriptlang

from . import expressions

SHAPES = {1000: (10, 100), 100_000: (100, 1000), 10_000_000: (10_000, 1000)}
TYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "u8": torch.uint8,
    "bool": torch.bool,
}


@dataclass
class Case:
    """One expression on one element type, as both run it."""

    expression: str
    dtype: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]


@dataclass
class Timing:
    case: Case
    ratio: float
    ours: float
    theirs: float

    def __str__(self) -> str:
        return (
            f"{self.ratio:7.2f}  {self.case.dtype:4s} {self.ours * 1e6:11.1f} "
            f"{self.theirs * 1e6:11.1f} us  {self.case.expression}"
        )


def inputs(elements: int, dtype: str) -> dict[str, torch.Tensor]:
    """The tensors that expressions name."""
    rng = np.random.default_rng(0)
    rows, columns = SHAPES[elements]

    def filled(*shape: int, low: int = -50) -> torch.Tensor:
        numbers = (
            rng.standard_normal(shape)
            if TYPES[dtype].is_floating_point
            else rng.integers(low, 50, shape)
        )
        return torch.from_numpy(numbers).to(TYPES[dtype])

    def places(end: int, *shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.integers(0, end, shape))

    x = filled(rows, columns, low=0 if dtype in ("bool", "u8") else -50)
    side = min(rows, columns, 500)
    return {
        "x": x,
        "y": filled(rows, columns, low=1),
        "m": places(2, rows, columns).bool(),
        "n": places(2, rows, columns).bool(),
        "v": x[0].clone(),
        "c": x[:, :1].clone(),
        "i": places(columns, rows),
        "j": places(rows, rows),
        "k": places(columns, rows, columns),
        "l": places(rows, rows, columns),
        "s": torch.linspace(-2, 2, 64),
        "w": torch.tensor([0.1]),
        "p": torch.linspace(0.5, 1.5, 5),
        "q": x[:side, :side].clone(),
        "b": x.view(-1, 10, 50),
        "a": x.view(-1, 4, 5, 5) if elements == 1000 else x.view(-1, 4, 50, 50),
    }


def compiled(chosen: list[tuple[str, str]]) -> Iterator[tuple[str, str, Any, Any]]:
    """Each expression with its type, as functions of scriptlang and of torch.jit."""
    texts = sorted({text for text, _ in chosen})
    source = "import torch\n" + "".join(
        f"\n\ndef f{i}({', '.join(expressions.names(text))}):\n    return {text}\n"
        for i, text in enumerate(texts)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one_by_one_functions.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for text, dtype in chosen:
            function = getattr(module, f"f{texts.index(text)}")
            yield text, dtype, scriptlang.script(function), torch.jit.script(function)


def cases(chosen: list[tuple[str, str]], elements: int) -> Iterator[Case]:
    shared: dict[str, dict[str, torch.Tensor]] = {}
    for text, dtype, ours, theirs in compiled(chosen):
        if dtype not in shared:
            shared[dtype] = inputs(elements, dtype)
        given = [shared[dtype][name] for name in expressions.names(text)]
        mine = [scriptlang.from_dlpack(t) for t in given]
        yield Case(text, dtype, lambda f=ours, a=mine: f(*a), lambda f=theirs, a=given: f(*a))


def batch(run: Callable[[], Any], times: int) -> float:
    """Thread time of one of several calls."""
    start = time.thread_time()
    for _ in range(times):
        run()
    return (time.thread_time() - start) / times


def measure(case: Case, rounds: int, seconds: float) -> Timing:
    """The median of ratios; batches take about `seconds` each."""
    for _ in range(3):
        case.ours(), case.theirs()  # compiles, specializes, warms up
    counts = [
        max(1, min(2000, int(seconds / max(batch(run, 1), 1e-7))))
        for run in (case.ours, case.theirs)
    ]
    pairs = [(batch(case.ours, counts[0]), batch(case.theirs, counts[1])) for _ in range(rounds)]
    ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    return Timing(case, ratio, min(p[0] for p in pairs), min(p[1] for p in pairs))


def sweep(a: argparse.Namespace, elements: int) -> list[Timing]:
    """Measures what was asked for, and what came out below once more."""
    chosen = [
        (text, dtype)
        for text, dtype in expressions.expressions()
        if (not a.types or dtype in a.types.split(",")) and a.only in text
    ]
    timings = []
    for case in cases(chosen, elements):
        try:
            timing = measure(case, a.rounds, a.batch)
            if timing.ratio < a.below:
                again = measure(case, a.rounds, a.batch)
                timing = max(timing, again, key=lambda t: t.ratio)
        except RuntimeError as e:
            print(f"not measured: {case.dtype} {case.expression}: {str(e).splitlines()[-1]}")
            continue
        timings.append(timing)
        if a.all or timing.ratio < a.below:
            print(timing, flush=True)
    return timings


def main() -> None:
    ap = argparse.ArgumentParser(prog="python -m benchmarks.one_by_one", description=__doc__)
    ap.add_argument(
        "--elements", default="100000", metavar="N,...", help=f"of {', '.join(map(str, SHAPES))}"
    )
    ap.add_argument("--types", default="", metavar="T,...", help=f"of {', '.join(TYPES)}")
    ap.add_argument("--only", default="", metavar="TEXT", help="expressions with this in them")
    ap.add_argument("--below", type=float, default=0.95, help="the greatest ratio to list")
    ap.add_argument("--all", action="store_true", help="list every expression")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--batch", type=float, default=0.004, help="seconds of a timed batch")
    a = ap.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    scriptlang.set_num_threads(1)
    for elements in map(int, a.elements.split(",")):
        print(f"{elements} elements: torch.jit's time over ours, type, our time, torch.jit's time")
        with torch.no_grad(), contextlib.suppress(KeyboardInterrupt):
            timings = sweep(a, elements)
        if timings:
            mean = math.exp(statistics.fmean(math.log(t.ratio) for t in timings))
            print(
                f"{len(timings)} expressions, {sum(t.ratio < a.below for t in timings)} below "
                f"{a.below}, geometric mean {mean:.2f}"
            )


if __name__ == "__main__":
    main()
