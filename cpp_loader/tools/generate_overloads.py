"""Writes src/source/overloads.txt: `python cpp_loader/tools/generate_overloads.py`.

What the source compiler has to know of operators beside ops.def: of each name that has several
overloads, or one that the native engine lacks, all overloads in the order in which a call tries
them. A line that begins with a name (`aten::add`) is followed by one line for each overload:

    " Tensor"                   the overload of ops.def
    " Tensor(Tensor a) -> ..."  the engine has no kernel: a call raises when it is reached
    " =(Tensor a) -> ..."       the same, with a body in bodies.txt
"""

from __future__ import annotations

import re

from generated import LOADER, write_or_check

TARGET = LOADER / "src" / "source" / "overloads.txt"


def native_names() -> set[str]:
    """Qualified names of the operators that the native engine has."""
    text = (LOADER / "src" / "ops" / "ops.def").read_text()
    return set(re.findall(r'"([\w:.]+)\(', text))


def lines() -> list[str]:
    from scriptlang.frontend.overloads import language_functions, operators

    from scriptlang.ops import table

    native = native_names()
    names = (
        {op.name for op in table.all_operators()}
        | table.lacking().keys()
        | language_functions.SOURCES.keys()
    )
    found = []
    for name in sorted(names):
        rows = [row(name, schema, native, table) for schema in operators.overloads(name)]
        for i, function in enumerate(language_functions.functions(name)):
            rows.append(f"=language{i}{tail(function.schema)}")
        if len(rows) > 1 or rows != [""]:
            found += [name, *(f" {r}" for r in rows)]
    return found


def row(name: str, schema, native: set[str], table) -> str:
    qualified = f"{name}.{schema.overload}" if schema.overload else name
    if qualified in native:
        return schema.overload
    operator = table.find(name, schema.overload)
    mark = "=" if operator is not None and operator.is_composite else ""
    return f"{mark}{schema.overload}{tail(schema)}"


def tail(schema) -> str:
    """A schema from its first bracket on."""
    text = str(schema)
    return text[text.index("(") :]


def text() -> str:
    return "".join(f"{line}\n" for line in lines())


if __name__ == "__main__":
    write_or_check(__doc__, lambda: {TARGET: text()})
