"""A family of operators has one name: its file in Python, those in C++ (checked by
cpp_loader/tools/families.py), that of its samples and that of its shape rules begin with one word.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

from scriptlang.ops import table
from scriptlang.passes import shape_rules
from scriptlang.passes.shape_rules import RULES, rule_of
from tests.test_style import ROOT

HERE = Path(__file__).parent

NO_FAMILY = {
    "corners": "numbers that a type does not hold, and outputs of other types, of all families",
    "unsigned": "uint16, uint32 and uint64, which operators of all families take or refuse",
}
"""Files of samples that are not about a family, each with its reason."""

TESTED_BY = {
    "gradients": "tests/derivatives/test_tape.py",  # what they give depends on the tape
    "modes": "tests/derivatives/test_tape.py",
    "prepacked": "tests/serialization/test_mobile.py",  # their objects come out of archives
    "straight": "tests/ops/test_graph_checks.py",  # PyTorch has none of them
}
"""Family -> the file of its tests, where that has another name."""

RULED_BY = {
    "like": "one rule, for operators of all families whose result has the shape of an argument",
    "custom": "operators of users, which tell their shapes themselves",
    "pointwise": "the rule of all pointwise operators, and of those that are nearly such",
    "backward": "what derivatives call, which the families have that they go back through",
}
"""Files of shape rules that are not about a family, each with its reason."""


def room(name: str) -> str:
    """The first word of a name: `linalg` of `linalg_spectral`."""
    return name.partition("_")[0]


def families() -> dict[str, str]:
    """Operator, with and without overload -> its family."""
    found = {}
    for op in table.every_operator():
        base = op
        while base.form:
            base = base.form.base
        if base.makers:
            found[op.qualified_name] = base.makers[0]
            found.setdefault(op.name, base.makers[0])
    return found


def sampled() -> dict[str, Counter[str]]:
    """File of samples -> how many each family has there."""
    of, found = families(), {}
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.ops.{path.stem}")
        samples = vars(module).get("SAMPLES", ())
        names = [s.name if "::" in s.name else f"aten::{s.name}" for s in samples]
        if names:
            counts = Counter(of.get(n, of.get(n.partition(".")[0], "")) for n in names)
            found[path.stem.removeprefix("test_")] = counts
    return found


def test_files_of_samples_have_the_names_of_families():
    files = sampled()
    astray = [
        f for f, counts in files.items() if f not in NO_FAMILY and room(f) not in map(room, counts)
    ]
    assert not astray, "no family of operators has that name: rename it, or tell why in NO_FAMILY"
    assert NO_FAMILY.keys() <= files.keys()


def test_every_family_has_a_file_of_tests():
    """Of its name, or in TESTED_BY, which then calls an operator of it."""
    own = {room(path.stem.removeprefix("test_")) for path in HERE.glob("test_*.py")}
    operators: dict[str, set[str]] = {}
    for name, family in families().items():
        operators.setdefault(room(family), set()).add(name.partition("::")[2].partition(".")[0])
    without = {f for f in operators if f not in own and not f.startswith("quantize")}
    assert without == TESTED_BY.keys()
    for family, file in TESTED_BY.items():
        words = set(re.findall(r"\w+", (ROOT / file).read_text(encoding="utf-8")))
        assert words & operators[family], f"{file} has nothing of {family}"


def test_files_of_shape_rules_have_the_names_of_families():
    rule_of("aten::relu", "")  # loads them
    of, found = families(), {}
    for name, rule in RULES.items():
        full = name if "::" in name else f"aten::{name}"
        family = of.get(full, of.get(full.partition(".")[0], ""))
        found.setdefault(rule.run.__module__.rpartition(".")[2], set()).add(room(family))
    assert len(found) > 10
    astray = {f for f, rooms in found.items() if f not in RULED_BY and f not in rooms}
    assert astray == set() and set(shape_rules.FAMILIES) >= found.keys()
