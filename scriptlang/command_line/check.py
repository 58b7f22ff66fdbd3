"""scriptlang check: loads an archive, verifies it, and lists missing operators."""

from __future__ import annotations

import argparse

from .main import FAULT, LACKING, OK, add_archive, limits_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)


def run(options: argparse.Namespace, out: Output) -> int:
    from ..programs.inspection import inspect_archive

    with out.working(f"checking {options.archive}"):
        report = inspect_archive(options.archive, limits_of(options))
    lacking = {engine: report.missing(engine) for engine in report.lacking}
    code = FAULT if report.errors else LACKING if lacking["python"] else OK
    if out.json:
        out.data(
            {
                "archive": options.archive,
                "name": report.name,
                "sound": not report.errors,
                "errors": [str(e) for e in report.errors],
                "missing": lacking,
                "exit_code": code,
            }
        )
        return code
    for error in report.errors:
        out.complaint(str(error))
    if report.errors:
        out.text(f"{options.archive}: methods that do not compile: {len(report.errors)}")
    else:
        out.text(report.availability())
    return code
