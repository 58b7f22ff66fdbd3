"""`python -m tests.ops.lacks` writes lacks.txt: what tensor operators are without.

A line is an operator and words: `sample` (none of tests/ops calls it), `native` (no kernel in C++),
`shape` (no rule gives the shape of its result), `derivative` (no rule says how gradients go
back through it).  Composites need only samples.  An operator without a line has all of it.
"""

from __future__ import annotations

import importlib
import pathlib
import re
from functools import cache

from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.ops.derivatives import rules
from scriptlang.passes.shape_rules import rule_of
from scriptlang.tensors import Tensor
from tests.ops import harness
from tests.ops.one_operator import chosen

FOLDER = pathlib.Path(__file__).parent
TARGET = FOLDER / "lacks.txt"
NATIVE = FOLDER.parents[1] / "cpp_loader" / "src" / "ops" / "ops.def"

STEPS = {
    "sample": "a sample: tests/ops/test_{family}.py makes SAMPLES of them",
    "native": "a native kernel, or python cpp_loader/tools/generate.py was not run, which lists it",
    "shape": "the fact `pointwise` or `shape`, or a rule in scriptlang/passes/shape_rules",
    "derivative": "a rule in scriptlang/ops/derivatives/rules/{family}.txt, which may be `none`",
}
"""Word -> what the operator needs."""


def need(name: str, word: str) -> str:
    """What an operator needs, with the name of its family."""
    op = table.find(*name.partition(".")[::2])
    return STEPS[word].format(family=op.makers[0] if op is not None else "<family>")


@cache
def sampled() -> frozenset[str]:
    """The qualified names of the operators that samples call."""
    met = set()
    for path in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(f"tests.ops.{path.stem}")
        for sample in getattr(module, "SAMPLES", ()):
            args, kwargs = (
                harness.convert(part, Tensor._wrap)
                for part in (sample.args, list(sample.kwargs.values()))
            )
            try:
                met.add(chosen(sample.name, args, dict(zip(sample.kwargs, kwargs)))[0])
            except Exception:
                continue  # a sample of an error
    return frozenset(op.qualified_name for op in met)


def words_of(op: table.Operator, native: set[str]) -> list[str]:
    """What the operator is without."""
    words = [] if op.qualified_name in sampled() else ["sample"]
    if op.kind == "composite":
        return words
    if op.qualified_name not in native:
        words.append("native")
    if any(r.type == T.TENSOR for r in op.schema.returns):
        if not op.schema.is_mutable and rule_of(op.name, op.overload) is None:
            words.append("shape")
        if rules.rule_of(op) is None:
            words.append("derivative")
    return words


def lines() -> list[str]:
    """The lines that lacks.txt should have."""
    native = set(re.findall(r'"([\w:]+(?:\.\w+)?)\(', NATIVE.read_text()))
    found = []
    for line in table.lines_of("declared.txt"):
        name, _, overload = line.partition("(")[0].partition(".")
        op = table.find(name, overload)
        on_tensors = any(T.TENSOR in a.type.walk() for a in op.schema.arguments)
        if name.startswith("aten::") and on_tensors:
            found += [" ".join([op.qualified_name, *w]) for w in [words_of(op, native)] if w]
    return found


if __name__ == "__main__":
    TARGET.write_text("".join(line + "\n" for line in lines()))
    print(f"{TARGET.name}: {len(lines())} operators")
