"""`python -m scriptlang.ops.lacking` brings lacking.txt and derived.txt up to date.

An operator that is declared leaves both; a form of a declared operator is listed in derived.txt,
every other operator of PyTorch in lacking.txt.
"""

from __future__ import annotations

import pathlib
from typing import Iterable

from ..schema import split_name
from . import table
from .derived import kernel_of

FOLDER = pathlib.Path(__file__).parent


def sort_schemas(lines: Iterable[str]) -> dict[str, list[str]]:
    """File name -> the schemas that belong into it."""
    files: dict[str, list[str]] = {"derived.txt": [], "lacking.txt": []}
    for line in lines:
        name, overload = split_name(line)
        if all(op.overload != overload for op in table.declared(name)):
            derivable = kernel_of(line, table.declared) is not None
            files["derived.txt" if derivable else "lacking.txt"].append(line)
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
