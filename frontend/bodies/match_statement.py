"""Emits `match` on ints, strings, bools and enums as a chain of `if` statements.

match kind:                          if kind == "a" or kind == "b":
    case "a" | "b": return 1   ->        return 1
    case other: return 2             else:
                                         other = kind
                                         return 2
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..syntax.questions import assigned_names
from ..values.environment import Unusable, bind
from ..whole import whole
from .refinement import Binding

if TYPE_CHECKING:
    from .emitter import Emitter

HELP = "match takes ints, strings, bools and enums; take other values apart with if and elif"


def emit_match(e: Emitter, node: ast.Match) -> None:
    """Emit a `match`.  The subject is evaluated once."""
    subject = node.subject
    if not isinstance(subject, ast.Name) or subject.id in _changed_by_guards(node):
        name = f"_match_{node.lineno}_{node.col_offset}"
        bind(e.frame, e.b, name, e.expr(subject), e.span(subject))
        subject = ast.copy_location(ast.Name(name, ast.Load()), node.subject)
    type = e.expr(subject).type(e.b, e.span(subject))
    known = type in (T.INT, T.STR, T.BOOL, T.NONE) or isinstance(type, T.EnumType)
    if not known and not isinstance(type, T.OptionalType):
        raise CompileError(
            f"a value of type {type.annotation} cannot be matched", e.span(node.subject), HELP
        )
    whole.emit_statements(e, _cases(e, node.cases, subject))


def _changed_by_guards(node: ast.Match) -> set[str]:
    """The names that guards assign; later patterns still test the value from before."""
    return assigned_names([case.guard for case in node.cases if case.guard is not None])


def _cases(e: Emitter, cases: list[ast.match_case], subject: ast.Name) -> list[ast.stmt]:
    """The statements to which these cases are equivalent."""
    if not cases:
        return []
    case, rest = cases[0], cases[1:]
    test, names = _test(e, case.pattern, subject)
    body, otherwise = case.body, _cases(e, rest, subject)
    if case.guard is not None:
        # The guard may read the names, so they are bound before it, if the pattern matches.
        guard = _guard(names, subject, case.guard)
        new = [name for name in names if e.frame.find(name) is None]
        if test is not None and new:
            otherwise = [ast.copy_location(_unbound(new), case.pattern), *otherwise]
        parts = [guard] if test is None else [test, guard]
        test = ast.copy_location(ast.BoolOp(ast.And(), parts), case.guard)
    else:
        targets: list[ast.expr] = [
            ast.copy_location(ast.Name(name, ast.Store()), case.pattern) for name in names
        ]
        if targets:
            assign = ast.Assign(targets, subject, type_comment=None)
            body = [ast.copy_location(assign, case.pattern), *body]
    if test is None:
        return body
    return [ast.copy_location(ast.If(test, body, otherwise), test)]


class Unbound(ast.stmt):
    """A syntax node of scriptlang's own: from here on, names may have no value.

    It stands behind a case whose pattern binds them, where the pattern or the guard failed.
    """

    _fields = ("names",)
    names: list[str]


def _unbound(names: list[str]) -> Unbound:
    made = Unbound()
    made.names = names
    return made


def emit_unbound(e: Emitter, node: Unbound) -> None:
    for name in node.names:
        why = f"{name!r} is bound only if its case matches"
        e.frame.forget(name, Unusable(why, "assign it before the match"))


def _guard(names: list[str], subject: ast.Name, guard: ast.expr) -> ast.expr:
    """The condition that binds names to the subject, and then tests the guard."""
    if not names:
        return guard
    made = Binding()
    made.names, made.value, made.test = names, subject, guard
    return ast.copy_location(made, guard)


def _test(e: Emitter, pattern: ast.pattern, subject: ast.Name) -> tuple[ast.expr | None, list[str]]:
    """The test for a pattern, and the names that it binds to the subject.

    The test is None if the pattern always matches.
    """
    if isinstance(pattern, ast.MatchValue):
        return _compare(pattern, subject, ast.Eq(), pattern.value), []
    if isinstance(pattern, ast.MatchSingleton):
        value = ast.copy_location(ast.Constant(pattern.value), pattern)
        if pattern.value is None:
            return _compare(pattern, subject, ast.Is(), value), []
        if T.without_none(e.expr(subject).type(e.b, e.span(subject))) != T.BOOL:
            return ast.copy_location(ast.Constant(False), pattern), []  # 1 is not True
        return _compare(pattern, subject, ast.Eq(), value), []
    if isinstance(pattern, ast.MatchAs):
        inner: tuple[ast.expr | None, list[str]] = (None, [])
        if pattern.pattern is not None:
            inner = _test(e, pattern.pattern, subject)
        return inner[0], inner[1] if pattern.name is None else [*inner[1], pattern.name]
    if isinstance(pattern, ast.MatchOr):
        # Python has checked that all alternatives bind the same names.
        tests, names = zip(*(_test(e, p, subject) for p in pattern.patterns))
        if None in tests:
            return None, names[0]
        return ast.copy_location(ast.BoolOp(ast.Or(), list(tests)), pattern), names[0]
    raise CompileError(
        "a pattern that takes a value apart is not part of the language", e.span(pattern), HELP
    )


def _compare(pattern: ast.pattern, subject: ast.Name, sign: ast.cmpop, value: ast.expr) -> ast.expr:
    return ast.copy_location(
        ast.Compare(ast.copy_location(ast.Name(subject.id, ast.Load()), pattern), [sign], [value]),
        pattern,
    )
