"""Rules for batches: elements read and written at indices."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ...tensors import Tensor
from ..calling import functions
from ..derivatives.tangents import NotMapped
from .call import Call, rule


class Place:
    """Where the indices of a call stand.

    first, last: the first and the last dimension with one. is_one: whether they follow each other,
    so that the result has their dimensions there; else it has them in front.
    rank: how many dimensions they have together.
    """

    def __init__(self, indices: list[Any]) -> None:
        places = [k for k, index in enumerate(indices) if index is not None]
        self.first, self.last = places[0], places[-1]
        self.is_one = places == list(range(self.first, self.last + 1))
        given = [index for index in indices if index is not None]
        masks = [index for index in given if index.dtype.name in ("bool", "uint8")]
        self.has_mask = bool(masks)
        self.rank = max(
            1 if any(index is m for m in masks) else len(index._size) for index in given
        )


def index_batches(made: Call) -> list[Any]:
    return made.batches.get(1) or [None] * len(made.values[1])


@rule("index.Tensor", "index.Tensor_hacked_twin", "_unsafe_index.Tensor")
def indexed(made: Call) -> Any:
    indices = list(made.values[1])
    place = Place(indices)
    batches = index_batches(made)
    if not any(b is not None for b in batches):
        found = functions.index(made.part(), [None, *indices])
        return found if place.is_one else functions.movedim(found, place.rank, 0)
    if place.has_mask or not place.is_one:
        raise NotMapped
    if 0 not in made.batches:
        given = with_examples(made, indices, batches, place)
        found = functions.index(made.values[0], given)
        return functions.movedim(found, place.first, 0)
    if place.first:
        raise NotMapped
    given = with_examples(made, indices, batches, place)
    return functions.index(made.part(), [numbers(made, place.rank), *given])


def with_examples(made: Call, indices: list[Any], batches: list[Any], place: Place) -> list[Any]:
    """The indices of all examples, with the dimension of the examples in front."""
    found: list[Any] = []
    for index, batch in zip(indices, batches):
        if batch is None:
            found.append(index)
            continue
        missing = place.rank - len(index._size)
        found.append(functions.reshape(batch, [made.size, *[1] * missing, *index._size]))
    return found


def numbers(made: Call, rank: int) -> Tensor:
    """The number of each example."""
    return functions.reshape(functions.arange(made.size, dtype=int64), [made.size, *[1] * rank])


@rule("index_put_", "index_put_.hacked_twin", "_index_put_impl_", "_index_put_impl_.hacked_twin",
      "_unsafe_index_put", "index_put")  # fmt: skip
def put(made: Call) -> Any:
    indices = list(made.values[1])
    place = Place(indices)
    batches = index_batches(made)
    x, values = made.stacked(0), made.values[2]
    is_batched = any(b is not None for b in batches)
    if place.has_mask and (is_batched or 2 in made.batches) or not place.is_one or place.first:
        raise NotMapped
    rest = len(x._size) - 1 - (place.last + 1)
    rank = place.rank + rest
    if len(values._size) > rank:
        raise NotMapped
    parts: dict[int, Any] = {0: x, 2: made.aligned(2, rank)}
    if place.has_mask:
        parts[1] = [None, *indices]
    else:
        parts[1] = [numbers(made, place.rank), *with_examples(made, indices, batches, place)]
    return made.run(*made.with_parts(parts))


@rule("embedding")
def embedding(made: Call) -> Any:
    if made.only(1):
        return functions.embedding(made.values[0], made.part(1), *made.values[2:])
    found = made.part(0)
    index = made.values[1]
    if 1 not in made.batches:
        flat = functions.index_select(found, 1, functions.reshape(index, [-1]))
        return functions.reshape(flat, [made.size, *index._size, found._size[-1]])
    return functions.index(found, [numbers(made, len(index._size)), made.part(1)])
