"""What operators give and change beyond what their schemas say, against the tables that say it.

A result that shares an input's memory without an alias set has to be in MAY_RETURN_INPUT, which
passes go by, and in `may_give_input`, by which native calls take turns; an argument that is written
and gets another size, in `reshapes`.  ALIASES_EVERY=1 ALIASES_CALLS=30 looks at every overload.
"""

from __future__ import annotations

import os
import re

import pytest

from scriptlang.interpreter import native
from scriptlang.ops import table
from scriptlang.passes.constraints import MAY_RETURN_INPUT
from tests.attacks.random_calls import generate, runner
from tests.attacks.random_calls.__main__ import overloads
from tests.test_style import ROOT

EFFECTS = (ROOT / "cpp_loader/src/program/effects.cpp").read_text(encoding="utf-8")

ENGINES = [pytest.param("native", marks=pytest.mark.skipif(
    bool(native.why_absent()), reason="the native engine is not built")), "python"]


def listed(function: str) -> set[str]:
    """The operators that a function of effects.cpp has in its table."""
    body = EFFECTS[EFFECTS.index(f"bool {function}("):]
    body = body[:body.index("\n}\n")]
    names = " ".join(re.findall(r'"([^"]*)"', body)).replace("aten::", "").split()
    return {f"aten::{name}" for name in names}


def plain(overload: str) -> str:
    return overload.partition(".")[0]


def sizes(value) -> list[tuple]:
    """Of the tensors in an argument, as the call has it or as it is told of afterwards."""
    if isinstance(value, tuple) and value[:1] == ("tensor",):
        return [tuple(value[2])]
    if isinstance(value, list):
        return [s for v in value for s in sizes(v)]
    return [tuple(value.size)] if hasattr(value, "size") else []


def examined(engine: str, names: list[str], calls: int) -> tuple[dict, dict, int]:
    """(overloads whose results share memory undeclared, overloads that give arguments another size,
    calls that gave a result), each with such a call."""
    shares, changes, good = {}, {}, 0
    worker = runner.Worker(engine)
    for name in names:
        schema = table.find(*name.partition(".")[::2]).schema
        declared = any(r.alias is not None for r in schema.returns)
        for number, outcome in worker.run(name, 7, list(range(calls))).items():
            if outcome[0] != "ok":
                continue
            good += 1
            call = generate.call_of(name, 7, number)
            _, _, after, shared = outcome
            if not declared and any(k >= 0 for k in shared):
                shares.setdefault(name, str(call))
            for a, given, now in zip(schema.arguments, call.arguments, after):
                if "out" not in a.name and len(sizes(given)) == len(sizes(now)) \
                        and sizes(given) != sizes(now):
                    changes.setdefault(name, str(call))
    worker.close()
    return shares, changes, good


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_say_what_operators_give(engine):
    every = int(os.environ.get("ALIASES_EVERY", "40"))
    names = overloads(["*"])[3::every] if every > 1 else overloads(["*"])
    known = [n for n in overloads(["aten::*"]) if plain(n) in MAY_RETURN_INPUT]
    names = sorted({*names, *known[::max(1, every // 10)]})
    calls = int(os.environ.get("ALIASES_CALLS", "5"))
    shares, changes, good = examined(engine, names, calls)
    print(len(names), "overloads", good, "results", "shares", sorted(shares), "changes",
          sorted(changes))
    assert good > len(names) * calls / 6 and shares
    for table_name, entries in (("MAY_RETURN_INPUT", MAY_RETURN_INPUT),
                                ("may_give_input", listed("may_give_input"))):
        lacking = {n: call for n, call in shares.items()
                   if plain(n) not in entries and not n.endswith("_unpack")}
        assert not lacking, f"{table_name} lacks {lacking}"
    lacking = {n: call for n, call in changes.items() if plain(n) not in listed("reshapes")}
    assert not lacking, f"reshapes lacks {lacking}"


def test_the_two_tables_agree():
    """What passes take for an input of an operator, native calls do, too."""
    assert MAY_RETURN_INPUT <= listed("may_give_input")
    assert {plain(n) for n in overloads(["aten::*"])} >= listed("reshapes") - {"aten::set_data"}
