"""The command line; see the package."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pathlib
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from scriptlang.ops import table

from . import runner, values


def overloads(patterns: list[str]) -> list[str]:
    names = [op.qualified_name for op in table.all_operators() if op.kernel is not None]
    return [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in patterns)]


def run_slice(names: list[str], given) -> runner.Report:
    report = runner.Report()
    workers = [runner.Worker(name, given.native, given.guard) for name in given.engines.split(",")]
    start, shown = time.time(), time.time()
    for k, name in enumerate(names):
        numbers = list(range(given.first, given.first + given.calls))
        runner.examine(name, given.seed, numbers, workers, report, given.classes)
        if time.time() - shown > 30:
            shown = time.time()
            print(
                f"{k + 1} of {len(names)} overloads, {sum(report.calls.values())} calls, "
                f"{sum(report.counts.values())} findings, {shown - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        if given.seconds and time.time() - start > given.seconds:
            break
    for worker in workers:
        worker.close()
    return report


def show(report: runner.Report) -> None:
    for finding in report.findings:
        print(
            f"{finding.kind} {finding.pair} {finding.overload}: {finding.what}\n"
            f"    {finding.call[:1000]}"
        )
    kinds = Counter()
    for (_, kind, pair), n in report.counts.items():
        kinds[f"{kind} {pair}"] += n
    calls = sum(report.calls.values())
    print(f"{len(report.calls)} overloads, {calls} calls")
    for engine, counts in report.succeeded.items():
        few = sum(counts[o] < report.calls[o] / 50 for o in report.calls)
        print(
            f"{engine}: {sum(counts.values()) / max(calls, 1):.0%} succeed; "
            f"less than 2% of {few} overloads"
        )
    print(f"known: {sum(report.known.values())}; findings: {dict(kinds)}")


def one_call(text: str, given) -> int:
    """Run one call and print what each engine gives."""
    status = 0
    for name in given.engines.split(","):
        worker, outcomes = runner.Worker(name, given.native, given.guard), {}
        status, told = worker.job({0: text}, outcomes)
        worker.close()
        print(f"{name}: {outcomes.get(0) or runner.death(status, told)}")
        if 0 not in outcomes:
            print(told[-6000:])
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.random_calls")
    parser.add_argument("--calls", type=int, default=50, help="of each overload")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--overloads", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--part", default="1/1", help="k/n: the k-th of n parts of the overloads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", default="native,python")
    parser.add_argument("--native", default="", help="another build of the native engine")
    parser.add_argument("--guard", action="store_true", help="guard pages behind native blocks")
    parser.add_argument(
        "--classes", action="store_true", help="our engines must raise errors of one class, too"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--out", type=pathlib.Path, help="write what was found as JSON")
    parser.add_argument("--call", help="run this call alone")
    parser.add_argument("--list", help="print the calls of this overload")
    given = parser.parse_args()
    for name in given.engines.split(","):
        if name not in ("native", "python", "torch"):
            parser.error(
                f"there is no engine {name}: give native, python, torch, or several with commas"
            )
    if given.native:
        given.native = os.path.abspath(given.native)
    if given.call:
        return one_call(given.call, given)
    if given.list:
        for n in range(given.first, given.first + given.calls):
            print(values.text_of_call(runner.generate.call_of(given.list, given.seed, n)))
        return 0
    part, parts = map(int, given.part.split("/"))
    names = overloads(given.overloads)[part - 1 :: parts]
    report = runner.Report()
    if given.jobs == 1:
        report.merge(run_slice(names, given))
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            for done in pool.map(
                run_slice, [names[k :: given.jobs] for k in range(given.jobs)], [given] * given.jobs
            ):
                report.merge(done)
    show(report)
    if given.out:
        given.out.write_text(json.dumps(report.as_data(), indent=1, default=str))
    return int(bool(report.counts))


if __name__ == "__main__":
    sys.exit(main())
