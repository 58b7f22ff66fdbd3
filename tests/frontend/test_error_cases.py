"""Every message of the front end has a golden case in tests/cases/errors.

A site is a place in the sources that makes an error: a call of `CompileError`, of a `fail`, or of
something that becomes an error later.  The cases are run, and the sites that they reach are noted.
The test fails for a site without a case, and names it.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from scriptlang.frontend.overloads import matching
from scriptlang.frontend.values import environment

import scriptlang
from scriptlang.errors import CompileError
from tests import golden

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = sorted((ROOT / "tests" / "cases" / "errors").glob("*.case"))

MAKERS = ("CompileError", "Mismatch", "Unusable", "fail", "_fail")
"""Names whose call makes an error."""

ELSEWHERE = {
    ("trace", ""): "tests/frontend/test_trace*.py",
    ("autograd_functions.py", ""): "tests/frontend/test_compiled_by_torch.py, with PyTorch",
    ("environment.py", "CompileError(self.message"): "passes on what an Unusable says",
    ("", "nested too deeply"): "test_nesting_deeper_than_python_reads_is_refused, below",
    ("assignment.py", "this cannot be assigned to"): "Python's grammar refuses all of them",
    ("control_flow.py", "a loop without end"): "nothing endless can be named",
    ("classes.py", "is not a class that can be compiled"): "the syntax of a class is a class",
    ("matching.py", "it is not a method"): "methods are looked up by their first argument",
    ("matching.py", "cannot be inferred from"): "no schema has a variable that is bound by nothing",
    ("simple.py", "holds different types and"): "loops over such tuples are unrolled",
    ("sugared.py", "has no length"): "`iterate` refuses first",
    ("sugared.py", "cannot be iterated over"): "`iterate` refuses first",
    ("sugared.py", "can only be called directly"): "special forms are seen at the call",
    ("sugared.py", "'takes no arguments'"): "classes of archives, whose code is compiled",
}
"""(part of the file's name, part of the call) -> where it is tested, or why nothing reaches it."""


class Site(NamedTuple):
    """A call that makes an error."""

    file: str
    first: int
    last: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.first}: {self.text}"


def sites() -> list[Site]:
    """The calls in the front end that make an error with a message of their own."""
    found = []
    for path in sorted((ROOT / "frontend").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and is_maker(node.func) and node.args:
                text = ast.unparse(node)
                if not any(part in path.name and what in text for part, what in ELSEWHERE):
                    found.append(Site(file, node.lineno, node.end_lineno, text[:90]))
    return found


def is_maker(func: ast.expr) -> bool:
    return (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) in MAKERS


class Noted:
    """While it is open, the front-end lines on the stack when an error is made are noted."""

    CLASSES = (CompileError, matching.Mismatch, environment.Unusable)

    def __init__(self):
        self.lines: set[tuple[str, int]] = set()

    def __enter__(self):
        self.saved = [cls.__init__ for cls in self.CLASSES]
        for cls, init in zip(self.CLASSES, self.saved):
            cls.__init__ = self.noting(init)
        return self

    def __exit__(self, *_):
        for cls, init in zip(self.CLASSES, self.saved):
            cls.__init__ = init

    def noting(self, init):
        def run(error, *args, **kwargs):
            frame = sys._getframe(1)
            while frame is not None:
                path = Path(frame.f_code.co_filename)
                if path.parts[-3:-2] == ("frontend",):
                    self.lines.add(("/".join(path.parts[-3:]), frame.f_lineno))
                frame = frame.f_back
            init(error, *args, **kwargs)

        return run


@pytest.fixture(scope="module")
def passed() -> set[tuple[str, int]]:
    """The lines on the way to the errors of all cases."""
    with Noted() as noted:
        for path in CASES:
            for case in golden.read_cases(path):
                case.computed()
    return noted.lines


def test_every_message_has_a_case(passed):
    missing = [
        str(site)
        for site in sites()
        if not any((site.file, line) in passed for line in range(site.first, site.last + 1))
    ]
    assert not missing, "no case in tests/cases/errors for:\n" + "\n".join(missing)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_case_shows_a_place(path):
    """Each error has the line it is about with the expression at fault underlined."""
    for case in golden.read_cases(path):
        for section in case.sections:
            if section.kind == "error":
                lines = section.text.splitlines()
                assert re.match(r"(case.py|<string>):\d+:\d+: error: ", lines[0]), case.title
                assert set(lines[2].strip()) == {"~"}, f"{case.title}: nothing is underlined"


def test_every_case_has_a_remedy():
    """An error says what to write instead."""
    without = [
        f"{path.name}: {case.title}"
        for path in CASES
        for case in golden.read_cases(path)
        for section in case.sections
        if section.kind == "error" and "\n  help: " not in section.text
    ]
    assert not without, "no remedy:\n" + "\n".join(without)


def test_nesting_deeper_than_python_reads_is_refused():
    text = "def f(x: int):\n    return " + "-" * 20_000 + "x\n"
    with pytest.raises(CompileError, match="nested too deeply") as e:
        scriptlang.jit.CompilationUnit(text)
    assert e.value.span is not None and e.value.help


def test_what_is_tested_elsewhere_is_there():
    """Each line of ELSEWHERE is about a message that the front end has."""
    calls = [
        (path.name, ast.unparse(node))
        for path in (ROOT / "frontend").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and is_maker(node.func)
    ]
    for part, what in ELSEWHERE:
        assert any(part in name and what in text for name, text in calls), (part, what)
