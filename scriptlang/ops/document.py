"""`python -m scriptlang.ops.document` writes docs/operators.md from the table; `--check` compares.

Run it in the root of the repository: the native operators are read from
cpp_loader/src/ops/ops.def.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections import Counter
from itertools import groupby

from . import table
from .derivatives.forward import way
from .derivatives.rules import holds_tensors, rule_of

TARGET = pathlib.Path("docs/operators.md")
NATIVE = pathlib.Path("cpp_loader/src/ops/ops.def")

HEAD = """# Operators

Every operator, by name; `python -m scriptlang.ops.document` writes this page. An operator has one
or more *overloads*, which are forms for other types of arguments: `add.Tensor`, `add.Scalar`. The
columns count them:

| column | meaning |
|---|---|
| what | *in place*: writes into its first argument (`add_`); *same as*: another name of that \
operator; *language*: of numbers, strings, lists and dicts |
| primitive | overloads with a kernel in numpy, and mostly one in C++ |
| composite | overloads whose body is written in the scripted language |
| form | overloads that follow from another one: in place, with `out=`, copying |
| native | overloads that the native engine has; `body`: it runs the body of a composite |
| derivative | how gradients go back: by a *rule*, through the *body* of a composite; *none*: its \
results have no gradient |
| forward | how tangents go on in forward mode: by a *rule*, through the *body*, or by going back \
*twice* through this operator |

Programs with an operator that the native engine lacks run on the Python engine, unless an engine
was asked for. Going back through an operator without a derivative raises MissingOperatorError,
which names it.

## In numbers

There are {names:,} names with {overloads:,} overloads: {primitive:,} primitives, {composite:,}
composites, {form:,} forms. PyTorch has {all:,} overloads; `scriptlang/ops/lacking.txt` has the
{lacking:,} that no engine has. The native engine has {native:,}, and {rules:,} have a rule for
their derivative, forms with those of their base; {forward:,} have one for forward mode.

By name, counting overloads and forms together, the primitives are {tensor_names:,} operators of
tensors and {language_names:,} of the language. Of those of tensors {in_place:,} are in-place
spellings (`add_`, `__iadd__`) and {aliases:,} are other names (`absolute` of `abs`), so there are
{kernels:,} different kernels.
"""

WORDS = {"p": "", "i": "in place", "a": "same as", "l": "language", "c": "composite", "f": "forms"}
"""The first letter of a name's kind -> the text for it on the page."""


def is_of_tensors(overloads: list[table.Operator]) -> bool:
    texts = [str(op.schema) for op in overloads]
    return any("Tensor" in text for text in texts) and not any("Dict(" in text for text in texts)


def without_place(name: str, names: set[str]) -> str:
    """The operator that `name` is the in-place spelling of; `name` itself if there is none."""
    marked = re.fullmatch(r"(.*::__)i(\w+__)", name)
    other = marked[1] + marked[2] if marked else name[:-1] if re.search(r"[^_]_$", name) else name
    return other if other in names else name


def other_names(primitives: dict[str, list[table.Operator]]) -> dict[str, str]:
    """Alias -> the main name of the operators with the same kernels; main names are left out.

    Public names are preferred to private ones, then short ones to long ones.
    """
    first: dict[int, str] = {}
    found = {}
    for name in sorted(primitives, key=lambda name: ("::_" in name, len(name), name)):
        overloads = primitives[name]
        owner = first.setdefault(id(overloads[0].kernel), name)
        if owner != name and all(first.get(id(op.kernel)) == owner for op in overloads):
            found[name] = owner
        for op in overloads:
            first.setdefault(id(op.kernel), name)
    return found


