"""scriptlang bytecode: the instructions of a method, or the native engine's register code."""

from __future__ import annotations

import argparse

from .main import add_archive, add_method, load_module, method_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_method(command, "the bytecode of which method")
    command.add_argument(
        "--all", action="store_true", help="print the functions that the method calls, too"
    )
    command.add_argument(
        "--registers",
        action="store_true",
        help="print the register code that the native engine makes of it instead",
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from ..interpreter.code import listing
    from ..interpreter.reach import reachable

    module = load_module(options.archive, options, out)
    function = method_of(module, options.method, options.archive)._function
    if options.registers:
        from ..interpreter.engine import engine
        from ..interpreter.native_program import register_code

        engine("native")  # raises an error with the reason if it is missing
        text = register_code(function)
        out.data({"registers": text}) if out.json else out.text(text)
        return 0
    codes = reachable(function)
    listings = {c.name: listing(c) for c in list(codes.values())[: None if options.all else 1]}
    if out.json:
        out.data(listings)
        return 0
    for text in listings.values():
        out.text(text)
    return 0
