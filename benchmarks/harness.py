"""One harness for every measurement.

Each candidate (scriptlang or a peer) lives in its own worker process, so that thread pools do not
fight.  The controller asks them in turn for one timed batch at a time, A B C, B C A, C A B, ..., so
that none always comes after the same other; what is reported is the median over rounds of seconds a
call, and the ratio to the first candidate, taken round by round so that a machine whose speed
drifts does not tilt it.  With one thread a call's seconds are the processor's, which are its own
however many others want the processor; with more they are the clock's.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from time import sleep


@dataclass(frozen=True)
class Candidate:
    """`module:function` in benchmarks.candidates called with `options` gives a callable to time."""

    name: str
    factory: str
    options: dict = field(default_factory=dict)
    python: str = "scriptlang"


@dataclass(frozen=True)
class Row:
    """One measurement: a name, what it measures, and candidates (the first is the reference)."""

    name: str
    title: str
    candidates: tuple[Candidate, ...]
    threads: tuple[int, ...] = (1, 2)
    operations: int = 0


@dataclass
class Result:
    """Seconds a call (or bytes) by round, for one candidate of one row at one thread count."""

    row: str
    threads: int
    candidate: str
    seconds: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    note: str = ""
    unit: str = "seconds"
    operations: int = 0

    def add(self, value: float, base: float | None) -> None:
        """One round: what this candidate took, and the reference beside it (None: it failed)."""
        self.seconds.append(value)
        if base:
            self.ratios.append(value / base)

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def ratio(self) -> float | None:
        """Seconds of this candidate over the reference's; over 1: the reference is faster."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def gigaflops(self) -> float | None:
        """Operations a nanosecond, where the row says how many there are."""
        return self.operations / self.median * 1e-9 if self.operations and self.median else None

    @property
    def spread(self) -> float | None:
        """Half the range between the quartiles of the ratio."""
        if len(self.ratios) < 4:
            return None
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return (high - low) / 2


PAUSE = 0.25
"""Seconds until the threads of other processes' pools sleep: onnxruntime's wait actively for 60 ms
after its last call, on the processor that who comes next would have."""


class Worker:
    """A process that holds one candidate and times it when asked."""

    def __init__(self, candidate: Candidate, python: str, threads: int):
        env = dict(
            os.environ,
            OMP_NUM_THREADS=str(threads),
            MKL_NUM_THREADS=str(threads),
            OPENBLAS_NUM_THREADS=str(threads),
        )
        self.process = subprocess.Popen(
            [
                python,
                "-m",
                "benchmarks.worker",
                candidate.factory,
                json.dumps(dict(candidate.options, threads=threads)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.threads = threads
        self.note = ""
        reply = self.read()
        self.alive = reply.get("ready", False)
        self.note = reply.get("error", "")

    def read(self) -> dict:
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {"error": f"the worker ended with {self.process.wait()}"}

    def time(self, seconds: float) -> float | None:
        """Seconds a call over a batch that lasts about `seconds`."""
        batch = {"seconds": seconds, "clock": "processor" if self.threads == 1 else "wall"}
        self.process.stdin.write(json.dumps(batch) + "\n")
        self.process.stdin.flush()
        reply = self.read()
        if self.threads > 1:
            sleep(PAUSE)
        if "error" in reply:
            self.alive, self.note = False, reply["error"]
        return reply.get("per_call")

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=20)


def run_row(row: Row, pythons: dict[str, str], rounds: int, batch: float) -> list[Result]:
    """Measure one row at each of its thread counts."""
    results = []
    for threads in row.threads:
        workers = [
            (c, Worker(c, pythons.get(c.python, sys.executable), threads)) for c in row.candidates
        ]
        here = {
            c.name: Result(row.name, threads, c.name, note=w.note, operations=row.operations)
            for c, w in workers
        }
        for worker in (w for _, w in workers if w.alive):
            worker.time(batch)  # warm
        for turn in range(rounds):
            took = {}
            for c, w in in_turn(workers, turn):
                took[c.name] = w.time(batch) if w.alive else None
                here[c.name].note = w.note
            base = took[row.candidates[0].name]
            for name, seconds in took.items():
                if seconds is not None:
                    here[name].add(seconds, base)
        for _, w in workers:
            w.close()
        results += here.values()
    return results


def in_turn(items: list, turn: int) -> list:
    """All of them, each turn from the next one on."""
    first = turn % len(items)
    return items[first:] + items[:first]
