"""What the front end asks the operator table: the overloads of a name, names that look alike."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

from scriptlang.schema import Schema

from .language_functions import is_language_function

NAMESPACES = ("aten", "prim")
"""Where a bare operator name (`torch.relu`, `x.relu`) is looked for, in order."""


def overloads(name: str) -> tuple[Schema, ...]:
    """Schemas of a qualified name (`aten::add`) in the order they are tried; () for none."""
    known = _overloads.get(name)
    if known is None:
        from scriptlang.ops import table

        if forget not in table.LISTENERS:
            table.LISTENERS.append(forget)
        found = table.overloads(name) or foreign(name)
        known = in_order(name, [operator.schema for operator in found])
        if known:
            _overloads[name] = known
    return known


def foreign(name: str) -> list[Any]:
    """Operators of a library that is loaded into PyTorch: programs may name them, no engine has
    them."""
    from scriptlang.ops import table

    torch = sys.modules.get("torch")
    if torch is None or name.partition("::")[0] in ("aten", "prim"):
        return []
    texts = [str(s) for s in torch._C._jit_get_schemas_for_operator(name)]
    return [table.declare(text, None, "lacking") for text in texts]


def in_order(name: str, schemas: list[Schema]) -> tuple[Schema, ...]:
    """The overloads in PyTorch's order; several may fit a call, and the first is taken."""
    if len(schemas) < 2:
        return tuple(schemas)
    ranks = {o.strip("-"): i for i, o in enumerate(_order().get(name, "").split())}
    return tuple(sorted(schemas, key=lambda s: ranks.get(s.overload, len(ranks))))


@cache
def _order() -> dict[str, str]:
    """Name -> its overloads in order, from ops/order.txt."""
    from scriptlang.ops import table

    with open(os.path.join(os.path.dirname(table.__file__), "order.txt"), encoding="utf-8") as file:
        return dict(line.split(None, 1) for line in file.read().splitlines())


_overloads: dict[str, tuple[Schema, ...]] = {}


def forget(name: str) -> None:
    """Look the overloads of a name up again: there is another one."""
    _overloads.pop(name, None)


@cache
def find_operator(name: str) -> str | None:
    """The qualified name of a bare operator name, or None."""
    for namespace in NAMESPACES:
        qualified = f"{namespace}::{name}"
        if overloads(qualified) or is_language_function(qualified):
            return qualified
    return None


def similar_names(name: str) -> list[str]:
    """Up to three operators whose bare names are near `name`."""
    import difflib

    from scriptlang.ops import table

    names = {op.name for op in table.all_operators()} | table.lacking().keys()
    bare = {q.partition("::")[2] for q in names}
    return difflib.get_close_matches(name, bare, 3, 0.75)
