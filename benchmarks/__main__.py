"""`python -m benchmarks`: measure, print ratios, optionally write a page.

Peers run under the interpreter given by --peers (an environment with torch, onnxruntime, openvino,
jax and numpy); scriptlang under this one.  `python -m benchmarks.prepare` makes the model files
first.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys

from . import harness, machine, processes, report, rows, workloads


def main() -> int:
    ap = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    ap.add_argument("rows", nargs="*", help="names of rows or groups; all when none is given")
    ap.add_argument("--peers", metavar="PYTHON", help="interpreter that has the peers")
    ap.add_argument(
        "--only",
        metavar="NAME,...",
        type=lambda s: tuple(s.split(",")),
        help="candidates whose names begin so, besides the first of each row",
    )
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--batch", type=float, default=0.4, help="seconds of a timed batch")
    ap.add_argument("--threads", type=lambda s: tuple(map(int, s.split(","))))
    ap.add_argument("--json", metavar="FILE", help="write every sample")
    ap.add_argument("--report", metavar="FILE", help="write a page with charts and tables")
    a = ap.parse_args()
    pythons = {"scriptlang": sys.executable, "torch": a.peers or sys.executable}
    print(machine.here())
    sections = measure(a, pythons)
    if a.json:
        everything = [vars(r) for s in sections for r in s.results]
        pathlib.Path(a.json).write_text(json.dumps(everything, indent=1))
    if a.report:
        pathlib.Path(a.report).write_text(report.page(sections, str(machine.here())))
    return 0


def measure(a: argparse.Namespace, pythons: dict[str, str]) -> list[report.Section]:
    """Every row that was asked for, printed as soon as it stands."""
    groups = {w.name: w.group for w in workloads.WORKLOADS}
    groups.update((row.name, "training") for row in rows.TRAINING)
    sections = []

    def keep(name: str, title: str, results: list[harness.Result]) -> None:
        sections.append(report.Section(name, title, groups.get(name, "processes"), results))
        print(report.text(title, results, machine.here().gigaflops), flush=True)

    def wanted(name: str) -> bool:
        return not a.rows or name in a.rows or groups.get(name, "processes") in a.rows

    for row in rows.ROWS:
        if wanted(row.name):
            if a.threads:
                counts = tuple(t for t in row.threads if t in a.threads)
                row = dataclasses.replace(row, threads=counts)
            if a.only:
                first, *others = row.candidates
                kept = (c for c in others if c.name.startswith(a.only))
                row = dataclasses.replace(row, candidates=(first, *kept))
            keep(row.name, row.title, harness.run_row(row, pythons, a.rounds, a.batch))
    for name, title, programs in rows.FRESH:
        if wanted(name):
            seconds, memory = processes.fresh(name, programs, pythons, a.rounds)
            keep(name, title, seconds)
            keep(f"{name}_memory", f"{title}: peak memory", memory)
    if wanted("engine_size"):
        keep("engine_size", "The engine's library on disk", processes.sizes(pythons))
    return sections


if __name__ == "__main__":
    sys.exit(main())
