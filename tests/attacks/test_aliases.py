"""What operators give and change beyond what their schemas say, against the tables that say it.

A tensor that shares an input's memory without an alias set has to have the fact `may_share`, which
passes go by, and by which native calls take turns; an argument whose elements change without being
marked is in WRITES_UNSAID; where one gets another size, the operator has the fact `reshapes`.
ALIASES_EVERY=1 ALIASES_CALLS=30 looks at every overload.
"""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang import types as T
from scriptlang.ops import table
from tests.attacks.random_calls import engines, generate, runner, values
from tests.attacks.random_calls.__main__ import overloads

WRITES_UNSAID = {
    "aten::batch_norm",
    "aten::native_batch_norm",
    "aten::instance_norm",
    "quantized::relu6",
}
"""Operators that write elements of arguments that their schemas do not mark, as PyTorch's do:
running statistics, and an input where a flag says so.  Passes and turns leave them alone: an
evaluated model, which writes none of them, is not to wait for others."""

MAY_SHARE = table.having("may_share")

ENGINES = [
    pytest.param(
        "native",
        marks=pytest.mark.skipif(
            bool(native.why_absent()), reason="the native engine is not built"
        ),
    ),
    "python",
]


def plain(overload: str) -> str:
    return overload.partition(".")[0]


def sizes(value) -> list[tuple]:
    """Of the tensors in an argument, as the call has it or as it is told of afterwards."""
    if isinstance(value, tuple) and value[:1] == ("tensor",):
        return [tuple(value[2])]
    if isinstance(value, list):
        return [s for v in value for s in sizes(v)]
    return [tuple(value.size)] if hasattr(value, "size") else []


class Examined:
    """What calls did: overload -> such a call."""

    def __init__(self, engine: str, names: list[str], calls: int):
        self.shares, self.reshapes, self.writes, self.good = {}, {}, {}, 0
        self.engine = engines.Scriptlang("python")
        worker = runner.Worker(engine)
        for name in names:
            for number, outcome in worker.run(name, 7, list(range(calls))).items():
                if outcome[0] == "ok":
                    self.good += 1
                    self.examine(generate.call_of(name, 7, number), outcome)
        worker.close()

    def examine(self, call: values.Call, outcome: tuple) -> None:
        schema = table.find(*call.overload.partition(".")[::2]).schema
        _, _, after, shared = outcome
        declared = any(r.alias is not None or r.type != T.TENSOR for r in schema.returns)
        if not declared and any(k >= 0 for k in shared):
            self.shares.setdefault(call.overload, str(call))
        # A view of another argument, or that argument again, shares what is written.
        is_plain = not re.search(r"\b[AV]\(", str(call))
        before = self.before(call) if is_plain else after
        for a, given, then, now in zip(schema.arguments, call.arguments, before, after):
            if a.alias is not None:
                is_other = (
                    not a.kwarg_only
                    and len(sizes(given)) == len(sizes(now))
                    and sizes(given) != sizes(now)
                )
                if is_other:
                    self.reshapes.setdefault(call.overload, str(call))
            elif not same(then, now):
                self.writes.setdefault(call.overload, f"{a.name}: {call}")

    def before(self, call: values.Call) -> list:
        e = self.engine
        builder = values.Builder(e.tensor, e.view, e.quantized, e.packed, e.device)
        return [e.told(builder.of(v)) for v in call.arguments]


def same(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return True  # only tensors are looked at


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_say_what_operators_give(engine):
    every = int(os.environ.get("ALIASES_EVERY", "40"))
    names = overloads(["*"])[3::every] if every > 1 else overloads(["*"])
    known = [n for n in overloads(["aten::*"]) if n in MAY_SHARE]
    names = sorted({*names, *known[:: max(1, every // 10)]})
    calls = int(os.environ.get("ALIASES_CALLS", "5"))
    found = Examined(engine, names, calls)
    print(len(names), "overloads", found.good, "results")
    assert found.good > len(names) * calls / 6 and found.shares
    for entries, calls in (
        (MAY_SHARE, found.shares),
        (table.having("reshapes"), found.reshapes),
        (WRITES_UNSAID, found.writes),
    ):
        lacking = {n: call for n, call in calls.items() if not {n, plain(n)} & entries}
        assert not lacking, "\n".join(f"{n} {call}"[:300] for n, call in lacking.items())
