"""Runs random calls on several engines and gathers what is found."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple

from tests import children
from tests.native_build import environment

from . import compare, decompositions, generate, values
from .worker import FAULTY

Finding = namedtuple("Finding", "overload kind pair call what")
"""kind: crash, sanitizer, hang, memory, or as compare.difference has them."""


class Worker:
    """The process of an engine, which is started again when it dies itself."""

    def __init__(self, name: str, native: str = "", guard: bool = False):
        self.name = name
        self.errors = tempfile.TemporaryFile()
        added = environment(native) if native and name == "native" else {}
        if guard and name == "native":
            added["SCRIPTLANG_GUARD"] = "1"
        self.command = [sys.executable, "-m", "tests.attacks.random_calls.worker", name]
        if native and name == "native":
            self.command.append(native)
        self.places = children.places()
        self.places["env"].update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", **added)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            **self.places,
        )

    def run(self, overload: str, seed: int, numbers: list[int]) -> dict[int, tuple]:
        """Outcomes by number; a call that ended the process has ("died", kind, what)."""
        return self.all_of(lambda left: (overload, seed, left), numbers)

    def run_texts(self, texts: list[str]) -> dict[str, tuple]:
        """The same of calls that are given as texts, by these."""
        told: dict[str, tuple] = {}
        for begin in range(0, len(texts), self.TOGETHER):
            some = texts[begin : begin + self.TOGETHER]
            outcomes = self.all_of(lambda left: {n: some[n] for n in left}, range(len(some)))
            told.update((some[n], outcome) for n, outcome in outcomes.items())
        return told

    TOGETHER = 16
    """How many calls that are given as texts share a child."""

    def all_of(self, job, numbers) -> dict[int, tuple]:
        """Outcomes by number.  job: what is sent for some of them; what is left when a child dies
        goes to another."""
        outcomes: dict[int, tuple] = {}
        left = list(numbers)
        while left:
            status, told = self.job(job(left), outcomes)
            left = [n for n in left if n not in outcomes]
            if left and status and not faulty(status):
                outcomes[left.pop(0)] = death(status, told)
            elif left:
                raise RuntimeError(f"{self.name} left {job(left[:1])}: {told[-2000:]}")
        return outcomes

    def job(self, job, outcomes: dict) -> tuple[int, str]:
        """Send a job and read outcomes until it ends; (exit status, what was told)."""
        self.errors.seek(0)
        self.errors.truncate()
        try:
            pickle.dump(job, self.process.stdin)
            self.process.stdin.flush()
            while True:
                size = int.from_bytes(self.process.stdout.read(8), "little")
                number, outcome = pickle.loads(self.process.stdout.read(size))
                if number == "end":
                    return outcome, self.told()
                outcomes[number] = outcome
        except (EOFError, BrokenPipeError):
            raise RuntimeError(f"the worker of {self.name} ended: {self.told()}") from None

    def told(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-20000:]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def faulty(status: int) -> bool:
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == FAULTY


def death(status: int, told: str) -> tuple[str, str, str]:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    lines = [line for line in told.splitlines() if "SUMMARY" in line or "runtime error" in line]
    if number in (signal.SIGPROF, signal.SIGALRM):
        return "died", "hang", "more than the seconds of a call"
    if lines:
        frames = [
            line.strip() for line in told.splitlines() if " in " in line and "/cpp_loader/" in line
        ][:2]
        return "died", "sanitizer", " ".join([lines[0], *frames])[:600]
    what = signal.Signals(number).name if number else f"exit code {os.WEXITSTATUS(status)}"
    return "died", "crash", f"{what}: {told[-300:]}"


class Report:
    """Counts and findings; a few findings of each kind and overload are kept with their calls."""

    KEPT = 3

    def __init__(self):
        self.calls: Counter = Counter()
        self.succeeded: dict[str, Counter] = {}
        self.counts: Counter = Counter()
        self.known: Counter = Counter()
        self.findings: list[Finding] = []

    def add(self, finding: Finding) -> None:
        known = compare.known(
            finding.overload, finding.pair, finding.kind, finding.call, finding.what
        )
        if (
            not known
            and finding.kind in ("value", "mutation")
            and compare.writes_overlap(values.read(finding.call))
        ):
            known = compare.OVERLAP
        if (
            not known
            and finding.kind in ("value", "mutation")
            and "torch" in finding.pair
            and compare.shares_written(values.read(finding.call))
        ):
            known = compare.SHARED_OUT
        if known:
            self.known[known] += 1
            return
        key = finding.overload, finding.kind, finding.pair
        self.counts[key] += 1
        if self.counts[key] <= self.KEPT:
            self.findings.append(finding)

    def merge(self, other: Report) -> None:
        self.calls += other.calls
        self.counts += other.counts
        self.known += other.known
        self.findings += other.findings
        for engine, counts in other.succeeded.items():
            self.succeeded.setdefault(engine, Counter()).update(counts)

    def as_data(self) -> dict:
        return {
            "calls": dict(self.calls),
            "succeeded": {e: dict(c) for e, c in self.succeeded.items()},
            "counts": [[*k, n] for k, n in self.counts.items()],
            "known": [[*k, n] for k, n in self.known.items()],
            "findings": [f._asdict() for f in self.findings],
        }


def examine(
    overload: str,
    seed: int,
    numbers: list[int],
    workers: list[Worker],
    report: Report,
    classes: bool = False,
) -> None:
    """Run calls of one overload on all engines, the first of which the others are compared with."""
    outcomes = {w.name: w.run(overload, seed, numbers) for w in workers}
    report.calls[overload] += len(numbers)
    for name, told in outcomes.items():
        report.succeeded.setdefault(name, Counter())[overload] += sum(
            o[0] == "ok" for o in told.values()
        )
    for n in numbers:
        look_at(
            overload,
            lambda: values.text_of_call(generate.call_of(overload, seed, n)),
            {name: told[n] for name, told in outcomes.items()},
            report,
            classes,
        )


def look_at(overload: str, call, told: dict[str, tuple], report: Report, classes: bool) -> None:
    """Add what one call shows; `call` gives its text."""
    for name, outcome in told.items():
        if (
            outcome[0] == "died"
            and not (name != "native" and outcome[1] == "hang")
            and name != "torch"
        ):
            report.add(Finding(overload, outcome[1], name, call(), outcome[2]))
        if outcome[0] == "memory":
            report.add(Finding(overload, "memory", name, call(), outcome[2]))
    told = {name: decompositions.canonical(overload, o) for name, o in told.items()}
    ours = [name for name in ("native", "python") if name in told]
    pairs = [(a, b) for a in ours for b in told if a != b and (b == "torch" or a < b)]
    for a, b in pairs:
        rough = compare.roughness(overload) if b == "torch" else 0.0
        found = compare.difference(told[a], told[b], classes and b != "torch", rough)
        if found:
            report.add(Finding(overload, found[0], f"{a}/{b}", call(), found[1]))
