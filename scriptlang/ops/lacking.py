"""`python -m scriptlang.ops.lacking` takes the operators that are declared out of lacking.txt."""

from __future__ import annotations

import pathlib

from ..schema import split_name
from . import table

FILE = pathlib.Path(__file__).parent / "lacking.txt"


def prune(lines: list[str], declared: set[tuple[str, str]]) -> list[str]:
    """The lines whose operator is not declared."""
    return [line for line in lines if line.startswith("#") or split_name(line) not in declared]


def main() -> None:
    lines = FILE.read_text().splitlines()
    kept = prune(lines, {(op.name, op.overload) for op in table.all_operators()})
    FILE.write_text("\n".join(kept) + "\n")
    print(f"{len(lines) - len(kept)} lines removed, {len(kept)} left")


if __name__ == "__main__":
    main()
