"""scriptlang ops: the operators that archives need, for a C++ library with no others."""

from __future__ import annotations

import argparse
import pathlib

from .main import UsageError
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "archives", nargs="+", metavar="archive", help="files of torch.jit.save or scriptlang"
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--method",
        dest="methods",
        action="append",
        metavar="NAME",
        help="a method that will be called, instead of forward; repeatable",
    )
    which.add_argument(
        "--all-methods", action="store_true", help="any method of the archives may be called"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from ..programs.inspection import reached_operators

    methods = [] if options.all_methods else options.methods or ["forward"]
    names: set[str] = set()
    lines = ["# Operators of these programs, for -DSCRIPTLANG_OPS (scriptlang ops):"]
    for archive in options.archives:
        try:
            names.update(reached_operators(archive, methods))
        except LookupError as e:
            raise UsageError(str(e)) from None
        called = ", ".join(methods) or "all methods"
        lines.append(f"#   {pathlib.Path(archive).name}: {called}")
    if out.json:
        out.data({"methods": methods or "all", "operators": sorted(names)})
    else:
        out.text("\n".join([*lines, *sorted(names)]))
    return 0
