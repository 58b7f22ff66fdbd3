"""The entries of expressions.py have the same results, or are refused, as in PyTorch."""

from __future__ import annotations

import json

import pytest
from scriptlang.frontend.python.script import compile_text

from scriptlang.errors import CompileError
from scriptlang.programs.module import ScriptFunction
from tests.frontend import expressions
from tests.frontend.record_expressions import FILE, recorded

RECORDED = json.loads(FILE.read_text())
ENTRIES = [
    (name, body) for name, table in expressions.TABLES.items() for body in expressions.bodies(table)
]


def compiled(name: str, body: str):
    text = expressions.function_text(expressions.TABLES[name][0], body)
    return ScriptFunction(compile_text(text)["f"], "python", None, None)


def test_every_entry_is_recorded():
    assert [(name, body) for name, rows in RECORDED.items() for body in rows] == ENTRIES


@pytest.mark.parametrize("name, body", [e for e in ENTRIES if RECORDED[e[0]][e[1]] != "refused"])
def test_gives_what_pytorch_gives(name, body):
    function = compiled(name, body)
    for args, expected in zip(expressions.TABLES[name][2], RECORDED[name][body]):
        assert recorded(function, args) == expected, args


@pytest.mark.parametrize("name, body", [e for e in ENTRIES if RECORDED[e[0]][e[1]] == "refused"])
def test_refuses_what_pytorch_refuses(name, body):
    with pytest.raises(CompileError) as caught:
        compiled(name, body)
    assert caught.value.span is not None
