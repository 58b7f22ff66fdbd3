"""`python -m scriptlang.ops.lacking` brings declared.txt, lacking.txt and derived.txt up to date.

Declared operators and their modules go to declared.txt, forms of declared operators to
derived.txt, and every other operator of PyTorch to lacking.txt.  One whose declaration is gone
goes back there, unless its name says that it is of scriptlang.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from ..schema import split_name
from . import facts, table
from .derived import form_of

FOLDER = pathlib.Path(__file__).parent

OWN = "scriptlang::"
"""How the names of operators begin that PyTorch does not have."""


def sort_schemas(lines: Iterable[str]) -> dict[str, list[str]]:
    """File name -> its lines.  `lines` are schemas, sorted by name."""
    files: dict[str, list[str]] = {"derived.txt": [], "lacking.txt": []}
    for name, group in groupby(lines, key=lambda line: split_name(line)[0]):
        known = table.declared(name)
        rest = [line for line in group if all(op.overload != split_name(line)[1] for op in known)]
        forms = derive(name, rest, known)
        files["derived.txt"] += map(with_facts, forms)
        made = {form.text for form in forms}
        files["lacking.txt"] += [
            with_facts(table.Operator(line, "lacking", told={}))
            for line in rest
            if line not in made
        ]
    return files


def with_facts(op: table.Operator, note: str = "") -> str:
    """The line of an operator: its schema, a note and its facts."""
    words = " ".join(filter(None, (note, facts.written(op.facts))))
    return f"{op.text}{table.NOTE}{words}" if words else op.text


def derive(name: str, texts: Iterable[str], known: list[table.Operator]) -> list[table.Operator]:
    """The operators with those schemas that are forms of `known` ones of a name, or of others."""
    forms: list[table.Operator] = []
    for text in texts:
        form = form_of(text, lambda n: [*known, *forms] if n == name else table.declared(n))
        if form:
            op = table.Operator(text, "form", told={})
            op.form = form
            forms.append(op)
    return forms


def current() -> list[str]:
    """Every schema of the three files, sorted by name, in file order within a name."""
    lines = {
        line.partition(table.NOTE)[0]: None
        for file in ("declared.txt", "lacking.txt", "derived.txt")
        for line in table.lines_of(file)
        if not (file == "declared.txt" and line.startswith(OWN))
    }
    return sorted(lines, key=table.name_in)


def declarations() -> list[str]:
    """The lines of declared.txt, from importing the families."""
    declare, makers = table.declare, {}

    def note(text: str, kernel: Any, kind: str, **facts: Any) -> table.Operator:
        op = declare(text, kernel, kind, **facts)
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            frame = frame.f_back
        makers[op.qualified_name] = frame.f_globals["__name__"].rpartition(".")[2]
        return op

    table.declare = note
    table.load_families()
    table.declare = declare
    lines = [
        with_facts(
            op,
            f"{makers[op.qualified_name]}{'+quantized_plain' * bool(op.quantized_way)} {op.kind}",
        )
        for known in table._operators.values()
        for op in known.values()
        if op.kind in ("primitive", "composite")
    ]
    return sorted(lines, key=table.name_in)


def files() -> dict[str, list[str]]:
    """File name -> the lines that it should have.

    Must run in a fresh process, in which nothing of the table has been used.
    """
    of_files: Any = table
    lines_of, of_files.lines_of = table.lines_of, lambda file: []  # ignores the old lists
    found = {"declared.txt": declarations()}
    of_files.lines_of = lines_of
    schemas = current()
    of_files.lines_of = lambda file: found.get(file) or lines_of(file)
    return found | sort_schemas(schemas)


def main() -> None:
    for file, lines in files().items():
        (FOLDER / file).write_text("".join(line + "\n" for line in lines))
        print(f"{file}: {len(lines)} operators")


if __name__ == "__main__":
    main()
