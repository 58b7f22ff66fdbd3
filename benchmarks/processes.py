"""Whole processes: wall time, peak memory, and what the engines weigh on disk."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Mapping, Sequence

from . import candidates, harness

SIZE_OF = {
    "scriptlang": "import scriptlang.interpreter._native as m; print(m.__file__)",
    "torch.jit": "import torch, os; "
    "print(os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cpu.so'))",
    "onnxruntime": "import onnxruntime.capi.onnxruntime_pybind11_state as m; print(m.__file__)",
}
"""Programs that print the file of each engine."""


def whole(command: Sequence[str]) -> tuple[float, float]:
    """(wall seconds, peak resident bytes) of a process."""
    # As installed: Python keeps what it has compiled of the packages.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(errors.decode(errors="replace").strip()[-200:])
    return time.perf_counter() - start, usage.ru_maxrss * 1024.0


def interpreter(label: str, pythons: Mapping[str, str]) -> str:
    ours = label.startswith("scriptlang") or label == "numpy"
    return pythons["scriptlang" if ours else "torch"]


def fresh(
    name: str, programs: Mapping[str, str], pythons: Mapping[str, str], rounds: int
) -> tuple[list[harness.Result], list[harness.Result]]:
    """Seconds and peak bytes of every program, interleaved; scriptlang is the reference."""
    seconds = {label: harness.Result(name, 1, label) for label in programs}
    memory = {label: harness.Result(f"{name}_memory", 1, label, unit="bytes") for label in programs}
    for turn in range(rounds + 1):
        base: tuple[float | None, float | None] = None, None
        for i, (label, program) in enumerate(programs.items()):
            command = [interpreter(label, pythons), "-c", program.format(files=candidates.FILES)]
            try:
                figures = whole(command)
            except RuntimeError as e:
                seconds[label].note = memory[label].note = str(e)[-100:]
                continue
            base = figures if i == 0 else base
            if turn:  # the first fills the caches of the disk
                seconds[label].add(figures[0], base[0])
                memory[label].add(figures[1], base[1])
    return list(seconds.values()), list(memory.values())


def sizes(pythons: Mapping[str, str]) -> list[harness.Result]:
    """Bytes of each engine's library, stripped of symbols if the tool is there."""
    results, base = [], None
    for label, program in SIZE_OF.items():
        result = harness.Result("engine_size", 1, label, unit="bytes")
        results.append(result)
        done = subprocess.run(
            [interpreter(label, pythons), "-c", program], capture_output=True, text=True
        )
        if done.returncode:
            result.note = done.stderr.strip()[-100:]
            continue
        size = float(os.path.getsize(done.stdout.strip()))
        base = size if label == "scriptlang" else base
        result.add(size, base)
    return results
