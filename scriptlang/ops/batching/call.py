"""A call of an operator for a batch, and the rules for such calls.

A rule gets a Call and returns what the operator gives for the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from .. import table
from ..calling import dispatch, functions
from .level import BatchLevel

Rule = Callable[["Call"], Any]
RULES: dict[str, Rule] = {}
"""By the name of an operator, with or without its overload."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of namespace aten."""

    def register(f: Rule) -> Rule:
        RULES.update((f"aten::{name}", f) for name in names)
        return f

    return register


class Call:
    """A call for a batch.

    values: the arguments for the first example.  batches: by the index of an argument, its batch;
    of a list of tensors, a list with None for those that are the same for all examples.
    results: what the first example gave.
    """

    def __init__(
        self, op: table.Operator, values: Sequence[Any], batches: dict[int, Any], level: BatchLevel
    ) -> None:
        self.op, self.values, self.batches, self.level = op, list(values), batches, level
        self.size = level.size
        self.results: list[Any] = []

    def index(self, name: str) -> int:
        found: Any = self.op.schema.index(name)
        return int(found)

    def value(self, name: str) -> Any:
        return self.values[self.index(name)]

    def rank(self, i: int = 0) -> int:
        """How many dimensions an argument has for one example."""
        return len(self.values[i]._size)

    def part(self, i: int = 0) -> Tensor:
        """An argument, as a batch if it is one."""
        found: Tensor = self.batches.get(i, self.values[i])
        return found

    def stacked(self, i: int = 0) -> Tensor:
        """An argument as a batch, with a stride of 0 if it is the same for all examples."""
        found = self.batches.get(i)
        return self.repeated(self.values[i]) if found is None else found

    def repeated(self, tensor: Tensor) -> Tensor:
        """A tensor that is the same for all examples as a batch."""
        return functions.expand(functions.unsqueeze(tensor, 0), [self.size, *tensor._size])

    def aligned(self, i: int, rank: int) -> Tensor:
        """An argument whose examples have so many dimensions, of size 1 where they are added."""
        found = self.batches.get(i)
        if found is None:
            return self.values[i]
        missing = rank - self.rank(i)
        if missing <= 0:
            return found
        return functions.reshape(found, [self.size, *[1] * missing, *found._size[1:]])

    def only(self, *places: int) -> bool:
        """Whether no other arguments are batches."""
        return all(i in places for i in self.batches)

    def run(self, *values: Any) -> Any:
        """What the operator itself gives."""
        return dispatch.run(self.op, list(values))

    def with_parts(self, parts: dict[int, Any]) -> list[Any]:
        """The arguments, others at these places."""
        return [parts.get(i, v) for i, v in enumerate(self.values)]


def flat(result: Any) -> list[Any]:
    """The results of an operator."""
    return list(result) if isinstance(result, (list, tuple)) else [result]
