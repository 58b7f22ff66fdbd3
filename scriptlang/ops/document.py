"""`python -m scriptlang.ops.document` writes docs/operators.md from the table; `--check` compares.

Run it in the repository: what is native is read from cpp_loader/src/ops/ops.def.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections import Counter
from itertools import groupby

from . import table

TARGET = pathlib.Path("docs/operators.md")
NATIVE = pathlib.Path("cpp_loader/src/ops/ops.def")

HEAD = """# Operators

Written by `python -m scriptlang.ops.document`. {names:,} names with {overloads:,} overloads, of PyTorch's {all:,}.

- **primitive** ({primitive:,}): a kernel in numpy, and one in C++ where *native* says so;
- **composite** ({composite:,}): one body in the scripted language, which both engines run; some have a native kernel besides, tested equal;
- **form** ({form:,}): the in-place, `out=` or copying form of another overload, which follows from it.

*native* counts the overloads with a kernel in the native engine ({native:,} of all); `body` are composites that it runs from their body. A program that
needs another runs on the Python engine under `engine="auto"`. `scriptlang/ops/lacking.txt` has the {lacking:,} schemas that no engine has.
"""


def native_names(listed: str) -> set[str]:
    """Qualified names of the overloads that the native engine has kernels or forms of."""
    return {schema.partition("(")[0] for schema in re.findall(r'"([^"]*\()', listed)}


def document(listed: str) -> str:
    """The text of docs/operators.md, from the text of ops.def."""
    operators = sorted(table.all_operators(), key=lambda op: (op.name, op.overload))
    native = native_names(listed)
    kinds = Counter(op.kind for op in operators)
    lacking = sum(map(len, table.lacking().values()))
    names = {op.name for op in operators}
    lines = [HEAD.format(names=len(names), overloads=len(operators), lacking=lacking,
                         all=len(operators) + lacking, **kinds,
                         native=sum(op.qualified_name in native for op in operators))]
    for namespace, group in groupby(operators, key=lambda op: op.name.partition("::")[0]):
        lines += [f"## {namespace}", "", "| name | primitive | composite | form | native |",
                  "|---|---|---|---|---|"]
        lines += [row(name, list(overloads), native)
                  for name, overloads in groupby(group, key=lambda op: op.name)]
        lines.append("")
    return "\n".join(lines)


def row(name: str, overloads: list[table.Operator], native: set[str]) -> str:
    kinds = Counter(op.kind for op in overloads)
    have = sum(op.qualified_name in native for op in overloads)
    bodies = sum(op.is_composite and op.qualified_name not in native for op in overloads)
    cells = [str(kinds[kind] or "") for kind in ("primitive", "composite", "form")]
    where = " + ".join(part for part in (str(have or ""), "body" if bodies else "") if part)
    return f"| {name.partition('::')[2]} | {' | '.join(cells)} | {where or '-'} |"


def main() -> None:
    text = document(NATIVE.read_text())
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit("docs/operators.md is not current: run python -m scriptlang.ops.document")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
