"""A batch: the examples that a function is mapped over, as a level of `derivatives/tangents.py`.

While a function runs for a whole batch, a tensor that differs between examples looks like that of
the first one: it has its shape and its elements. Where derivatives have a tangent for a level, it
has the *batch*: the tensors of all examples, stacked in dimension 0. A tensor without one is the
same for all. Each operator runs twice: for the first example, which gives shapes, types, errors and
the nodes of a graph, and for the batch (`calls.py`).

What the elements of an example decide (a branch, a number in Python, the size of a result) cannot
be done so: NotMapped is raised, and the function is called for each example instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..derivatives.tangents import Level, hidden, keep, tangent_of, top_level


class BatchLevel(Level):
    """The examples of one call.

    size: how many there are.  copies: the memory of batches that are copies of memory that the
    tensors of the examples share with others: it must not be written.
    """

    __slots__ = ("copies", "size")
    maps = True

    def __init__(self, depth: int, size: int) -> None:
        super().__init__(depth)
        self.size = size
        self.copies: set[Any] = set()


def first_of(batch: Tensor, level: BatchLevel) -> Tensor:
    """What stands for a batch, whose examples lie along dimension 0: a copy of the first one."""
    if not batch.is_contiguous():
        batch = functions.contiguous(batch)
        level.copies.add(batch._storage)
    made = functions.clone(batch.select(0, 0))
    with hidden(level):
        keep(made, level, batch, None)
    return made


def whole(tensor: Tensor, level: BatchLevel) -> Tensor:
    """The tensors of all examples, stacked in dimension 0."""
    found = tangent_of(tensor, level)
    if found is not None:
        return found
    with hidden(level):
        return functions.expand(functions.unsqueeze(tensor, 0), [level.size, *tensor._size])


def by_examples(run: Callable[[list[Any]], Sequence[Any]], given: list[Any]) -> Sequence[Any]:
    """What a function of tensors gives, called for each example of the innermost batch of them."""
    level = top_level(given)
    if not isinstance(level, BatchLevel):
        return run(given)
    batches = [None if t is None else tangent_of(t, level) for t in given]
    with hidden(level):
        rows = [
            by_examples(run, [t if b is None else b.select(0, k) for t, b in zip(given, batches)])
            for k in range(level.size)
        ]
        made = [None if r is None else functions.stack([row[i] for row in rows], 0)
                for i, r in enumerate(rows[0])]  # fmt: skip
    return [None if batch is None else first_of(batch, level) for batch in made]
