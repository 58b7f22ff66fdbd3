"""scriptlang verify: compares an archive with PyTorch value by value, or the engines without it."""

from __future__ import annotations

import argparse
import importlib.util

from .inputs import add_inputs, arguments, by_place
from .main import DIFFERS, FAULT, OK, add_archive, add_method, load_module, method_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_inputs(command)
    add_method(command, "which method to compare")
    command.add_argument(
        "--against",
        choices=("torch", "python", "native"),
        help="what to compare with: by default torch where it is installed, else the Python engine",
    )
    command.add_argument(
        "--rtol",
        type=float,
        default=1e-4,
        help="allowed difference, as a part of the largest element (1e-4)",
    )
    command.add_argument(
        "--atol", type=float, default=1e-5, help="allowed difference beside it (1e-5)"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from ..observing.comparing import compare

    module = load_module(options.archive, options, out)
    method = method_of(module, options.method, options.archive)
    args = by_place(*arguments(options, method.schema), method.schema)
    against = options.against
    if against is None:
        against = "torch" if importlib.util.find_spec("torch") else "python"
        if against == "python":
            out.remark("torch is not installed: the two engines are compared")
    with out.working(f"comparing with {against}"):
        found = compare(
            module,
            against,
            args,
            method=options.method,
            rtol=options.rtol,
            atol=options.atol,
            names=(options.archive, against),
        )
    if out.json:
        out.data(
            {
                "equal": found.equal,
                "compared": found.compared,
                "against": against,
                "first": None if found.first is None else str(found.first),
                "result": found.result,
                "errors": dict(found.errors),
            }
        )
    else:
        out.text(str(found))
    if len(found.errors) == 2:
        return FAULT  # it runs on neither
    return OK if found.equal else DIFFERS
