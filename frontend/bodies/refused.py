"""The constructs of Python that are not part of the language, with what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptlang.errors import CompileError

if TYPE_CHECKING:
    from .emitter import Emitter

REFUSED: dict[type, tuple[str, str | None]] = {
    ast.Try: ("try blocks", "test the condition before, or raise and let the caller handle it"),
    ast.Import: ("import statements", "import at the top of the file"),
    ast.ImportFrom: ("import statements", "import at the top of the file"),
    ast.Global: ("global variables", "pass the value in and return the new one"),
    ast.Nonlocal: ("nonlocal variables", "pass the value in and return the new one"),
    ast.ClassDef: ("class definitions", "define it at the top of the file"),
    ast.AsyncFunctionDef: ("async function definitions", None),
    ast.AsyncFor: ("async for loops", None),
    ast.AsyncWith: ("async with statements", None),
    ast.Await: ("Await", "use fork and wait"),
    ast.Yield: ("Yield", "build a list and return it"),
    ast.YieldFrom: ("YieldFrom", "build a list and return it"),
    ast.Set: ("Set", "use a list, or a Dict[..., bool]"),
    ast.SetComp: ("SetComp", "use a list comprehension"),
    ast.Lambda: ("Lambda", "define a function"),
    ast.Starred: ("Starred", "give the elements one by one"),
    ast.Delete: ("del statements", None),
}

FUNCTIONS = {
    "map": "write a comprehension",
    "filter": "write a comprehension with an if",
    "set": "use a list, or a Dict[..., bool]",
    "frozenset": "use a list, or a Dict[..., bool]",
    "iter": "loop over the value",
    "next": "loop over the value, or take it by its index",
    "repr": "use str",
    "format": "use '{}'.format(...)",
    "open": "read the file where the program is called, and pass in what it holds",
    "input": "pass the value in",
    "setattr": "write self.name = value",
    "callable": "the types are known when it is compiled; leave the test out",
    "id": "compare with `is`",
}
"""Functions of Python that are not part of the language, with what to write instead."""


def refuse_dead(e: Emitter, statements: Sequence[ast.stmt]) -> None:
    """Report statements that are not part of the language in a branch that is not compiled.

    PyTorch refuses them there, too.
    """
    for statement in statements:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.stmt)
                and type(node) in REFUSED
                and not isinstance(node, ast.Delete)
            ):
                what, help = REFUSED[type(node)]
                e.report(
                    CompileError(
                        f"{what} aren't supported, also where they are never reached",
                        e.span(node),
                        help or "move it to a function with @ignore or @unused",
                    )
                )
