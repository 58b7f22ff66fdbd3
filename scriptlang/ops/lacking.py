"""`python -m scriptlang.ops.lacking` brings lacking.txt and derived.txt up to date.

An operator that is declared leaves both; a form of a declared operator is listed in derived.txt,
every other operator of PyTorch in lacking.txt.
"""

from __future__ import annotations

import pathlib
from itertools import groupby
from typing import Iterable

from ..schema import split_name
from . import table

FOLDER = pathlib.Path(__file__).parent


def sort_schemas(lines: Iterable[str]) -> dict[str, list[str]]:
    """File name -> the schemas that belong into it.  `lines` are sorted by name."""
    files: dict[str, list[str]] = {"derived.txt": [], "lacking.txt": []}
    for name, group in groupby(lines, key=lambda line: split_name(line)[0]):
        known = table.declared(name)
        rest = [line for line in group
                if all(op.overload != split_name(line)[1] for op in known)]
        forms = [op.text for op in table.derive(name, rest, known)]
        files["derived.txt"] += forms
        files["lacking.txt"] += [line for line in rest if line not in forms]
    return files


def current() -> list[str]:
    """Every schema of both files, by name, in the order they have within a name."""
    lines = [line for file in ("lacking.txt", "derived.txt")
             for schemas in table.listed(file).values() for line in schemas]
    return sorted(lines, key=lambda line: split_name(line)[0])


def main() -> None:
    for file, lines in sort_schemas(current()).items():
        (FOLDER / file).write_text("".join(line + "\n" for line in lines))
        print(f"{file}: {len(lines)} operators")


if __name__ == "__main__":
    main()
