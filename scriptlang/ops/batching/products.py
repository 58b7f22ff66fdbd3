"""Rules for batches: products of matrices, sums of products, convolutions."""

from __future__ import annotations

import string
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..derivatives.tangents import NotMapped
from .call import Call, rule


@rule("matmul", "linalg_matmul", "mm", "bmm", "mv", "dot")
def product(made: Call) -> Any:
    return product_of(made, 0, 1)


def product_of(made: Call, i: int, j: int) -> Tensor:
    """matmul of two arguments, as a batch."""
    a, b = made.part(i), made.part(j)
    ranks = made.rank(i), made.rank(j)
    if i not in made.batches and ranks[0] == 2 and ranks[1] == 1:
        return functions.matmul(b, functions.t(a))
    if j not in made.batches and ranks[1] <= 2 and ranks[0] > 1:
        return functions.matmul(a, b)
    if j not in made.batches and ranks == (1, 2):
        return functions.matmul(a, b)
    if ranks == (1, 1):
        return functions.sum(functions.mul(a, b), -1)
    if ranks[0] == 1:
        a = functions.unsqueeze(a, -2)
    if ranks[1] == 1:
        b = functions.unsqueeze(b, -1)
    rank = max(*ranks, 2)
    a, b = with_rank(made, a, i, rank), with_rank(made, b, j, rank)
    found = functions.matmul(a, b)
    if ranks[1] == 1:
        found = functions.squeeze(found, -1)
    if ranks[0] == 1:
        found = functions.squeeze(found, -2)
    return found


def with_rank(made: Call, x: Tensor, i: int, rank: int) -> Tensor:
    """A batch whose examples have so many dimensions; what is no batch broadcasts anyway."""
    if i not in made.batches:
        return x
    missing = rank + 1 - len(x._size)
    return functions.reshape(x, [made.size, *[1] * missing, *x._size[1:]]) if missing > 0 else x


@rule("vdot")
def conjugated(made: Call) -> Any:
    return functions.sum(functions.mul(functions.conj(made.part(0)), made.part(1)), -1)


@rule("addmm", "addmv", "baddbmm")
def added(made: Call) -> Any:
    alpha, beta = made.value("alpha"), made.value("beta")
    if made.values[0].dtype.kind not in "fc" and (alpha, beta) != (1, 1):
        raise NotMapped
    found = product_of(made, 1, 2)
    if alpha != 1:
        found = functions.mul(found, alpha)
    if beta == 0:
        return found
    rank = len(made.results[0]._size) if made.results else made.rank()
    return functions.add(found, scaled(made.aligned(0, rank), beta))


def scaled(x: Tensor, factor: Any) -> Tensor:
    return x if factor == 1 else functions.mul(x, factor)


@rule("linear")
def linear(made: Call) -> Any:
    x, weight, bias = made.part(0), made.part(1), made.values[2]
    if made.only(0):
        return functions.linear(x, weight, bias)
    turned = functions.transpose(weight, -1, -2)
    if 1 not in made.batches:
        found = functions.matmul(x, turned)
    elif made.rank(0) == 1:
        x = functions.unsqueeze(x, -2)
        found = functions.squeeze(functions.matmul(x, turned), -2)
    else:
        if made.rank(0) > 2:  # rows of all dimensions but the last are rows of one matrix
            first = made.size if 0 in made.batches else 1
            x = functions.reshape(x, [first, -1, x._size[-1]])
        found = functions.matmul(x, turned)
        found = functions.reshape(found, [made.size, *made.results[0]._size])
    if bias is None:
        return found
    return functions.add(found, made.aligned(2, len(made.results[0]._size)))


@rule("einsum")
def einsum(made: Call) -> Any:
    """The sum with one more letter."""
    text = made.values[0].replace(" ", "")
    operands, arrow, result = text.partition("->")
    parts = operands.split(",")
    letter = next(x for x in string.ascii_letters[::-1] if x not in text)
    if not arrow:
        letters = [x for x in operands if x.isalpha()]
        once = sorted(x for x in set(letters) if letters.count(x) == 1)
        result = ("..." if "..." in operands else "") + "".join(once)
    at = made.index("tensors")
    batches = made.batches[at]
    tensors = [v if b is None else b for v, b in zip(made.values[at], batches)]
    named = [p if b is None else letter + p for p, b in zip(parts, batches)]
    return functions.einsum(f"{','.join(named)}->{letter}{result}", tensors)


# Convolutions


@rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d.input",
      "conv_transpose3d.input", "convolution")  # fmt: skip
def convolved(made: Call) -> Any:
    """Images of all examples at once, or, where weights differ, as groups of channels."""
    if isinstance(made.value("padding"), str):
        raise NotMapped
    x, weight = made.values[0], made.values[1]
    is_image = len(x._size) < len(weight._size)
    if made.only(0):
        batch = made.part()
        if is_image:
            return made.run(*made.with_parts({0: batch}))
        flat = functions.reshape(batch, [-1, *batch._size[2:]])
        found = made.run(*made.with_parts({0: flat}))
        return functions.reshape(found, [made.size, -1, *found._size[1:]])
    parts: dict[int, Any] = {0: in_groups(made, 0, is_image), 1: as_one(made.stacked(1))}
    if made.values[2] is not None:
        parts[2] = as_one(made.stacked(2))
    at = made.index("groups")
    parts[at] = made.values[at] * made.size
    return out_of_groups(made, made.run(*made.with_parts(parts)), is_image)


def as_one(x: Tensor) -> Tensor:
    """The first two dimensions as one."""
    return functions.reshape(x, [x._size[0] * x._size[1], *x._size[2:]])


def in_groups(made: Call, i: int, is_image: bool) -> Tensor:
    """Images in which the channels of all examples follow each other."""
    x = made.stacked(i)
    if is_image:
        return functions.unsqueeze(as_one(x), 0)
    x = functions.movedim(x, 0, 1)
    return functions.reshape(x, [x._size[0], -1, *x._size[3:]])


def out_of_groups(made: Call, x: Tensor, is_image: bool) -> Tensor:
    x = functions.reshape(x, [x._size[0], made.size, -1, *x._size[2:]])
    return functions.select(x, 0, 0) if is_image else functions.movedim(x, 1, 0)


@rule("convolution_backward")
def convolution_backward(made: Call) -> Any:
    grad, x, weight = made.values[:3]
    if len(x._size) < len(weight._size):
        raise NotMapped
    mask = made.value("output_mask")
    if made.only(0, 1) and not (mask[1] or mask[2]):
        both: dict[int, Any] = {i: as_one(made.stacked(i)) for i in (0, 1)}
        found = made.run(*made.with_parts(both))[0]
        return [functions.reshape(found, [made.size, -1, *found._size[1:]]), None, None]
    groups, sizes = made.index("groups"), made.index("bias_sizes")
    given = made.values[sizes]
    parts: dict[int, Any] = {
        0: in_groups(made, 0, False),
        1: in_groups(made, 1, False),
        2: as_one(made.stacked(2)),
        groups: made.values[groups] * made.size,
        sizes: None if given is None else [given[0] * made.size],
    }
    by_x, by_weight, by_bias = made.run(*made.with_parts(parts))
    return [
        out_of_groups(made, by_x, False) if mask[0] else None,
        functions.reshape(by_weight, [made.size, *weight._size]) if mask[1] else None,
        functions.reshape(by_bias, [made.size, -1]) if mask[2] else None,
    ]
