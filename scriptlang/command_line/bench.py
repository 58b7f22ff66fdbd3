"""scriptlang bench: measures the time of a method, cold and warm, by threads, next to others."""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .inputs import add_inputs, arguments, told
from .main import (
    InputError,
    UsageError,
    add_archive,
    add_engine,
    add_method,
    load_module,
    method_of,
    positive,
)
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_inputs(command)
    add_method(command, "which method to measure")
    add_engine(command)
    command.add_argument(
        "--seconds", type=positive(float), default=2.0, help="how long each measurement lasts (2)"
    )
    command.add_argument(
        "--threads", default="", metavar="N,N", help="numbers of threads to measure with (1)"
    )
    command.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="torch|FILE.onnx",
        help="PyTorch, or onnxruntime with a model that computes the same; repeatable",
    )
    command.add_argument(
        "--optimized", action="store_true", help="measure scriptlang.optimize of it, too"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    threads = threads_of(options.threads)
    start = time.perf_counter()
    module = load_module(options.archive, options, out, options.engine)
    loading = time.perf_counter() - start
    method = method_of(module, options.method, options.archive)
    args, kwargs = arguments(options, method.schema)
    start = time.perf_counter()
    with told(method.schema, args, kwargs):
        method(*args, **kwargs)
    first = time.perf_counter() - start
    runners: dict[str, Runner] = {"scriptlang": lambda n: ours(method, args, kwargs, n)}
    if options.optimized:
        runners["optimized"] = optimized_runner(module, options, args, kwargs)
    for other in options.against:
        runners[other] = runner_of(other, options, args, kwargs)
    rows = []
    for name, make in runners.items():
        for n in threads:
            with out.working(f"measuring {name} on {n} threads"):
                rows.append({"what": name, "threads": n, **measured(make(n), options.seconds)})
    if out.json:
        out.data({"load": loading, "first": first, "rows": rows})
        return 0
    out.text(f"loaded in {milliseconds(loading)}, first call {milliseconds(first)} (cold)")
    base = {r["threads"]: r["median"] for r in rows if r["what"] == "scriptlang"}
    out.table(
        ("warm", "threads", "calls", "median", "10 %", "90 %", "least", "times ours", ""),
        [
            (
                r["what"],
                r["threads"],
                r["calls"],
                *(milliseconds(r[k]) for k in ("median", "p10", "p90", "least")),
                f"{r['median'] / base[r['threads']]:.2f}",
                r["histogram"],
            )
            for r in rows
        ],
        "lrrrrrrrl",
        ("", "calls", "least", "90 %", "10 %"),
    )
    return 0


def threads_of(text: str) -> list[int]:
    try:
        found = [int(n) for n in text.split(",") if n] or [1]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise UsageError(f"--threads takes numbers, 1,2, not {text!r}")
    return found


def milliseconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def measured(call: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Statistics of the times of calls, after a warm-up that is not counted."""
    end = time.perf_counter() + min(seconds / 4, 0.5)
    call()
    while time.perf_counter() < end:
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end and len(times) < 100_000:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    times.sort()
    return {
        "calls": len(times),
        "median": statistics.median(times),
        "p10": times[len(times) // 10],
        "p90": times[len(times) * 9 // 10],
        "least": times[0],
        "histogram": histogram(times),
    }


BARS = "▁▂▃▄▅▆▇█"


def histogram(times: list[float]) -> str:
    """A bar chart of the times, from the least to the 95th percentile."""
    high = times[min(len(times) - 1, len(times) * 95 // 100)]
    counts, _ = np.histogram(times, bins=12, range=(times[0], max(high, times[0] * 1.001)))
    return "".join(BARS[int(c * 7 // max(counts.max(), 1))] for c in counts)


def ours(method: Any, args: list[Any], kwargs: dict[str, Any], n: int) -> Callable[[], Any]:
    from ..api import set_num_threads

    set_num_threads(n)
    return lambda: method(*args, **kwargs)


Runner = Callable[[int], Callable[[], Any]]


def optimized_runner(module: Any, options: Any, args: Any, kwargs: Any) -> Runner:
    from ..programs.optimizing import methods_of, optimize

    fast = getattr(optimize(module.eval(), methods_of(module)), options.method)
    return lambda n: ours(fast, args, kwargs, n)


def runner_of(other: str, options: Any, args: list[Any], kwargs: dict[str, Any]) -> Runner:
    if other == "torch":
        return torch_runner(options, args, kwargs)
    if other.endswith(".onnx"):
        return onnx_runner(other, args)
    raise UsageError(f"--against takes torch or a .onnx file, not {other!r}")


def torch_runner(options: Any, args: list[Any], kwargs: dict[str, Any]) -> Runner:
    try:
        import torch
    except ImportError:
        raise InputError("--against torch: PyTorch is not installed") from None
    from ..observing.comparing import as_torch

    with open(options.archive, "rb") as file:
        module = torch.jit.load(io.BytesIO(file.read()), map_location="cpu").eval()
    given, named = [as_torch(a) for a in args], {k: as_torch(v) for k, v in kwargs.items()}
    method = getattr(module, options.method)

    def make(n: int) -> Callable[[], Any]:
        torch.set_num_threads(n)

        def call() -> Any:
            with torch.no_grad():
                return method(*given, **named)

        return call

    return make


def onnx_runner(path: str, args: list[Any]) -> Runner:
    try:
        import onnxruntime
    except ImportError:
        raise InputError(f"--against {path}: onnxruntime is not installed") from None
    with open(path, "rb"):  # raises an error that names it if it is not there
        pass

    def make(n: int) -> Callable[[], Any]:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = n
        session = onnxruntime.InferenceSession(path, settings)
        names = [i.name for i in session.get_inputs()]
        given = {name: np.asarray(a) for name, a in zip(names, args)}
        return lambda: session.run(None, given)

    return make
