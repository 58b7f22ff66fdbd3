"""Chooses names in printed code that are legal, unique and close to those of the program."""

from __future__ import annotations

import keyword
import re
from typing import Any

RESERVED = frozenset(keyword.kwlist) | frozenset(
    (
        "torch",
        "ops",
        "CONSTANTS",
        "__torch__",
        "inf",
        "nan",
        "infj",
        "nanj",
        "annotate",
        "uninitialized",
        "unchecked_cast",
        "isinstance",
        "getattr",
        "hasattr",
        "range",
        "fork",
        "int",
        "float",
        "bool",
        "str",
        "complex",
        "len",
        "list",
        "dict",
        "tuple",
        "print",
        "zip",
        "enumerate",
        "min",
        "max",
        "abs",
        "all",
        "any",
        "sorted",
        "reversed",
        "round",
        "hex",
        "oct",
        "bin",
        "ord",
        "chr",
        "divmod",
        "pow",
        "sum",
        "map",
        "hash",
        "slice",
        "super",
        "rpc_async",
        "Tensor",
        "List",
        "Dict",
        "Tuple",
        "Optional",
        "Union",
        "Any",
        "Device",
        "Final",
        "number",
        "NoneType",
        "Future",
        "Await",
        "RRef",
        "Module",
        "NamedTuple",
        "Enum",
        "Interface",
        "ModuleInterface",
        "del",
        "device",
        "dtype",
        "awaitable",
    )
)
"""Names that have a meaning in the code of archives, so variables must not have them."""

_NOT_A_WORD = re.compile(r"\W", re.ASCII)


def is_identifier(name: str) -> bool:
    """Whether a name can be printed as an identifier."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


class Names:
    """The names in one function, each of which is used once."""

    def __init__(self, taken: tuple[Any, ...] = ()) -> None:
        self.taken: set[str] = set(taken)
        self.counters: dict[str, int] = {}

    def reserve(self, name: str) -> str:
        """Take a name unchanged, such as that of an argument.  The caller knows that it is free."""
        self.taken.add(name)
        return name

    def fresh(self, hint: str = "") -> str:
        """A new name like `hint`: `x`, then `x0`, `x1`...; without a hint `_0`, `_1`..."""
        base = _NOT_A_WORD.sub("_", hint.partition(".")[0]) if hint else "_"
        if base != "_" and (base[0].isdigit() or not base.strip("_")):
            base = "_"
        base = base.rstrip("0123456789") or base
        if base != "_" and base not in self.taken and base not in RESERVED:
            return self.reserve(base)
        n = self.counters.get(base, 0)
        while f"{base}{n}" in self.taken or f"{base}{n}" in RESERVED:
            n += 1
        self.counters[base] = n + 1
        return self.reserve(f"{base}{n}")
