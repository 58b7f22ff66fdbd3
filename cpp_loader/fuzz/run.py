#!/usr/bin/env python3
"""Build the fuzzers and run each for some minutes, from seeds that `seeds.py` makes.

  python cpp_loader/fuzz/run.py --minutes 10 [--only bytecode parts ...] [--corpus DIR]

Needs clang, cmake and ninja, and the checkout's Python dependencies.  The build, with
AddressSanitizer and UndefinedBehaviorSanitizer, is in build/fuzz; what was found worth keeping is
in build/corpus, where the next run goes on.  Inputs that a fuzzer fails on are there, too, named
<target>-crash-... (give one to the fuzzer as its argument to see it again); the exit code is 1
then.  The line that each target ends with says executions, coverage and the number of findings.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

from seeds import ROOT, seeds

LIMITS = {
    "bytecode": 1 << 15,
    "parts": 1 << 16,
    "archive": 1 << 16,
    "pickle": 1 << 14,
    "zip": 1 << 16,
    "operators": 1 << 9,
    "capi": 1 << 12,
    "source": 1 << 14,
}
"""Target -> the largest input, in bytes."""

RUN = ("bytecode", "parts", "operators", "source")
"""Targets that run programs.  These may make containers that hold themselves, which stay."""


def build(folder: pathlib.Path, targets: list[str]) -> pathlib.Path:
    """Build the fuzzers with clang; the folder they are in."""
    if not (folder / "build.ninja").exists():
        subprocess.run(
            [
                "cmake",
                "-S",
                ROOT / "cpp_loader",
                "-B",
                folder,
                "-G",
                "Ninja",
                "-DSCRIPTLANG_FUZZ=ON",
                "-DSCRIPTLANG_SANITIZE=address,undefined",
                "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                "-DCMAKE_CXX_COMPILER=clang++",
            ],
            check=True,
        )
    subprocess.run(
        ["cmake", "--build", folder, "--target", *(f"fuzz_{t}" for t in targets)], check=True
    )
    return folder / "fuzz"


def environment(target: str) -> dict[str, str]:
    return {
        **os.environ,
        "ASAN_OPTIONS": f"detect_leaks={int(target not in RUN)}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def make_corpus(target: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in seeds(target):
        if len(contents) <= LIMITS[target]:
            (folder / f"seed-{name}").write_bytes(contents)


def run(
    target: str, binaries: pathlib.Path, corpus: pathlib.Path, minutes: float, seconds: int
) -> int:
    """Fuzz one target; the number of findings."""
    make_corpus(target, corpus / target)
    prefix = corpus / f"{target}-"
    command = [
        binaries / f"fuzz_{target}",
        corpus / target,
        f"-artifact_prefix={prefix}",
        f"-max_len={LIMITS[target]}",
        f"-max_total_time={int(minutes * 60)}",
        f"-timeout={seconds}",
        f"-report_slow_units={seconds}",  # a slow input is no finding
        "-detect_leaks=0",  # of each input, which takes longer than the input; but at the end
        "-rss_limit_mb=3000",
        "-malloc_limit_mb=1500",
        "-print_final_stats=1",
    ]
    log = corpus / f"{target}.log"
    with open(log, "w") as out:
        done = subprocess.run(
            list(map(str, command)), stdout=out, stderr=subprocess.STDOUT, env=environment(target)
        )
    told = log.read_text(errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", told) or re.search(
        r"(?s).*\n#(\d+)\s", told
    )
    coverage = re.findall(r"cov: (\d+)", told)
    findings = [p for p in corpus.glob(f"{target}-*") if p.is_file()]
    print(
        f"{target}: {executed.group(1) if executed else '?'} executions, "
        f"{coverage[-1] if coverage else '?'} edges, {len(findings)} findings",
        flush=True,
    )
    return len(findings) + (done.returncode != 0 and not findings)


def replay(target: str, binaries: pathlib.Path, corpus: pathlib.Path) -> int:
    """Run a target on its seeds alone; 1 when it fails."""
    make_corpus(target, corpus / target)
    inputs = sorted((corpus / target).glob("seed-*"))
    done = subprocess.run(
        [binaries / f"fuzz_{target}", *inputs],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(target),
    )
    print(f"{target}: {len(inputs)} seeds, exit code {done.returncode}", flush=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:])
    return int(done.returncode != 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="for each target")
    parser.add_argument("--timeout", type=int, default=10, help="seconds that an input may take")
    parser.add_argument("--only", nargs="*", choices=list(LIMITS), default=list(LIMITS))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build" / "corpus")
    parser.add_argument("--binaries", type=pathlib.Path, help="where the fuzzers are; no build")
    parser.add_argument("--replay", action="store_true", help="run the seeds only")
    given = parser.parse_args()
    given.corpus.mkdir(parents=True, exist_ok=True)
    os.nice(10)
    binaries = given.binaries or build(given.build, given.only)
    if given.replay:
        return 1 if sum(replay(t, binaries, given.corpus) for t in given.only) else 0
    return (
        1
        if sum(run(t, binaries, given.corpus, given.minutes, given.timeout) for t in given.only)
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
