"""scriptlang code: the source code in an archive, or that of one method printed from its graph."""

from __future__ import annotations

import argparse
from typing import Any

from .main import add_archive, limits_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    command.add_argument(
        "--method",
        metavar="NAME",
        help="only this method of the top module, printed from its graph",
    )
    command.add_argument(
        "--grep",
        metavar="TEXT",
        help="print only the lines that contain this text, with their places; if none does, "
        "the exit code is 1",
    )


def run(options: argparse.Namespace, out: Output) -> int:
    if options.method:
        from .main import load_module, method_of

        module = load_module(options.archive, options, out)
        files = {options.method: method_of(module, options.method, options.archive).code}
    else:
        files = files_of(options.archive, options)
    if options.grep is not None:
        found = [
            {"file": name, "line": number, "text": line}
            for name, text in files.items()
            for number, line in enumerate(text.splitlines(), 1)
            if options.grep in line
        ]
        if out.json:
            out.data(found)
        else:
            for f in found:
                out.text(f"{f['file']}:{f['line']}: {f['text']}")
        return 0 if found else 1
    if out.json:
        out.data(files)
        return 0
    for name, text in files.items():
        if len(files) > 1:
            out.heading(f"# {name}")
        if out.console and not options.method:
            from rich.syntax import Syntax

            from .output import clean_lines

            out.console.print(Syntax(clean_lines(text), "python", background_color="default"))
        else:
            out.text(text)
    return 0


def files_of(path: str, options: Any) -> dict[str, str]:
    """The files of code/, by name. The total size of their text is limited."""
    from ..budgets import Budget, spend, use
    from ..errors import reading
    from ..serialization.archive import Reader
    from ..serialization.sources import Contents, open_source

    files = {}
    with reading(path), use(Budget(limits_of(options)), path):
        reader = Reader(Contents(open_source(path, None)))
        for name in reader.records:
            if name.startswith("code/") and name.endswith(".py"):
                spend("source_bytes", reader.records[name].size)
                files[name] = bytes(reader.read(name)).decode("utf-8", "replace")
    return files
