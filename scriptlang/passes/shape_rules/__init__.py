"""What operators give: shapes and types from those of what they take.  One file a family.

    @rule("mm", ranks=2)
    def mm(c: Call) -> Shape:
        return c.shape("self")[0], c.shape("mat2")[1]

    @shared_rule(dtype="kernel")                         # of operators with shape="reduction"
    def reduction(c: Call) -> Shape: ...

A rule gives a shape, or what is known of the result; `Several` of such for several results.  It may
take for granted that the operator does not fail: sizes that have to be equal are equal.  Whatever
it asks for and is not known raises `Unknown`; the result has then at most a rank.  An operator
without a rule gives what its in-place form's base, or its body, gives, else nothing.  A rule must
never give a wrong answer: what it cannot tell is `c.fresh()`.
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
    """run: Call -> result.  dtype: how the element type follows: "first" (that of the first
    tensor), "any" (all tensors have to be of one type), "kernel" (what the kernel gives for
    one-element tensors), a type, None (the rule says), or a tuple of these, for each result.
    ranks: of the results where the rule cannot tell more: a number, "first", "meet" (that of all
    tensors, where they are the same), or None.
    """

    run: Callable[[Call], Any]
    dtype: Any
    ranks: Any


class Several(tuple[Any, ...]):
    """The facts of several results."""


RULES: dict[str, Rule] = {}
"""Rules by the operator's name without its namespace, or by `name.overload`."""

SHARED: dict[str, Rule] = {}
"""Rules of many operators, by what their fact `shape` says."""


def rule(names: str, dtype: Any = "first", ranks: Any = None) -> Callable[..., Any]:
    """Declare the rule of operators, by name (all overloads) or `name.overload`."""

    def decorate(run: Callable[..., Any]) -> Any:
        for name in names.split():
            if name in RULES:
                raise ValueError(f"{name} has two rules")
            RULES[name] = Rule(run, dtype, ranks)
        return run

    return decorate


def shared_rule(dtype: Any = "first", ranks: Any = None) -> Callable[..., Any]:
    """Declare a rule that operators name as their fact `shape`, or have for being pointwise."""

    def decorate(run: Callable[..., Any]) -> Any:
        SHARED[run.__name__] = Rule(run, dtype, ranks)
        return run

    return decorate


def rule_of(name: str, overload: str) -> Rule | None:
    """The rule of an operator: of that overload, by its facts, or of all overloads."""
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
    """A call of an operator: facts of its arguments, by name or place, in the order of its schema.

    make_symbol: gives a new size.
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
        """The fact of an argument; None for an argument that the operator has not."""
        i = self.schema.index(key) if isinstance(key, str) else key
        return None if i is None else self.facts[i]

    def has(self, name: str) -> bool:
        return self.schema.index(name) is not None

    @property
    def tensors(self) -> list[TensorFacts]:
        """The tensors among the arguments, not those in lists."""
        return [f for f in self.facts if isinstance(f, TensorFacts)]

    def tensor(self, key: str | int) -> TensorFacts:
        """A tensor of known rank."""
        fact = self[key]
        if not isinstance(fact, TensorFacts) or fact.shape is None:
            raise Unknown
        return fact

    def shape(self, key: str | int) -> Shape:
        shape = self.tensor(key).shape
        assert shape is not None
        return shape

    def known(self, key: str | int) -> Any:
        """A value that is known; of lists and numbers all of it."""
        fact = self[key]
        if not is_known(fact):
            raise Unknown
        return fact

    def size(self, key: str | int) -> Size:
        """An int, known or not."""
        fact = self[key]
        if not is_size(fact):
            raise Unknown
        return fact

    def sizes(self, key: str | int, n: int | None = None) -> list[Size]:
        """A list of ints of known length; a single one stands for n."""
        fact = self[key]
        if is_size(fact):
            fact = (fact,)
        if not isinstance(fact, tuple) or not all(map(is_size, fact)):
            raise Unknown
        return list(fact) * n if n is not None and len(fact) == 1 else list(fact)

    def dim(self, key: str | int, rank: int) -> int:
        """The number of a dimension, counted from the front."""
        return wrap(self.known(key), rank)

    def dims(self, key: str | int, rank: int) -> list[int]:
        """Several; none given means all."""
        fact = self.known(key)
        if fact is None or fact == ():
            return list(range(rank))
        return [wrap(d, rank) for d in (fact if isinstance(fact, tuple) else (fact,))]

    def not_negative(self, size: Size) -> Size:
        """A size that an argument gives, which is none of the marks below 0; else Unknown."""
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
    """The one size of several that have to be equal: the one that says most."""
    return next((s for s in sizes if isinstance(s, int)), sizes[0])


def broadcast(c: Call, *shapes: Shape) -> Shape:
    """The shape that tensors of these have together."""
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
    """Whether a size is certainly more than 1: others broadcast to it."""
    least = minimum(size)
    return least is not None and least > 1


def typed(c: Call) -> DType | None:
    """The type that the argument `dtype` says; None where it is not known."""
    code = c["dtype"]
    return BY_CODE.get(code) if type(code) is int else None
