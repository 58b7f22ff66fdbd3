"""Rules for the shapes and dtypes of operators' results, one file for each family of operators.

    @rule("mm", ranks=2)
    def mm(c: Call) -> Shape:
        return c.shape("self")[0], c.shape("mat2")[1]

    @shared_rule(dtype="kernel")                         # of operators with shape="reduction"
    def reduction(c: Call) -> Shape: ...

A rule returns a shape or a fact, or `Several` of them for several results. It may assume that the
operator does not fail: sizes that have to be equal are equal. Asking for something unknown raises
`Unknown`; then at most the rank of the result is known. For an operator without a rule, the facts
come from the functional variant of an in-place operator, or from the operator's body if it has one.
A rule must never be wrong: a size that it cannot determine is `c.fresh()`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dtypes import BY_CODE, DType
from ...ir import Node
from ...ops import table
from ...ops.facts import NOTHING
from ..shape_facts import Fact, Shape, TensorFacts, Unknown, is_known, is_size
from ..sizes import Expression, Size, minimum

if TYPE_CHECKING:
    from ...schema import Schema

FAMILIES = (
    "pointwise",
    "reduce",
    "view",
    "split",
    "matmul",
    "conv",
    "like",
    "index",
    "join",
    "create",
    "upsample",
    "rnn",
    "scalar",
    "backward",
    "custom",
)


class Rule(NamedTuple):
    """A rule and what is known if it does not say.

    run: Call -> result. dtype: where the dtype of the result comes from: "first" (the first
    tensor), "any" (all tensors must have the same), "kernel" (what the kernel returns for
    one-element tensors), a dtype, None (the rule returns it), or a tuple of these, one per result.
    ranks: the ranks of results if the rule raises Unknown: a number, "first", "meet" (the rank of
    all tensors if it is the same), or None.
    """

    run: Callable[[Call], Any]
    dtype: Any
    ranks: Any


class Several(tuple[Any, ...]):
    """The facts of several results."""


RULES: dict[str, Rule] = {}
"""Rules by the operator's name without its namespace, or by `name.overload`."""

SHARED: dict[str, Rule] = {}
"""Rules shared by many operators, by the value of their fact `shape`."""


def rule(names: str, dtype: Any = "first", ranks: Any = None) -> Callable[..., Any]:
    """Declare a rule for operators, by `name` (all overloads) or `name.overload`."""

    def decorate(run: Callable[..., Any]) -> Any:
        for name in names.split():
            if name in RULES:
                raise ValueError(f"{name} has two rules")
            RULES[name] = Rule(run, dtype, ranks)
        return run

    return decorate


def shared_rule(dtype: Any = "first", ranks: Any = None) -> Callable[..., Any]:
    """Declare the rule for operators whose fact `shape` is its name, or pointwise ones."""

    def decorate(run: Callable[..., Any]) -> Any:
        SHARED[run.__name__] = Rule(run, dtype, ranks)
        return run

    return decorate


def rule_of(name: str, overload: str) -> Rule | None:
    """The rule of an operator: for its overload, else by its facts, else for all overloads."""
    load_families()
    found = table.find(name, overload)
    if found is not None and found.kind == "custom":
        return SHARED["custom"] if found.__dict__["custom"].fake is not None else None
    short = name.partition("::")[2]
    own = RULES.get(f"{short}.{overload}" if overload else short)
    if own is not None:
        return own
    facts = found.facts if found is not None else NOTHING
    if facts.shape or facts.pointwise:
        return SHARED[facts.shape or "pointwise"]
    return RULES.get(short)


@cache
def load_families() -> None:
    for family in FAMILIES:
        importlib.import_module(f".{family}", __package__)


