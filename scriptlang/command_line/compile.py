"""scriptlang compile: writes an archive that starts at once; can report what each pass did."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .inspect import shapes_given
from .main import UsageError, add_archive, add_method, limits_of
from .output import Output, size_text


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    command.add_argument(
        "--keep-parameters",
        action="store_true",
        help="do not optimise: parameters stay attributes that can be changed",
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE.pt", help="the archive to write"
    )
    command.add_argument(
        "--shapes",
        action="append",
        metavar="NAME=SIZES",
        help="an input of a method that asks for gradients, x=n,3 or y=int64[n]: forward and "
        "backward are one graph for such inputs; repeatable",
    )
    add_method(command, "which method --shapes are about")
    command.add_argument(
        "--passes", action="store_true", help="print what each pass did: runs, nodes, time"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from ..compiling import compile_archive
    from ..optim.training import is_training_step
    from ..programs.shape_text import ShapeError

    inputs = {options.method: shapes_given(options)} if options.shapes else None
    before = pathlib.Path(options.archive).stat().st_size
    with out.working(f"compiling {options.archive}"), counted() as passes:
        try:
            module = compile_archive(
                options.archive,
                options.output,
                optimize=not options.keep_parameters,
                inputs=inputs,
                limits=limits_of(options),
            )
        except ShapeError as e:
            raise UsageError(str(e)) from None
    in_training = module._object_.type.slot("training") is not None
    if not options.keep_parameters and in_training and not is_training_step(module):
        remark = "the module is in training mode: compiled, but not optimised; call .eval() on it"
        remark += " and save it again to have both"
        print(remark) if not out.json else out.remark(remark)
    after = pathlib.Path(options.output).stat().st_size
    rows = [{"pass": name, **facts} for name, facts in passes.items()]
    if out.json:
        out.data({"output": options.output, "bytes": after, "source": before, "passes": rows})
        return 0
    if options.passes:
        out.table(
            ("pass", "runs", "changed", "nodes", "time"),
            [
                (r["pass"], r["runs"], r["changed"], f"{r['nodes']:+}", f"{r['seconds']:.3f} s")
                for r in sorted(rows, key=lambda r: -r["seconds"])
            ],
            "lrrrr",
        )
    out.text(f"{options.output}: {size_text(after)} (the source has {size_text(before)})")
    return 0


@contextmanager
def counted() -> Iterator[dict[str, Any]]:
    """A context that counts what passes do: runs, runs that changed a graph, added nodes (negative
    if more were removed), seconds."""
    from ..passes import pipeline

    found: dict[str, Any] = {}

    def watch(name: str, before: int, after: int, seconds: float, changed: bool) -> None:
        facts = found.setdefault(name, {"runs": 0, "changed": 0, "nodes": 0, "seconds": 0.0})
        facts["runs"] += 1
        facts["changed"] += changed
        facts["nodes"] += after - before
        facts["seconds"] += seconds

    with pipeline.watched(watch):
        yield found
