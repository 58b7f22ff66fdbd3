#!/usr/bin/env python3
"""Run the fuzzers for some minutes each, from a corpus of seeds made of the test archives.

  cmake -S cpp_loader -B build/fuzz -DSCRIPTLANG_FUZZ=ON -DSCRIPTLANG_SANITIZE=ON \\
        -DCMAKE_CXX_COMPILER=clang++ && cmake --build build/fuzz
  python cpp_loader/fuzz/run.py build/fuzz/fuzz --minutes 10 [--corpus DIR] [--only zip ...]

Inputs that a fuzzer fails on are left in the corpus folder, named <target>-crash-...; the exit code
is 1 then.  The last line of each target says executions, coverage and the number of findings.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = {"zip": 1 << 16, "pickle": 1 << 14, "bytecode": 1 << 15, "archive": 1 << 16,
          "parts": 1 << 16}
"""Target -> the largest input, in bytes."""


def seeds(target: str):
    """(name, contents) of the inputs to begin with."""
    for path in sorted((ROOT / "tests" / "data").rglob("*.pt*")):
        if path.suffix not in (".pt", ".ptl"):
            continue
        if target in ("zip", "archive"):
            yield path.name, path.read_bytes()
            continue
        if target == "parts":
            yield path.name, parts(path)
            continue
        wanted = ("bytecode.pkl",) if target == "bytecode" else ("data.pkl", "constants.pkl")
        with zipfile.ZipFile(path) as file:
            for name in file.namelist():
                if name.endswith(wanted):
                    yield f"{path.name}.{pathlib.PurePath(name).name}", file.read(name)


def parts(path: pathlib.Path) -> bytes:
    """The records of an archive that `fuzz_parts` takes, one behind the other."""
    with zipfile.ZipFile(path) as file:
        records = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    return b"#record#".join(records.get(name, b"") for name in (
        "data.pkl", "bytecode.pkl", "constants.pkl", "data/0"))


def make_corpus(target: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in seeds(target):
        if len(contents) <= LIMITS[target]:
            (folder / f"seed-{name}").write_bytes(contents)


def run(target: str, binaries: pathlib.Path, corpus: pathlib.Path, minutes: float) -> int:
    """Fuzz one target; the number of findings."""
    make_corpus(target, corpus / target)
    prefix = corpus / f"{target}-"
    command = [binaries / f"fuzz_{target}", corpus / target, f"-artifact_prefix={prefix}",
               f"-max_len={LIMITS[target]}", f"-max_total_time={int(minutes * 60)}", "-timeout=10",
               "-rss_limit_mb=3000", "-malloc_limit_mb=1500", "-print_final_stats=1"]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    (corpus / f"{target}.log").write_text(done.stdout)
    executed = re.search(r"number_of_executed_units: (\d+)", done.stdout)
    coverage = re.findall(r"cov: (\d+)", done.stdout)
    findings = [p for p in corpus.glob(f"{target}-*") if p.is_file()]
    print(f"{target}: {executed.group(1) if executed else '?'} executions, "
          f"{coverage[-1] if coverage else '?'} edges, {len(findings)} findings", flush=True)
    return len(findings) + (done.returncode != 0 and not findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path("build/corpus"))
    parser.add_argument("--only", nargs="*", choices=list(LIMITS), default=list(LIMITS))
    given = parser.parse_args()
    given.corpus.mkdir(parents=True, exist_ok=True)
    found = sum(run(t, given.binaries, given.corpus, given.minutes) for t in given.only)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