class Call:
    """A call of an operator: the facts of its arguments, by name or index in its schema.

    make_symbol: returns a new size.
    """

    def __init__(
        self,
        node: Node | None,
        schema: Schema,
        facts: list[Fact],
        make_symbol: Callable[[], Expression],
    ) -> None:
        self.node, self.schema, self.facts = node, schema, facts
        self.fresh = make_symbol

    def __getitem__(self, key: str | int) -> Fact:
        """The fact of an argument; None if the operator has no such argument."""
        i = self.schema.index(key) if isinstance(key, str) else key
        return None if i is None else self.facts[i]

    def has(self, name: str) -> bool:
        return self.schema.index(name) is not None

    @property
    def tensors(self) -> list[TensorFacts]:
        """The tensors among the arguments, without those in lists."""
        return [f for f in self.facts if isinstance(f, TensorFacts)]

    def tensor(self, key: str | int) -> TensorFacts:
        """The facts of a tensor. Raises Unknown if its rank is unknown."""
        fact = self[key]
        if not isinstance(fact, TensorFacts) or fact.shape is None:
            raise Unknown
        return fact

    def shape(self, key: str | int) -> Shape:
        shape = self.tensor(key).shape
        assert shape is not None
        return shape

    def known(self, key: str | int) -> Any:
        """The value of an argument. Raises Unknown if any part of it is unknown."""
        fact = self[key]
        if not is_known(fact):
            raise Unknown
        return fact

    def size(self, key: str | int) -> Size:
        """An int argument as a size."""
        fact = self[key]
        if not is_size(fact):
            raise Unknown
        return fact

    def sizes(self, key: str | int, n: int | None = None) -> list[Size]:
        """A list of ints as sizes; one int, or a list of one, stands for n of them."""
        fact = self[key]
        if is_size(fact):
            fact = (fact,)
        if not isinstance(fact, tuple) or not all(map(is_size, fact)):
            raise Unknown
        return list(fact) * n if n is not None and len(fact) == 1 else list(fact)

    def dim(self, key: str | int, rank: int) -> int:
        """The index of a dimension, counted from the front."""
        return wrap(self.known(key), rank)

    def dims(self, key: str | int, rank: int) -> list[int]:
        """The indices of several dimensions; None or an empty list means all of them."""
        fact = self.known(key)
        if fact is None or fact == ():
            return list(range(rank))
        return [wrap(d, rank) for d in (fact if isinstance(fact, tuple) else (fact,))]

    def not_negative(self, size: Size) -> Size:
        """A size that is given by an argument.
        Raises Unknown if it may be negative, like a special -1."""
        least = minimum(size)
        if least is None or least < 0:
            raise Unknown
        return size


def wrap(dim: int, rank: int) -> int:
    span = max(rank, 1)
    if not isinstance(dim, int) or not -span <= dim < span:
        raise Unknown  # the operator fails
    return dim % span


def meet(sizes: list[Size]) -> Size:
    """One of several sizes that have to be equal: a number if there is one."""
    return next((s for s in sizes if isinstance(s, int)), sizes[0])


def broadcast(c: Call, *shapes: Shape) -> Shape:
    """The shape that tensors with these shapes broadcast to."""
    n = max(map(len, shapes), default=0)
    result = []
    for d in range(-n, 0):
        sizes = [s[d] for s in shapes if len(s) >= -d]
        sizes = list(dict.fromkeys(s for s in sizes if s != 1)) or [1]
        exact: list[Size] = [s for s in sizes if isinstance(s, int)]
        exact = exact or [s for s in sizes if is_wide(s)]
        result.append(exact[0] if exact else sizes[0] if len(sizes) == 1 else c.fresh())
    return tuple(result)


def is_wide(size: Size) -> bool:
    """Whether a size is certainly greater than 1, so that others broadcast to it."""
    least = minimum(size)
    return least is not None and least > 1


def typed(c: Call) -> DType | None:
    """The dtype given by the argument `dtype`; None if it is unknown."""
    code = c["dtype"]
    return BY_CODE.get(code) if type(code) is int else None