def kinds_of_names(operators: list[table.Operator]) -> dict[str, str]:
    """Name -> its kind, a letter of WORDS; for an alias, "a" is followed by the main name."""
    names = {op.name for op in operators}
    declared: dict[str, list[table.Operator]] = {}
    for op in table.all_operators():
        if op.kind == "primitive":
            declared.setdefault(op.name, []).append(op)
    aliases = other_names(
        {
            name: ops
            for name, ops in declared.items()
            if is_of_tensors(ops) and without_place(name, names) == name
        }
    )
    kinds = {}
    for name in names:
        if name not in declared:
            composite = any(op.is_composite for op in operators if op.name == name)
            kinds[name] = "c" if composite else "f"
        elif not is_of_tensors(declared[name]):
            kinds[name] = "l"
        elif without_place(name, names) != name:
            kinds[name] = "i"
        else:
            kinds[name] = f"a {aliases[name].partition('::')[2]}" if name in aliases else "p"
    return kinds


def native_names(listed: str) -> set[str]:
    """Qualified names of the overloads for which the native engine has a kernel or form."""
    return {schema.partition("(")[0] for schema in re.findall(r'"([^"]*\()', listed)}


def document(listed: str) -> str:
    """The text of docs/operators.md, from the text of ops.def."""
    operators = sorted(table.all_operators(), key=lambda op: (op.name, op.overload))
    native = native_names(listed)
    kinds = Counter(op.kind for op in operators)
    lacking = sum(map(len, table.lacking().values()))
    ours = sum(op.name.startswith("scriptlang::") for op in operators)  # of passes and rules
    names = kinds_of_names(operators)
    by_kind = Counter(kind[0] for kind in names.values())
    lines = [
        HEAD.format(
            names=len(names),
            overloads=len(operators),
            lacking=lacking,
            all=len(operators) - ours + lacking,
            **kinds,
            language_names=by_kind["l"],
            tensor_names=by_kind["p"] + by_kind["i"] + by_kind["a"],
            in_place=by_kind["i"],
            aliases=by_kind["a"],
            kernels=by_kind["p"],
            native=sum(op.qualified_name in native for op in operators),
            rules=sum(derivative(op) == "rule" for op in operators),
            forward=sum(forward(op) == "rule" for op in operators),
        )
    ]
    for namespace, group in groupby(operators, key=lambda op: op.name.partition("::")[0]):
        lines += [
            f"## {namespace}",
            "",
            "| name | what | primitive | composite | form | native | derivative | forward |",
            "|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            row(name, names[name], list(overloads), native)
            for name, overloads in groupby(group, key=lambda op: op.name)
        ]
        lines.append("")
    return "\n".join(lines)


def row(name: str, kind: str, overloads: list[table.Operator], native: set[str]) -> str:
    kinds = Counter(op.kind for op in overloads)
    have = sum(op.qualified_name in native for op in overloads)
    bodies = sum(op.is_composite and op.qualified_name not in native for op in overloads)
    cells = [str(kinds[kind] or "") for kind in ("primitive", "composite", "form")]
    where = " + ".join(part for part in (str(have or ""), "body" if bodies else "") if part)
    ways = " + ".join(dict.fromkeys(way for way in map(derivative, overloads) if way))
    on = " + ".join(dict.fromkeys(way for way in map(forward, overloads) if way))
    cells += [where or "-", ways, on]
    what = WORDS[kind[0]] + kind[1:].replace(" ", " `", 1) + ("`" if kind[1:] else "")
    return f"| `{name.partition('::')[2]}` | {what} | {' | '.join(cells)} |"


def derivative(op: table.Operator) -> str:
    """How an operator is differentiated: "rule", "body" or "none"; "" if it has no derivative."""
    rule = rule_of(op)
    if rule is not None:
        return "none" if rule.is_none else "rule"
    base = op.form.base if op.form else op
    tensors = any(holds_tensors(r.type) for r in op.schema.returns)
    return "body" if base.is_composite and tensors else ""


def forward(op: table.Operator) -> str:
    """How tangents go through an operator (`derivatives.forward.way`); "" if none do."""
    return way(op) if any(holds_tensors(r.type) for r in op.schema.returns) else ""


def main() -> None:
    text = document(NATIVE.read_text())
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit("docs/operators.md is not current: run python -m scriptlang.ops.document")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
