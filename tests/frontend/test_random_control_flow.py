"""Random programs with loops, branches and early exits give the same results as in CPython.

Loops are bounded and variables are ints, so every program ends.  Each is compiled, verified and
run.
"""

from __future__ import annotations

import random

import pytest
from scriptlang.frontend.python.script import compile_text

from scriptlang.irverify import verify
from scriptlang.programs.module import ScriptFunction

SEEDS = range(40)
ARGUMENTS = [(0, 0), (3, 1), (7, -2)]


class Programs:
    """Writes the text of one function `f(a: int, b: int) -> int`."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.loops = 0
        self.counters = 0

    def text(self) -> str:
        body = self.block(1, 0, 5)
        return "\n".join(
            ["def f(a: int, b: int) -> int:", "    c = 1", *body, "    return a + b + c"]
        )

    def block(self, indent: int, depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, most)):
            lines += self.statement(indent, depth)
        return lines

    def value(self) -> str:
        return self.random.choice(["a", "b", "c", "1", "2", "a + c", "b - 1", "c * 2 % 11"])

    def test(self) -> str:
        test = f"{self.value()} {self.random.choice(['<', '==', '>', '!='])} {self.value()}"
        if self.random.random() < 0.2:
            test = f"{test} {self.random.choice(['and', 'or'])} {self.value()} > 0"
        return test

    def statement(self, indent: int, depth: int) -> list[str]:
        pad = "    " * indent
        kinds = ["assign", "assign", "if", "if", "exit"] + ["for", "while"] * (depth < 3)
        kind = self.random.choice(kinds)
        if kind == "assign" or depth > 4:
            name = self.random.choice("abc")
            form = self.random.choice(["{0} = {1}", "{0} += {1}", "{0} = ({0} - {1}) % 97"])
            return [pad + form.format(name, self.value()), f"{pad}{name} %= 1009"]
        if kind == "if":
            lines = [f"{pad}if {self.test()}:", *self.block(indent + 1, depth + 1, 3)]
            if self.random.random() < 0.5:
                lines += [f"{pad}else:", *self.block(indent + 1, depth + 1, 2)]
            return lines
        if kind == "exit":
            exits = [f"return {self.value()}"] + ["break", "continue"] * bool(self.loops)
            return [f"{pad}if {self.test()}:", f"{pad}    {self.random.choice(exits)}"]
        return self.loop(kind, indent, depth)

    def loop(self, kind: str, indent: int, depth: int) -> list[str]:
        pad = "    " * indent
        self.loops += 1
        self.counters += 1
        counter = f"n{self.counters}"
        if kind == "for":
            lines = [f"{pad}for {counter} in range({self.random.randint(0, 4)}):"]
        else:
            lines = [
                f"{pad}{counter} = 0",
                f"{pad}while {counter} < 4:",
                f"{pad}    {counter} += 1",
            ]
        lines += self.block(indent + 1, depth + 1, 3)
        if kind == "for":
            lines.append(f"{pad}    c = (c + {counter}) % 1009")
        self.loops -= 1
        return lines


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_python(seed):
    text = Programs(seed).text()
    space: dict = {}
    exec(text, space)
    function = compile_text(text)["f"]
    verify(function.graph)
    scripted = ScriptFunction(function, "python")
    for args in ARGUMENTS:
        assert scripted(*args) == space["f"](*args), text
