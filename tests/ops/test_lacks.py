"""An operator has samples, a native kernel, a rule for shapes and one for derivatives, or lacks.txt
says that it has none: what is forgotten for a new one is named."""

from __future__ import annotations

from tests.ops import lacks

WRITE = "run `python -m tests.ops.lacks`"


def complaints(listed: list[str], found: list[str]) -> list[str]:
    """What differs, in words; both are lines of lacks.txt."""
    before, now = ({name: words for name, *words in map(str.split, x)} for x in (listed, found))
    said = []
    for name in sorted({*before, *now}):
        had, has = before.get(name, []), now.get(name, [])
        said += [f"{name} lacks {lacks.need(name, w)}" for w in has if w not in had]
        said += [f"{name} is not without its {w} any more: {WRITE}" for w in had if w not in has]
    return said


def test_what_an_operator_lacks_is_listed():
    said = complaints(lacks.TARGET.read_text().splitlines(), lacks.lines())
    assert not said, "\n".join([*said, f"If an operator is meant to lack it, {WRITE}."])


def test_what_is_forgotten_is_named():
    said = complaints(
        ["aten::add.Tensor sample", "aten::b shape"],
        ["aten::add.Tensor sample derivative", "aten::c shape"],
    )
    assert said == [
        "aten::add.Tensor lacks a rule in scriptlang/ops/derivatives/rules/arithmetic.txt, "
        "which may be `none`",
        f"aten::b is not without its shape any more: {WRITE}",
        f"aten::c lacks {lacks.STEPS['shape']}",
    ]
