"""Simple analyses of Python syntax: which names a body assigns, whether it leaves its loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
)


def walk_scope(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a scope, in source order.

    The node of a nested function, class or comprehension is included, but nothing inside of it.
    """
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def assigned_names(body: Sequence[ast.AST]) -> set[str]:
    """Names that the statements assign in their own scope."""
    names = set()
    for node in walk_scope(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.MatchAs) and node.name is not None:
            names.add(node.name)
    return names


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements contain a return, break or continue."""
    return any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in walk_scope(body))


def annotation_text(node: ast.expr) -> str:
    """The text of an annotation, for error messages."""
    return ast.unparse(node)
