"""What the processor can do, so that a figure means something on another machine."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).with_name("rates.c")


@dataclass(frozen=True)
class Machine:
    """The processor, and the rates of one core: GFLOP/s of float32 multiply-adds in registers, and
    GB/s of reading memory.  A rate is 0 where there was no C compiler to measure it with."""

    processor: str
    gigaflops: float = 0.0
    gigabytes: float = 0.0

    def __str__(self) -> str:
        line = f"{self.processor}, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
        if not self.gigaflops:
            return f"{line}; rates not measured: no C compiler"
        return (
            f"{line}; one core does {self.gigaflops:.0f} GFLOP/s of float32 multiply-adds and "
            f"reads {self.gigabytes:.0f} GB/s of memory"
        )


@functools.cache
def here() -> Machine:
    """This machine, its rates measured: a second."""
    return Machine(processor(), *rates())


def processor() -> str:
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as f:
            lines = f.readlines()
        model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
        flags = next((line for line in lines if line.startswith("flags")), "")
        widest = next((name for name in ("avx512f", "avx2") if name in flags.split()), "")
        model += f" ({widest.rstrip('f')})" if widest else ""
    return model or sys.platform


def rates() -> tuple[float, float]:
    """(GFLOP/s, GB/s) of one core."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "rates")
        compiler = os.environ.get("CC", "cc")
        command = [compiler, "-O3", "-march=native", str(SOURCE), "-o", program]
        try:
            subprocess.run(command, check=True, capture_output=True)
            printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return 0.0, 0.0
    gigaflops, gigabytes = map(float, printed.split())
    return gigaflops, gigabytes
