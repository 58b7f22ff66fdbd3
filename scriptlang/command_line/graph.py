"""scriptlang graph: the graph of a method, as text, SVG or HTML."""

from __future__ import annotations

import argparse

from .inspect import shaped_graph
from .main import UsageError, add_archive, add_method, load_module, method_of
from .output import Output, size_text


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_method(command, "the graph of which method")
    stage = command.add_mutually_exclusive_group()
    stage.add_argument(
        "--as-written",
        action="store_true",
        help="show it as it is in the archive, with calls, before any pass (text only)",
    )
    stage.add_argument(
        "--optimized", action="store_true", help="show it as scriptlang.optimize makes it"
    )
    command.add_argument(
        "--shapes",
        action="append",
        metavar="NAME=SIZES",
        help="sizes of an input, x=1,3,224,224: prints the shapes that follow; repeatable",
    )
    command.add_argument("--svg", metavar="FILE.svg", help="write a drawing to this file")
    command.add_argument("--html", metavar="FILE.html", help="write the page of `inspect --html`")


def run(options: argparse.Namespace, out: Output) -> int:
    if options.html:
        from .inspect import write_page

        options.profile = None
        return write_page(options, out)
    if options.as_written:
        if options.svg:
            raise UsageError("--as-written is shown as text")
        module = load_module(options.archive, options, out)
        text = str(method_of(module, options.method, options.archive).graph)
        out.data({"graph": text}) if out.json else out.text(text)
        return 0
    with out.working(f"reading {options.archive}"):
        shaped = shaped_graph(options, options.optimized)
    if options.svg:
        from ..pictures.drawing import svg_of

        text = svg_of(shaped)
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(text)
        facts = {"drawing": options.svg, "bytes": len(text)}
        out.data(facts) if out.json else out.text(f"{options.svg}: {size_text(len(text))}")
        return 0
    out.data({"graph": str(shaped)}) if out.json else out.text(str(shaped))
    return 0
