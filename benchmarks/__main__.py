"""`python -m benchmarks`: measure, print ratios, optionally write a page.

Peers run under the interpreter given by --peers (an environment with torch, onnxruntime and numpy);
scriptlang under this one.  `python -m benchmarks.prepare` makes the model files first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from . import candidates, harness, rows


def main() -> int:
    ap = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    ap.add_argument("rows", nargs="*", help="names of rows; all when none is given")
    ap.add_argument("--peers", metavar="PYTHON", help="interpreter that has torch and onnxruntime")
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--batch", type=float, default=0.4, help="seconds of a timed batch")
    ap.add_argument("--threads", type=lambda s: tuple(map(int, s.split(","))))
    ap.add_argument("--json", metavar="FILE", help="write every sample")
    a = ap.parse_args()
    pythons = {"scriptlang": sys.executable, "torch": a.peers or sys.executable}
    everything = []
    for row in rows.ROWS:
        if a.rows and row.name not in a.rows:
            continue
        if a.threads:
            row = harness.Row(row.name, row.title, row.candidates, a.threads)
        results = harness.run_row(row, pythons, a.rounds, a.batch)
        print(table(row.title, results), flush=True)
        everything += [vars(r) for r in results]
    if not a.rows or "fresh" in a.rows:
        for name, title, programs in rows.FRESH:
            results = fresh(name, programs, pythons, a.rounds)
            print(table(title, results), flush=True)
            everything += [vars(r) for r in results]
    if a.json:
        with open(a.json, "w") as f:
            json.dump(everything, f, indent=1)
    return 0


def fresh(name: str, programs: dict[str, str], pythons, rounds: int) -> list[harness.Result]:
    """Whole processes, interleaved, each less the median of a process that does nothing."""
    def command(label: str, program: str) -> list[str]:
        python = pythons["scriptlang" if label in ("scriptlang", "numpy") else "torch"]
        return [python, "-c", program.format(files=candidates.FILES)]

    idle = {python: statistics.median(harness.time_process([python, "-c", "pass"], 5))
            for python in set(pythons.values())}
    results = {label: harness.Result(name, 1, label) for label in programs}
    labels = sorted(programs, key=lambda label: label != "scriptlang")
    for _ in range(rounds):
        base = None
        for label in labels:
            cmd = command(label, programs[label])
            try:
                seconds = harness.time_process(cmd, 1)[0] - idle[cmd[0]]
            except Exception as e:
                results[label].note = str(e)[-100:]
                continue
            base = base or seconds
            results[label].seconds.append(seconds)
            results[label].ratios.append(seconds / base)
    return [results[label] for label in labels]


def table(title: str, results: list[harness.Result]) -> str:
    lines = [f"\n{title}", f"{'threads':>7}  {'candidate':34} {'median':>12}  {'times the first':>15}"]
    for r in results:
        if r.median is None:
            lines.append(f"{r.threads:7}  {r.candidate:34} {'-':>12}  {r.note}")
            continue
        spread = f" +-{r.spread:.2f}" if r.spread is not None else ""
        lines.append(f"{r.threads:7}  {r.candidate:34} {r.median * 1e3:9.3f} ms  "
                     f"{r.ratio:8.2f}x{spread}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
