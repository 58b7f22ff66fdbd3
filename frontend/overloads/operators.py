"""Lookups of the front end in the operator table: the overloads of a name, similar names."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

from scriptlang.schema import Schema

from . import matching
from .language_functions import is_language_function

NAMESPACES = ("aten", "prim")
"""Namespaces in which an operator name (`torch.relu`, `x.relu`) is looked up, in order."""


def overloads(name: str) -> tuple[Schema, ...]:
    """The schemas of a qualified name (`aten::add`) in the order they are tried; () if none."""
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
    """Declares the operators of this name of a library that is loaded into PyTorch; returns them.

    Programs may call them by name, but no engine can run them.
    """
    from scriptlang.ops import table

    torch = sys.modules.get("torch")
    if torch is None or name.partition("::")[0] in ("aten", "prim"):
        return []
    texts = [str(s) for s in torch._C._jit_get_schemas_for_operator(name)]
    return [table.declare(text, None, "lacking") for text in texts]


def in_order(name: str, schemas: list[Schema]) -> tuple[Schema, ...]:
    """The overloads in PyTorch's order.  It matters, as several may fit a call."""
    if len(schemas) < 2:
        return tuple(schemas)
    ranks = {o.strip("-"): i for i, o in enumerate(_order().get(name, "").split())}
    return tuple(sorted(schemas, key=lambda s: ranks.get(s.overload, len(ranks))))


@cache
def _order() -> dict[str, str]:
    """Name -> its overloads in PyTorch's order, separated by spaces, from ops/order.txt."""
    from scriptlang.ops import table

    with open(os.path.join(os.path.dirname(table.__file__), "order.txt"), encoding="utf-8") as file:
        return dict(line.split(None, 1) for line in file.read().splitlines())


_overloads: dict[str, tuple[Schema, ...]] = {}


def forget(name: str) -> None:
    """Drop what is cached about a name, because an overload of it was declared."""
    _overloads.pop(name, None)
    matching.forget(name)
    find_operator.cache_clear()


@cache
def find_operator(name: str) -> str | None:
    """The qualified name of an operator name without namespace; None if there is none."""
    for namespace in NAMESPACES:
        qualified = f"{namespace}::{name}"
        if overloads(qualified) or is_language_function(qualified):
            return qualified
    return None


def similar_names(name: str) -> list[str]:
    """Up to three operator names, without namespace, that are similar to `name`."""
    import difflib

    from scriptlang.ops import table

    names = {op.name for op in table.all_operators()} | table.lacking().keys()
    bare = {q.partition("::")[2] for q in names}
    return difflib.get_close_matches(name, bare, 3, 0.75)
